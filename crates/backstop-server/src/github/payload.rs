//! What a delivery says.

use backstop_core::time::Timestamp;
use backstop_store::CheckPass;
use serde::Deserialize;

use super::api::{Id, Job, PullRequestRef, WorkflowRun, is_failure, is_pass};
use crate::rerun::Repository;

/// What a delivery tells of.
#[derive(Debug)]
pub(super) enum Completion {
    Failed(Told),
    Passed(CheckPass),
}

/// A failed completion.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) repository: Repository,
    /// The pull requests that the delivery names, of this repository.
    pub(super) pull_requests: Vec<u64>,
    pub(super) head_sha: Option<String>,
    pub(super) what: Failure,
}

#[derive(Clone, Debug)]
pub(super) enum Failure {
    Run(Box<WorkflowRun>),
    Job(Box<Job>),
    /// A check of another app than GitHub's own, whose suite is what a run is elsewhere.
    Check(Check),
    Suite {
        id: u64,
    },
}

/// A failed check of another app.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) id: u64,
    pub(super) suite: u64,
    pub(super) name: String,
    pub(super) output: String,
    pub(super) ended_at: Option<Timestamp>,
}

/// Reads a delivery; `Err` says why it is none of our business.
///
/// The outer error is for a body that is not what GitHub sends.
pub(super) fn read(event: &str, body: &[u8]) -> Result<Result<Completion, String>, String> {
    if !matches!(event, "workflow_run" | "workflow_job" | "check_run" | "check_suite") {
        return Ok(Err(format!("`{event}` is not about jobs")));
    }
    let delivery: Delivery = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let named = delivery.repository.ok_or("it names no repository")?;
    let repository =
        named.full_name.split_once('/').and_then(|(owner, name)| Repository::new(owner, name));
    let repository = repository.ok_or("it names no repository that can be one")?;
    if delivery.action.as_deref() != Some("completed") {
        let action = delivery.action.unwrap_or_default();
        return Ok(Err(format!(
            "`{event}` is only of interest when completed, and was `{action}`"
        )));
    }
    let own = |list: Vec<PullRequestRef>| numbers_of(list, named.id);
    let not_failed = |conclusion: Option<&str>| {
        format!("it has not failed: {}", conclusion.unwrap_or("no conclusion"))
    };
    let missing = || format!("`{event}` without its `{event}`");
    let actions = |app: &Option<App>| {
        app.as_ref().and_then(|app| app.slug.as_deref()) == Some("github-actions")
    };
    let of = repository.clone();
    let told = |pull_requests, head_sha, what| {
        Ok(Ok(Completion::Failed(Told { repository, pull_requests, head_sha, what })))
    };
    match event {
        "workflow_run" => {
            let mut run = delivery.workflow_run.ok_or_else(missing)?;
            if !is_failure(run.conclusion.as_deref()) {
                return Ok(Err(not_failed(run.conclusion.as_deref())));
            }
            let pull_requests = own(std::mem::take(&mut run.pull_requests));
            told(pull_requests, run.head_sha.clone(), Failure::Run(Box::new(run)))
        }
        "workflow_job" => {
            let job = delivery.workflow_job.ok_or_else(missing)?;
            if !job.has_failed() {
                return Ok(Err(not_failed(job.conclusion.as_deref())));
            }
            told(Vec::new(), job.head_sha.clone(), Failure::Job(Box::new(job)))
        }
        "check_run" => {
            let check = delivery.check_run.ok_or_else(missing)?;
            if actions(&check.app) {
                return Ok(
                    Err("a check of GitHub Actions is told of by `workflow_job`".to_owned()),
                );
            }
            let name = check.name.filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| "unnamed".to_owned());
            // A check that is in no suite stands for itself.
            let suite = check.check_suite.map_or(check.id, |suite| suite.id);
            let conclusion = check.conclusion.as_deref();
            if let Some(ended_at) = check.completed_at.filter(|_| is_pass(conclusion)) {
                let passed = CheckPass::new(&of.owner, &of.name, name, suite, ended_at);
                return Ok(Ok(Completion::Passed(passed)));
            }
            if !is_failure(conclusion) {
                return Ok(Err(not_failed(conclusion)));
            }
            let output = check.output.unwrap_or_default();
            let output = [output.title, output.summary, output.text];
            let what = Failure::Check(Check {
                id: check.id,
                suite,
                name,
                output: output.into_iter().flatten().collect::<Vec<_>>().join("\n"),
                ended_at: check.completed_at,
            });
            told(own(check.pull_requests), check.head_sha, what)
        }
        _ => {
            let suite = delivery.check_suite.ok_or_else(missing)?;
            if !is_failure(suite.conclusion.as_deref()) {
                return Ok(Err(not_failed(suite.conclusion.as_deref())));
            }
            if actions(&suite.app) {
                return Ok(
                    Err("a suite of GitHub Actions is told of by `workflow_run`".to_owned()),
                );
            }
            told(own(suite.pull_requests), suite.head_sha, Failure::Suite { id: suite.id })
        }
    }
}

/// The pull requests of this repository; those of its forks are listed too.
pub(super) fn numbers_of(list: Vec<PullRequestRef>, repository: Option<u64>) -> Vec<u64> {
    let is_own = |one: &PullRequestRef| {
        let base = one.base.as_ref().and_then(|base| base.repo).map(|Id { id }| id);
        (base.is_none() || repository.is_none() || base == repository)
            && one.state.as_deref().is_none_or(|state| state == "open")
    };
    list.into_iter().filter(is_own).map(|one| one.number).filter(|number| *number > 0).collect()
}

/// All but ids may be missing: what GitHub sends has grown, and grows.
#[derive(Deserialize)]
struct Delivery {
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    repository: Option<Named>,
    #[serde(default)]
    workflow_run: Option<WorkflowRun>,
    #[serde(default)]
    workflow_job: Option<Job>,
    #[serde(default)]
    check_run: Option<CheckRun>,
    #[serde(default)]
    check_suite: Option<CheckSuite>,
}

#[derive(Deserialize)]
struct Named {
    full_name: String,
    #[serde(default)]
    id: Option<u64>,
}

#[derive(Deserialize)]
struct CheckRun {
    id: u64,
    #[serde(default)]
    completed_at: Option<Timestamp>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    head_sha: Option<String>,
    #[serde(default)]
    output: Option<Output>,
    #[serde(default)]
    check_suite: Option<Id>,
    #[serde(default)]
    app: Option<App>,
    #[serde(default)]
    pull_requests: Vec<PullRequestRef>,
}

#[derive(Deserialize)]
struct CheckSuite {
    id: u64,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    head_sha: Option<String>,
    #[serde(default)]
    app: Option<App>,
    #[serde(default)]
    pull_requests: Vec<PullRequestRef>,
}

#[derive(Deserialize)]
struct App {
    #[serde(default)]
    slug: Option<String>,
}

#[derive(Default, Deserialize)]
struct Output {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    text: Option<String>,
}
