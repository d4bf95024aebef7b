//! The guarded re-run: runs failed jobs of a pull request again, if the decision allows it.

use std::pin::pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use backstop_core::rerun::Answer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::acting::{ActingError, MOST_ATTEMPTS, once};
use super::api::{Job, WorkflowRun};
use super::client::{Client, ClientError};
use super::failures::{Case, asked, looked_at, remember};
use tokio::sync::oneshot::error::RecvError;

use crate::access::Caller;
use crate::body;
use crate::deadline::silent_store;
use crate::headers::REQUEST_ID;
use crate::problem::Problem;
use crate::rerun::{self, NO_STORE, Repository, actor, new_request_id};
use crate::service::Service;
use crate::words;

/// What is to be run again.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RerunRequest {
    pub owner: String,
    pub repo: String,
    #[serde(deserialize_with = "words::whole")]
    pub pr_number: u64,
    /// Left out: every run for the commit at the head of the pull request.
    #[serde(default, deserialize_with = "words::whole_or_null")]
    pub run_id: Option<u64>,
    pub mode: Mode,
    /// How often a job may be run again; left out, twice.
    #[serde(default = "two", deserialize_with = "two_if_null")]
    pub max_attempts: u64,
    #[serde(default)]
    pub request_id: Option<String>,
}

const fn two() -> u64 {
    2
}

/// `null` is the same as nothing.
fn two_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(words::whole_or_null(deserializer)?.unwrap_or_else(two))
}

/// Which jobs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Mode {
    FailedOnly,
    AllJobs,
}

/// What became of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    RerunTriggered,
    Noop,
    Blocked,
}

/// What was done with a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobOutcome {
    pub job_name: String,
    pub prior_conclusion: Option<String>,
    /// `RERUN`, `SKIP` or `BLOCKED`.
    pub action: &'static str,
    pub attempt_number: u64,
    pub reason_code: Option<&'static str>,
}

/// The decision, what became of it, and of each job.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedAnswer {
    pub answer: Answer,
    pub outcome: Outcome,
    /// By name.
    pub jobs: Vec<JobOutcome>,
}

impl GuardedAnswer {
    /// What allows nothing, and knows of no jobs.
    fn blocked(answer: Answer) -> Self {
        Self { answer, outcome: Outcome::Blocked, jobs: Vec::new() }
    }
}

/// The decision's own fields, with `decision` for what became of it and `stopDecision` for what
/// was decided.
impl Serialize for GuardedAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let mut whole = serde_json::to_value(&self.answer).map_err(S::Error::custom)?;
        whole["stopDecision"] = self.answer.decision.into();
        whole["decision"] = serde_json::to_value(self.outcome).map_err(S::Error::custom)?;
        whole["jobs"] = serde_json::to_value(&self.jobs).map_err(S::Error::custom)?;
        let count = |action: &str| self.jobs.iter().filter(|job| job.action == action).count();
        let metadata = &mut whole["metadata"];
        metadata["totalJobs"] = self.jobs.len().into();
        metadata["rerunJobs"] = count(RERUN).into();
        metadata["blockedJobs"] = count(BLOCKED).into();
        metadata["skippedJobs"] = count(SKIP).into();
        whole.serialize(serializer)
    }
}

const RERUN: &str = "RERUN";
const SKIP: &str = "SKIP";
const BLOCKED: &str = "BLOCKED";

/// Why nothing could be decided.
#[derive(Debug, thiserror::Error)]
pub enum RerunError {
    #[error("{field}: {why}")]
    Invalid { field: &'static str, why: String },
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl RerunRequest {
    /// # Errors
    /// The first field that can't be taken.
    fn repository(&self) -> Result<Repository, RerunError> {
        let invalid = |field, why: &str| Err(RerunError::Invalid { field, why: why.to_owned() });
        let is_number = |number: &u64| (1..=LARGEST).contains(number);
        let no_number = || format!("must be from 1 to {LARGEST}");
        if !is_number(&self.pr_number) {
            return invalid("prNumber", &no_number());
        }
        if self.run_id.is_some_and(|run| !is_number(&run)) {
            return invalid("runId", &no_number());
        }
        if !(1..=5).contains(&self.max_attempts) {
            return invalid("maxAttempts", "must be from 1 to 5");
        }
        let is_id = |id: &String| {
            (1..=256).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if self.request_id.as_ref().is_some_and(|id| !is_id(id)) {
            return invalid("requestId", "must be up to 256 characters that a header can have");
        }
        match Repository::new(&self.owner, &self.repo) {
            Some(repository) => Ok(repository),
            None if Repository::new(&self.owner, "x").is_none() => {
                invalid("owner", "is no name on GitHub")
            }
            None => invalid("repo", "is no name on GitHub"),
        }
    }
}

/// The largest whole number that a double holds without doubt.
const LARGEST: u64 = (1 << 53) - 1;

/// `POST /v1/github/rerun`.
pub async fn rerun_route(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    caller: Option<Extension<Caller>>,
    bytes: Bytes,
) -> Response {
    let header = rerun::request_id_of(None, &headers).ok().flatten();
    let mut request_id = header.unwrap_or_else(new_request_id);
    let response = match read(&headers, &bytes) {
        Err(problem) => problem.into_response(),
        Ok(mut request) => {
            let id = request.request_id.get_or_insert_with(|| request_id.clone()).clone();
            let actor = actor(caller.as_deref());
            let own = Arc::clone(&service);
            // Behind the request: a client that goes away must not leave half of it undone.
            let working = service.work.begin(async move {
                match own.github.client.clone() {
                    Some(client) => rerun(&own, &client, &request, &actor).await.map(Some),
                    None => request.repository().map(|_| None),
                }
            });
            let response = responded(working.await);
            if HeaderValue::from_str(&id).is_ok() && response.status() != StatusCode::BAD_REQUEST {
                request_id = id;
            }
            response
        }
    };
    let mut response = response;
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<RerunRequest, Problem> {
    body::check_json(headers, bytes)?;
    body::read_object(bytes)
}

fn responded(result: Result<Result<Option<GuardedAnswer>, RerunError>, RecvError>) -> Response {
    let problem = match result {
        Ok(Ok(Some(answer))) => return Json(answer).into_response(),
        Ok(Ok(None)) => Problem::new(
            StatusCode::CONFLICT,
            "NO_GITHUB_TOKEN",
            "nothing can be run again: this service has no token for GitHub",
        ),
        Ok(Err(RerunError::Invalid { field, why })) => {
            Problem::invalid(field, format!("{field} {why}"))
        }
        Ok(Err(RerunError::Client(error))) if error.is_not_found() => {
            Problem::not_found(error.to_string())
        }
        Ok(Err(RerunError::Client(error))) => {
            Problem::new(StatusCode::BAD_GATEWAY, "GITHUB_FAULT", error.to_string())
        }
        Err(bug) => Problem::internal(&bug),
    };
    problem.into_response()
}

/// The answer where it can't even be told who asks: no job is touched.
pub(crate) fn hold_for_store(service: &Service, parts: &Parts, _: &Bytes) -> Response {
    let request_id = rerun::request_id_of(None, &parts.headers).ok().flatten();
    let request_id = request_id.unwrap_or_else(new_request_id);
    let answer = rerun::held_unread(service, &request_id, "it can't be told who asks", NO_STORE);
    let mut response = Json(GuardedAnswer::blocked(answer)).into_response();
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// Decides, and runs jobs again if the decision allows it. The decision is on record before the
/// first job is touched; where the store can't be used, no job is.
///
/// # Errors
/// A request that can't be one, or GitHub can't be asked. No job was touched then.
pub async fn rerun(
    service: &Service,
    client: &Arc<Client>,
    request: &RerunRequest,
    actor: &str,
) -> Result<GuardedAnswer, RerunError> {
    let repository = request.repository()?;
    let (of, number, run) = (repository.clone(), request.pr_number, request.run_id);
    let found = asked(client, move |client| find(client, &of, number, run)).await?;
    let Some(Found { runs, all_runs, jobs }) = found else {
        let why = format!("is no run of pull request {number}, whose head is another commit");
        return Err(RerunError::Invalid { field: "runId", why });
    };
    let failed_jobs: Vec<Job> = jobs.iter().filter(|job| job.has_failed()).cloned().collect();
    let attempt = failed_jobs.iter().map(|job| job.run_attempt).max().unwrap_or(1);
    let last_start =
        runs.iter().filter(|run| run.run_attempt > 1).filter_map(|run| run.run_started_at);
    let case = Case {
        repository: repository.clone(),
        pr_number: number,
        run: request.run_id,
        about: runs.iter().map(|run| run.id).collect(),
        attempt,
        known_runs: all_runs.iter().map(|run| (run.id, run.run_attempt)).collect(),
        last_changed_at: last_start.max(),
    };
    let lawbook = pin!(service.lawbooks.find(service, &repository));
    let settings = service.decides_by().bounds(lawbook).await.ok().and_then(Result::ok);
    let settings = settings.and_then(|lawbook| lawbook.in_force.as_ref()?.settings.github.clone());
    let own = settings.and_then(|settings| settings.patterns().ok()).unwrap_or_default();
    let failed = looked_at(Some(client), &repository, failed_jobs, own).await;
    let request_id = request.request_id.clone().unwrap_or_else(new_request_id);
    let deadline = service.decides_by();
    let knowing = async {
        remember(service, &case.pull_request(), &failed).await?;
        case.question(service, &failed, request_id.clone(), actor).await
    };
    let known = deadline.bounds(pin!(knowing)).await.unwrap_or_else(|_late| Err(silent_store()));
    let mut question = match known {
        Ok(question) => question,
        Err(error) => {
            let mut question = case.question_unread(request_id, actor);
            let what = "what is known of it can't be read or written";
            let answer = rerun::held(service, &mut question, what, &error);
            return Ok(GuardedAnswer::blocked(answer));
        }
    };
    let answer = rerun::answer(service, &mut question, deadline).await;
    let mut plan: Vec<(Job, JobOutcome)> =
        jobs.into_iter().map(|job| plan(job, request, &runs, &answer)).collect();
    if answer.decision == "CONTINUE" {
        match carry_out(service, client, &repository, request.mode, &mut plan).await {
            Ok(()) => {}
            Err(ActingError::Client(error)) => return Err(error.into()),
            // The last that is on record of a request is what was answered.
            Err(ActingError::Store(error)) => {
                let what = "that jobs are run again can't be noted";
                let answer = rerun::held(service, &mut question, what, &error);
                return Ok(GuardedAnswer::blocked(answer));
            }
        }
    }
    let mut jobs: Vec<JobOutcome> = plan.into_iter().map(|(_, outcome)| outcome).collect();
    jobs.sort_by(|one, other| one.job_name.cmp(&other.job_name));
    let outcome = match answer.decision {
        "CONTINUE" if jobs.iter().any(|job| job.action == RERUN) => Outcome::RerunTriggered,
        "CONTINUE" => Outcome::Noop,
        _ => Outcome::Blocked,
    };
    Ok(GuardedAnswer { answer, outcome, jobs })
}

struct Found {
    /// Those that are meant.
    runs: Vec<WorkflowRun>,
    all_runs: Vec<WorkflowRun>,
    jobs: Vec<Job>,
}

/// The runs that are meant and their jobs; none if the run is not one of the pull request.
fn find(
    client: &Client,
    of: &Repository,
    number: u64,
    run: Option<u64>,
) -> Result<Option<Found>, ClientError> {
    let head = client.head_of(of, number)?;
    let all_runs = client.runs_of_commit(of, &head)?;
    let runs = match run {
        None => all_runs.clone(),
        Some(id) => {
            let run = client.run(of, id)?;
            let is_named = run.pull_requests.iter().any(|one| one.number == number);
            if !is_named && run.head_sha.as_deref() != Some(&head) {
                return Ok(None);
            }
            vec![run]
        }
    };
    let mut jobs = Vec::new();
    for run in &runs {
        jobs.extend(client.jobs(of, run.id)?);
    }
    Ok(Some(Found { runs, all_runs, jobs }))
}

/// What is to be done with a job.
fn plan(
    job: Job,
    request: &RerunRequest,
    runs: &[WorkflowRun],
    answer: &Answer,
) -> (Job, JobOutcome) {
    let is_wanted = job.has_failed() || request.mode == Mode::AllJobs;
    let run = runs.iter().find(|run| run.id == job.run_id);
    let has_ended = run.is_some_and(|run| run.status.as_deref() == Some("completed"));
    let most = request.max_attempts.min(MOST_ATTEMPTS - 1);
    let (action, reason_code) = if !is_wanted {
        (SKIP, Some("NOT_FAILED"))
    } else if answer.decision != "CONTINUE" {
        (BLOCKED, answer.reason_code)
    } else if !has_ended {
        (SKIP, Some("RUN_IN_PROGRESS"))
    } else if job.run_attempt.saturating_sub(1) >= most {
        (BLOCKED, Some("MAX_ATTEMPTS"))
    } else {
        (RERUN, None)
    };
    let outcome = JobOutcome {
        job_name: job.name().to_owned(),
        prior_conclusion: job.conclusion.clone(),
        action,
        attempt_number: job.run_attempt,
        reason_code,
    };
    (job, outcome)
}

/// Gives the orders, run by run. What GitHub refuses after something was begun is told as skipped.
async fn carry_out(
    service: &Service,
    client: &Arc<Client>,
    repository: &Repository,
    mode: Mode,
    plan: &mut [(Job, JobOutcome)],
) -> Result<(), ActingError> {
    let mut runs: Vec<u64> = plan.iter().map(|(job, _)| job.run_id).collect();
    runs.sort_unstable();
    runs.dedup();
    let mut has_begun = false;
    for run in runs {
        let mut of_run: Vec<&mut (Job, JobOutcome)> =
            plan.iter_mut().filter(|(job, _)| job.run_id == run).collect();
        let is_blocked = of_run.iter().any(|(_, outcome)| outcome.action == BLOCKED);
        if is_blocked && mode == Mode::AllJobs {
            // The whole run is run again or nothing of it.
            change(&mut of_run, BLOCKED, "MAX_ATTEMPTS");
            continue;
        }
        if !of_run.iter().any(|(_, outcome)| outcome.action == RERUN) {
            continue;
        }
        if is_blocked {
            for one in &mut of_run {
                if one.1.action == RERUN {
                    let key = Order::Job(one.0.id);
                    let ordered =
                        order(service, client, repository, run, one.0.run_attempt, key).await;
                    has_begun |= settle(&mut [one], ordered, has_begun)?;
                }
            }
            continue;
        }
        let attempt = of_run.iter().map(|(job, _)| job.run_attempt).max().unwrap_or(1);
        let what = if mode == Mode::AllJobs { Order::All } else { Order::Failed };
        let ordered = order(service, client, repository, run, attempt, what).await;
        has_begun |= settle(&mut of_run, ordered, has_begun)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Order {
    All,
    Failed,
    Job(u64),
}

/// Gives an order once for each attempt, whoever else gives it. False if it was given before.
async fn order(
    service: &Service,
    client: &Arc<Client>,
    repository: &Repository,
    run: u64,
    attempt: u64,
    what: Order,
) -> Result<bool, ActingError> {
    let mut key = format!("rerun:{}:{run}:{attempt}", repository.to_string().to_lowercase());
    if let Order::Job(job) = what {
        key = format!("{key}:{job}");
    }
    let of = repository.clone();
    let ordered = once(service, client, &key, move |client| match what {
        Order::All => client.rerun_all_jobs(&of, run),
        Order::Failed => client.rerun_failed_jobs(&of, run),
        Order::Job(job) => client.rerun_job(&of, job),
    });
    ordered.await
}

/// Notes what an order led to; an error counts as one only if nothing has been touched.
fn settle(
    jobs: &mut [&mut (Job, JobOutcome)],
    ordered: Result<bool, ActingError>,
    has_begun: bool,
) -> Result<bool, ActingError> {
    match ordered {
        Ok(true) => Ok(true),
        Ok(false) => {
            change(jobs, SKIP, "ALREADY_RERUN");
            Ok(false)
        }
        Err(error) if has_begun => {
            tracing::warn!(%error, "a job could not be run again");
            change(jobs, SKIP, "REFUSED");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn change(jobs: &mut [&mut (Job, JobOutcome)], action: &'static str, reason: &'static str) {
    for (_, outcome) in jobs.iter_mut().map(|one| &mut **one) {
        if outcome.action == RERUN {
            (outcome.action, outcome.reason_code) = (action, Some(reason));
        }
    }
}
