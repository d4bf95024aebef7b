//! A wait: the same question and the same answer, with pauses between.
//!
//! Percentages are noise where answers are compared, but here they may be all that moves. A wait whose
//! answer gets further than it ever was begins anew; one whose answer only goes up and down does not.

use serde::{Deserialize, Serialize};

use super::Last;
use crate::repetition::reading::Polling;
use crate::repetition::streak::Streak;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Wait {
    pub steps: Streak,
    began_ms: u64,
    began_cost_usd: f64,
    now_ms: u64,
    now_cost_usd: f64,
    /// The lowest and the highest that the percentages of an answer came to.
    #[serde(default)]
    lowest: f64,
    #[serde(default)]
    highest: f64,
}

impl Wait {
    pub fn going_on(&self) -> bool {
        self.steps.count > 0
    }

    /// The same answer as the last time. The wait began with the first of them.
    pub fn go_on(&mut self, last: &Last, now: &Last) {
        if !self.going_on() {
            self.steps.extend(last.entry.step);
            self.began_ms = last.active_ms;
            self.began_cost_usd = last.cost_usd;
            self.lowest = last.percent;
            self.highest = last.percent;
        }
        if now.percent < self.lowest || now.percent > self.highest {
            self.steps.restart(now.entry.step);
            self.began_ms = now.active_ms;
            self.began_cost_usd = now.cost_usd;
            self.lowest = self.lowest.min(now.percent);
            self.highest = self.highest.max(now.percent);
        } else {
            self.steps.extend(now.entry.step);
        }
        self.now_ms = now.active_ms;
        self.now_cost_usd = now.cost_usd;
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn polling(&self) -> Polling {
        Polling {
            count: self.steps.count,
            elapsed_ms: self.now_ms.saturating_sub(self.began_ms),
            cost_usd: (self.now_cost_usd - self.began_cost_usd).max(0.0),
        }
    }
}

/// What the percentages at the end of a text come to together; 0 if there are none.
pub(super) fn percent(text: &[u8]) -> f64 {
    let text = &text[text.len().saturating_sub(MOST_READ)..];
    // Nearly no text has any, and this is found out faster than where they are.
    if !text.contains(&b'%') {
        return 0.0;
    }
    let signs = text.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    signs.filter_map(|(sign, _)| number_before(&text[..sign])).fold(0.0, |sum, next| sum + next)
}

fn number_before(text: &[u8]) -> Option<f64> {
    let text = text.strip_suffix(b" ").unwrap_or(text);
    let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let length = text.iter().rev().take(LONGEST_NUMBER).take_while(is_part).count();
    std::str::from_utf8(&text[text.len() - length..]).ok()?.parse().ok()
}

/// What moves stands at the end of what was printed.
const MOST_READ: usize = 4096;
const LONGEST_NUMBER: usize = 12;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", 0.0)]
    #[case("no % at all, 5 of 7", 0.0)]
    #[case("progress 12.5%", 12.5)]
    #[case("a 10 %, b [20%], c 30%%", 60.0)]
    #[case("1.2.3% ...% 99999999999999999999%", 999_999_999_999.0)]
    fn percentages_are_added(#[case] text: &str, #[case] expected: f64) {
        assert!((percent(text.as_bytes()) - expected).abs() < 1e-9);
    }
}
