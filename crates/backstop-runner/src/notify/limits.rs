//! How many notifications go out in an hour.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use backstop_core::policy::Occasion;

/// Counts what went out in the last hour.
#[derive(Debug)]
pub(super) struct Limits {
    most: u64,
    sent: VecDeque<Instant>,
    /// How many were left out since the last one that went out.
    left_out: u64,
}

impl Limits {
    pub(super) fn new(most: u64) -> Self {
        Self { most, sent: VecDeque::new(), left_out: 0 }
    }

    /// Another policy has another limit; what was sent stays counted.
    pub(super) fn set(&mut self, most: u64) {
        self.most = most;
    }

    /// Whether one more may go out now, and how many were left out before it. What a person waits
    /// for always goes out.
    pub(super) fn admit(&mut self, occasion: Occasion, now: Instant) -> Option<u64> {
        while self.sent.front().is_some_and(|sent| now.duration_since(*sent) >= HOUR) {
            self.sent.pop_front();
        }
        let is_awaited = matches!(occasion, Occasion::Halted | Occasion::Asked);
        if self.sent.len() as u64 >= self.most && !is_awaited {
            self.left_out += 1;
            return None;
        }
        self.sent.push_back(now);
        Some(std::mem::take(&mut self.left_out))
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_left_out_counted_and_let_through_an_hour_later() {
        let start = Instant::now();
        let at = |minutes: u64| start + Duration::from_secs(60 * minutes);
        let mut limits = Limits::new(2);
        assert_eq!(limits.admit(Occasion::Warn, at(0)), Some(0));
        assert_eq!(limits.admit(Occasion::Held, at(10)), Some(0));
        assert_eq!(limits.admit(Occasion::Warn, at(11)), None);
        assert_eq!(limits.admit(Occasion::Held, at(59)), None);
        assert_eq!(limits.admit(Occasion::Warn, at(60)), Some(2));
        assert_eq!(limits.admit(Occasion::Warn, at(61)), None);
        assert_eq!(limits.admit(Occasion::Warn, at(70)), Some(1));
    }

    #[test]
    fn halts_and_questions_go_out_whatever_the_limit_says() {
        let now = Instant::now();
        let mut limits = Limits::new(1);
        assert_eq!(limits.admit(Occasion::Warn, now), Some(0));
        assert_eq!(limits.admit(Occasion::Warn, now), None);
        assert_eq!(limits.admit(Occasion::Asked, now), Some(1));
        assert_eq!(limits.admit(Occasion::Halted, now), Some(0));
    }
}
