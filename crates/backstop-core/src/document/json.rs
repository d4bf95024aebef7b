//! JSON, strictly: no comments, no trailing commas.

use super::position;
use super::scalar;
use super::source::{MAX_DEPTH, MAX_ERRORS, too_deep};
use super::tree::{Entry, Node, Table, Value};
use crate::diagnostic::{Diagnostic, Span};
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;

/// Reads JSON. What is valid is decided by one parser, where it stands is told by another.
pub(super) fn parse(text: &str) -> Result<Node, Vec<Diagnostic>> {
    serde_json::from_str::<serde_json::Value>(text).map_err(|error| vec![refusal(text, &error)])?;
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &STRICT);
    let tree = parsed.map_err(|error| {
        let range = error.range();
        let span = position::whole_characters(text, range.start..range.end);
        vec![Diagnostic::error(
            error.kind().to_string().to_lowercase(),
            span,
        )]
    })?;
    let mut reader = Reader {
        text,
        diagnostics: Vec::new(),
    };
    let node = match &tree.value {
        Some(value) => reader.node(value, 1),
        None => Node {
            span: 0..text.len(),
            value: Value::Table(Table::default()),
        },
    };
    if reader.diagnostics.is_empty() {
        Ok(node)
    } else {
        Err(reader.diagnostics)
    }
}

struct Reader<'text> {
    text: &'text str,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn node(&mut self, value: &ast::Value<'_>, depth: usize) -> Node {
        let range = value.range();
        let span = range.start..range.end;
        let is_container = matches!(value, ast::Value::Object(_) | ast::Value::Array(_));
        if is_container && depth > MAX_DEPTH {
            if self.diagnostics.len() <= MAX_ERRORS {
                self.diagnostics.push(too_deep(span.start..span.start + 1));
            }
            return Node {
                span,
                value: Value::Null,
            };
        }
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
            ast::Value::NumberLit(literal) => scalar::decimal(literal.value),
            ast::Value::StringLit(literal) => Value::String(self.string(&span, &literal.value)),
            ast::Value::Array(array) => Value::List(
                array
                    .elements
                    .iter()
                    .map(|element| self.node(element, depth + 1))
                    .collect(),
            ),
            ast::Value::Object(object) => {
                let entries = object.properties.iter().map(|property| {
                    let range = property.name.range();
                    let key_span = range.start..range.end;
                    let key = self.string(&key_span, property.name.as_str());
                    Entry {
                        key,
                        key_span,
                        node: self.node(&property.value, depth + 1),
                    }
                });
                let table = Table {
                    entries: entries.collect(),
                };
                if self.diagnostics.len() <= MAX_ERRORS {
                    self.diagnostics.extend(table.duplicates());
                }
                Value::Table(table)
            }
        };
        Node { span, value }
    }

    /// Decodes with the parser that checked the text, so that both agree about escapes.
    fn string(&self, span: &Span, decoded: &str) -> String {
        let literal = &self.text[span.clone()];
        if literal.contains('\\') {
            serde_json::from_str(literal).unwrap_or_else(|_| decoded.to_owned())
        } else {
            decoded.to_owned()
        }
    }
}

fn refusal(text: &str, error: &serde_json::Error) -> Diagnostic {
    let line_start = match error.line() {
        0 | 1 => 0,
        line => text
            .match_indices('\n')
            .nth(line - 2)
            .map_or(text.len(), |(newline, _)| newline + 1),
    };
    let end = line_start + error.column();
    let span = if error.is_eof() {
        text.len()..text.len()
    } else {
        position::whole_characters(text, end.saturating_sub(1)..end)
    };
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(message, _)| message);
    if message == "recursion limit exceeded" {
        return too_deep(span);
    }
    let is_comment = matches!(&text[span.clone()], "/" | "#");
    let diagnostic = match message.strip_prefix("EOF while parsing ") {
        Some(inside) => Diagnostic::error(format!("the file ends within {inside}"), span),
        None => Diagnostic::error(message, span),
    };
    match message {
        _ if is_comment => diagnostic.hint("JSON has no comments; TOML and YAML have"),
        "trailing comma" => diagnostic.hint("JSON allows no comma before a closing bracket"),
        "key must be a string" => diagnostic.hint("JSON keys stand in double quotes"),
        _ => diagnostic,
    }
}

const STRICT: jsonc_parser::ParseOptions = jsonc_parser::ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
