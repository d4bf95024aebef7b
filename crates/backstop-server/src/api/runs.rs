//! Runs: which there are, one of them, and a new one for a script to report to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use backstop_core::id::RunId;
use backstop_core::policy::{Policy, Preset};
use backstop_core::state::RunStatus;
use backstop_runner::launch::Launch;
use backstop_runner::resolve::{ResolveError, resolve};
use backstop_runner::secrets;
use backstop_runner::unsupervised::{self, PinnedPolicy, UnsupervisedError};
use backstop_runner::view::{self, Inside, Listed, Origin, Seen};
use backstop_store::{Home, PolicyScope, Run, RunFilter, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Caller;
use crate::api::policies;
use crate::body;
use crate::data_only;
use crate::problem::Problem;
use crate::query::{Name, Query};
use crate::schemas;
use crate::service::Service;
use crate::words::{Labels, Line};

/// A page of runs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Runs {
    #[schemars(with = "Vec<schemas::RunState>")]
    runs: Vec<Value>,
    /// Where the next page begins; none at the end.
    next_cursor: Option<String>,
}

pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    mut query: Query,
) -> Result<Json<Runs>, Problem> {
    let limit = query.limit(USUAL, MOST)?;
    let before = query
        .one("cursor")?
        .map(|cursor| cursor.parse::<RunId>().map_err(|_| Problem::invalid("cursor", NO_CURSOR)));
    let prefix = query.one("prefix")?.map(|text| {
        RunId::prefix(&text).ok_or_else(|| {
            Problem::invalid("prefix", format!("no run's name can begin with `{text}`"))
        })
    });
    let filter = RunFilter {
        prefix: prefix.transpose()?,
        cwd: query.text("cwd", LONGEST_PATH)?,
        statuses: statuses(&mut query)?,
        labels: labels(&mut query)?,
        before: before.transpose()?,
        limit: Some(limit + 1),
    };
    let with_origin = includes(&mut query, ORIGIN)?;
    query.end()?;
    let mut found = service.store.run_list(&filter).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next_cursor = found.last().filter(|_| more).map(|run| run.id.to_string());
    let (now, mut runs) = (service.now(), Vec::with_capacity(found.len()));
    for run in &found {
        let mut object = Listed::look(&*service.store, run, now).await?.to_json();
        if with_origin {
            object["origin"] = serde_json::json!(Origin::from(run));
        }
        runs.push(object);
    }
    Ok(Json(Runs { runs, next_cursor }))
}

pub(crate) async fn show(
    State(service): State<Arc<Service>>,
    Name(name): Name,
    mut query: Query,
) -> Result<Json<Value>, Problem> {
    let with_inside = includes(&mut query, INSIDE)?;
    query.end()?;
    let run = find(&service, &name).await?;
    let seen = Seen::look(&*service.store, &service.home, run.id).await?;
    let tests = view::test_history(&service.home.run(run.id));
    let mut object = seen.to_json(tests.as_ref());
    if with_inside {
        let decisions = service.store.decision_list(run.id).await?;
        object["origin"] = serde_json::json!(Origin::from(&seen.run));
        object["inside"] = serde_json::json!(Inside::new(&seen, &decisions, tests));
    }
    Ok(Json(object))
}

/// Whether more is wanted than usual.
fn includes(query: &mut Query, more: &str) -> Result<bool, Problem> {
    match query.one("include")? {
        None => Ok(false),
        Some(text) if text == more => Ok(true),
        Some(text) => {
            Err(Problem::invalid("include", format!("`include` can be `{more}`, not `{text}`")))
        }
    }
}

/// What a new run is to be.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Begin {
    /// A policy that is data only. Left out: the one in force for its labels, else for all, else
    /// the preset `default`.
    #[schemars(with = "Option<schemas::Policy>")]
    policy: Option<serde_json::Map<String, Value>>,
    /// The hash of a stored policy instead.
    policy_hash: Option<policies::PolicyHash>,
    labels: Labels,
    /// How many units there will be.
    #[schemars(range(max = 9007199254740991_u64))]
    total_units: Option<u64>,
    /// What is run, for people to see.
    #[schemars(length(max = 1000))]
    command: Vec<Line>,
}

/// The new run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Begun {
    run_id: String,
    policy_hash: String,
}

pub(crate) async fn begin(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query,
    body::OptionalJson(begin): body::OptionalJson<Begin>,
) -> Result<(StatusCode, Json<Begun>), Problem> {
    query.end()?;
    if begin.command.len() > 1_000 {
        return Err(Problem::invalid("command", "a command can have 1,000 words at most"));
    }
    if begin.total_units.is_some_and(|units| units > MOST_UNITS) {
        return Err(Problem::invalid("total_units", format!("there can be {MOST_UNITS} units")));
    }
    let labels = begin.labels.0;
    let orders = service.store.halt_list().await?;
    if let Some(order) = orders.iter().find(|order| order.covers(&labels)) {
        return Err(Problem::conflict(format!(
            "nothing may begin: {} has ordered a halt; `POST /v1/release` ends it",
            order.by
        )));
    }
    let (policy, name) = match (begin.policy, begin.policy_hash) {
        (Some(_), Some(_)) => {
            let detail = "name a policy by `policy_hash` or send it as `policy`, not both";
            return Err(Problem::invalid("policy_hash", detail));
        }
        (Some(document), None) => {
            let text = Value::Object(document).to_string();
            let read = policies::read(&service, text.as_bytes(), JSON, &caller).await?;
            (read, "the API".to_owned())
        }
        (None, Some(hash)) => {
            let found = service.policies.by_hash(&hash.0).await?;
            let missing = || Problem::not_found(format!("there is no policy {}", hash.0));
            let policy = found.ok_or_else(missing)?;
            data_only::check(&policy)?;
            (Policy::clone(&policy), hash.0)
        }
        (None, None) => in_force(&service, &labels).await?,
    };
    let policy_hash = policy.hash();
    let pinned = PinnedPolicy { policy, text: None, name, put_by: caller.name().to_owned() };
    let redactor = secrets::redactor(&pinned.policy);
    let launch = Launch {
        // Nobody starts these words again, so they need not be kept as they are.
        command: secrets::words(&redactor, begin.command.into_iter().map(|word| word.0)),
        // Whoever reports is somewhere else, and where is not known here.
        cwd: "/".into(),
        labels: secrets::labels(&redactor, labels),
        total_units: begin.total_units,
        ..Launch::default()
    };
    let begun = async move |store: Arc<dyn Store>, home: Home| {
        unsupervised::begin(&*store, &home, &pinned, &launch).await
    };
    let run = service.apart(begun).await?.map_err(refused)?;
    tracing::info!(caller = caller.name(), %run, "a run begins");
    Ok((StatusCode::CREATED, Json(Begun { run_id: run.to_string(), policy_hash })))
}

/// The policy in force for a run with these labels, and how it is called.
async fn in_force(
    service: &Service,
    labels: &BTreeMap<String, String>,
) -> Result<(Policy, String), Problem> {
    let own = labels.iter().map(|(key, value)| PolicyScope::Label(key.clone(), value.clone()));
    let scopes: Vec<_> = own.chain([PolicyScope::Global]).collect();
    let found = service.policies.find(&scopes).await?;
    Ok(match found {
        Some((scope, policy)) => (Policy::clone(&policy), format!("in force for {scope}")),
        None => (Policy::preset(Preset::Default), "preset:default".to_owned()),
    })
}

/// The run that is meant by a name, the beginning of one, or `latest`.
pub(crate) async fn find(service: &Service, name: &str) -> Result<Run, Problem> {
    resolve(&*service.store, name, Path::new("")).await.map_err(|error| match error {
        ResolveError::Store(error) => error.into(),
        ResolveError::Ambiguous { .. } => {
            Problem::new(StatusCode::CONFLICT, "AMBIGUOUS", error.to_string())
        }
        ResolveError::NoneYet | ResolveError::Unknown(_) => Problem::not_found(error.to_string()),
    })
}

/// Why something can't be done to a run that nobody supervises.
pub(crate) fn refused(error: UnsupervisedError) -> Problem {
    match error {
        UnsupervisedError::Store(error) => error.into(),
        UnsupervisedError::KeyUsed { .. } => key_used(error),
        other => Problem::conflict(other.to_string()),
    }
}

/// The same key was used for another report.
pub(crate) fn key_used(error: impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "KEY_USED", error.to_string())
}

fn statuses(query: &mut Query) -> Result<Vec<RunStatus>, Problem> {
    let named = query.many("status")?.into_iter();
    let read = |text: String| {
        let unknown = || Problem::invalid("status", format!("`{text}` is no status of a run"));
        text.parse().map_err(|()| unknown())
    };
    named.map(read).collect()
}

pub(crate) fn labels(query: &mut Query) -> Result<BTreeMap<String, String>, Problem> {
    let named = query.many("label")?.into_iter();
    let read = |text: String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && text.chars().count() <= LONGEST_LABEL => {
            Ok((key.to_owned(), value.to_owned()))
        }
        Some((key, _)) if !key.is_empty() => {
            let detail = format!("a label can have {LONGEST_LABEL} characters at most");
            Err(Problem::invalid("label", detail))
        }
        _ => Err(Problem::invalid("label", format!("write `label=KEY=VALUE`, not `{text}`"))),
    };
    named.map(read).collect()
}

pub(crate) const NO_CURSOR: &str = "this is no cursor that was given out here";
const JSON: backstop_core::document::Syntax = backstop_core::document::Syntax::Json;
/// What `include` can ask for.
pub(crate) const ORIGIN: &str = "origin";
pub(crate) const INSIDE: &str = "inside";
const USUAL: u32 = 50;
pub(crate) const MOST: u32 = 500;
pub(crate) const LONGEST_PATH: usize = 4_096;
/// The key, the sign between and the value.
pub(crate) const LONGEST_LABEL: usize = 1_001;
const MOST_UNITS: u64 = (1 << 53) - 1;
