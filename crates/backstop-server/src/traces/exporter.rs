//! The thread that posts spans to a collector, many at once.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use ureq::Agent;
use ureq::http::Uri;

use super::span::{self, Span};
use crate::metrics::SpanCounters;
use backstop_runner::trust::NobodyTrusted;

use crate::outgoing;

/// Why there is nowhere to send spans to.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    #[error("`{0}` is no address of a collector; write it like http://collector:4318")]
    Address(String),
    #[error(transparent)]
    Trust(#[from] NobodyTrusted),
    #[error("the thread that sends traces can't be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// The queue before the thread. When it goes, the thread sends what is left and ends.
#[derive(Debug)]
pub(super) struct Exporter {
    queue: SyncSender<Item>,
    counters: SpanCounters,
}

pub(super) enum Item {
    Span(Box<Span>),
    /// Told when everything before it is sent or given up.
    Flush(oneshot::Sender<()>),
}

impl Exporter {
    pub(super) fn start(collector: &str, counters: SpanCounters) -> Result<Self, CollectorError> {
        let wrong = || CollectorError::Address(collector.to_owned());
        let address: Uri = collector.parse().map_err(|_| wrong())?;
        let is_encrypted = match address.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let names_somebody = address.host().is_some_and(|host| !host.is_empty());
        if !names_somebody || address.query().is_some() || collector.contains(['@', '#']) {
            return Err(wrong());
        }
        let base = collector.trim_end_matches('/');
        let place = if base.ends_with(PLACE) { base.to_owned() } else { format!("{base}{PLACE}") };
        let agent = outgoing::agent(is_encrypted, EXCHANGE)?;
        let (queue, items) = mpsc::sync_channel(WAITING);
        let sender = Sender { agent, place, counters: counters.clone(), is_heard: true };
        thread::Builder::new().name("traces".to_owned()).spawn(move || sender.send_all(&items))?;
        Ok(Self { queue, counters })
    }

    /// Leaves something to be sent. Never waits.
    pub(super) fn leave(&self, item: Item) {
        if let Err(error) = self.queue.try_send(item) {
            let (mpsc::TrySendError::Full(item) | mpsc::TrySendError::Disconnected(item)) = error;
            if matches!(item, Item::Span(_)) {
                self.counters.dropped.increment(1);
            }
        }
    }
}

struct Sender {
    agent: Agent,
    place: String,
    counters: SpanCounters,
    /// The collector took what it was sent last; that it does not is said once.
    is_heard: bool,
}

impl Sender {
    fn send_all(mut self, items: &Receiver<Item>) {
        let mut spans = Vec::new();
        while let Ok(first) = items.recv() {
            let mut flushed = Vec::new();
            let end = Instant::now() + GATHERING;
            let mut next = Some(first);
            while let Some(item) = next.take() {
                match item {
                    Item::Span(span) => spans.push(span),
                    Item::Flush(told) => flushed.push(told),
                }
                if !flushed.is_empty() || spans.len() >= TOGETHER {
                    break;
                }
                next = items.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
            }
            if !spans.is_empty() {
                self.send(&spans);
                spans.clear();
            }
            for told in flushed {
                told.send(()).ok();
            }
        }
    }

    fn send(&mut self, spans: &[Box<Span>]) {
        let body = span::export(spans).to_string();
        let posted =
            self.agent.post(&self.place).header("content-type", "application/json").send(body);
        let trouble = match posted {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it answered {}", response.status())),
            Err(error) => Some(error.to_string()),
        };
        let counter = if trouble.is_none() { &self.counters.sent } else { &self.counters.dropped };
        counter.increment(spans.len() as u64);
        let is_heard = trouble.is_none();
        match trouble {
            Some(why) if self.is_heard => {
                tracing::warn!(collector = self.place, why, "the collector takes no traces");
            }
            None if !self.is_heard => {
                tracing::info!(collector = self.place, "the collector takes traces again");
            }
            _ => {}
        }
        self.is_heard = is_heard;
    }
}

const PLACE: &str = "/v1/traces";
const WAITING: usize = 4_096;
const TOGETHER: usize = 512;
const GATHERING: Duration = Duration::from_millis(500);
const EXCHANGE: Duration = Duration::from_secs(5);
