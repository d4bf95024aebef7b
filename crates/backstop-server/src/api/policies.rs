//! Policies: which are stored, which are in force, and new ones, which are data only.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use backstop_core::document::Syntax;
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_runner::unsupervised::PinnedPolicy;
use backstop_store::audit::{JsonText, NewAuditRow};
use backstop_store::{Activation, PolicyScope, StoredPolicy};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::access::Caller;
use crate::api::decide;
use crate::body;
use crate::data_only;
use crate::headers::NEXT_CURSOR;
use crate::in_force;
use crate::problem::Problem;
use crate::query::{Name, Query};
use crate::rerun;
use crate::schemas;
use crate::service::Service;

/// A hash, as policies are named by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyHash(pub(crate) String);

impl PolicyHash {
    pub(crate) fn new(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (digits.len() == 64 && digits.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for PolicyHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| de::Error::custom(NO_HASH))
    }
}

impl JsonSchema for PolicyHash {
    fn schema_name() -> Cow<'static, str> {
        "PolicyHash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::try_from(schemas::policy_hash()).unwrap_or_default()
    }
}

/// What is known of a stored policy.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StoredPolicy")]
pub(crate) struct Listed {
    hash: String,
    label: Option<String>,
    source_name: String,
    put_by: String,
    #[schemars(with = "String")]
    put_at: Timestamp,
}

impl From<&StoredPolicy> for Listed {
    fn from(stored: &StoredPolicy) -> Self {
        Self {
            hash: stored.hash.clone(),
            label: stored.label.clone(),
            source_name: stored.source_name.clone(),
            put_by: stored.put_by.clone(),
            put_at: stored.put_at,
        }
    }
}

/// A page of policies.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyPage")]
pub(crate) struct Page {
    policies: Vec<Listed>,
    next_cursor: Option<String>,
}

pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    mut query: Query,
) -> Result<Json<Page>, Problem> {
    let limit = query.limit(USUAL, MOST)?;
    let cursor = query.one("cursor")?;
    query.end()?;
    let before = match &cursor {
        None => None,
        Some(text) => {
            let known = PolicyHash::new(text);
            let known = known.ok_or_else(|| Problem::invalid("cursor", super::runs::NO_CURSOR))?;
            Some(known.0)
        }
    };
    let mut found = service.store.policy_list(before.as_deref(), limit + 1).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next_cursor = found.last().filter(|_| more).map(|last| last.hash.clone());
    Ok(Json(Page { policies: found.iter().map(Listed::from).collect(), next_cursor }))
}

/// Stores a policy by its hash. One that was there stays as it is, with who put it there and when.
pub(crate) async fn put(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<(StatusCode, Json<Listed>), Problem> {
    query.end()?;
    let syntax = syntax(&headers)?;
    if syntax == Syntax::Json {
        body::check_depth(&bytes)?;
    }
    if bytes.trim_ascii().is_empty() {
        return Err(Problem::unreadable("the body is empty; a policy was expected"));
    }
    let policy = read(&service, &bytes, syntax, &caller).await?;
    let text = String::from_utf8(bytes.to_vec()).ok();
    let put_by = caller.name().to_owned();
    let pinned = PinnedPolicy { policy, text, name: "the API".to_owned(), put_by };
    let put = pinned.stored(service.now());
    service.store.policy_put(&put).await?;
    let kept = fetched(&service, &put.hash).await?;
    in_force::loaded(&kept)?;
    let is_new = (&kept.put_by, kept.put_at) == (&put.put_by, put.put_at);
    tracing::info!(caller = caller.name(), hash = kept.hash, is_new, "a policy is stored");
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Listed::from(&kept))))
}

/// A policy as the store has it.
async fn fetched(service: &Service, hash: &str) -> Result<StoredPolicy, Problem> {
    let stored = service.store.policy_fetch(hash).await?;
    stored.ok_or_else(|| Problem::not_found(format!("there is no policy `{hash}`")))
}

fn syntax(headers: &HeaderMap) -> Result<Syntax, Problem> {
    let syntaxes = [Syntax::Json, Syntax::Toml, Syntax::Yaml];
    let named = TYPES.iter().position(|kind| body::is_of_type(headers, kind));
    named.map(|place| syntaxes[place]).ok_or_else(|| {
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_TYPE",
            "a policy is `application/json`, `application/toml` or `application/yaml`",
        )
    })
}

/// Reads a policy that came over the network; what is more than data is refused, and that is on
/// record.
pub(crate) async fn read(
    service: &Service,
    bytes: &[u8],
    syntax: Syntax,
    caller: &Caller,
) -> Result<Policy, Problem> {
    let policy = decide::load(bytes, syntax)?;
    if let Err(problem) = data_only::check(&policy) {
        let refused = service.redactor.text(problem.detail());
        tracing::warn!(caller = caller.name(), %refused, "a policy is no data");
        let row = refusal(service, caller, &policy, &problem);
        // It is refused whether or not that can be written down.
        if let Err(error) = service.audit.append(row).await {
            tracing::error!(%error, "the refusal of a policy can't be recorded");
        }
        return Err(problem);
    }
    Ok(policy)
}

/// The row of the audit about a policy that was refused.
fn refusal(service: &Service, caller: &Caller, policy: &Policy, problem: &Problem) -> NewAuditRow {
    NewAuditRow {
        request_id: rerun::new_request_id(),
        decision: "REFUSED".to_owned(),
        reason_code: Some(problem.code().to_owned()),
        reasons: JsonText::of(&[service.redactor.text(problem.detail())]),
        recommended_next_step: "MANUAL_REVIEW".to_owned(),
        applied_rules: JsonText::of(&["data_only"]),
        evidence: JsonText::of(&serde_json::json!({ "policy_hash": policy.hash() })),
        created_at: service.now(),
        actor: caller.name().to_owned(),
        ..NewAuditRow::default()
    }
}

/// A stored policy, whole.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WholePolicy")]
pub(crate) struct Whole {
    #[serde(flatten)]
    listed: Listed,
    /// The effective policy.
    #[schemars(with = "schemas::Object")]
    policy: Value,
    /// The text as its author wrote it; left out where it may hold a secret.
    source: Option<String>,
    /// What is not shown, since it is a secret.
    redacted: Vec<&'static str>,
}

pub(crate) async fn fetch(
    State(service): State<Arc<Service>>,
    Name(hash): Name,
    query: Query,
) -> Result<Json<Whole>, Problem> {
    query.end()?;
    let stored = fetched(&service, &hash).await?;
    let listed = Listed::from(&stored);
    let mut policy = in_force::loaded(&stored)?.to_json();
    // The path of a webhook may be a secret, and reading is not meant to give it away.
    let webhook = policy.pointer_mut("/notify/webhook");
    let is_secret = webhook.is_some();
    if let Some(webhook) = webhook {
        *webhook = "https://…".into();
    }
    let redacted = if is_secret { vec!["notify.webhook"] } else { Vec::new() };
    let source = stored.source.filter(|_| !is_secret);
    Ok(Json(Whole { listed, policy, source, redacted }))
}

/// Which policy is to be in force.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Activate {
    policy_hash: PolicyHash,
}

/// A policy that was put in force, or taken back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ActivePolicy")]
pub(crate) struct Active {
    /// `global`, `repo:OWNER/NAME` or `label:KEY=VALUE`.
    #[schemars(with = "String")]
    scope: PolicyScope,
    policy_hash: Option<String>,
    by: String,
    #[schemars(with = "String")]
    at: Timestamp,
}

impl From<Activation> for Active {
    fn from(activation: Activation) -> Self {
        let Activation { scope, policy_hash, by, at } = activation;
        Self { scope, policy_hash, by, at }
    }
}

pub(crate) async fn activate(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(scope): Name,
    query: Query,
    body::Json(wanted): body::Json<Activate>,
) -> Result<Json<Active>, Problem> {
    query.end()?;
    let scope = scope_of(&scope)?;
    let hash = wanted.policy_hash.0;
    let stored = service.store.policy_fetch(&hash).await?;
    let missing = || Problem::not_found(format!("there is no policy {hash}")).about("policy_hash");
    let stored = stored.ok_or_else(missing)?;
    // In force it would hold everybody who asks.
    in_force::loaded(&stored)
        .map_err(|fault| Problem::conflict(fault.to_string()).about("policy_hash"))?;
    Ok(Json(change(&service, &caller, scope, Some(hash)).await?.into()))
}

pub(crate) async fn deactivate(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(scope): Name,
    query: Query,
) -> Result<StatusCode, Problem> {
    query.end()?;
    let scope = scope_of(&scope)?;
    let active = service.store.policy_active(std::slice::from_ref(&scope)).await?;
    if !active.iter().any(|one| one.policy_hash.is_some()) {
        return Err(Problem::not_found(format!("nothing is in force for {scope}")));
    }
    change(&service, &caller, scope, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn change(
    service: &Service,
    caller: &Caller,
    scope: PolicyScope,
    policy_hash: Option<String>,
) -> Result<Activation, Problem> {
    let (by, at) = (caller.name().to_owned(), service.now());
    let activation = Activation { scope, policy_hash, by, at };
    service.store.policy_activate(&activation).await?;
    service.changed().await;
    tracing::warn!(
        caller = caller.name(),
        scope = %activation.scope,
        hash = activation.policy_hash.as_deref().unwrap_or("none"),
        "another policy is in force"
    );
    Ok(activation)
}

pub(crate) async fn active(
    State(service): State<Arc<Service>>,
    query: Query,
) -> Result<Json<Vec<Active>>, Problem> {
    query.end()?;
    // The newest word about each scope counts.
    let history = service.store.policy_history(None, None, MOST_CHANGES).await?;
    let mut seen = BTreeSet::new();
    let newest = history.into_iter().map(|past| past.activation);
    let newest = newest.filter(|one| seen.insert(one.scope.clone()));
    let in_force = newest.filter(|one| one.policy_hash.is_some());
    Ok(Json(in_force.map(Active::from).collect()))
}

pub(crate) async fn history(
    State(service): State<Arc<Service>>,
    mut query: Query,
) -> Result<Response, Problem> {
    let scope = query.one("scope")?.map(|text| scope_of(&text)).transpose()?;
    let limit = query.limit(USUAL, MOST)?;
    let before: Option<u64> = query.whole("cursor")?;
    query.end()?;
    let mut found = service.store.policy_history(scope.as_ref(), before, limit + 1).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next_cursor = found.last().filter(|_| more).map(|last| last.number);
    let page: Vec<_> = found.into_iter().map(|past| Active::from(past.activation)).collect();
    let mut response = Json(page).into_response();
    if let Some(cursor) = next_cursor {
        response.headers_mut().insert(NEXT_CURSOR, cursor.into());
    }
    Ok(response)
}

fn scope_of(text: &str) -> Result<PolicyScope, Problem> {
    text.parse().map_err(|error: String| Problem::invalid("scope", error))
}

pub(crate) const TYPES: &[&str] = &["application/json", "application/toml", "application/yaml"];
const NO_HASH: &str = "a policy's hash is `sha256:` and 64 hexadecimal digits";
const USUAL: u32 = 50;
pub(crate) const MOST: u32 = 500;
const MOST_CHANGES: u32 = 100_000;
