//! What is asked: may the failed jobs of this pull request be run again?

use std::fmt;

use crate::access::Caller;
use backstop_core::facts::FailureFacts;
use backstop_runner::chance;
use backstop_store::{FailureSignal, PolicyScope, PullRequest, is_repository_name};
use serde::{Deserialize, Serialize};

/// A question about a pull request.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub repository: Repository,
    pub pr_number: u64,
    pub run_id: Option<u64>,
    /// The workflow runs, or the suites of checks, that it is about; none: all of the pull request.
    pub about: Vec<u64>,
    pub request_id: String,
    pub facts: FailureFacts,
    pub signals: SignalSource,
    /// Who asks, for the audit.
    pub actor: String,
}

impl Question {
    pub fn pull_request(&self) -> PullRequest {
        PullRequest::new(&self.repository.owner, &self.repository.name, self.pr_number)
    }

    /// Whether it is about a job that failed like this, which still stands so.
    pub(super) fn is_about(&self, signal: &FailureSignal) -> bool {
        let is_meant = self.about.is_empty() || self.about.contains(&signal.workflow_run_id);
        is_meant && !signal.is_outdated
    }
}

/// Where the failure signals come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalSource {
    /// They came with the question; none is an answer too.
    Given,
    /// Of the job that failed last in what the question is about; in all runs of the pull request.
    Remembered,
}

/// A repository by its owner and name, as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub owner: String,
    pub name: String,
}

impl Repository {
    /// None if one of the two can't be a name.
    pub fn new(owner: &str, name: &str) -> Option<Self> {
        (is_repository_name(owner) && is_repository_name(name))
            .then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    pub fn scope(&self) -> PolicyScope {
        PolicyScope::Repository(self.owner.to_lowercase(), self.name.to_lowercase())
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.owner, self.name)
    }
}

/// What the audit calls somebody who needed no name.
pub const NAMELESS: &str = "local";

/// What the audit calls who asks.
pub(crate) fn actor(caller: Option<&Caller>) -> String {
    caller.map_or(NAMELESS, Caller::name).to_owned()
}

/// A name for a request that came without one.
pub fn new_request_id() -> String {
    format!("req-{}", chance::run_id())
}
