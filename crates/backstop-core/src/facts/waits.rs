//! How long the run has waited for limits of its provider: a budget of its own, which nothing resets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::handoff::BY_ITSELF;
use crate::event::Resumed;
use crate::time::{Moment, Timestamp};

/// What was waited so far, and since when it waits now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waits {
    total: Duration,
    since: Option<Timestamp>,
    /// The run's active time then: what it worked since, as where it verified, was no wait.
    #[serde(default)]
    active: Duration,
    /// When the provider takes more again.
    until: Option<Timestamp>,
}

impl Waits {
    pub(crate) fn begin(&mut self, now: Moment, until: Option<Timestamp>) {
        self.since = Some(now.at);
        self.active = now.active;
        self.until = until;
    }

    /// The next iteration starts, or the run halts.
    ///
    /// A time that has passed, or is told too early, is no reason for haste, so that a run backs off
    /// all the same, and that is a wait too. What passes after both is none: somebody paused the run,
    /// or its supervisor was gone.
    pub(crate) fn end(&mut self, now: Moment) {
        if let Some(since) = self.since.take() {
            let worked = now.active.saturating_sub(self.active);
            let backed_off = since.plus(worked).plus(LONGEST_BACK_OFF);
            let until = self.until.take().map_or(backed_off, |until| until.max(backed_off));
            let waited = now.at.min(until).since(since).saturating_sub(worked);
            self.total = self.total.saturating_add(waited);
        }
    }

    /// The run halts, for a limit of its provider or not. Should it go on by itself, it waits for that
    /// limit until then.
    pub(crate) fn halted(&mut self, now: Moment, limited: Option<Option<Timestamp>>) {
        self.end(now);
        if let Some(until) = limited {
            self.begin(now, until);
        }
    }

    /// A halted run goes on. What passed until a person saw to it was nobody's wait.
    pub(crate) fn resumed(&mut self, resumed: &Resumed, now: Moment) {
        match resumed.by.as_deref() {
            Some(BY_ITSELF) => self.end(now),
            _ => (self.since, self.until) = (None, None),
        }
    }

    pub(crate) fn total(&self) -> Duration {
        self.total
    }
}

/// A run that backs off does so for no longer at a time.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, active: u64) -> Moment {
        let at = Timestamp::from_nanos(0).plus(Duration::from_secs(seconds));
        Moment { at, active: Duration::from_secs(active) }
    }

    #[test]
    fn waits_add_up_and_end_when_the_provider_takes_more() {
        let mut waits = Waits::default();
        let mut wait = |from: Moment, until: Option<u64>, to: Moment| {
            let before = waits.total();
            waits.begin(from, until.map(|until| at(until, 0).at));
            waits.end(to);
            waits.end(at(1_000_000, 0));
            (waits.total() - before).as_secs()
        };
        assert_eq!(wait(at(0, 0), Some(100), at(101, 0)), 100);
        assert_eq!(wait(at(200, 0), None, at(230, 0)), 30);
        assert_eq!(wait(at(1000, 0), Some(1100), at(10_000, 0)), 100, "it was paused after that");
        assert_eq!(wait(at(20_000, 0), None, at(90_000, 0)), 60, "its supervisor was gone");
    }

    #[test]
    fn a_back_off_is_a_wait_whatever_time_was_told() {
        for (until, expected) in [(0, 9), (999, 9), (1001, 9), (1009, 9), (1020, 9)] {
            let mut waits = Waits::default();
            waits.begin(at(1000, 50), Some(at(until, 0).at));
            waits.end(at(1009, 50));
            assert_eq!(waits.total().as_secs(), expected, "{until}");
        }
    }

    #[test]
    fn what_is_worked_before_the_wait_is_none_of_it() {
        let mut waits = Waits::default();
        waits.begin(at(1000, 50), Some(at(1001, 0).at));
        waits.end(at(1204, 250));
        assert_eq!(waits.total().as_secs(), 4, "two hundred seconds went into the verification");
    }

    #[test]
    fn a_halted_run_waits_only_if_it_goes_on_by_itself() {
        let waited = |by: &str, limited: bool, to: u64| {
            let mut waits = Waits::default();
            waits.begin(at(0, 0), Some(at(100, 0).at));
            waits.halted(at(10, 0), limited.then(|| Some(at(100, 0).at)));
            waits.resumed(&Resumed { by: Some(by.to_owned()), note: None }, at(to, 0));
            waits.end(at(to + 5, 0));
            waits.total().as_secs()
        };
        assert_eq!(waited(BY_ITSELF, true, 90), 90);
        assert_eq!(waited(BY_ITSELF, false, 90), 10, "it halted for something else");
        assert_eq!(waited("ann", true, 90), 10, "nothing waited until she came");
    }
}
