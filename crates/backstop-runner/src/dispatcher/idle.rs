//! Whether an iteration still does anything.

use std::time::Duration;

/// Watches for output and work. An iteration is idle when there was neither for a time.
#[derive(Debug)]
pub(super) struct Idle {
    timeout: Option<Duration>,
    /// When something was last done, on the timers' clock.
    busy_at: Duration,
    looked_at: Duration,
    /// None until the first look. Asking takes longer than a short command does, so that look
    /// comes when it has turned out not to be one.
    cpu: Option<Duration>,
}

impl Idle {
    pub(super) fn new(timeout: Option<Duration>, now: Duration) -> Self {
        Self { timeout, busy_at: now, looked_at: now, cpu: None }
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let timeout = self.timeout?;
        let pause = if self.cpu.is_some() { timeout / LOOKS } else { FIRST.min(timeout / LOOKS) };
        Some((self.looked_at + pause).min(self.busy_at + timeout).max(self.looked_at))
    }

    /// Looks: how long nothing was printed, and how much processor time the tree has used so far,
    /// which is asked for only when it is time. Says whether the iteration has been idle for too
    /// long.
    pub(super) fn look(
        &mut self,
        now: Duration,
        quiet: Duration,
        cpu: impl FnOnce() -> Duration,
    ) -> bool {
        let Some(timeout) = self.timeout else { return false };
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return false;
        }
        let cpu = cpu();
        let passed = now.saturating_sub(self.looked_at);
        let used = self.cpu.map_or(Duration::ZERO, |before| cpu.saturating_sub(before));
        let printed_at = now.saturating_sub(quiet);
        if used * BUSY_SHARE >= passed && !passed.is_zero() {
            self.busy_at = now;
        } else {
            self.busy_at = self.busy_at.max(printed_at);
        }
        self.looked_at = now;
        self.cpu = Some(cpu);
        now.saturating_sub(self.busy_at) >= timeout
    }
}

/// How often to look within the time-out: each look asks the system about the whole tree.
const LOOKS: u32 = 8;
/// The first of them only says how much processor time others have used before.
const FIRST: Duration = Duration::from_millis(100);
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
        let mut idle = Idle::new(Some(seconds(80)), Duration::ZERO);
        for now in 0..1_000 {
            let quiet = seconds(now).saturating_sub(seconds(quiet_from));
            if idle.look(seconds(now), quiet, || seconds(now) * percent / 100) {
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
        let mut idle = Idle::new(None, Duration::ZERO);
        assert_eq!(idle.deadline(), None);
        assert!(!idle.look(seconds(1_000_000), seconds(1_000_000), || Duration::ZERO));
    }
}
