//! What people do to runs: stop them, let them go, answer them, and the one switch for all.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use backstop_core::event::Answer as PersonsAnswer;
use backstop_core::time::Timestamp;
use backstop_runner::prompt::Choice;
use backstop_runner::socket::{Order, inbox};
use backstop_runner::unsupervised;
use backstop_store::{HaltOrder, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::api::events::{from_inbox, is_supervised, warn};
use crate::api::runs::{find, refused};
use crate::body;
use crate::problem::Problem;
use crate::query::{Name, Query};
use crate::service::Service;
use crate::words::{Labels, Line, Note, actor};

/// How a run is to stop.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Stop {
    /// At once, without letting the iteration finish.
    now: bool,
    by: Option<Line>,
}

/// Why a run may go on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Release {
    why: Option<Note>,
    by: Option<Line>,
}

/// What a person answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "if" = { "properties": { "answer": { "const": "fix" } }, "required": ["answer"] },
    "then" = { "properties": { "note": { "type": "string", "pattern": "\\S" } }, "required": ["note"] }
))]
pub(crate) struct Reply {
    #[schemars(with = "Chosen")]
    answer: Choice,
    /// What to do; `fix` needs it.
    #[serde(default)]
    note: Option<Note>,
    #[serde(default)]
    by: Option<Line>,
}

/// The answers that there are.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
#[schemars(rename = "AnswerChosen")]
enum Chosen {
    Fix,
    Continue,
    Abort,
    Go,
    Skip,
    Stop,
}

/// That it was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Done {
    run_id: String,
    /// Its supervisor was told; else it was done at once.
    supervised: bool,
    /// It has lost its supervisor, and goes on only by `backstop resume` on a machine of its store.
    needs_resume: bool,
}

pub(crate) async fn stop(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(name): Name,
    query: Query,
    body::OptionalJson(stop): body::OptionalJson<Stop>,
) -> Result<Json<Done>, Problem> {
    query.end()?;
    let run = find(&service, &name).await?;
    let by = actor(&caller, stop.by);
    if is_supervised(&service, &run).await? {
        return order(&service, &run, &Order::Stop { now: stop.now, by }).await;
    }
    if run.supervised && !run.status.is_halted() {
        return Err(Problem::conflict(format!("the supervisor of run {} is gone", run.id)));
    }
    let (id, now) = (run.id, stop.now);
    let stopped = service
        .apart(async move |store, home| unsupervised::stop(&*store, &home, id, now, by).await)
        .await?;
    warn(run.id, &stopped.map_err(refused)?.warnings);
    Ok(done(&run, false))
}

pub(crate) async fn release(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(name): Name,
    query: Query,
    body::OptionalJson(release): body::OptionalJson<Release>,
) -> Result<Json<Done>, Problem> {
    query.end()?;
    let run = find(&service, &name).await?;
    let (by, why) = (actor(&caller, release.by), release.why.map(|why| why.0));
    if is_supervised(&service, &run).await? {
        let why = why.unwrap_or_default();
        return order(&service, &run, &Order::Release { by, why }).await;
    }
    let id = run.id;
    let released = service
        .apart(async move |store, home| unsupervised::release(&*store, &home, id, by, why).await)
        .await?;
    warn(run.id, &released.map_err(refused)?.warnings);
    Ok(done(&run, false))
}

pub(crate) async fn answer(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(name): Name,
    query: Query,
    body::Json(reply): body::Json<Reply>,
) -> Result<Json<Done>, Problem> {
    query.end()?;
    let (choice, note) = (reply.answer, reply.note.map(|note| note.0));
    if choice == Choice::Fix && note.as_deref().is_none_or(|note| note.trim().is_empty()) {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "INVALID_INPUT",
            "`fix` needs a `note` that says what to do",
        )
        .about("note"));
    }
    let run = find(&service, &name).await?;
    let by = actor(&caller, reply.by);
    if is_supervised(&service, &run).await? {
        return order(&service, &run, &Order::Answer { choice, note, by }).await;
    }
    let answer = match choice {
        Choice::Fix => PersonsAnswer::Fix,
        Choice::Continue => PersonsAnswer::Continue,
        Choice::Abort => PersonsAnswer::Abort,
        Choice::Go | Choice::Skip | Choice::Stop => {
            let detail = format!("run {} does not wait for its next iteration", run.id);
            return Err(Problem::conflict(detail));
        }
    };
    let id = run.id;
    let answered = service
        .apart(async move |store, home| {
            unsupervised::answer(&*store, &home, id, answer, note, by).await
        })
        .await?;
    warn(run.id, &answered.map_err(refused)?.warnings);
    Ok(done(&run, false))
}

/// Which runs are to halt.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Halt {
    /// Only runs with all of these; without any, all runs.
    labels: Labels,
    why: Option<Note>,
    by: Option<Line>,
}

/// Which orders to halt are taken back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReleaseAll {
    /// Those with exactly these; left out, all of them.
    labels: Option<Labels>,
    by: Option<Line>,
}

/// An order to halt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ordered {
    number: u64,
    labels: std::collections::BTreeMap<String, String>,
    why: Option<String>,
    by: String,
    #[schemars(with = "String")]
    at: Timestamp,
}

impl From<HaltOrder> for Ordered {
    fn from(order: HaltOrder) -> Self {
        let HaltOrder { number, labels, why, by, at } = order;
        Self { number, labels, why, by, at }
    }
}

/// A new order to halt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Halted {
    #[serde(flatten)]
    order: Ordered,
    /// The runs that go on, and are told to stop.
    runs: Vec<String>,
}

/// How many orders were taken back.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReleasedAll {
    released: u64,
}

pub(crate) async fn halt(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query,
    body::OptionalJson(halt): body::OptionalJson<Halt>,
) -> Result<(StatusCode, Json<Halted>), Problem> {
    query.end()?;
    let order = HaltOrder {
        number: 0,
        labels: halt.labels.without_secrets(&service.redactor),
        why: halt.why.map(|why| service.redactor.text(&why.0).into_owned()),
        by: service.redactor.text(&actor(&caller, halt.by)).into_owned(),
        at: service.now(),
    };
    let mut reached = order.going_on(&*service.store).await?;
    let order = service.store.halt_order(&order).await?;
    service.changed().await;
    tracing::warn!(by = order.by, labels = ?order.labels, "a halt is ordered");
    reached.extend(order.going_on(&*service.store).await?);
    let runs = reached.iter().rev().map(ToString::to_string).collect();
    Ok((StatusCode::CREATED, Json(Halted { order: order.into(), runs })))
}

pub(crate) async fn halts(
    State(service): State<Arc<Service>>,
    query: Query,
) -> Result<Json<Vec<Ordered>>, Problem> {
    query.end()?;
    let orders = service.store.halt_list().await?;
    Ok(Json(orders.into_iter().map(Ordered::from).collect()))
}

pub(crate) async fn release_all(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query,
    body::OptionalJson(release): body::OptionalJson<ReleaseAll>,
) -> Result<Json<ReleasedAll>, Problem> {
    query.end()?;
    let by = service.redactor.text(&actor(&caller, release.by)).into_owned();
    let labels = release.labels.map(|labels| labels.without_secrets(&service.redactor));
    let released = service.store.halt_release(labels.as_ref(), &by, service.now()).await?;
    service.changed().await;
    tracing::warn!(by, released, "orders to halt are taken back");
    Ok(Json(ReleasedAll { released }))
}

async fn order(service: &Service, run: &Run, order: &Order) -> Result<Json<Done>, Problem> {
    inbox::order(&*service.store, run.id, order, inbox::PATIENCE).await.map_err(from_inbox)?;
    Ok(done(run, true))
}

fn done(run: &Run, supervised: bool) -> Json<Done> {
    Json(Done {
        run_id: run.id.to_string(),
        supervised,
        needs_resume: run.supervised && !supervised,
    })
}
