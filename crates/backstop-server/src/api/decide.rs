//! `POST /v1/decide`: one decision from facts or events, and nothing remembered.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::event::Event;
use backstop_core::facts::GivenFacts;
use backstop_core::policy::{Policy, Preset};
use backstop_core::reason::ReasonCode;
use backstop_core::rerun::{Answer, Request};
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::task::block_in_place;

use crate::access::Caller;
use crate::body::{self, Whole};
use crate::data_only;
use crate::engines::Compiled;
use crate::headers::{EXIT_CODE, VERDICT};
use crate::in_force::PolicyFault;
use crate::problem::Problem;
use crate::query::Query;
use crate::schemas;
use crate::service::Service;

/// What is asked. Policy and facts are read by the core, which knows them better.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question<'a> {
    #[serde(borrow, default)]
    policy: Option<&'a RawValue>,
    #[serde(default)]
    policy_hash: Option<String>,
    #[serde(borrow, default)]
    facts: Option<&'a RawValue>,
    #[serde(default)]
    events: Option<Vec<Event>>,
    #[serde(default)]
    now: Option<Timestamp>,
    #[serde(default)]
    form: Option<Form>,
    #[serde(default)]
    pr_number: Option<u64>,
    #[serde(default)]
    run_id: Option<u64>,
}

/// The form of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// That of re-run bots.
    Rerun,
}

pub(crate) async fn decide(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query,
    Whole { headers, bytes }: Whole,
) -> Result<Response, Problem> {
    query.end()?;
    body::check_json(&headers, &bytes)?;
    let question: Question<'_> = body::read_object(&bytes)?;
    let now = question.now.unwrap_or_else(|| service.now());
    let compiled = match compiled(&service, &caller, &question).await? {
        Found::Policy(compiled) => compiled,
        Found::Blocked(message) => {
            let policy_hash = question.policy_hash.unwrap_or_default();
            return Ok(blocked(&service, message, policy_hash, now));
        }
    };
    // After the last wait, so that they are not carried about with the request.
    let given = match question.facts {
        Some(text) => GivenFacts::from_json(text.get().as_bytes())
            .map_err(|error| Problem::invalid("facts", format!("these are not facts: {error}")))?,
        None => GivenFacts::default(),
    };
    let target = (question.pr_number, question.run_id);
    let events = question.events.unwrap_or_default();
    let decide = || {
        compiled.decide(given, &events, now, |engine, decision| {
            service.metrics.decided(decision.verdict.as_str(), decision.reason.as_deref());
            let text = match question.form {
                None => decision.to_json(),
                Some(Form::Rerun) => {
                    let answer = Answer::new(engine, &decision, request(&headers, target));
                    serde_json::to_string(&answer).unwrap_or_default()
                }
            };
            (text, (decision.verdict, decision.exit_code(engine.policy())))
        })
    };
    // What takes long must not keep the thread from others' requests.
    let (text, told) = if compiled.may_take_long { block_in_place(decide) } else { decide() };
    Ok(answered_for_commands(text, told.0, told.1))
}

/// The answer where not even the caller can be told.
pub(crate) fn hold_for_store(service: &Service, _: &Parts) -> Response {
    blocked(service, STORE_FAILED.to_owned(), String::new(), service.now())
}

enum Found {
    Policy(Arc<Compiled>),
    /// There is one, and nobody can tell what it says.
    Blocked(String),
}

/// The policy that counts: the one that came along, the one that was named, the one in force, else
/// the preset for those who have none.
async fn compiled(
    service: &Service,
    caller: &Caller,
    question: &Question<'_>,
) -> Result<Found, Problem> {
    let found = match (question.policy, &question.policy_hash) {
        (Some(_), Some(_)) => {
            return Err(Problem::invalid(
                "policy_hash",
                "name a policy by `policy_hash` or send it as `policy`, not both",
            ));
        }
        (Some(text), None) => {
            let load = || inline(service, text.get(), caller);
            return service.engines.get(text.get(), load).map(Found::Policy);
        }
        (None, Some(hash)) => match service.policies.by_hash(hash).await {
            Ok(None) => return Err(Problem::not_found(format!("there is no policy {hash}"))),
            found => found,
        },
        (None, None) => service.policies.global().await,
    };
    match found {
        Ok(Some(policy)) => {
            service.engines.get(&policy.hash, || Ok(Policy::clone(&policy))).map(Found::Policy)
        }
        Ok(None) => service
            .engines
            .get("preset:default", || Ok(Policy::preset(Preset::Default)))
            .map(Found::Policy),
        Err(fault) => {
            tracing::error!(%fault, "a decision is held: the policy can't be had");
            Ok(Found::Blocked(match fault {
                PolicyFault::Store(_) => {
                    service.metrics.store_failed();
                    STORE_FAILED.to_owned()
                }
                other => format!("Held: {other}"),
            }))
        }
    }
}

/// A policy that came along with the question. It is data, whoever sends it.
fn inline(service: &Service, text: &str, caller: &Caller) -> Result<Policy, Problem> {
    let loaded = load(text.as_bytes(), Syntax::Json)?;
    data_only::check(&loaded).inspect_err(|problem| {
        let refused = service.redactor.text(problem.detail());
        tracing::warn!(caller = caller.name(), %refused, "a policy is no data");
    })?;
    Ok(loaded)
}

/// Reads a policy, or says everything that is wrong with it.
pub(crate) fn load(bytes: &[u8], syntax: Syntax) -> Result<Policy, Problem> {
    Policy::load(bytes, syntax).map(|loaded| loaded.policy).map_err(|findings| {
        let first = findings.first().map_or("", |finding| finding.message.as_str());
        let more = match findings.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let all = findings.iter().take(MOST_FINDINGS).map(|finding| finding.message.clone());
        Problem::invalid("policy", format!("this is not a policy: {first}{more}"))
            .listing(all.collect())
    })
}

/// A hold because nobody can tell what the policy says.
fn blocked(service: &Service, message: String, policy_hash: String, now: Timestamp) -> Response {
    let decision = hold(service, message, policy_hash, now);
    let exit_code = ReasonCode::PolicyBlock.reason().exit_code;
    answered_for_commands(decision.to_json(), decision.verdict, exit_code)
}

/// The decision where nobody can tell what the policy says.
pub(crate) fn hold(
    service: &Service,
    message: String,
    policy_hash: String,
    now: Timestamp,
) -> Decision {
    let reason = ReasonCode::PolicyBlock;
    service.metrics.decided(Verdict::Hold.as_str(), Some(reason.as_str()));
    Decision {
        verdict: Verdict::Hold,
        reason: Some(reason.as_str().to_owned()),
        message,
        rule: None,
        value: None,
        threshold: None,
        next_step: reason.reason().next_step,
        also_met: Vec::new(),
        progress: Vec::new(),
        unknown: Vec::new(),
        overall_progress: 0.0,
        policy_hash,
        decided_at: now,
    }
}

pub(crate) fn answered(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let mut headers = HeaderMap::with_capacity(HEADERS);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.headers_mut() = headers;
    response
}

/// A decision in whatever form, with what a command needs of it that ends by it: not every form says
/// so, and only who has the policy knows the codes of its own reasons.
fn answered_for_commands(text: String, verdict: Verdict, exit_code: u8) -> Response {
    let mut response = answered(text);
    let headers = response.headers_mut();
    headers.insert(VERDICT, HeaderValue::from_static(verdict.as_str()));
    headers.insert(EXIT_CODE, HeaderValue::from(u16::from(exit_code)));
    response
}

fn request(headers: &HeaderMap, (pr_number, run_id): (Option<u64>, Option<u64>)) -> Request {
    let production =
        std::env::var("DEPLOY_ENV").is_ok_and(|name| matches!(&*name, "prod" | "production"));
    let id = headers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    Request {
        request_id: id.to_owned(),
        deployment_env: if production { "prod" } else { "staging" },
        pr_number,
        run_id,
    }
}

/// What the document says of the question.
#[derive(Debug)]
pub(crate) struct QuestionSchema;

impl JsonSchema for QuestionSchema {
    fn schema_name() -> Cow<'static, str> {
        "Question".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let or_null = |schema: &Schema| json!({ "anyOf": [schema, { "type": "null" }] });
        let mut hash = schemas::policy_hash();
        hash["type"] = json!(["string", "null"]);
        let events = generator.subschema_for::<schemas::Event>();
        let properties = json!({
            "policy": or_null(&generator.subschema_for::<schemas::Policy>()),
            "policy_hash": hash,
            "facts": or_null(&generator.subschema_for::<schemas::Facts>()),
            "events": { "type": ["array", "null"], "items": events },
            "now": { "type": ["string", "null"], "format": "date-time" },
            "form": { "enum": ["rerun", null] },
            "pr_number": { "type": ["integer", "null"], "minimum": 0 },
            "run_id": { "type": ["integer", "null"], "minimum": 0 },
        });
        let schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        });
        Schema::try_from(schema).unwrap_or_default()
    }
}

/// What the document says of the answer.
#[derive(Debug)]
pub(crate) struct DecidedSchema;

impl JsonSchema for DecidedSchema {
    fn schema_name() -> Cow<'static, str> {
        "Decided".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms = [
            generator.subschema_for::<schemas::Decision>(),
            generator.subschema_for::<schemas::RerunAnswer>(),
        ];
        Schema::try_from(json!({ "anyOf": forms })).unwrap_or_default()
    }
}

const STORE_FAILED: &str = "Held: the store can't be read, so nobody can tell what the policy says";
const MOST_FINDINGS: usize = 50;
/// Room for all headers of an answer, so that it is made once.
const HEADERS: usize = 10;
