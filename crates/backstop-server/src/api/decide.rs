//! `POST /v1/decide`: one decision from facts or events, and nothing remembered.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
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
use backstop_core::rerun::{Answer, Request, Target, speaks_of_reruns};
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
use crate::deadline::Deadline;
use crate::engines::Compiled;
use crate::headers::{EXIT_CODE, REQUEST_ID, VERDICT};
use crate::in_force::PolicyFault;
use crate::problem::Problem;
use crate::query::Query;
use crate::rerun::{self, DeploymentEnv, NO_STORE};
use crate::schemas;
use crate::service::Service;
use crate::words;

/// What is asked. Policy and facts are read by the core, which knows them better.
#[derive(Default, Deserialize)]
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
    #[serde(default, deserialize_with = "words::whole_or_null")]
    pr_number: Option<u64>,
    #[serde(default, deserialize_with = "words::whole_or_null")]
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
    deadline: Deadline,
    Whole { headers, bytes }: Whole,
) -> Result<Response, Problem> {
    query.end()?;
    body::check_json(&headers, &bytes)?;
    let question: Question<'_> = body::read_object(&bytes)?;
    let now = question.now.unwrap_or_else(|| service.now());
    let found = match deadline.bounds(pin!(compiled(&service, &caller, &question))).await {
        Ok(found) => found?,
        Err(_late) => {
            service.metrics.store_failed();
            Found::Blocked(NO_STORE.to_owned())
        }
    };
    let compiled = match found {
        Found::Policy(compiled) => compiled,
        Found::Blocked(why) => return Ok(blocked(&service, &headers, &question, &why)),
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
                    answer.to_json()
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
pub(crate) fn hold_for_store(service: &Service, parts: &Parts, body: &Bytes) -> Response {
    // Who asks nothing that can be read is held all the same.
    let question = body::read_object(body).unwrap_or_default();
    blocked(service, &parts.headers, &question, NO_STORE)
}

enum Found {
    Policy(Arc<Compiled>),
    /// There may be one, and nobody can tell what it says: why.
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
    let is_of_rerun = question.form == Some(Form::Rerun);
    let found = match found {
        // One that was put in force for something else leaves re-runs to the preset for them.
        Ok(found) => found.filter(|policy| {
            !is_of_rerun || question.policy_hash.is_some() || speaks_of_reruns(policy)
        }),
        Err(fault) => {
            tracing::error!(%fault, "a decision is held: the policy can't be had");
            return Ok(Found::Blocked(match fault {
                PolicyFault::Store(_) => {
                    service.metrics.store_failed();
                    NO_STORE.to_owned()
                }
                other => other.to_string(),
            }));
        }
    };
    let compiled = match found {
        Some(policy) => service.engines.get(&policy.hash, || Ok(Policy::clone(&policy))),
        None => {
            let (key, preset) = match is_of_rerun {
                true => ("preset:rerun", Preset::Rerun),
                false => ("preset:default", Preset::Default),
            };
            service.engines.get(key, || Ok(Policy::preset(preset)))
        }
    };
    compiled.map(Found::Policy)
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

/// A hold because nobody can tell what the policy says, in the form that was asked for.
fn blocked(service: &Service, headers: &HeaderMap, asked: &Question<'_>, why: &str) -> Response {
    let policy_hash = asked.policy_hash.clone().unwrap_or_default();
    let now = asked.now.unwrap_or_else(|| service.now());
    let decision = hold(service, format!("Held: {NO_POLICY}: {why}"), policy_hash, now);
    let text = match asked.form {
        None => decision.to_json(),
        Some(Form::Rerun) => {
            let request = request(headers, (asked.pr_number, asked.run_id));
            let mut answer = rerun::held_unread(service, &request.request_id, NO_POLICY, why);
            answer.target = Target { pr_number: request.pr_number, run_id: request.run_id };
            answer.to_json()
        }
    };
    let exit_code = ReasonCode::PolicyBlock.reason().exit_code;
    answered_for_commands(text, decision.verdict, exit_code)
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
    let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    Request {
        request_id: id.to_owned(),
        deployment_env: DeploymentEnv::here().as_str(),
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
            "now": schemas::time_or_null(),
            "form": { "enum": ["rerun", null] },
            "pr_number": { "type": ["integer", "null"], "minimum": 0 },
            "run_id": { "type": ["integer", "null"], "minimum": 0 },
        });
        let schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
            // One of the two names the policy.
            "not": {
                "properties": { "policy": { "type": "object" }, "policy_hash": { "type": "string" } },
                "required": ["policy", "policy_hash"],
            },
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

const NO_POLICY: &str = "nobody can tell what the policy says";
const MOST_FINDINGS: usize = 50;
/// Room for all headers of an answer, so that it is made once.
const HEADERS: usize = 10;
