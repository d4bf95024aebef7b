//! Arguments that are JSON: equal whatever the order of their keys.

use serde_json::Value;

use super::clean::Clean;
use super::rewrite::{Rules, rewrite};

/// The canonical form of an action that is a JSON object or array: keys sorted and kept as they
/// are, strings rewritten like any text. `None` for what is no JSON, or too long for it.
pub(super) fn canonical(text: &[u8]) -> Option<Vec<u8>> {
    if !matches!(Clean::new(text).next(), Some(b'{' | b'[')) {
        return None;
    }
    // Rewriting may turn what was too long, or spoilt by escape sequences, into JSON; the result
    // must be the one that a second pass over it would give.
    parsed(text).or_else(|| {
        let mut rewritten = Vec::new();
        rewrite(text, Rules::TEXT, &mut rewritten);
        parsed(&rewritten)
    })
}

fn parsed(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > LONGEST {
        return None;
    }
    let value: Value = serde_json::from_slice(text).ok()?;
    let mut out = Vec::with_capacity(text.len());
    write(&value, &mut out);
    (out.len() <= LONGEST).then_some(out)
}

/// Recursion is bounded by the parser's own limit on nesting.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(truth) => out.extend_from_slice(truth.to_string().as_bytes()),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(string) => {
            let mut rewritten = Vec::new();
            rewrite(string.as_bytes(), Rules::TEXT, &mut rewritten);
            write_string(&String::from_utf8_lossy(&rewritten), out);
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            // Sorted here: a feature of another crate can make the map keep the order of the text.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write(item, out);
            }
            out.push(b'}');
        }
    }
}

fn write_string(string: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(Value::from(string).to_string().as_bytes());
}

const LONGEST: usize = 64 * 1024;
