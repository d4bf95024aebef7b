//! `POST /webhooks/github`: deliveries of failed runs, jobs and checks.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use backstop_core::failure_class::{Class, OwnPatterns, classify, signal};
use backstop_core::policy::GithubSettings;
use backstop_core::rerun::{Answer, Minutes};
use backstop_core::time::Timestamp;
use backstop_store::{CheckFailure, CheckPass, Delivery, StoreError};
use serde_json::{Value, json};

use super::acting::{self, ActingError};
use super::api::Job;
use super::client::Client;
use super::comment;
use super::failures::{Case, Failed, asked, looked_at, remember};
use super::payload::{self, Check, Completion, Failure, Told, numbers_of};
use crate::body;
use crate::problem::Problem;
use crate::rerun;
use crate::service::Service;

/// Takes a delivery. GitHub waits for ten seconds, so what takes longer goes on behind the answer.
pub async fn receive(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match delivered(&service, &headers, body).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn delivered(
    service: &Arc<Service>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Box<Problem>> {
    let refuse = |status, code, why: String| Box::new(Problem::new(status, code, why));
    let Some(secret) = &service.github.secret else {
        let why = "no deliveries are taken: this service has no secret to check them by".to_owned();
        return Err(refuse(StatusCode::CONFLICT, "NO_WEBHOOK_SECRET", why));
    };
    let bytes = axum::body::to_bytes(body, LARGEST_DELIVERY).await.map_err(|_| {
        let why =
            format!("the delivery is larger than {} MiB, or broke off", LARGEST_DELIVERY >> 20);
        refuse(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", why)
    })?;
    let signature = headers.get("x-hub-signature-256").map(|value| value.as_bytes());
    if !signature.is_some_and(|signature| secret.signed(&bytes, signature)) {
        let why = "X-Hub-Signature-256 is not the signature of this delivery".to_owned();
        return Err(refuse(StatusCode::UNAUTHORIZED, "INVALID_SIGNATURE", why));
    }
    if body::is_of_type(headers, "application/x-www-form-urlencoded") {
        let why = "the delivery is a form; choose `application/json` as the content type of the \
                   webhook";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refuse(status, "UNSUPPORTED_TYPE", why.to_owned()));
    }
    let header = |name: &'static str| {
        let text = headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let text = text.filter(|text| (1..=LONGEST_HEADER).contains(&text.len()));
        text.map(str::to_owned).ok_or_else(|| {
            let why = format!("the header {name} is missing, or too long");
            Box::new(Problem::invalid(name, why))
        })
    };
    let (event, id) = (header("x-github-event")?, header("x-github-delivery")?);
    if event == "ping" {
        return Ok(answered(StatusCode::OK, json!({ "status": "pong" })));
    }
    let told = match payload::read(&event, &bytes) {
        Ok(Ok(Completion::Failed(told))) => told,
        Ok(Ok(Completion::Passed(passed))) => return note(service, &passed).await,
        Ok(Err(why)) => {
            return Ok(answered(StatusCode::ACCEPTED, json!({ "status": "ignored", "why": why })));
        }
        Err(why) => {
            let why = format!("the delivery can't be read: {why}");
            return Err(refuse(StatusCode::BAD_REQUEST, "INVALID_INPUT", why));
        }
    };
    let taken = service.store.delivery_take(&key(&id), &service.name, service.now()).await;
    match taken {
        Ok(Delivery::Taken) => {}
        Ok(Delivery::Done) => {
            return Ok(answered(StatusCode::OK, json!({ "status": "duplicate" })));
        }
        Ok(Delivery::UnderWay) => {
            let why = "it is being worked on; should that break off, it can be sent again";
            return Ok(answered(
                StatusCode::ACCEPTED,
                json!({ "status": "under_way", "why": why }),
            ));
        }
        Err(error) => return Err(not_taken(&error)),
    }
    worked_on(service, told, id).await
}

/// Notes that a check has passed. To do so once more changes nothing, so that it needs no name.
async fn note(service: &Service, passed: &CheckPass) -> Result<Response, Box<Problem>> {
    service.store.signal_outdate(passed).await.map_err(|error| not_taken(&error))?;
    Ok(answered(StatusCode::OK, json!({ "status": "noted" })))
}

fn not_taken(error: &StoreError) -> Box<Problem> {
    tracing::error!(%error, "a delivery can't be taken");
    let why = "the store can't be written; send it again later";
    Box::new(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_FAULT", why))
}

/// Works on a delivery beside the request, and answers with the outcome if it comes in time.
async fn worked_on(
    service: &Arc<Service>,
    told: Told,
    id: String,
) -> Result<Response, Box<Problem>> {
    let own = Arc::clone(service);
    let working = service.work.begin(async move {
        let outcome = work(&own, &told, &id).await;
        // Only now: what is cut off before can be sent again.
        let noted = match &outcome {
            Ok(_) => own.store.delivery_done(&key(&id)).await,
            Err(error) => {
                tracing::error!(%error, delivery = id, "a delivery could not be worked on");
                own.store.delivery_forget(&key(&id)).await
            }
        };
        if let Err(error) = noted {
            tracing::error!(%error, delivery = id, "what became of a delivery can't be noted");
        }
        outcome
    });
    match tokio::time::timeout(ANSWER_WITHIN, working).await {
        Err(_) => Ok(answered(StatusCode::ACCEPTED, json!({ "status": "accepted" }))),
        Ok(Ok(Ok(outcome))) => Ok(answered(StatusCode::OK, outcome)),
        Ok(Ok(Err(error))) => Err(Box::new(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "NOT_DONE",
            format!("{error}; send it again later"),
        ))),
        Ok(Err(bug)) => Err(Box::new(Problem::internal(&bug))),
    }
}

/// Looks at what failed, remembers it, decides, and does what the policy wants done.
async fn work(service: &Arc<Service>, told: &Told, id: &str) -> Result<Value, ActingError> {
    let github = &service.github;
    let Some(pr_number) = pull_request_of(github.client.as_ref(), told).await? else {
        return Ok(json!({ "status": "ignored", "why": "no pull request is known for it" }));
    };
    // A policy that can't be had holds, and then nothing is done.
    let lawbook = service.lawbooks.find(service, &told.repository).await.ok();
    let in_force = lawbook.as_ref().and_then(|lawbook| lawbook.in_force.as_ref());
    let settings = in_force.and_then(|policy| policy.settings.github.clone()).unwrap_or_default();
    let mut case = Case {
        repository: told.repository.clone(),
        pr_number,
        run: None,
        about: Vec::new(),
        attempt: 1,
        known_runs: Vec::new(),
        last_changed_at: None,
    };
    let failed = look(service, told, &mut case, &settings).await?;
    let request_id = format!("github-{id}");
    let mut question = case.question(service, &failed, request_id, "github").await?;
    let answer = rerun::answer(service, &mut question, service.decides_by()).await;
    let done = act(service, told, &case, &settings, &failed, &answer).await;
    if let Some(client) = github.client.as_ref().filter(|_| settings.comments()) {
        let sentence = match &done {
            Ok(sentence) => sentence.clone(),
            Err(error) => format!("Nothing was run again: {error}"),
        };
        let text = comment::words(&answer, &failed, &sentence);
        let written = comment::tell(service, client, &told.repository, pr_number, &text).await;
        // The decision stands and is on record, whether or not people can read it here.
        if let Err(error) = written {
            tracing::warn!(%error, "a decision could not be told on its pull request");
        }
    }
    let done = done?;
    Ok(json!({ "status": "decided", "decision": answer, "done": done }))
}

/// The pull request that a delivery is about.
async fn pull_request_of(
    client: Option<&Arc<Client>>,
    told: &Told,
) -> Result<Option<u64>, ActingError> {
    if let Some(number) = told.pull_requests.first() {
        return Ok(Some(*number));
    }
    let (Some(client), Some(sha)) = (client, told.head_sha.clone()) else { return Ok(None) };
    // Runs for forks name none, and jobs never do.
    let of = told.repository.clone();
    let found = asked(client, move |client| client.pull_requests_of_commit(&of, &sha)).await;
    match found {
        Ok(list) => Ok(numbers_of(list, None).first().copied()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Looks at what failed, as far as the delivery and GitHub tell, remembers it, and adds to the case
/// what follows.
async fn look(
    service: &Service,
    told: &Told,
    case: &mut Case,
    settings: &GithubSettings,
) -> Result<Vec<Failed>, ActingError> {
    let own = settings.patterns().unwrap_or_default();
    let client = service.github.client.as_ref();
    // A first attempt follows no re-run that would have to cool down.
    let change = |attempt: u64, at: Option<Timestamp>| at.filter(|_| attempt > 1);
    let failed = match &told.what {
        Failure::Run(run) => {
            (case.run, case.attempt) = (Some(run.id), run.run_attempt);
            case.about.push(run.id);
            case.last_changed_at = change(run.run_attempt, run.run_started_at);
            let Some(client) = client else { return Ok(Vec::new()) };
            let (of, id) = (told.repository.clone(), run.id);
            let jobs = asked(client, move |client| client.jobs(&of, id)).await?;
            let failed: Vec<Job> = jobs.into_iter().filter(Job::has_failed).collect();
            looked_at(Some(client), &told.repository, failed, own).await
        }
        Failure::Job(job) => {
            (case.run, case.attempt) = (Some(job.run_id), job.run_attempt);
            case.about.push(job.run_id);
            case.last_changed_at = change(job.run_attempt, job.created_at);
            looked_at(client, &told.repository, vec![Job::clone(job)], own).await
        }
        Failure::Check(told) => {
            case.about.push(told.suite);
            return Ok(vec![check(service, case, told, &own).await?]);
        }
        Failure::Suite { id } => {
            case.about.push(*id);
            let earlier =
                service.store.signal_list(&case.pull_request(), None, MOST_ATTEMPTS).await?;
            let of_suite = earlier.iter().filter(|signal| case.is_about(signal));
            case.attempt = of_suite.map(|signal| signal.attempt).max().unwrap_or(1);
            return Ok(Vec::new());
        }
    };
    remember(service, &case.pull_request(), &failed).await?;
    Ok(failed)
}

/// Remembers how a check of another app failed. One failure may be told of several times, since a
/// repository and its organisation may each have a hook: whoever tells of it gets the same number.
async fn check(
    service: &Service,
    case: &mut Case,
    told: &Check,
    own: &OwnPatterns,
) -> Result<Failed, ActingError> {
    let Check { id, suite, name, output, ended_at } = told;
    let (class, hash, at) = (classify(name, output, own), signal(name, output), service.now());
    let failure = CheckFailure {
        pull_request: case.pull_request(),
        check: name.clone(),
        suite: *suite,
        check_run: *id,
        ended_at: ended_at.unwrap_or(at),
        hash: hash.clone(),
        class: Some(class.name().to_owned()),
        at,
    };
    case.attempt = service.store.signal_put_check(&failure).await?;
    Ok(Failed { job: name.clone(), run: *suite, attempt: case.attempt, class, hash })
}

/// Runs failed jobs again if the policy wants it, the decision allows it, and it may help.
async fn act(
    service: &Arc<Service>,
    told: &Told,
    case: &Case,
    settings: &GithubSettings,
    failed: &[Failed],
    answer: &Answer,
) -> Result<String, ActingError> {
    let nothing = |why: &str| Ok(format!("Nothing was run again: {why}."));
    let Failure::Run(run) = &told.what else {
        return nothing("jobs are run again when their whole run has ended");
    };
    let Some(client) = service.github.client.as_ref().filter(|_| settings.acts()) else {
        return nothing("the policy does not want it, or there is no token");
    };
    if answer.reason_code == Some("COOLDOWN_ACTIVE") {
        later(service, told, case, answer);
        return nothing("it is decided again when the cool-down is over");
    }
    if answer.decision != "CONTINUE" {
        return nothing("the decision does not allow it");
    }
    match failed.iter().map(|one| one.class).max() {
        Some(Class::FlakyProbable | Class::InfraTransient) => {}
        Some(class) => {
            return nothing(&format!("another run hardly helps against `{}`", class.name()));
        }
        None => return nothing("no failed job is known"),
    }
    acting::rerun_failed(service, client, &told.repository, run.id, run.run_attempt).await
}

/// Decides again when a cool-down is over, if this process still lives then.
fn later(service: &Arc<Service>, told: &Told, case: &Case, answer: &Answer) {
    let cooldown = match answer.evidence.thresholds.cooldown_minutes {
        Some(Minutes::Whole(minutes)) => Duration::from_secs(minutes.saturating_mul(60)),
        Some(Minutes::Fraction(minutes)) => {
            Duration::try_from_secs_f64(minutes * 60.0).unwrap_or_default()
        }
        None => return,
    };
    let Some(changed) = case.last_changed_at else { return };
    let wait = changed.plus(cooldown).since(service.now()).min(cooldown);
    let (service, told) = (Arc::clone(service), told.clone());
    let id = format!("{}-{}-later", case.run.unwrap_or_default(), case.attempt);
    // Boxed, since this work may be put off once more.
    let working: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        tokio::time::sleep(wait + Duration::from_secs(1)).await;
        let own = Arc::clone(&service);
        let working = service.work.begin(async move { work(&own, &told, &id).await });
        if let Ok(Err(error)) = working.await {
            tracing::error!(%error, "a decision after a cool-down could not be made");
        }
    });
    tokio::spawn(working);
}

fn answered(status: StatusCode, body: Value) -> Response {
    (status, Json(body)).into_response()
}

/// What a delivery is remembered by.
fn key(id: &str) -> String {
    format!("github:{id}")
}

/// What GitHub itself sends at most.
pub(crate) const LARGEST_DELIVERY: usize = 25 << 20;
const LONGEST_HEADER: usize = 100;
const ANSWER_WITHIN: Duration = Duration::from_secs(8);
const MOST_ATTEMPTS: u32 = 256;
