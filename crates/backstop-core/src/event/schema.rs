//! JSON Schema of events, generated from their declarations: what the decoder itself takes.

use serde_json::{Map, Value as Json, json};

use super::EventKind;
use super::reference::Described;
use super::shape::{Field, Shape};

/// JSON Schema of an event: one of its types, each with its fields.
pub fn schema() -> Json {
    let kinds: Vec<_> = EventKind::described().iter().map(of_type).collect();
    json!({ "oneOf": kinds })
}

fn of_type(described: &Described) -> Json {
    let mut properties = Map::new();
    properties.insert("type".to_owned(), json!({ "const": described.name }));
    let mut required = vec!["type"];
    for field in (described.fields)() {
        let mut value = of_field(&field);
        for (probe, keyword, bound) in bounds(&field.value) {
            if described.refuses(field.name, Some(probe)) {
                value[keyword] = bound;
            }
        }
        properties.insert(field.name.to_owned(), value);
        if described.requires(field.name) {
            required.push(field.name);
        }
    }
    for (name, value) in [("seq", Shape::Count), ("at", Shape::Time), ("active_ms", Shape::Count)] {
        let field = Field { name, value, is_nullable: true };
        properties.insert(name.to_owned(), of_field(&field));
    }
    json!({
        "type": "object",
        "description": described.meaning(),
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// What the decoder may refuse although it is of the right shape, and how a schema says so.
fn bounds(shape: &Shape) -> Vec<(Json, &'static str, Json)> {
    match shape {
        Shape::Number => {
            vec![(json!(-1), "minimum", json!(0)), (json!(2), "maximum", json!(1))]
        }
        Shape::Text => vec![(json!(""), "minLength", json!(1))],
        _ => Vec::new(),
    }
}

fn of_field(field: &Field) -> Json {
    let mut schema = of_shape(&field.value);
    if field.is_nullable {
        if let Some(kind) = schema.get_mut("type") {
            *kind = json!([kind.take(), "null"]);
        }
        if let Some(choices) = schema.get_mut("enum").and_then(Json::as_array_mut) {
            choices.push(Json::Null);
        }
    }
    schema
}

fn of_shape(shape: &Shape) -> Json {
    match shape {
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count => json!({ "type": "integer", "minimum": 0 }),
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Time => json!({ "type": "string", "format": "date-time", "pattern": TIME_PATTERN }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::OneOf(choices) => json!({ "enum": choices }),
        Shape::Limit => json!({ "anyOf": [
            { "type": "number", "minimum": 0 },
            { "type": "string", "examples": ["90s", "15m", "2h 30m", "1day"] },
        ] }),
        Shape::Object(fields) => {
            let properties: Map<_, _> =
                fields.iter().map(|field| (field.name.to_owned(), of_field(field))).collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        }
        Shape::ByName(shape) => {
            json!({ "type": "object", "additionalProperties": of_shape(shape) })
        }
        Shape::Anything => json!({}),
    }
}

/// What stands for a time at least; whether there is such a day is its reader's to say.
pub const TIME_PATTERN: &str = "^[0-9]{4}-?[0-9]{2}-?[0-9]{2}[Tt ][0-9]{2}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    fn fields_of(name: &str) -> Json {
        let schema = schema();
        let kinds = schema["oneOf"].as_array().unwrap();
        let found = kinds.iter().find(|kind| kind["properties"]["type"]["const"] == name);
        found.unwrap().clone()
    }

    #[test]
    fn every_type_is_there_with_what_its_decoder_takes() {
        let schema = schema();
        let kinds = schema["oneOf"].as_array().unwrap();
        let names: Vec<_> = kinds
            .iter()
            .map(|kind| kind["properties"]["type"]["const"].as_str().unwrap())
            .collect();
        assert_eq!(names, EventKind::TYPE_NAMES);
        let unit = fields_of("unit");
        assert_eq!(unit["required"], json!(["type", "id", "status"]));
        let statuses = json!(["pending", "in_progress", "approved", "rejected", "failed"]);
        assert_eq!(unit["properties"]["status"], json!({ "enum": statuses }));
        let attempts = json!({ "type": ["integer", "null"], "minimum": 0 });
        assert_eq!(unit["properties"]["attempts"], attempts);
    }

    #[test]
    fn bounds_nested_fields_and_names_are_told() {
        let used = &fields_of("quota")["properties"]["used"];
        assert_eq!(*used, json!({ "type": "number", "minimum": 0, "maximum": 1 }));
        let cost = &fields_of("usage")["properties"]["cost_usd"];
        assert_eq!(*cost, json!({ "type": ["number", "null"], "minimum": 0 }));
        let counts = &fields_of("tests")["properties"]["counts"];
        assert_eq!(counts["type"], json!(["object", "null"]));
        assert_eq!(counts["properties"]["failed"], json!({ "type": "integer", "minimum": 0 }));
        let metrics = &fields_of("cycle")["properties"]["metrics"];
        assert_eq!(
            *metrics,
            json!({ "type": "object", "additionalProperties": { "type": "number" } })
        );
        let code = &fields_of("iteration_finished")["properties"]["exit_code"];
        assert_eq!(*code, json!({ "type": ["integer", "null"] }));
    }

    /// Values that a schema allows, those at its bounds among them, and the largest where it has none.
    fn samples(schema: &Json) -> Vec<Json> {
        if let Some(choices) = schema["enum"].as_array() {
            return choices.clone();
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            return choices.iter().flat_map(samples).collect();
        }
        let kinds = match &schema["type"] {
            Json::Array(kinds) => kinds.clone(),
            kind => vec![kind.clone()],
        };
        let of_kind = |kind: &Json| match kind.as_str().unwrap() {
            "null" => vec![Json::Null],
            "boolean" => vec![json!(true), json!(false)],
            "integer" => {
                // Without a fraction any number is whole.
                let least = schema.get("minimum").cloned().unwrap_or(json!(i64::MIN));
                let whole = [json!(9), json!(9.0), json!(3_000_000_000_u64), json!(u64::MAX)];
                [least, json!(1e30)].into_iter().chain(whole).collect()
            }
            "number" => vec![
                schema.get("minimum").cloned().unwrap_or(json!(f64::MIN)),
                schema.get("maximum").cloned().unwrap_or(json!(f64::MAX)),
                schema.get("maximum").cloned().unwrap_or(json!(u64::MAX)),
            ],
            "string" if schema["format"] == "date-time" => vec![json!("2026-05-04T10:00:00Z")],
            "string" if schema["examples"].is_array() => {
                schema["examples"].as_array().unwrap().clone()
            }
            "string" if schema["minLength"] == 1 => vec![json!("x")],
            "string" => vec![json!(""), json!("x")],
            "array" => vec![json!([]), json!([""])],
            "object" => {
                let mut objects = vec![json!({})];
                let inner = &schema["additionalProperties"];
                if inner.is_object() {
                    objects.extend(samples(inner).into_iter().map(|value| json!({ "x": value })));
                }
                for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                    objects.extend(samples(inner).into_iter().map(|value| json!({ name: value })));
                }
                objects
            }
            other => panic!("{other}"),
        };
        kinds.iter().flat_map(of_kind).collect()
    }

    #[test]
    fn the_decoder_takes_what_the_schema_allows_and_nothing_less() {
        for kind in schema()["oneOf"].as_array().unwrap() {
            let properties = kind["properties"].as_object().unwrap();
            let mut least = json!({ "type": properties["type"]["const"] });
            for name in kind["required"].as_array().unwrap().iter().skip(1) {
                let name = name.as_str().unwrap();
                least[name] = samples(&properties[name])[0].clone();
            }
            let reads = |event: &Json| {
                Event::from_json(event.to_string().as_bytes())
                    .map_err(|error| format!("{event}: {error}"))
            };
            reads(&least).unwrap();
            for (name, schema) in properties.iter().filter(|(name, _)| *name != "type") {
                for value in samples(schema) {
                    let mut event = least.clone();
                    event[name] = value;
                    reads(&event).unwrap();
                }
                let mut event = least.clone();
                event.as_object_mut().unwrap().remove(name);
                let is_required = kind["required"].as_array().unwrap().contains(&json!(name));
                assert_eq!(reads(&event).is_err(), is_required, "{event}");
            }
        }
    }
}
