//! The JSON schema of policies, for editors.

use serde_json::{Map, Value as Json, json};

use super::settings::Settings;
use super::{dialect, draft};
use crate::condition::Condition;
use crate::field::{Field, object_schema};

/// A schema for TOML, YAML and JSON files alike: the native form or one of the dialects.
pub fn schema() -> Json {
    let mut native = Map::new();
    draft::schema(&mut native);
    Settings::schema(&mut native);
    let mut native = object_schema(&native, &[]);
    native["title"] = "native".into();
    // The dialects' host documents may hold any other key, so the native form is told from them by
    // the keys that only they have.
    native["not"] = json!({ "anyOf": [
        { "required": ["stopRules"] }, { "required": ["lawbookVersion"] }, { "required": ["retry"] },
        { "required": ["conditions"] }, { "required": ["success_conditions"] },
        { "required": ["failure_conditions"] },
    ] });
    let [loop_, pipeline, rerun] = dialect::schemas();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "backstop policy",
        "anyOf": [native, loop_, pipeline, rerun],
        "$defs": { "condition": condition_schema() },
    })
}

fn condition_schema() -> Json {
    let parts = json!({ "type": "array", "items": Condition::schema(), "minItems": 1 });
    let composite = |name: &str, key: &str, schema: Json| {
        json!({
            "type": "object",
            "properties": { "type": { "const": name }, key: schema },
            "required": ["type", key],
            "additionalProperties": false,
        })
    };
    let mut kinds: Vec<Json> = Condition::kinds().into_iter().map(|kind| kind.schema).collect();
    kinds.push(composite("all", "conditions", parts.clone()));
    kinds.push(composite("any", "conditions", parts));
    kinds.push(composite("not", "condition", Condition::schema()));
    kinds.push(json!({
        "type": "object",
        "properties": { "type": { "const": "never" } },
        "required": ["type"],
        "additionalProperties": false,
    }));
    json!({ "oneOf": kinds })
}
