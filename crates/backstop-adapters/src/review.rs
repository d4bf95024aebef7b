//! What a reviewer says of the work, whoever it is: a script that prints JSON, a person who writes
//! a file, an agent that writes Markdown.
//!
//! A verdict must be said, never guessed. Words in code and in quotations are somebody else's.

mod json;
mod list;
mod verdict;

use backstop_core::event::{Review, ReviewOutcome};
use backstop_core::review::requests_hash;

use crate::framing::encoding::decoded;
use crate::framing::without_escapes;
use list::{Fence, Items};
use verdict::{Stated, stated};

/// A verdict with what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub outcome: ReviewOutcome,
    pub requests: Vec<String>,
}

impl Said {
    /// What a reviewer says; none where there is no verdict in it.
    pub fn read(output: &[u8]) -> Option<Self> {
        let bytes = decoded(&output[..output.len().min(MOST_BYTES)]);
        let text = String::from_utf8_lossy(&bytes);
        json::read(&text).or_else(|| read_text(&text))
    }

    /// Two reviews as one: the more severe verdict counts, and all requests do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let outcome = if severity(other.outcome) > severity(self.outcome) {
            other.outcome
        } else {
            self.outcome
        };
        let requests = self.requests.into_iter().chain(other.requests).collect();
        Self::new(outcome, requests)
    }

    fn new(outcome: ReviewOutcome, requests: Vec<String>) -> Self {
        let asks = outcome != ReviewOutcome::Approved;
        let requests = requests.into_iter().filter(|_| asks);
        let worded = requests.map(|request| shortened(request.trim()).to_owned());
        let requests = worded.filter(|request| !request.is_empty()).take(MOST_REQUESTS).collect();
        Self { outcome, requests }
    }
}

impl From<Said> for Review {
    fn from(said: Said) -> Self {
        let hash = requests_hash(&said.requests);
        let asks = said.outcome != ReviewOutcome::Approved;
        Self { outcome: said.outcome, hash, requests: asks.then_some(said.requests) }
    }
}

fn read_text(text: &str) -> Option<Said> {
    let lines: Vec<_> = text.lines().map(without_escapes).collect();
    let (at, stated) = verdict_of(&lines)?;
    let after = Items::of(&lines[at + 1..]);
    let items = if after.is_empty() { Items::of(&lines[..at]) } else { after };
    let requests = if items.is_empty() {
        // Who asks without a list asks in prose.
        let behind = prose(&lines[at + 1..], &stated.rest);
        let all = if behind.is_empty() { prose(&lines[..at], "") } else { behind };
        vec![all]
    } else {
        items.0
    };
    Some(Said::new(stated.outcome, requests))
}

/// The line with the verdict: one that is announced as such before one that just stands there, then
/// the most severe, so that nothing is approved by accident, then the last.
fn verdict_of<L: AsRef<str>>(lines: &[L]) -> Option<(usize, Stated)> {
    let mut fence: Option<Fence> = None;
    let mut found: Option<(usize, Stated)> = None;
    for (at, line) in lines.iter().enumerate() {
        let line = line.as_ref();
        if Fence::holds(&mut fence, line) {
            continue;
        }
        let Some(stated) = stated(line) else { continue };
        let rank = |stated: &Stated| (stated.announced, severity(stated.outcome));
        if found.as_ref().is_none_or(|(_, known)| rank(&stated) >= rank(known)) {
            found = Some((at, stated));
        }
    }
    found
}

fn prose<L: AsRef<str>>(lines: &[L], before: &str) -> String {
    let mut text = before.trim().to_owned();
    for line in lines.iter().map(|line| line.as_ref().trim()).filter(|line| !line.is_empty()) {
        if text.len() > LONGEST_REQUEST {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
    text
}

fn shortened(text: &str) -> &str {
    text[..text.floor_char_boundary(LONGEST_REQUEST)].trim_end()
}

const fn severity(outcome: ReviewOutcome) -> u8 {
    match outcome {
        ReviewOutcome::Approved => 0,
        ReviewOutcome::ChangesRequested => 1,
        ReviewOutcome::Rejected => 2,
    }
}

/// A review that is longer than this is no review.
const MOST_BYTES: usize = 1 << 20;
const MOST_REQUESTS: usize = 50;
const LONGEST_REQUEST: usize = 2_000;

#[cfg(test)]
mod tests;
