//! Events of a run: those that somebody reports, and those of its journal.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use backstop_core::document::sha256_hex;
use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::reason::ReasonCode;
use backstop_core::state::RunStatus;
use backstop_runner::clock::wall_time;
use backstop_runner::recovery;
use backstop_runner::socket::inbox::{self, InboxError};
use backstop_runner::socket::{Answer, may_report};
use backstop_runner::unsupervised::{self, Outcome, ReportKey, Reported, UnsupervisedError};
use backstop_store::access::Scope;
use backstop_store::{HaltOrder, Run, StoreError};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::access::Caller;
use crate::api::attempts::Attempt;
use crate::api::decide::{answered, hold};
use crate::api::live;
use crate::api::runs::{find, key_used, refused};
use crate::body;
use crate::deadline::{Deadline, silent_store};
use crate::headers::HALTED;
use crate::problem::Problem;
use crate::query::{Name, Query};
use crate::schemas;
use crate::service::Service;
use crate::words::{Line, actor};

/// One event, a list of them, or an object with the list: what the document says.
#[derive(Debug)]
pub(crate) struct ReportSchema;

impl JsonSchema for ReportSchema {
    fn schema_name() -> Cow<'static, str> {
        "Report".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let event = generator.subschema_for::<schemas::Event>();
        let many = json!({
            "type": "array", "items": event, "minItems": 1, "maxItems": MOST_EVENTS,
        });
        let wrapped = json!({
            "type": "object",
            "properties": { "events": many },
            "required": ["events"],
            "additionalProperties": false,
        });
        Schema::try_from(json!({ "anyOf": [event, many, wrapped] })).unwrap_or_default()
    }
}

pub(crate) async fn report(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(name): Name,
    query: Query,
    headers: HeaderMap,
    deadline: Deadline,
    bytes: Bytes,
) -> Result<Response, Problem> {
    query.end()?;
    body::check_json(&headers, &bytes)?;
    let key = key(&headers)?;
    let events = read(&bytes)?;
    let attempt = Attempt::find(&caller, &events);
    if let Some(attempt) = attempt.as_ref().filter(|_| caller.has(Scope::Operate)) {
        return Err(attempt.problem(&caller));
    }
    let Ok(permit) = Arc::clone(&service.reports).try_acquire_owned() else {
        return Err(Problem::busy("too many reports are being taken in; report it again"));
    };
    if let Some(attempt) = attempt {
        attempt.note(&service, &name, deadline, permit).await;
        return Err(attempt.problem(&caller));
    }
    // Until then nothing can have been taken in.
    let late = |_late| Err(Refused::Store(silent_store()));
    let (run, orders) =
        match deadline.bounds(pin!(look(&service, &name))).await.unwrap_or_else(late) {
            Ok(looked) => looked,
            Err(refused) => return held_or_refused(&service, &name, refused, None),
        };
    let is_keyed = key.is_some();
    let digest = || sha256_hex(&String::from_utf8_lossy(&bytes));
    // Kept is only what tells it from others: whoever makes keys up may take a secret for one.
    let key = key.map(|key| ReportKey { key: sha256_hex(&key), digest: digest() });
    let taken = match orders {
        // A supervisor has a time of its own to find it, and to decide.
        None => by_inbox(&service, &run, &events, key.as_ref()).await.map(Taken::from),
        Some(orders) => {
            let report = Report { run: run.id, events, key, orders };
            match deadline.bounds(pin!(take_in(&service, report, permit))).await {
                Ok(taken) => taken,
                Err(_late) => {
                    tracing::error!(run = name, "a report is held: the store does not answer");
                    service.metrics.store_failed();
                    return Ok(held(&service, Some(unknown("no answer came in time", is_keyed))));
                }
            }
        }
    };
    match taken {
        Ok(Taken { answer, halted_now }) => {
            let verdict = answer.verdict().unwrap_or("");
            service.metrics.decided(verdict, answer.reason());
            let mut response = answered(answer.to_line());
            if let Some(status) = halted_now {
                let status = HeaderValue::from_static(status.as_str());
                response.headers_mut().insert(HALTED, status);
            }
            Ok(response)
        }
        Err(refused) => {
            let is_known = refused.tells_what_is_stored();
            let unknown = (!is_known).then(|| unknown("the store failed", is_keyed));
            held_or_refused(&service, &name, refused, unknown)
        }
    }
}

/// Whoever waits for a decision is told to wait, not left without one.
fn held_or_refused(
    service: &Service,
    name: &str,
    refused: Refused,
    unknown: Option<String>,
) -> Result<Response, Problem> {
    match refused {
        Refused::Store(error) => {
            tracing::error!(%error, run = name, "a report is held: the store failed");
            service.metrics.store_failed();
            Ok(held(service, unknown))
        }
        Refused::Problem(problem) => Err(problem),
    }
}

/// The answer where the store fails: a hold that says what was taken in.
pub(crate) fn hold_for_store(service: &Service, _: &Parts, _: &Bytes) -> Response {
    held(service, None)
}

/// What is said where nobody knows whether a report is stored, and how to get it stored once.
fn unknown(why: &str, is_keyed: bool) -> String {
    let how = match is_keyed {
        true => "report it again with the same `Idempotency-Key`, so that it counts once",
        false => {
            "look into the journal before it is reported again, since without an \
             `Idempotency-Key` it would count twice"
        }
    };
    format!("Held: {why}, and what was reported may be taken in; {how}")
}

/// A hold that says that nothing was stored, or that it is not known.
fn held(service: &Service, unknown: Option<String>) -> Response {
    let stored = unknown.is_none().then_some(false);
    let message = unknown.unwrap_or_else(|| NOTHING_TAKEN_IN.to_owned());
    let decision = hold(service, message, String::new(), service.now());
    let mut object = serde_json::json!(decision);
    object["exit_code"] = ReasonCode::PolicyBlock.reason().exit_code.into();
    object["stored"] = stored.into();
    answered(object.to_string())
}

/// What became of a report.
pub(super) struct Taken {
    answer: Answer,
    /// How the run stands that this has halted.
    halted_now: Option<RunStatus>,
}

impl From<Answer> for Taken {
    fn from(answer: Answer) -> Self {
        Self { answer, halted_now: None }
    }
}

impl From<&Outcome> for Taken {
    fn from(outcome: &Outcome) -> Self {
        let halted_now = outcome.halted_now.then_some(outcome.state.run_status);
        Self { answer: outcome.answer.clone(), halted_now }
    }
}

pub(super) enum Refused {
    Store(StoreError),
    Problem(Problem),
}

impl Refused {
    /// Whether it is certain that nothing was stored, where something was to be.
    fn tells_what_is_stored(&self) -> bool {
        !matches!(self, Self::Store(StoreError::Write(_) | StoreError::Read(_)))
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoRun(_) | StoreError::LeaseHeld { .. } => Self::Problem(error.into()),
            other => Self::Store(other),
        }
    }
}

/// Finds a run, and the orders to halt that count for it if nobody supervises it.
pub(super) async fn look(
    service: &Service,
    name: &str,
) -> Result<(Run, Option<Vec<HaltOrder>>), Refused> {
    let run = match find(service, name).await {
        Ok(run) => run,
        // A store that can't be read has its own answer.
        Err(problem) if problem.status() == StatusCode::SERVICE_UNAVAILABLE => {
            return Err(Refused::Store(StoreError::Read(problem.detail().to_owned())));
        }
        Err(problem) => return Err(problem.into()),
    };
    let orders = match is_supervised(service, &run).await? {
        true => None,
        // An order to halt counts for those who have no supervisor to obey it, too.
        false => Some(service.store.halt_list().await?),
    };
    Ok((run, orders))
}

/// What is reported to a run that nobody supervises.
pub(super) struct Report {
    pub(super) run: RunId,
    pub(super) events: Vec<Event>,
    pub(super) key: Option<ReportKey>,
    pub(super) orders: Vec<HaltOrder>,
}

/// Takes a report in, also if who asked has gone meanwhile. What follows from it is settled behind
/// the answer: that waits for files and for others.
pub(super) async fn take_in(
    service: &Arc<Service>,
    report: Report,
    permit: OwnedSemaphorePermit,
) -> Result<Taken, Refused> {
    let (tell, told) = oneshot::channel();
    let own = Arc::clone(service);
    service.work.begin(async move {
        let Report { run, events, key, orders } = report;
        let (taken, unsettled) =
            match unsupervised::report(&*own.store, run, events, key, orders).await {
                Ok(Reported::Before(answer)) => (Ok(answer.into()), None),
                Ok(Reported::Now(outcome)) => (Ok((&*outcome).into()), None),
                Ok(Reported::Unsettled(outcome)) => (Ok((&*outcome).into()), Some(outcome)),
                Err(UnsupervisedError::Store(error)) => (Err(error.into()), None),
                Err(other) => (Err(refused(other).into()), None),
            };
        // Nobody may wait for it any more.
        tell.send(taken).ok();
        if let Some(outcome) = unsettled {
            settle(&own, outcome).await;
        }
        drop(permit);
    });
    told.await.map_err(|error| Problem::internal(&error))?
}

/// Writes the files of a run, and tells those who want to know. The report itself is stored.
async fn settle(service: &Service, outcome: Box<Outcome>) {
    let run = outcome.state.run_id;
    let settled =
        service.apart(async move |store, home| unsupervised::settle(&*store, &home, outcome).await);
    match settled.await {
        Ok(Ok(outcome)) => warn(run, &outcome.warnings),
        Ok(Err(error)) => {
            tracing::error!(%error, %run, "the files of a run could not be written");
            service.metrics.store_failed();
        }
        // What went wrong is in the log already.
        Err(_panicked) => {}
    }
}

async fn by_inbox(
    service: &Service,
    run: &Run,
    events: &[Event],
    key: Option<&ReportKey>,
) -> Result<Answer, Refused> {
    for event in events {
        may_report(&event.kind)
            .map_err(|refusal| Problem::forbidden(refusal.to_string()).about("type"))?;
    }
    let left = inbox::events(&*service.store, run.id, events, key, PATIENCE).await;
    left.map_err(|error| match error {
        InboxError::Store(error) => error.into(),
        other => Refused::Problem(from_inbox(other)),
    })
}

/// Why a supervisor did not do as it was asked.
pub(crate) fn from_inbox(error: InboxError) -> Problem {
    match error {
        InboxError::Store(error) => error.into(),
        InboxError::Refused(message) => Problem::conflict(message),
        InboxError::KeyUsed { .. } => key_used(error),
        InboxError::NoAnswer(_) => Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "NO_ANSWER",
            format!("{error}; it may still find the message"),
        ),
    }
}

/// Whether somebody supervises a run now.
pub(crate) async fn is_supervised(service: &Service, run: &Run) -> Result<bool, StoreError> {
    let lease = service.store.lease_fetch(run.id).await?;
    Ok(lease.is_some_and(|lease| recovery::is_held(&lease, wall_time())))
}

/// What did not go as it should, though everything is stored, is the log's.
pub(crate) fn warn(run: RunId, warnings: &[String]) {
    for warning in warnings {
        tracing::warn!(%run, warning, "a run has a warning");
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Event>, Problem> {
    let unreadable =
        |error: serde_json::Error| Problem::unreadable(format!("the body can't be taken: {error}"));
    let many = match bytes.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice::<Vec<&RawValue>>(bytes).map_err(unreadable)?,
        Some(b'{') => {
            #[derive(serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Wrapped<'a> {
                #[serde(borrow)]
                events: Vec<&'a RawValue>,
            }
            match serde_json::from_slice::<Wrapped<'_>>(bytes) {
                Ok(wrapped) => wrapped.events,
                Err(error) => {
                    // With a type it is an event; the core says what is wrong with it.
                    return match Event::from_json(bytes) {
                        Ok(event) => Ok(vec![event]),
                        Err(_) if error.to_string().starts_with("invalid type") => {
                            Err(unreadable(error))
                        }
                        Err(other) => Err(Problem::invalid(
                            "events",
                            format!("this is not an event: {other}"),
                        )),
                    };
                }
            }
        }
        _ => return Err(Problem::unreadable("the body must be an event or a list of events")),
    };
    if many.is_empty() || many.len() > MOST_EVENTS {
        let detail = format!("there can be from 1 to {MOST_EVENTS} events, not {}", many.len());
        return Err(Problem::invalid("events", detail));
    }
    many.iter()
        .enumerate()
        .map(|(place, text)| {
            Event::from_json(text.get().as_bytes()).map_err(|error| {
                let field = format!("events[{place}]");
                Problem::invalid(&field, format!("this is not an event: {error}"))
            })
        })
        .collect()
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        let why = "there can be one `Idempotency-Key` only";
        return Err(Problem::invalid("Idempotency-Key", why));
    }
    let is_visible = |key: &&str| key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(|key| (1..=255).contains(&key.len())).filter(is_visible);
    let unclear = || {
        Problem::invalid(
            "Idempotency-Key",
            "an `Idempotency-Key` must have from 1 to 255 visible characters",
        )
    };
    key.map(|key| Some(key.to_owned())).ok_or_else(unclear)
}

/// Who ends a run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct End {
    by: Option<Line>,
}

/// How a run ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ended {
    run_id: String,
    #[schemars(with = "String")]
    run_status: RunStatus,
    /// The decision, as a report is answered with it.
    #[schemars(with = "schemas::RunDecision")]
    decision: Box<RawValue>,
}

/// A script has done its work.
pub(crate) async fn end(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(name): Name,
    query: Query,
    body::OptionalJson(end): body::OptionalJson<End>,
) -> Result<axum::Json<Ended>, Problem> {
    query.end()?;
    let run = find(&service, &name).await?;
    if is_supervised(&service, &run).await? {
        let detail = format!("run {} has a supervisor, and ends by it", run.id);
        return Err(Problem::conflict(detail));
    }
    let (id, by) = (run.id, actor(&caller, end.by));
    let ended = service
        .apart(async move |store, home| unsupervised::end(&*store, &home, id, by).await)
        .await?;
    let outcome = ended.map_err(refused)?;
    warn(run.id, &outcome.warnings);
    let decision = RawValue::from_string(outcome.answer.to_line());
    Ok(axum::Json(Ended {
        run_id: id.to_string(),
        run_status: outcome.state.run_status,
        decision: decision.map_err(|error| Problem::internal(&error))?,
    }))
}

/// A page of a journal.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JournalPage")]
pub(crate) struct Page {
    #[schemars(with = "Vec<schemas::Event>")]
    events: Vec<Box<RawValue>>,
    /// The number of the last one: what comes next is after it.
    last: u64,
}

/// The journal: a page of it, or all that comes as it comes.
pub(crate) async fn journal(
    State(service): State<Arc<Service>>,
    Name(name): Name,
    mut query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let given = query.whole("after")?;
    let limit = query.limit(USUAL, MOST)?;
    query.end()?;
    let live = body::is_accepted(&headers, "text/event-stream");
    // What makes no sense is refused in either form; only a stream is taken up where it ended.
    let last_seen = live::last_seen(&headers)?.filter(|_| live);
    let after = last_seen.or(given).unwrap_or(0);
    let run = find(&service, &name).await?;
    if live {
        return live::follow(&service, run.id, after, headers);
    }
    let found = service.store.event_list(run.id, after, limit).await?;
    let last = found.last().map_or(after, |event| event.seq);
    let events = found.into_iter().map(|event| RawValue::from_string(event.body));
    let events =
        events.collect::<Result<Vec<_>, _>>().map_err(|error| Problem::internal(&error))?;
    Ok(axum::Json(Page { events, last }).into_response())
}

const NOTHING_TAKEN_IN: &str =
    "Held: the store can't be used, and nothing was taken in; report it again";
const PATIENCE: Duration = inbox::PATIENCE;
const MOST_EVENTS: usize = 1_000;
const USUAL: u32 = 500;
pub(crate) const MOST: u32 = 5_000;
