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
