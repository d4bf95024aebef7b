//! As much of JSON Schema as the policy schema uses. A keyword that it does not know is a panic, so
//! that none is passed over.

use serde_json::{Map, Value as Json};

/// Why a document does not fit the schema; `None` if it does.
pub fn violation(schema: &Json, document: &Json) -> Option<String> {
    Validator { root: schema }.violation(schema, document, "")
}

struct Validator<'a> {
    root: &'a Json,
}

impl Validator<'_> {
    fn violation(&self, schema: &Json, value: &Json, place: &str) -> Option<String> {
        let schema = match schema {
            Json::Bool(true) => return None,
            Json::Bool(false) => return Some(format!("{place}: nothing is allowed here")),
            Json::Object(schema) => schema,
            other => panic!("not a schema: {other}"),
        };
        schema.iter().find_map(|(keyword, rule)| self.keyword(schema, keyword, rule, value, place))
    }

    fn keyword(
        &self,
        schema: &Map<String, Json>,
        keyword: &str,
        rule: &Json,
        value: &Json,
        place: &str,
    ) -> Option<String> {
        let fits = |schema: &Json| self.violation(schema, value, place).is_none();
        let list = || rule.as_array().expect("a list");
        let broken = |holds: bool| (!holds).then(|| format!("{place}: {keyword} {rule}: {value}"));
        let number = |compare: fn(f64, f64) -> bool| {
            broken(
                value.as_f64().is_none_or(|value| compare(value, rule.as_f64().expect("a number"))),
            )
        };
        match keyword {
            "$schema" | "$defs" | "definitions" | "$id" | "title" | "description" | "default"
            | "examples" | "format" => None,
            "$ref" => {
                let pointer = rule.as_str().and_then(|path| path.strip_prefix('#')).expect("local");
                let target = self.root.pointer(pointer).expect("a definition");
                self.violation(target, value, place)
            }
            "anyOf" => broken(list().iter().any(fits)),
            "oneOf" => broken(list().iter().filter(|schema| fits(schema)).count() == 1),
            "allOf" => list().iter().find_map(|schema| self.violation(schema, value, place)),
            "not" => broken(!fits(rule)),
            "const" => broken(value == rule),
            "enum" => broken(list().contains(value)),
            "type" => broken(match rule {
                Json::Array(names) => names.iter().any(|name| is_of_type(value, name)),
                name => is_of_type(value, name),
            }),
            "minimum" => number(|value, limit| value >= limit),
            "maximum" => number(|value, limit| value <= limit),
            "exclusiveMinimum" => number(|value, limit| value > limit),
            "exclusiveMaximum" => number(|value, limit| value < limit),
            "minLength" => broken(value.as_str().is_none_or(|text| {
                text.chars().count() as u64 >= rule.as_u64().expect("a length")
            })),
            "pattern" => None,
            "minItems" => broken(
                value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= rule.as_u64().expect("a length")),
            ),
            "uniqueItems" => None,
            "items" => {
                value.as_array()?.iter().enumerate().find_map(|(index, item)| {
                    self.violation(rule, item, &format!("{place}/{index}"))
                })
            }
            "required" => {
                let object = value.as_object()?;
                broken(list().iter().all(|key| object.contains_key(key.as_str().expect("a key"))))
            }
            "properties" => value.as_object()?.iter().find_map(|(key, value)| {
                self.violation(rule.get(key)?, value, &format!("{place}/{key}"))
            }),
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Json::as_object);
                let mut others = value
                    .as_object()?
                    .iter()
                    .filter(|(key, _)| known.is_none_or(|known| !known.contains_key(key.as_str())));
                others
                    .find_map(|(key, value)| self.violation(rule, value, &format!("{place}/{key}")))
            }
            other => panic!("{place}: unknown keyword {other}"),
        }
    }
}

fn is_of_type(value: &Json, name: &Json) -> bool {
    match name.as_str().expect("the name of a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("unknown type {other}"),
    }
}
