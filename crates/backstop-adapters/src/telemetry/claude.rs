//! What Claude Code exports.

use backstop_core::event::{Action, ErrorCategory};

use super::attributes::{Attributes, Key};
use super::batch::{Batch, Part};
use super::ledger::{Figures, Ledger, Ledgers};
use super::scalar::{Scalar, count};
use crate::fault::from_status;
use crate::launch::fault_of;
use crate::lenient::AMOUNTS;
use crate::{Fault, Moment};

/// Its sessions: requests as log records, and the same requests in counters.
#[derive(Debug, Default)]
pub(super) struct Claude {
    sessions: Ledgers<Ledger<SOURCES>>,
    /// Counters may be exported without the session, log records never are. So these two are sums
    /// of the same things again: all sessions, and counters of no session.
    all: Ledger<2>,
    batch: Batch<usize>,
    /// What the latest attempt of a request met.
    attempt: Option<(Option<u16>, String)>,
    /// An attempt that failed in a way that no other will mend.
    refused: Option<Fault>,
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
        self.batch.add_figure(
            session,
            COUNTERS,
            point.text(Key::Model).unwrap_or_default(),
            figures,
        );
    }

    /// A request was answered.
    pub fn request(&mut self, record: &Attributes, resource: &Attributes) {
        let figures = Figures {
            input: record.count(Key::InputTokens),
            output: record.count(Key::OutputTokens),
            cache_read: record.count(Key::CacheReadTokens),
            cache_write: record.count(Key::CacheCreationTokens),
            cost_usd: record
                .amount(Key::CostUsd)
                .or_else(|| Some(record.amount(Key::CostUsdMicros)? / 1e6))
                .filter(|cost| AMOUNTS.contains(cost)),
        };
        self.attempt = None;
        self.refused = None;
        let session = session(record, resource);
        let model = record.text(Key::Model).unwrap_or_default();
        self.batch.add(session, REQUESTS, model, figures);
    }

    /// A request failed. What may be tried again is no failure of the agent's yet; the rest is not
    /// tried again, so nobody will say that all attempts have failed.
    pub fn failed_attempt(&mut self, record: &Attributes, moment: &Moment) {
        let message = record.text(Key::ErrorText).unwrap_or_default();
        let status = status(record);
        self.refused = Some(fault(status, &said(message, status).unwrap_or_default(), moment))
            .filter(|fault| fault.kind.category() == ErrorCategory::Critical);
        self.attempt = Some((status, message.to_owned()));
    }

    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// What was refused for good, unless the agent got through after all.
    pub fn refused(&mut self) -> Option<Fault> {
        let refused = self.refused.take()?;
        self.attempt = None;
        Some(refused)
    }

    /// All attempts of a request have failed.
    pub fn gave_up(&mut self, record: &Attributes, moment: &Moment) -> Fault {
        self.refused = None;
        let (seen, before) = self.attempt.take().unwrap_or_default();
        let status = status(record).or(seen);
        let message = record.text(Key::ErrorText).unwrap_or(&before);
        let message = said(message, status).unwrap_or_else(|| {
            format!("the API failed {} times", record.count(Key::TotalAttempts))
        });
        fault(status, &message, moment)
    }

    /// What all of an export adds, by model: one request, or what counters have grown by.
    pub fn settle(&mut self) -> Vec<(String, Figures)> {
        let parts = self.batch.take().into_iter();
        parts
            .map(|Part { name, source, model, figures }| {
                let grown = if name.is_empty() && source == COUNTERS {
                    self.all.add(NAMELESS, figures)
                } else {
                    let grown = self.sessions.of(&name).add(source, figures);
                    self.all.add(SESSIONS, grown)
                };
                (model, grown)
            })
            .collect()
    }
}

/// What there is to say of a failure, if anything is.
fn said(message: &str, status: Option<u16>) -> Option<String> {
    match (message.is_empty(), status) {
        (false, _) => Some(message.to_owned()),
        (true, Some(status)) => Some(format!("the API answered with status {status}")),
        (true, None) => None,
    }
}

fn fault(status: Option<u16>, message: &str, moment: &Moment) -> Fault {
    let known = status.and_then(|status| from_status(status, message, moment));
    known.unwrap_or_else(|| fault_of(message, moment))
}

/// The agent made room in its context.
pub(super) fn compaction(record: &Attributes) -> Option<Action> {
    (!has_failed(record)).then(|| Action {
        signature: "compaction".to_owned(),
        kind: "compaction".to_owned(),
        result_signature: None,
        failed: false,
    })
}

/// Whether a record says that what it tells of did not succeed.
pub(super) fn has_failed(record: &Attributes) -> bool {
    match record.get(Key::Success) {
        Scalar::Truth(truth) => !truth,
        other => other.text() == Some("false"),
    }
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
const EVENTS: &[&str] =
    &["api_request", "api_error", "api_retries_exhausted", "compaction", "tool_result"];

/// The sources of a session.
const SOURCES: usize = 2;
const REQUESTS: usize = 0;
const COUNTERS: usize = 1;

/// The sources of all sessions.
const SESSIONS: usize = 0;
const NAMELESS: usize = 1;
