//! What Claude Code exports.

use backstop_core::event::{Action, Usage};

use super::attributes::{Attributes, Key};
use super::batch::{Batch, Part};
use super::gen_ai::usage;
use super::ledger::{Figures, Ledger, Ledgers};
use super::scalar::{Scalar, count};
use crate::fault::from_status;
use crate::launch::fault_of;
use crate::lenient::AMOUNTS;
use crate::{Fault, Moment};

/// Its sessions: requests as log records, and the same requests in counters.
#[derive(Debug, Default)]
pub(super) struct Claude {
    sessions: Ledgers<SOURCES>,
    /// Counters may be exported without the session, log records never are. So these two are sums
    /// of the same things again: all sessions, and counters of no session.
    all: Ledger<2>,
    batch: Batch,
    /// What the latest attempt of a request met.
    attempt: Option<(Option<u16>, String)>,
}

impl Claude {
    /// A counter has grown.
    pub fn metric(&mut self, name: &str, added: f64, point: &Attributes, resource: &Attributes) {
        let mut figures = Figures::default();
        match (name, point.text(Key::Type)) {
            (COST, _) => figures.cost_usd = Some(added).filter(|cost| AMOUNTS.contains(cost)),
            (TOKENS, Some("input")) => figures.input = count(added),
            (TOKENS, Some("output")) => figures.output = count(added),
            (TOKENS, Some("cacheRead")) => figures.cache_read = count(added),
            (TOKENS, Some("cacheCreation")) => figures.cache_write = count(added),
            _ => return,
        }
        let session = session(point, resource);
        self.batch.add_figure(session, COUNTERS, point.text(Key::Model), figures);
    }

    /// A request was answered.
    pub fn request(&mut self, record: &Attributes, resource: &Attributes) {
        let figures = Figures {
            input: record.count(Key::InputTokens),
            output: record.count(Key::OutputTokens),
            cache_read: record.count(Key::CacheReadTokens),
            cache_write: record.count(Key::CacheCreationTokens),
            cost_usd: record.amount(Key::CostUsd).filter(|cost| AMOUNTS.contains(cost)),
        };
        self.attempt = None;
        let session = session(record, resource);
        self.batch.add(session, REQUESTS, record.text(Key::Model), figures);
    }

    /// A request failed, and may be tried again: no failure of the agent's yet.
    pub fn failed_attempt(&mut self, record: &Attributes) {
        let message = record.text(Key::ErrorText).unwrap_or_default().to_owned();
        self.attempt = Some((status(record), message));
    }

    /// All attempts of a request have failed.
    pub fn gave_up(&mut self, record: &Attributes, moment: &Moment) -> Fault {
        let (seen, said) = self.attempt.take().unwrap_or_default();
        let status = status(record).or(seen);
        let message = record.text(Key::ErrorText).map_or(said, str::to_owned);
        let message = match (message.is_empty(), status) {
            (false, _) => message,
            (true, Some(status)) => format!("the API answered with status {status}"),
            (true, None) => format!("the API failed {} times", record.count(Key::TotalAttempts)),
        };
        let known = status.and_then(|status| from_status(status, &message, moment));
        known.unwrap_or_else(|| fault_of(&message, moment))
    }

    /// What all of an export adds.
    pub fn settle(&mut self) -> Vec<Usage> {
        let parts = self.batch.take().into_iter();
        parts
            .filter_map(|Part { name, source, model, figures }| {
                let grown = if name.is_empty() && source == COUNTERS {
                    self.all.add(NAMELESS, figures)
                } else {
                    let grown = self.sessions.of(&name).add(source, figures);
                    self.all.add(SESSIONS, grown)
                };
                usage(grown, model)
            })
            .collect()
    }
}

/// The agent made room in its context.
pub(super) fn compaction(record: &Attributes) -> Option<Action> {
    let failed = match record.get(Key::Success) {
        Scalar::Truth(truth) => !truth,
        other => other.text() == Some("false"),
    };
    (!failed).then(|| Action {
        signature: "compaction".to_owned(),
        kind: "compaction".to_owned(),
        result_signature: None,
        failed: false,
    })
}

/// The name of a record that counts, without its prefix.
///
/// The prefix may be in one of a record's names and missing in another, so only those with it are
/// believed: `api_request` alone is anybody's.
pub(super) fn event_name(told: &str) -> Option<&'static str> {
    let name = told.strip_prefix("claude_code.")?;
    EVENTS.iter().copied().find(|event| *event == name)
}

pub(super) fn is_metric(name: &str) -> bool {
    matches!(name, TOKENS | COST)
}

fn session<'a>(attributes: &'a Attributes, resource: &'a Attributes) -> &'a str {
    let told = [attributes.get(Key::SessionId), resource.get(Key::SessionId)];
    Scalar::first(told).text().unwrap_or_default()
}

fn status(record: &Attributes) -> Option<u16> {
    let status = record.amount(Key::StatusCode).map(count)?;
    u16::try_from(status).ok().filter(|status| *status > 0)
}

const TOKENS: &str = "claude_code.token.usage";
const COST: &str = "claude_code.cost.usage";
const EVENTS: &[&str] = &["api_request", "api_error", "api_retries_exhausted", "compaction"];

/// The sources of a session.
const SOURCES: usize = 2;
const REQUESTS: usize = 0;
const COUNTERS: usize = 1;

/// The sources of all sessions.
const SESSIONS: usize = 0;
const NAMELESS: usize = 1;
