//! The only place that reads the clocks: wall time as a label, awake time for durations.

use std::time::{Duration, Instant};

use backstop_core::time::{Moment, Timestamp};

/// The run's two clocks. Active time can be halted; it stands still while the machine sleeps.
#[derive(Debug)]
pub struct Clock {
    /// Active time up to `since`.
    gathered: Duration,
    /// When active time began to run; none while it stands still.
    since: Option<Instant>,
}

impl Clock {
    /// Goes on after this much active time.
    pub fn resumed(gathered: Duration) -> Self {
        Self { gathered, since: Some(Instant::now()) }
    }

    pub fn now(&self) -> Moment {
        Moment { at: wall_time(), active: self.active() }
    }

    pub fn active(&self) -> Duration {
        self.gathered + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Lets active time stand still. Harmless if it does.
    pub fn pause(&mut self) {
        self.gathered = self.active();
        self.since = None;
    }

    /// Lets active time run on. Harmless if it does.
    pub fn run_on(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    pub fn is_running(&self) -> bool {
        self.since.is_some()
    }
}

/// The wall clock.
pub fn wall_time() -> Timestamp {
    Timestamp::from_jiff(jiff::Timestamp::now())
}

/// How long the machine has slept since it was started.
pub fn time_asleep() -> Duration {
    asleep::total()
}

#[cfg(target_os = "linux")]
mod asleep {
    use std::time::Duration;

    use rustix::time::{ClockId, Timespec, clock_gettime};

    /// One clock stands still in sleep, the other does not.
    pub fn total() -> Duration {
        let boot = duration(clock_gettime(ClockId::Boottime));
        boot.saturating_sub(duration(clock_gettime(ClockId::Monotonic)))
    }

    fn duration(time: Timespec) -> Duration {
        Duration::try_from(time).unwrap_or_default()
    }
}

#[cfg(not(target_os = "linux"))]
mod asleep {
    pub fn total() -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_time_stands_still_while_paused() {
        let mut clock = Clock::resumed(Duration::from_secs(60));
        assert!(clock.active() >= Duration::from_secs(60));
        clock.pause();
        clock.pause();
        let paused = clock.active();
        assert_eq!(clock.active(), paused);
        assert!(!clock.is_running());
        clock.run_on();
        assert!(clock.is_running() && clock.active() >= paused);
    }
}
