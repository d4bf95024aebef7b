//! The service keeps to its own OpenAPI document, whatever it is asked.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::time::{Duration, Instant};

use crate::support::Server;
use backstop_server::openapi;
use backstop_server::router::routes;
use backstop_store::access::Scope;
use serde_json::{Map, Value as Json, json};

#[test]
fn the_document_is_whole() {
    let document = openapi::document(&routes());
    assert_eq!(document["openapi"], "3.1.0");
    let mut operations = std::collections::BTreeSet::new();
    for route in routes() {
        let method = route.method.as_str().to_lowercase();
        let operation = &document["paths"][route.path][&method];
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(operations.insert(id), "{route:?} is called like another");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{route:?}");
        assert!(operation["responses"]["431"].is_object(), "{route:?}");
        for name in route.path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            let parameters = operation["parameters"].as_array().unwrap();
            let is_it = |one: &Json| one["name"] == name && one["in"] == "path";
            assert!(parameters.iter().any(is_it), "{route:?}: {name}");
        }
    }
    let rerun = &document["components"]["schemas"]["Rerun"]["properties"];
    let question = &document["paths"]["/api/github/prs/{prNumber}/checks/stop-decision"]["get"];
    let parameter = |name: &str| {
        let mut all = question["parameters"].as_array().unwrap().iter();
        &all.find(|one| one["name"] == name).unwrap()["schema"]
    };
    for name in ["owner", "repo"] {
        assert_eq!(rerun[name], *parameter(name), "{name}");
    }
    assert_eq!(rerun["prNumber"]["maximum"], 9_007_199_254_740_991_u64);
    let signals = parameter("previousFailureSignals")["pattern"].as_str().unwrap();
    assert!(signals.contains("{0,256}"), "{signals}");
    let history = &document["paths"]["/v1/policies/history"]["get"]["responses"]["200"];
    assert_eq!(history["headers"]["backstop-next-cursor"]["schema"]["type"], "integer");
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"").skip(1) {
        let target = reference.split('"').next().unwrap().trim_start_matches('#');
        assert!(document.pointer(target).is_some(), "{target}");
    }
    assert!(!text.contains("#/$defs"), "something points to where nothing is");
}

#[test]
fn no_schema_is_only_a_way_back_to_itself() {
    let document = openapi::document(&routes());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        // What a value has to be before anything is known of its fields or items.
        let mut open = vec![&schemas[name]];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(schema) = open.pop() {
            if let Some(target) = schema["$ref"].as_str() {
                let target = target.trim_start_matches("#/components/schemas/");
                assert_ne!(target, name, "`{name}` says nothing but that it is itself");
                if seen.insert(target) {
                    open.push(&schemas[target]);
                }
            }
            for key in ["allOf", "anyOf", "oneOf"] {
                open.extend(schema[key].as_array().into_iter().flatten());
            }
        }
    }
    let fields = schemas["Problem"]["properties"].as_object().unwrap();
    for name in ["type", "status", "title", "detail", "error", "code", "field", "findings"] {
        assert!(fields.contains_key(name), "{name}");
    }
}

#[test]
fn whatever_is_asked_the_answer_is_one_of_the_documented_ones() {
    let server = Server::start();
    let token = server.token(&[Scope::Admin]);
    let bearer = format!("Bearer {token}");
    let ask = |method: &str, path: &str, kind: &str, more: &[(String, String)], body: &str| {
        let mut headers = vec![("authorization", bearer.as_str()), ("content-type", kind)];
        headers.extend(more.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        server.ask(method, path, &headers, body)
    };
    let document = ask("GET", "/openapi.json", "", &[], "").json();
    let run = ask("POST", "/v1/runs", "application/json", &[], "{}").json()["run_id"].clone();
    let seed = std::env::var("BACKSTOP_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5eed);
    let mut chance = Chance { state: seed, document: &document, run: run.as_str().unwrap() };
    let begun = Instant::now();
    let mut answered = 0;
    'all: for round in 0.. {
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                if begun.elapsed() > TIME && round >= LEAST_ROUNDS {
                    break 'all;
                }
                let question = chance.question(path, operation);
                let method = method.to_uppercase();
                let Question { path: target, kind, headers, body } = &question;
                let answer = ask(&method, target, kind, headers, body);
                let place = format!("seed {seed}: {method} {target} {kind} {headers:?} {body}");
                let documented = &operation["responses"][answer.status.to_string()];
                assert!(documented.is_object(), "{place}: {answer:?}");
                // What needs GitHub has nobody to ask here.
                let needs_github = path.contains("github") && [502, 503].contains(&answer.status);
                assert!(answer.status < 500 || needs_github, "{place}: {answer:?}");
                if answer.status != 204 {
                    let kind = answer.header("content-type").unwrap_or_default();
                    assert!(documented["content"][kind].is_object(), "{place}: {kind}: {answer:?}");
                    let schema = &documented["content"][kind]["schema"];
                    if kind.ends_with("json") {
                        chance.check(schema, &answer.json(), &place);
                    }
                }
                answered += 1;
            }
        }
    }
    assert!(answered > 100, "{answered}");
}

const TIME: Duration = Duration::from_secs(3);
const LEAST_ROUNDS: usize = 4;

struct Question {
    path: String,
    kind: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// Makes up questions from a document, with sense and without.
struct Chance<'a> {
    state: u64,
    document: &'a Json,
    run: &'a str,
}

impl<'a> Chance<'a> {
    fn next(&mut self, bound: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.next(100) < percent
    }

    fn question(&mut self, template: &str, operation: &'a Json) -> Question {
        let (mut path, mut query, mut headers) = (template.to_owned(), Vec::new(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let place = parameter["in"].as_str().unwrap();
            if place != "path" && self.happens(60) {
                continue;
            }
            let value = self.parameter(name, &parameter["schema"]);
            match place {
                "path" => path = path.replace(&format!("{{{name}}}"), &encoded(&value)),
                "query" => query.push(format!("{name}={}", encoded(&value))),
                _ => headers
                    .push((name.to_owned(), value.replace(|c: char| !c.is_ascii_graphic(), "x"))),
            }
        }
        if self.happens(5) {
            query.push("made_up=1".to_owned());
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let contents = operation["requestBody"]["content"].as_object();
        let (kind, body) = match contents {
            None => (String::new(), String::new()),
            Some(contents) => self.body(contents),
        };
        Question { path, kind, headers, body }
    }

    fn parameter(&mut self, name: &str, schema: &'a Json) -> String {
        if name == "id" && self.happens(60) {
            return self.run.to_owned();
        }
        if name == "scope" && self.happens(60) {
            return ["global", "repo:a/b", "label:k=v"][usize::try_from(self.next(3)).unwrap()]
                .to_owned();
        }
        let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
        match self.value(schema, 0) {
            Json::String(text) if !text.is_empty() => text,
            Json::String(_) => "x".to_owned(),
            other => other.to_string().replace(['/', '?'], ""),
        }
    }

    fn body(&mut self, contents: &'a Map<String, Json>) -> (String, String) {
        let place = usize::try_from(self.next(contents.len() as u64)).unwrap();
        let (kind, content) = contents.iter().nth(place).unwrap();
        let mut value = self.value(&content["schema"], 0);
        match self.next(10) {
            0 => return (kind.clone(), "{\"cut\": off".to_owned()),
            1 => return ("text/plain".to_owned(), value.to_string()),
            2 => return (kind.clone(), String::new()),
            3 => value = self.anything(3),
            4 | 5 => self.spoil(&mut value),
            _ => {}
        }
        (kind.clone(), value.to_string())
    }

    /// Changes something somewhere.
    fn spoil(&mut self, value: &mut Json) {
        match value {
            Json::Object(fields) if !fields.is_empty() && self.happens(80) => {
                let place = usize::try_from(self.next(fields.len() as u64)).unwrap();
                let inner = fields.values_mut().nth(place).unwrap();
                self.spoil(inner);
            }
            Json::Array(items) if !items.is_empty() && self.happens(80) => {
                let place = usize::try_from(self.next(items.len() as u64)).unwrap();
                self.spoil(&mut items[place]);
            }
            other => *other = self.anything(2),
        }
    }

    fn anything(&mut self, depth: u64) -> Json {
        match self.next(if depth == 0 { 6 } else { 8 }) {
            0 => Json::Null,
            1 => json!(self.happens(50)),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(1e308),
            5 => json!("\u{0}\u{202e}é\n'\"; DROP TABLE runs; --"),
            6 => json!([self.anything(depth - 1)]),
            _ => json!({ "": self.anything(depth - 1), "type": "unit" }),
        }
    }

    /// A value that a schema allows, as far as that is easy.
    fn value(&mut self, schema: &'a Json, depth: usize) -> Json {
        let schema = self.resolved(schema);
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        for key in ["enum", "anyOf", "oneOf"] {
            if let Some(choices) = schema[key].as_array() {
                let place = usize::try_from(self.next(choices.len() as u64)).unwrap();
                let chosen = &choices[place];
                return if key == "enum" { chosen.clone() } else { self.value(chosen, depth + 1) };
            }
        }
        let kind = match &schema["type"] {
            Json::Array(kinds) => {
                kinds[usize::try_from(self.next(kinds.len() as u64)).unwrap()].clone()
            }
            kind => kind.clone(),
        };
        match kind.as_str().unwrap_or("object") {
            "null" => Json::Null,
            "boolean" => json!(self.happens(50)),
            "integer" => json!(self.next(50) + schema["minimum"].as_u64().unwrap_or(0)),
            "number" => json!(f64::from(u32::try_from(self.next(100)).unwrap()) / 100.0),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(0);
                let count = if depth > 6 { least } else { least + self.next(3) };
                (0..count).map(|_| self.value(&schema["items"], depth + 1)).collect()
            }
            "string" => self.text(schema),
            _ => self.object(schema, depth),
        }
    }

    fn text(&mut self, schema: &Json) -> Json {
        let pattern = schema["pattern"].as_str().unwrap_or("");
        json!(match (schema["format"].as_str(), pattern) {
            (Some("date-time"), _) => "2026-05-04T10:00:00Z".to_owned(),
            (_, pattern) if pattern.contains("sha256") => format!("sha256:{}", "0".repeat(64)),
            (_, pattern) if pattern.contains("{13}") => self.run.to_owned(),
            (_, pattern) if pattern.contains('=') => "k=v".to_owned(),
            (_, pattern) if pattern.contains("[0-9]") => self.next(50).to_string(),
            _ => ["x", "a b", "10s", "é", "src/**"][usize::try_from(self.next(5)).unwrap()]
                .to_owned(),
        })
    }

    fn object(&mut self, schema: &'a Json, depth: usize) -> Json {
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
        let mut fields = Map::new();
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|one| *one == name);
            if is_required || depth < 5 && self.happens(30) {
                fields.insert(name.clone(), self.value(inner, depth + 1));
            }
        }
        if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object())
            && self.happens(50)
        {
            fields.insert("k".to_owned(), self.value(inner, depth + 1));
        }
        fields.into()
    }

    fn resolved(&self, schema: &'a Json) -> &'a Json {
        match schema["$ref"].as_str() {
            Some(target) => self.document.pointer(target.trim_start_matches('#')).unwrap(),
            None => schema,
        }
    }

    /// Whether an answer is what the document says: its types, and what must be there.
    fn check(&self, schema: &'a Json, value: &Json, place: &str) {
        let schema = self.resolved(schema);
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let fits = choices.iter().any(|choice| self.fits(choice, value));
            assert!(fits, "{place}: {value} is none of {schema}");
        } else {
            assert!(self.fits(schema, value), "{place}: {value} is not {schema}");
        }
        let nested = schema["properties"].as_object().into_iter().flatten();
        for (name, inner) in nested {
            if let Some(field) = value.get(name) {
                self.check(inner, field, place);
            }
        }
        for item in value.as_array().into_iter().flatten() {
            self.check(&schema["items"], item, place);
        }
    }

    fn fits(&self, schema: &'a Json, value: &Json) -> bool {
        let schema = self.resolved(schema);
        let is = |kind: &Json| match kind.as_str() {
            Some("null") => value.is_null(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_u64() || value.is_i64(),
            Some("number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        };
        let typed = match &schema["type"] {
            Json::Array(kinds) => kinds.iter().any(is),
            kind => is(kind),
        };
        let listed = schema["enum"].as_array().is_none_or(|choices| choices.contains(value));
        // The fields that tell one choice from the others.
        let constants =
            schema["properties"].as_object().into_iter().flatten().all(|(name, inner)| {
                let constant = inner.get("const");
                constant.is_none_or(|constant| value.get(name).is_none_or(|one| one == constant))
            });
        let mut required = schema["required"].as_array().into_iter().flatten();
        typed
            && listed
            && constants
            && required.all(|name| value.get(name.as_str().unwrap()).is_some())
    }
}

/// With everything escaped that is not a letter or a digit.
fn encoded(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}
