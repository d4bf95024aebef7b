//! What the list says of tests, reviews, workers, guards, people, patterns and probes.

use super::history::History;
use crate::event::{
    Answer, EventKind, FailureSignal, GuardKind, Review, ReviewOutcome, SignalKind, TestCounts,
    Tests, VerificationOutcome, WorkerStatus,
};
use crate::time::Timestamp;

/// "`counts` where names are unknown (then they decide)"
pub(super) fn counts(tests: &Tests) -> TestCounts {
    tests.counts.unwrap_or(TestCounts {
        passed: tests.passed.len() as u64,
        failed: tests.failed.len() as u64,
        skipped: tests.skipped.len() as u64,
    })
}

impl History<'_> {
    // --- Tests ---

    fn test_runs(&self) -> impl DoubleEndedIterator<Item = (usize, &Tests)> {
        self.events().filter_map(|(at, kind)| match kind {
            EventKind::Tests(tests) => Some((at, tests)),
            _ => None,
        })
    }

    pub(super) fn tests(&self) -> Option<&Tests> {
        self.test_runs().next_back().map(|(_, tests)| tests)
    }

    pub(super) fn test_failure_streak(&self) -> u64 {
        let from = self.counts_from("test_failure_streak", self.told.len());
        let since = self.test_runs().rev().take_while(|(at, _)| *at >= from);
        since.take_while(|(_, tests)| counts(tests).failed > 0).count() as u64
    }

    // --- Verification and reviews ---

    pub(super) fn verification(&self) -> Option<VerificationOutcome> {
        self.events().rev().find_map(|(_, kind)| match kind {
            EventKind::Verification(verification) => Some(verification.outcome),
            _ => None,
        })
    }

    fn reviews(&self) -> impl DoubleEndedIterator<Item = (usize, &Review)> {
        self.events().filter_map(|(at, kind)| match kind {
            EventKind::Review(review) => Some((at, review)),
            _ => None,
        })
    }

    pub(super) fn review(&self) -> Option<ReviewOutcome> {
        self.reviews().next_back().map(|(_, review)| review.outcome)
    }

    /// Reviews in a row that asked for the same.
    pub(super) fn same_rounds(&self) -> u64 {
        let from = self.counts_from("same_rounds", self.told.len());
        let Some((_, last)) = self.reviews().next_back() else { return 0 };
        let since = self.reviews().rev().take_while(|(at, _)| *at >= from);
        let same = since.take_while(|(_, review)| {
            review.outcome != ReviewOutcome::Approved && asks(review) == asks(last)
        });
        same.count() as u64
    }

    // --- The worker ---

    /// The status that the worker last gave, and in how many iterations in a row.
    pub(super) fn worker(&self) -> Option<(WorkerStatus, u64)> {
        let mut said: Vec<(u64, WorkerStatus)> = Vec::new();
        let mut period = 0;
        let from = self.counts_from("worker", self.told.len());
        for (_, kind) in self.events_from(from) {
            match kind {
                EventKind::Worker(worker) => said.push((period, worker.status)),
                EventKind::IterationStarted(_) => period += 1,
                EventKind::IterationFinished(end) => {
                    let silent = said.last().is_none_or(|(when, _)| *when != period);
                    if silent && end.timed_out {
                        said.push((period, WorkerStatus::TimedOut));
                    } else if silent {
                        said.clear();
                    }
                    period += 1;
                }
                _ => {}
            }
        }
        let (_, last) = *said.last()?;
        let row = said.iter().rev().take_while(|(_, status)| *status == last);
        let mut periods: Vec<u64> = row.map(|(period, _)| *period).collect();
        periods.dedup();
        Some((last, periods.len() as u64))
    }

    // --- Guards and people ---

    /// Guards that were violated since somebody last let the run go on, in order.
    pub(super) fn guards(&self) -> Vec<GuardKind> {
        let mut kinds = Vec::new();
        for (_, kind) in self.events_from(self.counts_from("guards", self.told.len())) {
            if let EventKind::Guard(guard) = kind
                && !kinds.contains(&guard.kind)
            {
                kinds.push(guard.kind);
            }
        }
        kinds
    }

    /// What was last asked for; a stop stands until it is acknowledged.
    /// Whether a person's last answer, since it counts, was to end the run.
    pub(super) fn has_aborted(&self) -> bool {
        let from = self.counts_from("signal", self.told.len());
        let mut answers = self.events_from(from).filter_map(|(_, kind)| match kind {
            EventKind::Answered(answered) => Some(answered.answer),
            _ => None,
        });
        answers.next_back() == Some(Answer::Abort)
    }

    pub(super) fn signal(&self) -> Option<SignalKind> {
        let from = self.counts_from("signal", self.told.len());
        let asked: Vec<_> = self
            .events_from(from)
            .filter_map(|(_, kind)| match kind {
                EventKind::Signal(signal) => Some(signal.kind),
                _ => None,
            })
            .collect();
        let stops = |kind: &&SignalKind| matches!(kind, SignalKind::Stop | SignalKind::Kill);
        asked.iter().rev().find(stops).or(asked.last()).copied()
    }

    // --- Patterns and probes ---

    /// Whether a pattern was found, by the condition's key or by the pattern itself.
    pub(super) fn has_matched(&self, key: &str, pattern: &str, whole_run: bool) -> bool {
        let from = if whole_run { 0 } else { self.iteration_from() };
        self.events_from(from).any(|(_, kind)| match kind {
            EventKind::Matched(matched) if matched.key.is_empty() => matched.pattern == pattern,
            EventKind::Matched(matched) => {
                without_prefix(&matched.key) == without_prefix(key)
                    || without_prefix(&matched.key) == pattern
            }
            _ => false,
        })
    }

    /// The last answer of a probe: none yet, could not tell, yes or no.
    pub(super) fn probe(&self, key: &str) -> Option<Option<bool>> {
        self.events().rev().find_map(|(_, kind)| match kind {
            EventKind::Probe(probe) if without_prefix(&probe.key) == without_prefix(key) => {
                Some(probe.met)
            }
            _ => None,
        })
    }

    // --- Failures of jobs ---

    pub(super) fn failures(&self) -> impl DoubleEndedIterator<Item = (usize, &FailureSignal)> {
        self.events().filter_map(|(at, kind)| match kind {
            EventKind::FailureSignal(signal) => Some((at, signal)),
            _ => None,
        })
    }

    pub(super) fn failure_class(&self) -> Option<&str> {
        self.failures().rev().find_map(|(_, signal)| signal.class.as_deref())
    }

    pub(super) fn first_failure_at(&self) -> Option<Timestamp> {
        self.failures().next().map(|(at, _)| self.moments[at].at)
    }

    /// How many of the latest failure signals are equal.
    pub(super) fn equal_failures(&self) -> u64 {
        let last = self.failures().next_back().map(|(_, signal)| &signal.hash);
        let equal = self.failures().rev().take_while(|(_, signal)| Some(&signal.hash) == last);
        equal.count() as u64
    }

    pub(super) fn drift(&self) -> f64 {
        self.measured_drift().unwrap_or(0.0)
    }

    pub(super) fn measured_drift(&self) -> Option<f64> {
        self.events().rev().find_map(|(_, kind)| match kind {
            EventKind::Drift(drift) => Some(drift.score),
            _ => None,
        })
    }
}

/// What a review asks for: its hash, or its requests where it has none.
fn asks(review: &Review) -> (&str, Option<String>) {
    match &review.requests {
        Some(requests) if review.hash.is_empty() => {
            ("", Some(crate::review::requests_hash(requests)))
        }
        _ => (&review.hash, None),
    }
}

fn without_prefix(key: &str) -> &str {
    key.strip_prefix("sha256:").unwrap_or(key)
}
