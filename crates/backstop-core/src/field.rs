//! The fields of a policy's tables: each type reads itself from a document with a clear refusal,
//! writes itself back, and describes itself for editors.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::document::{Entry, Node, Table, Value};

mod choice;
mod record;
mod types;

pub(crate) use choice::choices;
pub(crate) use record::record;
pub(crate) use types::number;
pub use types::{Command, Count, Money, OneOrMany, Pause, Period, Rate, SetOf, Text};

/// What is wrong with a document, as it is found while reading it.
#[derive(Debug)]
pub struct Findings {
    pub list: Vec<Diagnostic>,
    /// The document's text, for those who know better than its parser where an error is.
    pub(crate) text: Arc<str>,
    /// How deep the condition that is being read lies inside others.
    pub(crate) depth: usize,
}

impl Default for Findings {
    fn default() -> Self {
        Self { list: Vec::new(), text: Arc::from(""), depth: 0 }
    }
}

impl Findings {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// The finding for a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, node: &Node, key: &str, expected: &str) {
        self.push(
            Diagnostic::error(format!("`{key}` must be {expected}"), node.span.clone())
                .label(format!("this is {}", node.value.kind())),
        );
    }
}

/// A value that a table may hold under a key.
pub(crate) trait Field: Sized {
    /// Reads the value, or says in `findings` why it can't be one.
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self>;

    fn write(&self) -> Json;

    /// The JSON schema of what [`Field::read`] accepts.
    fn schema() -> Json;
}

/// A table with fields of fixed names.
pub(crate) trait Record: Sized {
    /// What it is, in a line or two: the struct's own documentation.
    const SUMMARY: &'static str;
    const KEYS: &'static [&'static str];

    /// Reads the fields; `extra` names keys that somebody else reads.
    fn read_fields(
        table: &Table,
        place: &Place<'_>,
        extra: &[&str],
        findings: &mut Findings,
    ) -> Option<Self>;

    /// This table laid over another: what it leaves out is taken from there.
    #[must_use]
    fn over(self, base: Self) -> Self;

    /// Writes every field that differs from its default.
    fn write_fields(&self, into: &mut Map<String, Json>);

    /// Adds the schema of each field, and the names of those that must be there.
    fn schema_fields(properties: &mut Map<String, Json>, required: &mut Vec<Json>);

    fn schema_object() -> Json {
        let mut properties = Map::new();
        let mut required = Vec::new();
        Self::schema_fields(&mut properties, &mut required);
        object_schema(&properties, &required)
    }
}

/// Where a table stands and what it is called in messages.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
}

impl<R: Record> Field for R {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Value::Table(table) = &node.value else {
            findings.wrong_type(node, key, "a table");
            return None;
        };
        let place = Place { name: key, span: node.span.clone() };
        Self::read_fields(table, &place, &[], findings)
    }

    fn write(&self) -> Json {
        let mut map = Map::new();
        self.write_fields(&mut map);
        Json::Object(map)
    }

    fn schema() -> Json {
        Self::schema_object()
    }
}

/// Reports every key of a table that nobody reads.
pub(crate) fn refuse_unknown_keys(
    table: &Table,
    name: &str,
    known: &[&str],
    extra: &[&str],
    findings: &mut Findings,
) {
    let is_known = |key: &str| known.contains(&key) || extra.contains(&key);
    for entry in table.entries.iter().filter(|entry| !is_known(&entry.key)) {
        let error = Diagnostic::error(
            format!("unknown key `{}` in `{name}`", entry.key),
            entry.key_span.clone(),
        );
        let all = || known.iter().chain(extra).copied();
        findings.push(match nearest(&entry.key, all()) {
            Some(near) => error.label(format!("did you mean `{near}`?")),
            None => error.hint(format!("`{name}` knows {}", listed(all()))),
        });
    }
}

/// A list of names for a message: `a`, `b` and `c`.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        None => "no keys".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

pub(crate) fn object_schema(properties: &Map<String, Json>, required: &[Json]) -> Json {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Reads a key that must be there.
pub(crate) fn required<T: Field>(
    table: &Table,
    place: &Place<'_>,
    key: &str,
    findings: &mut Findings,
) -> Option<T> {
    match table.get(key) {
        Some(entry) => T::read(&entry.node, key, findings),
        None => {
            findings.push(
                Diagnostic::error(format!("`{}` needs `{key}`", place.name), place.span.clone())
                    .label(format!("`{key}` is missing")),
            );
            None
        }
    }
}

/// Reads a key that may be left out. `None`: it is there and wrong.
pub(crate) fn optional<T: Field>(
    table: &Table,
    key: &str,
    findings: &mut Findings,
) -> Option<Option<T>> {
    match table.get(key) {
        // `null` in JSON and a key without a value in YAML are as good as nothing.
        None | Some(Entry { node: Node { value: Value::Null, .. }, .. }) => Some(None),
        Some(entry) => T::read(&entry.node, key, findings).map(Some),
    }
}

/// A field's schema with its description and default.
pub(crate) fn described(mut schema: Json, description: &str, default: Option<Json>) -> Json {
    if let Json::Object(schema) = &mut schema {
        let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            schema.insert("description".to_owned(), words.into());
        }
        if let Some(default) = default {
            schema.insert("default".to_owned(), default);
        }
    }
    schema
}

pub(crate) fn unknown_choice(text: &str, key: &str, names: &[&str], node: &Node) -> Diagnostic {
    let error = Diagnostic::error(format!("unknown `{key}`: `{text}`"), node.span.clone());
    match nearest(text, names.iter().copied()) {
        Some(near) => error.label(format!("did you mean `{near}`?")),
        None => error.hint(format!("`{key}` is one of {}", listed(names.iter().copied()))),
    }
}

/// A field's key in documents: its name in Rust, without the mark of a raw identifier.
pub(crate) const fn key_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}
