//! Nothing runs on and on while the journal can't be written: what it used would count for nothing.

use std::time::Duration;

use super::Dispatcher;
use crate::dispatcher::RunError;

/// How far the journal is behind the iterations.
#[derive(Debug, Default)]
pub(crate) struct KeepingUp {
    /// How long the last iteration took; none before the first, which may take any time.
    last_took: Option<Duration>,
    /// The start of one, and when it was handed over: what came before it may not be looked at yet.
    noted: Option<(u64, Duration)>,
}

impl KeepingUp {
    pub(super) fn took(&mut self, duration: Duration) {
        self.last_took = Some(duration);
    }

    /// What has to be on disk before the iteration begins whose start is handed over now. Where
    /// iterations are so short that waiting for it would take longer than they do, what was handed
    /// over a moment ago need not be there yet.
    fn awaited(&mut self, start: u64, now: Duration) -> Option<u64> {
        if self.last_took.is_none_or(|took| took >= WORTH_WAITING) {
            self.noted = Some((start, now));
            return Some(start);
        }
        match self.noted {
            Some((_, at)) if now.saturating_sub(at) < MOST_BEHIND => None,
            noted => {
                self.noted = Some((start, now));
                noted.map(|(earlier, _)| earlier)
            }
        }
    }
}

impl Dispatcher {
    /// Waits until the start of an iteration is on disk, or so much of what came before it as must
    /// be.
    pub(super) async fn start_on_record(&mut self, seq: u64) -> Result<(), RunError> {
        let now = self.timers.active();
        match self.keeping_up.awaited(seq, now) {
            Some(awaited) => self.durable(awaited).await,
            None => Ok(()),
        }
    }
}

/// A commit takes a few milliseconds.
const WORTH_WAITING: Duration = Duration::from_millis(100);
/// The journal writes what it has after 50 ms at most.
const MOST_BEHIND: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    /// How many iterations begin, each so long, of whose starts a store has written so many before
    /// it was blocked.
    fn begun(written: u64, each: Duration) -> u64 {
        let (mut keeping_up, mut now) = (KeepingUp::default(), Duration::ZERO);
        for start in 1..1_000 {
            if keeping_up.awaited(start, now).is_some_and(|awaited| awaited > written) {
                return start - 1;
            }
            now += each;
            keeping_up.took(each);
        }
        panic!("they go on for ever");
    }

    #[test]
    fn the_first_iteration_waits_for_its_start() {
        assert_eq!(begun(0, Duration::from_millis(1)), 0);
        assert_eq!(begun(0, Duration::from_secs(1)), 0);
    }

    #[test]
    fn long_iterations_wait_for_their_own_starts() {
        assert_eq!(begun(3, Duration::from_millis(100)), 3);
        assert_eq!(begun(3, Duration::from_secs(3600)), 3);
    }

    /// What was noted last is waited for once it is old enough, so they are ahead by twice that at
    /// most.
    #[test]
    fn short_iterations_are_ahead_by_a_moment() {
        for (written, milliseconds) in [(1, 1), (1, 10), (7, 10), (500, 1), (20, 90)] {
            let begun = begun(written, Duration::from_millis(milliseconds));
            let ahead = (begun - written) * milliseconds;
            assert!(
                begun > written && ahead <= 400 + milliseconds,
                "{begun} begun, {written} written"
            );
        }
    }

    #[test]
    fn no_iteration_waits_where_all_is_written() {
        let mut keeping_up = KeepingUp::default();
        for start in 1..1_000 {
            let now = Duration::from_millis(start * 10);
            // A commit is there long before it is asked for.
            let awaited = keeping_up.awaited(start, now);
            assert!(awaited.is_none_or(|awaited| start == 1 || awaited + 20 <= start), "{start}");
            keeping_up.took(Duration::from_millis(10));
        }
    }
}
