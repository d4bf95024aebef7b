//! What judges of the run said: guards, verification, review, the worker itself, and people.

use serde::{Deserialize, Serialize};

use super::errors::shortened;
use crate::event::{Guard, GuardKind, Review, ReviewOutcome, Worker, WorkerStatus};
use crate::review;
use crate::time::Timestamp;

/// Guards that were violated, one entry a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Guards(pub(crate) Vec<Guard>);

impl Guards {
    pub(crate) fn apply(&mut self, guard: &Guard) {
        let position = self.0.iter().position(|known| known.kind == guard.kind);
        let known = match position {
            Some(position) => &mut self.0[position],
            None => {
                self.0.push(Guard { kind: guard.kind, files: Vec::new() });
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
        };
        for file in &guard.files {
            if known.files.len() < MOST_FILES && !known.files.contains(file) {
                known.files.push(shortened(file).to_owned());
            }
        }
    }

    pub(crate) fn violated(&self, kind: Option<GuardKind>) -> Option<&Guard> {
        self.0.iter().find(|guard| kind.is_none_or(|kind| guard.kind == kind))
    }
}

/// The last review, and how many in a row asked for the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reviews {
    pub(crate) outcome: Option<ReviewOutcome>,
    pub(crate) same_rounds: u64,
    /// What the last one asked for, as far as it fits.
    #[serde(default)]
    pub(crate) requests: Vec<String>,
    hash: String,
}

impl Reviews {
    pub(crate) fn given(outcome: Option<ReviewOutcome>, same_rounds: u64) -> Self {
        Self { outcome, same_rounds, ..Self::default() }
    }

    pub(crate) fn apply(&mut self, review: &Review) {
        let hash = match &review.requests {
            Some(requests) if review.hash.is_empty() => review::requests_hash(requests),
            _ => shortened(&review.hash).to_owned(),
        };
        self.same_rounds = match review.outcome {
            ReviewOutcome::Approved => 0,
            ReviewOutcome::ChangesRequested | ReviewOutcome::Rejected
                if self.same_rounds > 0 && self.hash == hash =>
            {
                self.same_rounds.saturating_add(1)
            }
            ReviewOutcome::ChangesRequested | ReviewOutcome::Rejected => 1,
        };
        self.hash = hash;
        self.outcome = Some(review.outcome);
        let asked_for = review.requests.iter().flatten().take(MOST_REQUESTS);
        self.requests = match review.outcome {
            ReviewOutcome::Approved => Vec::new(),
            ReviewOutcome::ChangesRequested | ReviewOutcome::Rejected => {
                asked_for.map(|request| shortened(request).to_owned()).collect()
            }
        };
    }
}

/// How the last iteration's worker ended, where it could not go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerState {
    pub(crate) status: Option<WorkerStatus>,
    pub(crate) detail: Option<String>,
    pub(crate) retry_at: Option<Timestamp>,
    /// Iterations in a row that ended with this status.
    pub(crate) in_a_row: u64,
    /// Said since the last iteration ended, so it belongs to the one that runs or has just ended.
    fresh: bool,
}

impl WorkerState {
    pub(crate) fn given(status: WorkerStatus) -> Self {
        Self { status: Some(status), in_a_row: 1, ..Self::default() }
    }

    pub(crate) fn apply(&mut self, worker: &Worker) {
        let again = self.status == Some(worker.status);
        if !(again && self.fresh) {
            self.in_a_row = if again { self.in_a_row.saturating_add(1) } else { 1 };
        }
        self.status = Some(worker.status);
        self.detail = worker.detail.as_deref().map(shortened).map(str::to_owned);
        self.retry_at = worker.retry_at;
        self.fresh = true;
    }

    pub(crate) fn iteration_started(&mut self) {
        self.fresh = false;
    }

    pub(crate) fn iteration_finished(&mut self, timed_out: bool) {
        if timed_out && !self.fresh {
            self.apply(&Worker { status: WorkerStatus::TimedOut, detail: None, retry_at: None });
        }
        if !self.fresh {
            *self = Self::default();
        }
        self.fresh = false;
    }

    /// The current or just-ended iteration met a rate limit.
    pub(crate) fn is_rate_limited(&self) -> bool {
        self.fresh && self.status == Some(WorkerStatus::RateLimited)
    }
}

const MOST_FILES: usize = 100;
const MOST_REQUESTS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn says(status: WorkerStatus) -> Worker {
        Worker { status, detail: None, retry_at: None }
    }

    #[test]
    fn a_guard_names_each_file_once() {
        let mut guards = Guards::default();
        for files in [["a", "b"], ["b", "c"]] {
            let files = files.map(str::to_owned).to_vec();
            guards.apply(&Guard { kind: GuardKind::Scope, files });
        }
        assert_eq!(guards.violated(None).unwrap().files, ["a", "b", "c"]);
        assert_eq!(guards.violated(Some(GuardKind::Dirty)), None);
    }

    #[test]
    fn the_same_requests_again_are_counted() {
        let mut reviews = Reviews::default();
        let asks = |text: &str| Review {
            outcome: ReviewOutcome::ChangesRequested,
            hash: String::new(),
            requests: Some(vec![text.into()]),
        };
        reviews.apply(&asks("rename it"));
        reviews.apply(&asks("rename it"));
        assert_eq!(reviews.same_rounds, 2);
        reviews.apply(&asks("test it"));
        assert_eq!(reviews.same_rounds, 1);
        reviews.apply(&Review {
            outcome: ReviewOutcome::Approved,
            hash: String::new(),
            requests: None,
        });
        assert_eq!(reviews.same_rounds, 0);
    }

    #[test]
    fn a_status_belongs_to_the_iteration_that_ended_with_it() {
        let mut worker = WorkerState::default();
        worker.iteration_started();
        worker.apply(&says(WorkerStatus::Blocked));
        worker.iteration_finished(false);
        assert_eq!(worker.status, Some(WorkerStatus::Blocked));
        worker.iteration_started();
        worker.iteration_finished(false);
        assert_eq!(worker.status, None);
    }

    #[test]
    fn time_outs_in_a_row_are_counted_once_each() {
        let mut worker = WorkerState::default();
        for expected in 1..=3 {
            worker.iteration_started();
            worker.apply(&says(WorkerStatus::TimedOut));
            worker.iteration_finished(true);
            assert_eq!(worker.in_a_row, expected);
        }
        worker.iteration_started();
        worker.iteration_finished(true);
        assert_eq!(worker.in_a_row, 4);
        worker.iteration_started();
        worker.iteration_finished(false);
        assert_eq!(worker.in_a_row, 0);
    }
}
