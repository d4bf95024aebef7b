//! What a bot that re-runs failed jobs knows of the one it wants to run again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::errors::shortened;
use crate::event::FailureSignal;
use crate::time::Timestamp;

/// Attempts, failures and their look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reruns {
    pub(crate) job_attempts: u64,
    pub(crate) total_attempts: u64,
    pub(crate) failure_class: Option<String>,
    /// The latest failure signals, newest last.
    pub(crate) signals: VecDeque<String>,
    /// How many of the latest signals are equal, however many are kept.
    pub(crate) equal_signals: u64,
    pub(crate) last_changed_at: Option<Timestamp>,
    pub(crate) first_failure_at: Option<Timestamp>,
}

impl Reruns {
    pub(crate) fn apply(&mut self, signal: &FailureSignal, at: Timestamp) {
        let same = self.signals.back().is_some_and(|last| last == shortened(&signal.hash));
        self.equal_signals = if same { self.equal_signals.saturating_add(1) } else { 1 };
        if self.signals.len() == MOST_SIGNALS {
            self.signals.pop_front();
        }
        self.signals.push_back(shortened(&signal.hash).to_owned());
        if let Some(class) = &signal.class {
            self.failure_class = Some(shortened(class).to_owned());
        }
        self.first_failure_at.get_or_insert(at);
    }
}

const MOST_SIGNALS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_signals_are_counted_beyond_what_is_kept() {
        let mut reruns = Reruns::default();
        for number in 0..200 {
            let signal = FailureSignal { hash: "same".into(), class: None };
            reruns.apply(&signal, Timestamp::from_nanos(number));
        }
        assert_eq!((reruns.equal_signals, reruns.signals.len()), (200, MOST_SIGNALS));
        assert_eq!(reruns.first_failure_at, Some(Timestamp::from_nanos(0)));
        reruns.apply(
            &FailureSignal { hash: "other".into(), class: Some("lint".into()) },
            Timestamp::default(),
        );
        assert_eq!((reruns.equal_signals, reruns.failure_class.as_deref()), (1, Some("lint")));
    }
}
