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
    /// It was a check's, which has passed since.
    pub is_outdated: bool,
}

/// A failure of a check. Nobody numbers its attempts: each failure of it in a suite is the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFailure {
    pub pull_request: PullRequest,
    pub check: String,
    /// What a workflow run is to a job.
    pub suite: u64,
    /// Together with its end it is this failure and no other, however often it is told.
    pub check_run: u64,
    pub ended_at: Timestamp,
    pub hash: String,
    pub class: Option<String>,
    pub at: Timestamp,
}

/// A check has passed, whatever pull requests it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPass {
    /// In lower case, like those of pull requests.
    pub(crate) owner: String,
    pub(crate) repo: String,
    pub(crate) check: String,
    pub(crate) suite: u64,
    pub(crate) ended_at: Timestamp,
}

impl CheckPass {
    pub fn new(owner: &str, repo: &str, check: String, suite: u64, ended_at: Timestamp) -> Self {
        Self { owner: owner.to_lowercase(), repo: repo.to_lowercase(), check, suite, ended_at }
    }
}
