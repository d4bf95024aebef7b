//! The run's two clocks: wall time, and active time, which stands still while the run waits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::{Moment, Timestamp};

/// What the run waits for, if it waits. Active time stands still for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Release = 1,
    Answer = 2,
    Unpause = 4,
    Resume = 8,
    RateLimit = 16,
    Continuation = 32,
}

/// Where both clocks stood at the last event. Neither ever goes back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Clock {
    start: Option<Timestamp>,
    last: Timestamp,
    active: Duration,
    waits: u8,
}

impl Clock {
    /// A clock of which only the active time is known.
    pub(super) fn at_active(active: Duration) -> Self {
        Self { active, ..Self::default() }
    }

    /// Moves both clocks to an event and answers with its moment.
    ///
    /// Where the event carries no active time, the wall time since the one before stands in,
    /// less what is known to have been slept or waited.
    pub(super) fn advance(
        &mut self,
        at: Timestamp,
        active_ms: Option<u64>,
        suspended: Duration,
    ) -> Moment {
        if self.start.is_none() {
            self.start = Some(at.minus(self.active));
            self.last = at;
        }
        let estimated = self.moment(at).active.saturating_sub(suspended);
        self.last = self.last.max(at);
        self.active = active_ms.map_or(estimated, Duration::from_millis).max(self.active);
        Moment { at: self.last, active: self.active }
    }

    /// Both clocks at a time after the last event, as far as is known.
    pub(super) fn moment(&self, now: Timestamp) -> Moment {
        if self.start.is_none() {
            return Moment { at: now, active: self.active };
        }
        let at = now.max(self.last);
        let elapsed = if self.waits == 0 { at.since(self.last) } else { Duration::ZERO };
        Moment { at, active: self.active.saturating_add(elapsed) }
    }

    pub(super) fn wait(&mut self, reason: Wait) {
        self.waits |= reason as u8;
    }

    pub(super) fn done_waiting(&mut self, reason: Wait) {
        self.waits &= !(reason as u8);
    }

    /// The run goes on, whatever it was that it waited for.
    pub(super) fn goes_on(&mut self) {
        self.waits = 0;
    }

    /// When the run began; before any event it is as old as its active time.
    pub(super) fn start(&self, now: Moment) -> Timestamp {
        self.start.unwrap_or_else(|| now.at.minus(now.active))
    }

    pub(super) fn active(&self) -> Duration {
        self.active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn second(n: i64) -> Timestamp {
        Timestamp::from_nanos(1_700_000_000_000_000_000 + n * 1_000_000_000)
    }

    #[test]
    fn wall_time_stands_in_for_active_time() {
        let mut clock = Clock::default();
        clock.advance(second(0), None, Duration::ZERO);
        assert_eq!(clock.advance(second(9), None, Duration::ZERO).active, 9 * SECOND);
        assert_eq!(clock.moment(second(12)).active, 12 * SECOND);
    }

    #[test]
    fn active_time_that_is_told_counts_and_goes_on_from_there() {
        let mut clock = Clock::default();
        clock.advance(second(0), Some(0), Duration::ZERO);
        assert_eq!(clock.advance(second(100), Some(3_000), Duration::ZERO).active, 3 * SECOND);
        assert_eq!(clock.advance(second(102), None, Duration::ZERO).active, 5 * SECOND);
    }

    #[test]
    fn neither_clock_goes_back() {
        let mut clock = Clock::default();
        clock.advance(second(10), Some(10_000), Duration::ZERO);
        let moment = clock.advance(second(3), Some(1_000), Duration::ZERO);
        assert_eq!(moment, Moment { at: second(10), active: 10 * SECOND });
        assert_eq!(clock.moment(second(0)), moment);
    }

    #[test]
    fn sleep_and_waits_do_not_count() {
        let mut clock = Clock::default();
        clock.advance(second(0), None, Duration::ZERO);
        assert_eq!(clock.advance(second(60), None, 50 * SECOND).active, 10 * SECOND);
        clock.wait(Wait::Answer);
        assert_eq!(clock.moment(second(90)).active, 10 * SECOND);
        clock.advance(second(90), None, Duration::ZERO);
        clock.done_waiting(Wait::Answer);
        assert_eq!(clock.moment(second(91)).active, 11 * SECOND);
    }
}
