//! A wait: the same question and the same answer, with pauses between.

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
        }
        self.steps.extend(now.entry.step);
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
