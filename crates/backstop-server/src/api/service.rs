//! What the service says of itself.

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use backstop_core::reason::{self, Reason, Values};
use backstop_core::state::RunStatus;
use backstop_store::{RunFilter, StoreError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json_, json};

use crate::deadline::Deadline;
use crate::halts;
use crate::metrics::{AUDIT_ROWS, RUNS};
use crate::problem::Problem;
use crate::query::Query;
use crate::router;
use crate::service::Service;

/// That it is there.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Alive {
    status: &'static str,
    version: &'static str,
}

pub(crate) async fn alive(query: Query) -> Result<Json<Alive>, Problem> {
    query.end()?;
    Ok(Json(Alive { status: "ok", version: env!("CARGO_PKG_VERSION") }))
}

/// That it can do its work.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ready {
    status: &'static str,
}

/// Writes something, since a store that can only be read lets nobody go on.
pub(crate) async fn ready(
    State(service): State<Arc<Service>>,
    query: Query,
) -> Result<Json<Ready>, Problem> {
    query.end()?;
    if service.closing.is_cancelled() {
        return Err(Problem::busy("the service is about to end"));
    }
    service.readiness.look(&*service.store, service.now()).await?;
    Ok(Json(Ready { status: "ready" }))
}

pub(crate) async fn openapi(query: Query) -> Result<Response, Problem> {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    query.end()?;
    let text = DOCUMENT.get_or_init(|| crate::openapi::document(&router::routes()).to_string());
    Ok(([(header::CONTENT_TYPE, "application/json")], text.as_str()).into_response())
}

/// Figures that nobody counts are looked up when somebody asks.
pub(crate) async fn metrics(
    State(service): State<Arc<Service>>,
    deadline: Deadline,
    query: Query,
) -> Result<Response, Problem> {
    query.end()?;
    // Those that can't be had in time are as they were: the others are wanted all the more then.
    if !matches!(deadline.bounds(pin!(look_up(&service))).await, Ok(Ok(()))) {
        service.metrics.store_failed();
    }
    let text = service.metrics.render();
    Ok(([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response())
}

async fn look_up(service: &Service) -> Result<(), StoreError> {
    for status in [RunStatus::Running, RunStatus::Paused, RunStatus::Held] {
        let limit = Some(MOST_COUNTED);
        let filter = RunFilter { statuses: vec![status], limit, ..RunFilter::default() };
        let runs = service.store.run_list(&filter).await?;
        service.metrics.set(RUNS, Some(("status", status.as_str())), runs.len() as u64);
    }
    halts::follow(service).await?;
    let head = service.store.audit_head().await?;
    service.metrics.set(AUDIT_ROWS, None, head.map_or(0, |head| head.number));
    Ok(())
}

pub(crate) async fn reasons(query: Query) -> Result<Json<Vec<Json_>>, Problem> {
    query.end()?;
    Ok(Json(reason::all().iter().map(reason_json).collect()))
}

fn reason_json(reason: &Reason) -> Json_ {
    json!({
        "code": reason.code,
        "title": reason.title,
        "family": reason.family,
        "exit_code": reason.exit_code,
        "diagnosis": reason.diagnosis_with(&Values::new()),
        "auto_resumable": reason.auto_resumable,
        "aliases": reason.aliases,
        "next_step": reason.next_step,
    })
}

pub(crate) const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// More than this is many.
const MOST_COUNTED: u32 = 1_000;
