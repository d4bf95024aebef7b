//! The tree: values with the text they came from.

use super::source::MAX_ERRORS;
use crate::diagnostic::{Diagnostic, Span};

/// A value and where it is written.
///
/// The span of a scalar, an inline table or an inline list is the literal, quotes and brackets
/// included. Values that have no literal of their own:
///
/// | value | span |
/// |---|---|
/// | a file's top-level table in TOML | the whole text |
/// | `[table]`, an entry of `[[tables]]` | its header, brackets included |
/// | the list that `[[tables]]` build | the header of the first entry |
/// | a TOML table that only dotted keys or longer headers name | that part of the first such key |
/// | a YAML block table or block list | from its first key or item to the end of its last value |
/// | a YAML value that is missing (`key:`) | empty, after the last thing written |
/// | a YAML alias | the `*alias`; what is inside keeps the spans of the anchored value |
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub span: Span,
    pub value: Value,
}

/// What a document can hold, over all syntaxes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// A whole number that fits; one that does not is a [`Value::Float`].
    Integer(i64),
    /// May be infinite or not a number where the syntax can write that.
    Float(f64),
    String(String),
    /// A TOML date, time or both, as written.
    Datetime(String),
    List(Vec<Node>),
    Table(Table),
}

impl Value {
    /// What this is, as a message would call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::String(_) => "a string",
            Self::Datetime(_) => "a date or time",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Keys and values in the order in which they were first written; no key occurs twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub entries: Vec<Entry>,
}

impl Table {
    /// The entry under `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// One error for each key that is written again, unless there are too many to show.
    pub(super) fn duplicates(&self) -> Vec<Diagnostic> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        // Stable, so that of equal keys the first written stays first.
        order.sort_by(|a, b| self.entries[*a].key.cmp(&self.entries[*b].key));
        let mut found = Vec::new();
        for same in order.chunk_by(|a, b| self.entries[*a].key == self.entries[*b].key) {
            let first = &self.entries[same[0]];
            let room = (MAX_ERRORS + 1).saturating_sub(found.len());
            found.extend(same[1..].iter().take(room).map(|again| {
                let span = self.entries[*again].key_span.clone();
                duplicate_key(&first.key, span, Some(first.key_span.clone()))
            }));
        }
        found
    }
}

/// One key of a [`Table`] and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

/// The tree as JSON; a date or time becomes a string.
///
/// # Errors
/// JSON has no infinities and no NaN: one error for each such number.
pub fn to_value(node: &Node) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let value = convert(node, &mut diagnostics);
    if diagnostics.is_empty() {
        Ok(value)
    } else {
        Err(diagnostics)
    }
}

fn convert(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Float(value) => {
            if !value.is_finite() {
                let error = Diagnostic::error("number is not finite", node.span.clone());
                diagnostics.push(error.label("must be an ordinary number"));
            }
            (*value).into()
        }
        Value::String(value) | Value::Datetime(value) => value.as_str().into(),
        Value::List(items) => items
            .iter()
            .map(|item| convert(item, diagnostics))
            .collect(),
        Value::Table(table) => table
            .entries
            .iter()
            .map(|entry| (entry.key.clone(), convert(&entry.node, diagnostics)))
            .collect(),
    }
}

pub(super) fn duplicate_key(key: &str, span: Span, first: Option<Span>) -> Diagnostic {
    let error = Diagnostic::error(format!("duplicate key `{key}`"), span).label("defined again");
    match first {
        Some(first) => error.related(first, "first defined here"),
        None => error,
    }
}
