//! The one character that no text of a policy may have.

use super::source::MAX_ERRORS;
use super::tree::{Node, Value};
use crate::diagnostic::{Diagnostic, Span};

/// Where a document has NUL characters, plain or escaped, keys and comments included. Commands,
/// variables and databases can't hold them, so what has one can be neither done nor kept.
pub fn nul_characters(text: &str, root: &Node) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> =
        text.match_indices('\0').take(MAX_ERRORS).map(|(at, _)| refused(at..at + 1)).collect();
    // Inside a text a plain one would be told of twice.
    if found.is_empty() {
        look(root, &mut found);
    }
    found
}

fn look(node: &Node, found: &mut Vec<Diagnostic>) {
    if found.len() >= MAX_ERRORS {
        return;
    }
    match &node.value {
        Value::String(text) if text.contains('\0') => found.push(refused(node.span.clone())),
        Value::List(items) => items.iter().for_each(|item| look(item, found)),
        Value::Table(table) => {
            for entry in &table.entries {
                if entry.key.contains('\0') {
                    found.push(refused(entry.key_span.clone()));
                }
                look(&entry.node, found);
            }
        }
        _ => {}
    }
}

fn refused(span: Span) -> Diagnostic {
    Diagnostic::error("a NUL character can't stand in a policy", span)
        .label("no command and no database can hold it")
}
