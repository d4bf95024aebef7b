//! The calls of GitHub's API that are used, with the fields that are read.

use backstop_core::failure_class::LONGEST_TAIL;
use backstop_core::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::client::{Client, ClientError, Method};
use crate::rerun::Repository;

/// A run of a workflow, in its latest attempt.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default = "first")]
    pub run_attempt: u64,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub conclusion: Option<String>,
    #[serde(default)]
    pub head_sha: Option<String>,
    #[serde(default)]
    pub run_started_at: Option<Timestamp>,
    #[serde(default)]
    pub pull_requests: Vec<PullRequestRef>,
}

/// A job of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    pub id: u64,
    pub run_id: u64,
    #[serde(default = "first")]
    pub run_attempt: u64,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub workflow_name: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub conclusion: Option<String>,
    #[serde(default)]
    pub steps: Option<Vec<Step>>,
    #[serde(default)]
    pub head_sha: Option<String>,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

impl Job {
    pub fn name(&self) -> &str {
        self.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("unnamed")
    }

    /// The same for all runs of one workflow, and another one for a job of the same name elsewhere.
    pub fn identity(&self) -> String {
        match self.workflow_name.as_deref().filter(|name| !name.is_empty()) {
            Some(workflow) => format!("{workflow} / {}", self.name()),
            None => self.name().to_owned(),
        }
    }

    pub fn has_failed(&self) -> bool {
        is_failure(self.conclusion.as_deref())
    }

    pub fn is_completed(&self) -> bool {
        self.status.as_deref() == Some("completed")
    }

    /// The name of the first step that failed.
    pub fn failed_step(&self) -> Option<&str> {
        let mut steps = self.steps.iter().flatten();
        steps
            .find(|step| is_failure(step.conclusion.as_deref()))
            .and_then(|step| step.name.as_deref())
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub conclusion: Option<String>,
}

/// A pull request that a run or check belongs to.
#[derive(Clone, Debug, Deserialize)]
pub struct PullRequestRef {
    pub number: u64,
    #[serde(default)]
    pub base: Option<Base>,
    #[serde(default)]
    pub state: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Base {
    #[serde(default)]
    pub repo: Option<Id>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Id {
    pub id: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct PullRequestInfo {
    head: Head,
}

#[derive(Clone, Debug, Deserialize)]
struct Head {
    sha: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) body: Option<String>,
}

const fn first() -> u64 {
    1
}

/// What a re-run is for; what was cancelled or skipped was meant to be.
pub(super) fn is_failure(conclusion: Option<&str>) -> bool {
    matches!(conclusion, Some("failure" | "timed_out" | "startup_failure"))
}

/// Whether a check that ended so keeps nobody from merging.
pub(super) fn is_pass(conclusion: Option<&str>) -> bool {
    matches!(conclusion, Some("success" | "neutral" | "skipped"))
}

impl Client {
    pub(super) fn run(&self, of: &Repository, run: u64) -> Result<WorkflowRun, ClientError> {
        self.get(&format!("/repos/{of}/actions/runs/{run}"))
    }

    /// The runs for a commit, the newest first.
    pub(super) fn runs_of_commit(
        &self,
        of: &Repository,
        sha: &str,
    ) -> Result<Vec<WorkflowRun>, ClientError> {
        #[derive(Deserialize)]
        struct Page {
            workflow_runs: Vec<WorkflowRun>,
        }
        let path = format!("/repos/{of}/actions/runs?head_sha={}", hexadecimal(sha));
        self.all_pages(&path, |page: Page| page.workflow_runs)
    }

    /// The jobs of the latest attempt of a run.
    pub(super) fn jobs(&self, of: &Repository, run: u64) -> Result<Vec<Job>, ClientError> {
        #[derive(Deserialize)]
        struct Page {
            jobs: Vec<Job>,
        }
        let path = format!("/repos/{of}/actions/runs/{run}/jobs?filter=latest");
        self.all_pages(&path, |page: Page| page.jobs)
    }

    /// The last part of a job's log.
    pub(super) fn log_tail(&self, of: &Repository, job: u64) -> Result<String, ClientError> {
        self.tail(&format!("/repos/{of}/actions/jobs/{job}/logs"), LONGEST_TAIL)
    }

    /// The commit at the head of a pull request.
    pub(super) fn head_of(&self, of: &Repository, number: u64) -> Result<String, ClientError> {
        self.get(&format!("/repos/{of}/pulls/{number}")).map(|info: PullRequestInfo| info.head.sha)
    }

    pub(super) fn pull_requests_of_commit(
        &self,
        of: &Repository,
        sha: &str,
    ) -> Result<Vec<PullRequestRef>, ClientError> {
        self.get(&format!("/repos/{of}/commits/{}/pulls?per_page=100", hexadecimal(sha)))
    }

    pub(super) fn rerun_failed_jobs(&self, of: &Repository, run: u64) -> Result<(), ClientError> {
        self.rerun(&format!("/repos/{of}/actions/runs/{run}/rerun-failed-jobs"))
    }

    pub(super) fn rerun_all_jobs(&self, of: &Repository, run: u64) -> Result<(), ClientError> {
        self.rerun(&format!("/repos/{of}/actions/runs/{run}/rerun"))
    }

    pub(super) fn rerun_job(&self, of: &Repository, job: u64) -> Result<(), ClientError> {
        self.rerun(&format!("/repos/{of}/actions/jobs/{job}/rerun"))
    }

    fn rerun(&self, path: &str) -> Result<(), ClientError> {
        self.order(Method::Post, path, &json!({ "enable_debug_logging": false }))
    }

    /// The comments on a pull request, the oldest first.
    pub(super) fn comments(
        &self,
        of: &Repository,
        number: u64,
    ) -> Result<Vec<Comment>, ClientError> {
        let path = format!("/repos/{of}/issues/{number}/comments?sort=created");
        self.all_pages(&path, |page: Vec<Comment>| page)
    }

    pub(super) fn comment(
        &self,
        of: &Repository,
        number: u64,
        body: &str,
    ) -> Result<(), ClientError> {
        let path = format!("/repos/{of}/issues/{number}/comments");
        self.order(Method::Post, &path, &json!({ "body": body }))
    }

    pub(super) fn change_comment(
        &self,
        of: &Repository,
        id: u64,
        body: &str,
    ) -> Result<(), ClientError> {
        let path = format!("/repos/{of}/issues/comments/{id}");
        self.order(Method::Patch, &path, &json!({ "body": body }))
    }

    /// Asks for page after page until one is not full. The path has a question mark in it.
    fn all_pages<P: DeserializeOwned, T>(
        &self,
        path: &str,
        items: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, ClientError> {
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let found = items(self.get(&format!("{path}&per_page={PAGE}&page={page}"))?);
            let is_last = found.len() < PAGE;
            all.extend(found);
            if is_last {
                return Ok(all);
            }
        }
        let why = format!("there are more than {} entries", MOST_PAGES * PAGE);
        Err(ClientError::Unreadable { what: format!("GET {path}"), why })
    }
}

/// The name of a commit, and nothing that means anything else in an address.
fn hexadecimal(sha: &str) -> String {
    sha.chars().filter(char::is_ascii_hexdigit).take(64).collect()
}

const PAGE: usize = 100;
const MOST_PAGES: usize = 20;
