//! Whether an iteration still does anything.

use std::time::Duration;

/// Watches for output and work. An iteration is idle when there was neither for a time.
#[derive(Debug)]
pub(super) struct Idle {
    timeout: Option<Duration>,
    /// When something was last done, on the timers' clock.
    busy_at: Duration,
    looked_at: Duration,
    cpu: Duration,
}

impl Idle {
    pub(super) fn new(timeout: Option<Duration>, now: Duration, cpu: Duration) -> Self {
        Self { timeout, busy_at: now, looked_at: now, cpu }
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let timeout = self.timeout?;
        Some((self.looked_at + timeout / LOOKS).min(self.busy_at + timeout).max(self.looked_at))
    }

    /// Looks: how long nothing was printed, and how much processor time the tree has used so far.
    /// Says whether the iteration has been idle for too long.
    pub(super) fn look(&mut self, now: Duration, quiet: Duration, cpu: Duration) -> bool {
        let Some(timeout) = self.timeout else { return false };
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return false;
        }
        let passed = now.saturating_sub(self.looked_at);
        let used = cpu.saturating_sub(self.cpu);
        let printed_at = now.saturating_sub(quiet);
        if used * BUSY_SHARE >= passed && !passed.is_zero() {
            self.busy_at = now;
        } else {
            self.busy_at = self.busy_at.max(printed_at);
        }
        self.looked_at = now;
        self.cpu = cpu;
        now.saturating_sub(self.busy_at) >= timeout
    }
}

/// How often to look within the time-out: each look asks the system about the whole tree.
const LOOKS: u32 = 8;
/// Less than this part of one core is no work: 1 %.
const BUSY_SHARE: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Looks whenever it is due, with output until `quiet_from` and this share of a core in use.
    fn idle_at(quiet_from: u64, percent: u32) -> Option<u64> {
        let mut idle = Idle::new(Some(seconds(80)), Duration::ZERO, Duration::ZERO);
        for now in 0..1_000 {
            let quiet = seconds(now).saturating_sub(seconds(quiet_from));
            if idle.look(seconds(now), quiet, seconds(now) * percent / 100) {
                return Some(now);
            }
        }
        None
    }

    #[test]
    fn silence_without_work_ends_at_the_time_out() {
        assert_eq!(idle_at(0, 0), Some(80));
        assert_eq!(idle_at(100, 0), Some(180));
    }

    #[test]
    fn work_without_output_is_no_idleness() {
        assert_eq!(idle_at(0, 1), None);
        assert_eq!(idle_at(0, 50), None);
    }

    #[test]
    fn without_a_time_out_nothing_is_idle() {
        let mut idle = Idle::new(None, Duration::ZERO, Duration::ZERO);
        assert_eq!(idle.deadline(), None);
        assert!(!idle.look(seconds(1_000_000), seconds(1_000_000), Duration::ZERO));
    }
}
