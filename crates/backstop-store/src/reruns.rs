//! What is remembered of pull requests whose failed jobs are run again.

use backstop_core::time::Timestamp;
use serde::Serialize;

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PullRequest {
    /// In lower case, as the names of repositories are the same in any case.
    pub owner: String,
    pub repo: String,
    pub number: u64,
}

impl PullRequest {
    pub fn new(owner: &str, repo: &str, number: u64) -> Self {
        Self { owner: owner.to_lowercase(), repo: repo.to_lowercase(), number }
    }
}

/// What became of the wish to work on a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is for whoever asked.
    Taken,
    /// Somebody works on it, or did a moment ago.
    UnderWay,
    /// It was worked on.
    Done,
}

/// How long after it was taken a delivery is left to its service, whether or not that is heard of.
pub(crate) const LEFT_ALONE: std::time::Duration = std::time::Duration::from_secs(15);

/// What one failed attempt of a job looked like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureSignal {
    pub pull_request: PullRequest,
    pub job: String,
    /// The workflow run and its attempt. The same job, run and attempt again changes nothing.
    pub workflow_run_id: u64,
    pub attempt: u64,
    pub hash: String,
    pub class: Option<String>,
    pub at: Timestamp,
}
