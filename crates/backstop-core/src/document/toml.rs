//! TOML.

use super::scalar;
use super::source::{MAX_DEPTH, MAX_ERRORS, too_deep};
use super::toml_keys::FirstKeys;
use super::tree::{Entry, Node, Table, Value, duplicate_key};
use crate::diagnostic::{Diagnostic, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads TOML, going on after errors as far as that makes sense; in a very large file, only the
/// first is reported.
pub(super) fn parse(text: &str) -> Result<Node, Vec<Diagnostic>> {
    // The parser keeps every error it finds, which for a large file of anything but TOML would be
    // gigabytes of them.
    if text.len() > MAX_RECOVERED_BYTES
        && let Err(error) = DeTable::parse(text)
    {
        return Err(refusals(text, &[error]));
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(refusals(text, &errors));
    }
    let mut reader = Reader {
        text,
        diagnostics: Vec::new(),
    };
    let table = reader.table(root.get_ref(), 1);
    if reader.diagnostics.is_empty() {
        Ok(Node {
            span: 0..text.len(),
            value: Value::Table(table),
        })
    } else {
        Err(reader.diagnostics)
    }
}

/// Whether the text is TOML without a fault in its syntax.
pub(super) fn is_toml(text: &str) -> bool {
    DeTable::parse(text).is_ok()
}

struct Reader<'text> {
    text: &'text str,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Table {
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                key_span: key.span(),
                node: self.node(value, depth + 1),
            })
            .collect();
        // The parser sorts by key.
        entries.sort_by_key(|entry| entry.key_span.start);
        Table { entries }
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Node {
        let span = value.span();
        let is_container = matches!(value.get_ref(), DeValue::Array(_) | DeValue::Table(_));
        if is_container && depth > MAX_DEPTH {
            if self.diagnostics.len() <= MAX_ERRORS {
                self.diagnostics.push(too_deep(span.start..span.start + 1));
            }
            return Node {
                span,
                value: Value::Null,
            };
        }
        let value = match value.get_ref() {
            DeValue::String(string) => Value::String(string.to_string()),
            DeValue::Integer(integer) => scalar::integer(integer.as_str(), integer.radix()),
            DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => Value::Bool(*boolean),
            DeValue::Datetime(_) => Value::Datetime(self.text[span.clone()].to_owned()),
            DeValue::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| self.node(item, depth + 1))
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.table(table, depth)),
        };
        Node { span, value }
    }
}

fn refusals(text: &str, errors: &[toml::de::Error]) -> Vec<Diagnostic> {
    // What the parser says after it gave up on the nesting is noise.
    if let Some(error) = errors
        .iter()
        .find(|error| TOO_DEEP.contains(&error.message()))
    {
        return vec![too_deep(error.span())];
    }
    let first_keys = errors
        .iter()
        .any(|error| error.message() == DUPLICATE)
        .then(|| FirstKeys::new(text));
    errors
        .iter()
        .map(|error| match (error.span(), &first_keys) {
            (Some(span), Some(first_keys)) if error.message() == DUPLICATE => {
                duplicate(text, span, first_keys)
            }
            (span, _) => refusal(error.message(), span),
        })
        .collect()
}

fn duplicate(text: &str, span: Span, first_keys: &FirstKeys) -> Diagnostic {
    match first_keys.first_of(&span) {
        Some((key, first)) => duplicate_key(key, span, Some(first)),
        None => duplicate_key(text.get(span.clone()).unwrap_or_default(), span, None),
    }
}

/// The parser's messages end in what it expected, which belongs beside the underline.
fn refusal(message: &str, span: Option<Span>) -> Diagnostic {
    match message.split_once(", expected ") {
        Some((message, "nothing")) => Diagnostic::error(message, span),
        Some((message, expected)) => {
            Diagnostic::error(message, span).label(format!("expected {expected}"))
        }
        None => Diagnostic::error(message, span),
    }
}

const MAX_RECOVERED_BYTES: usize = 1 << 20;
const DUPLICATE: &str = "duplicate key";
const TOO_DEEP: [&str; 2] = [
    "cannot recurse further; max recursion depth met",
    "recursion limit",
];
