//! What things look like that the core defines, for the OpenAPI document.

use std::borrow::Cow;

use backstop_core::event;
use backstop_core::policy;
use backstop_core::reason::Family;
use backstop_core::state::RunStatus;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value as Json, json};

use crate::api::runs::LONGEST_LABEL;

/// Declares something that stands in the document under its name.
macro_rules! described {
    ($(#[doc = $doc:literal])* $name:ident, $schema:expr) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let make: fn(&mut SchemaGenerator) -> Json = $schema;
                Schema::try_from(make(generator)).unwrap_or_default()
            }
        }
    };
}

described!(
    /// A decision, as `backstop check --json` prints it.
    Decision, |_| {
        let mut properties = decision_properties();
        object(&mut properties, DECISION_FIELDS, false)
    }
);

described!(
    /// A decision with what a caller of a run needs beside it.
    RunDecision, |_| {
        let mut properties = decision_properties();
        properties["exit_code"] = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
        properties["seq"] = json!({ "type": ["integer", "null"], "minimum": 0 });
        object(&mut properties, DECISION_FIELDS, true)
    }
);

described!(
    /// An answer in the form that re-run bots know.
    RerunAnswer, |_| json!({
        "type": "object",
        "properties": {
            "schemaVersion": { "const": "1.0" },
            "requestId": { "type": "string" },
            "lawbookHash": { "type": "string" },
            "deploymentEnv": { "enum": ["staging", "prod"] },
            "target": { "type": "object" },
            "decision": { "enum": ["CONTINUE", "HOLD", "KILL"] },
            "reasonCode": { "type": "string" },
            "reasons": { "type": "array", "items": { "type": "string" } },
            "recommendedNextStep": { "enum": ["PROMPT", "MANUAL_REVIEW", "FIX_REQUIRED", "WAIT"] },
            "evidence": { "type": "object" },
            "metadata": { "type": "object" },
        },
        "required": [
            "schemaVersion", "requestId", "lawbookHash", "deploymentEnv", "target", "decision",
            "reasons", "recommendedNextStep", "evidence", "metadata"
        ],
    })
);

described!(
    /// Something that happened.
    Event, |_| event::schema()
);

described!(
    /// Facts by their names; what is left out has its neutral value.
    Facts, |_| json!({ "type": "object" })
);

described!(
    /// A policy in the native form or in one of the dialects.
    Policy, |generator| {
        let condition = generator.subschema_for::<Condition>();
        let mut schema = policy::schema();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("$defs");
            schema.remove("$schema");
        }
        point_to(&mut schema, condition.get("$ref").unwrap_or(&Json::Null));
        schema
    }
);

described!(
    /// When a rule is met.
    Condition, |_| {
        let mut schema = policy::schema()["$defs"]["condition"].take();
        point_to(&mut schema, &json!("#/components/schemas/Condition"));
        schema
    }
);

described!(
    /// Where a run stands: `state.json`, with the facts.
    RunView, |_| json!({
        "type": "object",
        "properties": run_state_properties(),
        "required": ["run_id", "run_status", "statistics", "policy_hash", "facts", "health"],
    })
);

described!(
    /// Where a run stands, in short.
    RunState, |_| json!({
        "type": "object",
        "properties": run_state_properties(),
        "required": ["run_id", "run_status", "statistics", "policy_hash"],
    })
);

described!(
    /// A reason of the registry.
    Reason, |_| json!({
        "type": "object",
        "properties": {
            "code": { "type": "string" },
            "title": { "type": "string" },
            "family": { "enum": Family::ALL.map(Family::as_str) },
            "exit_code": { "type": "integer" },
            "diagnosis": { "type": "string" },
            "auto_resumable": { "type": "boolean" },
            "aliases": { "type": "array", "items": { "type": "string" } },
            "next_step": { "type": "string" },
        },
        "required": ["code", "title", "family", "exit_code", "diagnosis", "auto_resumable"],
    })
);

described!(
    /// A row of the audit.
    AuditRow, |_| json!({
        "type": "object",
        "properties": {
            "number": { "type": "integer", "minimum": 1 },
            "request_id": { "type": "string" },
            "decision": { "type": "string" },
            "reason_code": { "type": ["string", "null"] },
            "created_at": { "type": "string", "format": "date-time" },
            "previous_hash": { "type": "string" },
            "hash": { "type": "string" },
        },
        "required": ["number", "request_id", "decision", "created_at", "previous_hash", "hash"],
    })
);

described!(
    /// Any JSON object.
    Object, |_| json!({ "type": "object" })
);

described!(
    /// Text.
    Text, |_| json!({ "type": "string" })
);

/// What a hash of a policy looks like.
pub(crate) fn policy_hash() -> Json {
    json!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" })
}

/// A time, which begins with its date and its hour in whatever way RFC 3339 and its like are written.
pub(crate) fn time_or_null() -> Json {
    json!({
        "type": ["string", "null"],
        "format": "date-time",
        "pattern": event::TIME_PATTERN,
    })
}

/// What names a run: all of its name, the beginning of it, or `latest`.
pub(crate) fn run_name() -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": 64 })
}

/// The whole name of a run.
pub(crate) fn run_id() -> Json {
    json!({ "type": "string", "pattern": "^[0-9A-TV-Za-tv-z]{13}$" })
}

/// What the name of a run may begin with.
pub(crate) fn run_prefix() -> Json {
    json!({ "type": "string", "pattern": "^[0-9A-TV-Za-tv-z]{1,13}$" })
}

/// A label as it is asked for: `key=value`.
pub(crate) fn label() -> Json {
    json!({ "type": "string", "pattern": "^[^=\\u0000]+=[^\\u0000]*$", "maxLength": LONGEST_LABEL })
}

pub(crate) fn statuses() -> Json {
    json!({ "enum": RunStatus::ALL.map(RunStatus::as_str) })
}

const DECISION_FIELDS: [&str; 13] = [
    "verdict",
    "reason",
    "message",
    "rule",
    "value",
    "threshold",
    "next_step",
    "also_met",
    "progress",
    "unknown",
    "overall_progress",
    "policy_hash",
    "decided_at",
];

fn decision_properties() -> Json {
    let number = || json!({ "type": ["number", "null"] });
    json!({
        "verdict": { "enum": [
            "continue", "warn", "retry", "recover", "ask", "hold", "stop", "kill", "fail",
            "complete"
        ] },
        "reason": { "type": ["string", "null"] },
        "message": { "type": "string" },
        "rule": { "type": ["object", "null"] },
        "value": number(),
        "threshold": number(),
        "next_step": { "enum": ["prompt", "manual_review", "fix_required", "wait"] },
        "also_met": { "type": "array", "items": { "type": "object" } },
        "progress": { "type": "array", "items": { "type": "object" } },
        "unknown": { "type": "array", "items": { "type": "object" } },
        "overall_progress": { "type": "number", "minimum": 0, "maximum": 1 },
        "policy_hash": { "type": "string" },
        "decided_at": { "type": "string", "format": "date-time" },
    })
}

fn run_state_properties() -> Json {
    json!({
        "run_id": { "type": "string" },
        "run_status": statuses(),
        "stop_reason": { "type": ["object", "null"] },
        "stopped_at": { "type": ["string", "null"] },
        "resumable": { "type": "boolean" },
        "resume_from": { "type": "object" },
        "statistics": { "type": "object" },
        "policy_hash": { "type": "string" },
        "interrupted": { "type": "boolean" },
        "question": { "type": "object" },
        "facts": { "type": "object" },
        "health": { "type": "object" },
        "test_history": { "type": "object" },
        "origin": { "type": "object" },
        "inside": { "type": "object" },
    })
}

fn object(properties: &mut Json, required: impl serde::Serialize, open: bool) -> Json {
    json!({
        "type": "object",
        "properties": properties.take(),
        "required": required,
        "additionalProperties": open,
    })
}

/// Lets every reference to a condition point to where it stands in the document.
fn point_to(schema: &mut Json, target: &Json) {
    match schema {
        Json::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                if key == "$ref" && value == "#/$defs/condition" {
                    value.clone_from(target);
                } else {
                    point_to(value, target);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| point_to(item, target)),
        _ => {}
    }
}
