//! What others are told, in one form for all channels.

use std::collections::BTreeMap;
use std::path::Path;

use backstop_core::policy::{Occasion, Policy};
use backstop_core::reason::Values;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use serde::Serialize;

use crate::capture::harmless::harmless;

/// What others are told. Its JSON is what a webhook is posted and a command reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Counts up when a key changes its meaning or goes away; new keys don't count.
    pub version: u32,
    /// `halted`, `asked`, `held`, `warn` or `test`.
    pub event: &'static str,
    /// The same for every attempt to deliver it.
    pub delivery: String,
    pub at: Timestamp,
    pub run: String,
    pub status: RunStatus,
    /// The reason's code.
    pub reason: Option<String>,
    /// A few words: `run 06fh2x… stopped: stalled`.
    pub title: String,
    /// Why, in one sentence.
    pub message: String,
    /// What it means, and what to look at.
    pub diagnosis: Option<String>,
    /// Commands that may come next.
    pub next: Vec<String>,
    /// How many have finished.
    pub iteration: u64,
    pub tokens: u64,
    /// None where nobody reported any.
    pub cost_usd: Option<f64>,
    pub active_ms: u64,
    /// The last part of the working directory.
    pub project: String,
    pub labels: BTreeMap<String, String>,
    /// How many were left out before this one, because there were too many.
    pub left_out: u64,
}

/// The run that a message is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub cwd: &'a Path,
    pub labels: &'a BTreeMap<String, String>,
}

impl Message {
    /// What is said of a run in this state; `seq` is the event that led to it.
    pub fn new(
        occasion: Occasion,
        state: &RunState,
        policy: &Policy,
        values: &Values,
        about: About<'_>,
        (seq, at): (u64, Timestamp),
    ) -> Self {
        let run = state.run_id.to_string();
        let reason = state.stop_reason.as_ref();
        let code = reason.map(|reason| reason.code.clone()).filter(|code| !code.is_empty());
        let what = match occasion {
            Occasion::Halted | Occasion::Held => state.run_status.as_str(),
            Occasion::Asked => "asks",
            Occasion::Warn => "warns",
        };
        let because = code.as_ref().map(|code| format!(": {code}")).unwrap_or_default();
        let mut next = match (occasion, &code) {
            // Nothing else lets it go on.
            (Occasion::Asked, _) => ["continue", "fix --note \"…\"", "abort"]
                .map(|answer| format!("backstop answer {run} {answer}"))
                .to_vec(),
            (_, Some(code)) => policy.reason(code).next_commands(&values.clone().with("run", &run)),
            (_, None) => Vec::new(),
        };
        next.truncate(MOST_COMMANDS);
        if next.is_empty() {
            next.push(format!("backstop show {run}"));
        }
        let figures = &state.statistics;
        Self {
            version: VERSION,
            event: occasion.as_str(),
            delivery: format!("{run}-{seq}"),
            at,
            status: state.run_status,
            title: plain(&format!("run {run} {what}{because}"), SHORT),
            reason: code,
            message: plain(reason.map_or("", |reason| &reason.message), LONG),
            diagnosis: reason
                .map(|reason| plain(&reason.diagnosis, LONG))
                .filter(|text| !text.is_empty()),
            next: next.iter().map(|command| plain(command, SHORT)).collect(),
            iteration: figures.iterations,
            tokens: figures.tokens,
            cost_usd: figures.cost_known.then_some(figures.cost_usd),
            active_ms: figures.active_ms,
            project: project(about.cwd),
            labels: about
                .labels
                .iter()
                .take(MOST_LABELS)
                .map(|(name, value)| (plain(name, SHORT), plain(value, SHORT)))
                .collect(),
            left_out: 0,
            run,
        }
    }

    /// A message that only shows whether messages arrive.
    pub fn test(delivery: String, cwd: &Path, at: Timestamp) -> Self {
        Self {
            version: VERSION,
            event: "test",
            delivery,
            at,
            run: "test".to_owned(),
            status: RunStatus::Running,
            reason: None,
            title: "a test of backstop's notifications".to_owned(),
            message: "If you can read this, notifications arrive".to_owned(),
            diagnosis: None,
            next: vec!["backstop notify test".to_owned()],
            iteration: 0,
            tokens: 0,
            cost_usd: None,
            active_ms: 0,
            project: project(cwd),
            labels: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// All of it in one sentence, for those who take only that.
    pub fn sentence(&self) -> String {
        let project = match self.project.as_str() {
            "" => String::new(),
            name => format!("{name}: "),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            1 => " (1 notification before this was left out)".to_owned(),
            many => format!(" ({many} notifications before this were left out)"),
        };
        format!("backstop: {project}{}: {}{left_out}", self.title, self.message)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a message has only string keys and finite numbers")
    }
}

fn project(cwd: &Path) -> String {
    cwd.file_name().map(|name| plain(&name.to_string_lossy(), SHORT)).unwrap_or_default()
}

/// A text on one line without control characters, cut if it is too long. What it holds may come
/// from the supervised command.
fn plain(text: &str, most: usize) -> String {
    let text = harmless(text.as_bytes());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

const VERSION: u32 = 1;
const MOST_COMMANDS: usize = 3;
const MOST_LABELS: usize = 32;
/// Characters of a title, a command or a label.
const SHORT: usize = 300;
/// Characters of a sentence or a diagnosis.
const LONG: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_plain_and_short() {
        assert_eq!(plain("two\r\n lines\0and \x1b[31mred\x1b[0m", 99).matches('\n').count(), 0);
        assert!(!plain("a\0b\x07c\x1b]0;title\x07", 99).contains(char::is_control));
        assert_eq!(plain("äöüß", 2), "äö…");
        assert_eq!(plain("äö", 2), "äö");
    }

    #[test]
    fn a_sentence_tells_what_was_left_out() {
        let at = Timestamp::from_nanos(0);
        let mut message = Message::test("id".to_owned(), Path::new("/home/me/shop"), at);
        let base = "backstop: shop: a test of backstop's notifications: If you can read this, \
                    notifications arrive";
        assert_eq!(message.sentence(), base);
        message.left_out = 3;
        assert_eq!(
            message.sentence(),
            format!("{base} (3 notifications before this were left out)")
        );
    }
}
