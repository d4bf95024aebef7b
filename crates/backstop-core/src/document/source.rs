//! From the bytes of a file to a tree: what every syntax has in common.

use super::tree::{Node, Table, Value};
use super::{json, position, toml, yaml};
use crate::diagnostic::{Diagnostic, Span};

/// The notations that a policy can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Toml,
    Yaml,
    Json,
}

impl Syntax {
    /// The syntax that a file name's extension (without the dot, in any case) stands for.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The likeliest syntax of a text without a file name: JSON starts with a brace, TOML is what
    /// parses as TOML, the rest is YAML.
    pub fn detect(text: &str) -> Self {
        let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        if body.trim_start().starts_with('{') {
            Self::Json
        } else if toml::is_toml(body) {
            Self::Toml
        } else {
            Self::Yaml
        }
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Json => "JSON",
        }
    }
}

/// Reads a document, whose top level is a table; an empty file is an empty table.
///
/// Spans are byte offsets into `bytes`, a byte order mark included.
///
/// # Errors
/// All that the syntax's parser can tell about what is wrong, in the order of the text, up to a
/// hundred errors.
pub fn parse(bytes: &[u8], syntax: Syntax) -> Result<Node, Vec<Diagnostic>> {
    if bytes.len() > MAX_BYTES {
        return Err(vec![too_large(bytes.len())]);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        vec![not_utf8(bytes, offset)]
    })?;
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let skipped = text.len() - body.len();
    let parsed = if body
        .bytes()
        .all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
    {
        Ok(Node {
            span: 0..body.len(),
            value: Value::Table(Table::default()),
        })
    } else {
        match syntax {
            Syntax::Toml => toml::parse(body),
            Syntax::Yaml => yaml::parse(body),
            Syntax::Json => json::parse(body),
        }
    };
    let parsed = parsed.and_then(|node| match node.value {
        Value::Table(_) => Ok(node),
        other => Err(vec![not_a_table(&other, node.span)]),
    });
    match parsed {
        Ok(mut node) => {
            if skipped > 0 {
                shift_node(&mut node, skipped);
            }
            Ok(node)
        }
        Err(mut diagnostics) => {
            diagnostics.sort_by_key(|diagnostic| diagnostic.span.as_ref().map(|span| span.start));
            diagnostics.dedup();
            limit(&mut diagnostics);
            for diagnostic in &mut diagnostics {
                diagnostic
                    .span
                    .iter_mut()
                    .for_each(|span| shift(span, skipped));
                diagnostic
                    .related
                    .iter_mut()
                    .for_each(|(span, _)| shift(span, skipped));
            }
            Err(diagnostics)
        }
    }
}

/// Refuses a value whose containers nest beyond [`MAX_DEPTH`].
pub(super) fn too_deep(span: impl Into<Option<Span>>) -> Diagnostic {
    Diagnostic::error(format!("nested deeper than {MAX_DEPTH} levels"), span)
        .label("one level too many")
}

fn too_large(length: usize) -> Diagnostic {
    Diagnostic::error(
        format!(
            "file is {length} bytes long, more than the {} MiB allowed",
            MAX_BYTES >> 20
        ),
        None,
    )
    .hint("a policy is a short file; check that this is the one you meant")
}

fn not_utf8(bytes: &[u8], offset: usize) -> Diagnostic {
    let line = 1 + bytes[..offset]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count();
    Diagnostic::error(
        format!(
            "file is not UTF-8: invalid byte 0x{:02x} at offset {offset}, line {line}",
            bytes[offset]
        ),
        position::clamp(bytes.len(), offset..offset + 1),
    )
    .hint("save the file as UTF-8")
}

fn not_a_table(value: &Value, span: Span) -> Diagnostic {
    Diagnostic::error(
        format!("the file holds {}, not a table of settings", value.kind()),
        span,
    )
    .label("expected keys with values")
}

/// Keeps a broken file of many megabytes from filling the screen for hours.
fn limit(diagnostics: &mut Vec<Diagnostic>) {
    if diagnostics.len() > MAX_ERRORS {
        diagnostics.truncate(MAX_ERRORS);
        diagnostics.push(Diagnostic::error(
            "further errors in the syntax are not shown",
            None,
        ));
    }
}

fn shift_node(node: &mut Node, by: usize) {
    shift(&mut node.span, by);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift_node(item, by)),
        Value::Table(table) => {
            for entry in &mut table.entries {
                shift(&mut entry.key_span, by);
                shift_node(&mut entry.node, by);
            }
        }
        _ => {}
    }
}

fn shift(span: &mut Span, by: usize) {
    *span = span.start + by..span.end + by;
}

/// The largest file that is read.
pub const MAX_BYTES: usize = 16 << 20;

/// How deep tables and lists may nest, the top-level table being the first level.
pub const MAX_DEPTH: usize = 100;

/// How many errors are shown; a reader that has found more may stop looking.
pub(super) const MAX_ERRORS: usize = 100;

const BYTE_ORDER_MARK: char = '\u{feff}';
