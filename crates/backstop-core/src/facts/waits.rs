//! How long the run has waited for limits of its provider: a budget of its own, which nothing resets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What was waited so far, and since when it waits now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waits {
    total: Duration,
    since: Option<Timestamp>,
    /// When the provider takes more again: what passes after it is no wait for it.
    until: Option<Timestamp>,
}

impl Waits {
    pub(crate) fn begin(&mut self, at: Timestamp, until: Option<Timestamp>) {
        self.since = Some(at);
        self.until = until;
    }

    /// The next iteration starts, or the run halts.
    pub(crate) fn end(&mut self, at: Timestamp) {
        if let Some(since) = self.since.take() {
            let end = self.until.take().map_or(at, |until| at.min(until));
            self.total = self.total.saturating_add(end.since(since));
        }
    }

    pub(crate) fn total(&self) -> Duration {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn waits_add_up_and_end_when_the_provider_takes_more() {
        let mut waits = Waits::default();
        waits.begin(at(0), Some(at(60)));
        waits.end(at(61));
        assert_eq!(waits.total(), Duration::from_secs(60));
        waits.begin(at(100), None);
        waits.end(at(130));
        waits.end(at(500));
        assert_eq!(waits.total(), Duration::from_secs(90));
        waits.begin(at(600), Some(at(700)));
        waits.end(at(10_000));
        assert_eq!(waits.total(), Duration::from_secs(190));
    }
}
