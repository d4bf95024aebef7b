//! TOML for people to read.

use serde_json::{Map, Number, Value};
use std::fmt::Write;

/// A JSON object as TOML: plain values first, then `[tables]`, then `[[lists of tables]]`, whose
/// entries hold everything inline.
///
/// TOML has no null, so nulls are left out, in lists too. Whole numbers beyond 64 bits with a sign
/// become floats. Anything but an object is written as a bare value, which is no document.
pub fn to_toml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(object) => write_table(&mut out, &mut Vec::new(), object),
        other => write_inline(&mut out, other),
    }
    out
}

/// The content of a table whose header is already written.
fn write_table<'value>(
    out: &mut String,
    path: &mut Vec<&'value str>,
    table: &'value Map<String, Value>,
) {
    for (key, value) in entries(table).filter(|(_, value)| is_plain(value)) {
        write_pair(out, key, value);
        out.push('\n');
    }
    for (key, value) in entries(table) {
        if let Value::Object(inner) = value {
            path.push(key);
            // A table that only holds tables is implied by their headers.
            if entries(inner).next().is_none() || entries(inner).any(|(_, value)| is_plain(value)) {
                write_header(out, path, "[", "]");
            }
            write_table(out, path, inner);
            path.pop();
        }
    }
    for (key, value) in entries(table) {
        if let Value::Array(items) = value
            && !is_plain(value)
        {
            path.push(key);
            for item in items.iter().filter_map(Value::as_object) {
                write_header(out, path, "[[", "]]");
                for (key, value) in entries(item) {
                    write_pair(out, key, value);
                    out.push('\n');
                }
            }
            path.pop();
        }
    }
}

/// What is left without nulls, `type` first because it says what the rest means.
fn entries(table: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let kind = table.get_key_value("type").into_iter();
    let rest = table.iter().filter(|(key, _)| *key != "type");
    kind.chain(rest).filter(|(_, value)| !value.is_null())
}

/// Whether the value stands on the line of its key rather than under a header of its own.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.is_empty() || !items.iter().all(Value::is_object),
        _ => true,
    }
}

fn write_header(out: &mut String, path: &[&str], open: &str, close: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(open);
    for (index, key) in path.iter().enumerate() {
        if index > 0 {
            out.push('.');
        }
        write_key(out, key);
    }
    out.push_str(close);
    out.push('\n');
}

fn write_pair(out: &mut String, key: &str, value: &Value) {
    write_key(out, key);
    out.push_str(" = ");
    write_inline(out, value);
}

fn write_key(out: &mut String, key: &str) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(is_bare) {
        out.push_str(key);
    } else {
        write_string(out, key);
    }
}

fn write_inline(out: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().filter(|item| !item.is_null()).enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_inline(out, item);
            }
            out.push(']');
        }
        Value::Object(table) => {
            out.push('{');
            for (index, (key, value)) in entries(table).enumerate() {
                out.push_str(if index > 0 { ", " } else { " " });
                write_pair(out, key, value);
            }
            out.push_str(if entries(table).next().is_some() {
                " }"
            } else {
                "}"
            });
        }
    }
}

fn write_number(out: &mut String, number: &Number) {
    if let Some(integer) = number.as_i64() {
        push(out, format_args!("{integer}"));
        return;
    }
    let text = format!("{:?}", number.as_f64().unwrap_or_default());
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => {
            push(out, format_args!("{mantissa}.0e{exponent}"));
        }
        _ => out.push_str(&text),
    }
}

/// Single quotes where they save escapes, double quotes everywhere else.
fn write_string(out: &mut String, text: &str) {
    let would_escape = text.contains(['"', '\\']);
    if would_escape && !text.contains('\'') && !text.chars().any(needs_code) {
        push(out, format_args!("'{text}'"));
        return;
    }
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other if needs_code(other) => push(out, format_args!("\\u{:04X}", u32::from(other))),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Characters that TOML forbids in the raw, or that would show the text other than it is.
fn needs_code(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments)
        .expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::super::{Syntax, parse, to_value};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_policy_reads_well() {
        let policy = json!({
            "version": 1,
            "name": "nightly",
            "limits": {"iterations": 50, "cost": 2.0, "deep": {"er": [1, 2]}},
            "only_tables": {"inner": {"on": true}},
            "empty": {},
            "skipped": null,
            "rules": [
                {"reason": "max_iterations", "when": {"type": "max_iterations", "count": 50}},
                {"reason": "odd", "when": {"any_of": [{"type": "a"}, {"none": {}}]}, "match": "^\\d+ \"x\"$"},
            ],
        });
        insta::assert_snapshot!(to_toml(&policy), @r#"
        name = "nightly"
        version = 1

        [empty]

        [limits]
        cost = 2.0
        iterations = 50

        [limits.deep]
        er = [1, 2]

        [only_tables.inner]
        on = true

        [[rules]]
        reason = "max_iterations"
        when = { type = "max_iterations", count = 50 }

        [[rules]]
        match = '^\d+ "x"$'
        reason = "odd"
        when = { any_of = [{ type = "a" }, { none = {} }] }
        "#);
    }

    #[test]
    fn numbers_and_strings_take_their_simplest_form() {
        let table = [
            (json!(1.0), "1.0"),
            (json!(-0.0), "-0.0"),
            (json!(1e16), "1.0e16"),
            (json!(1.5e300), "1.5e300"),
            (json!(1e-7), "1.0e-7"),
            (json!(i64::MIN), "-9223372036854775808"),
            (json!(u64::MAX), "1.8446744073709552e19"),
            (json!("plain"), "\"plain\""),
            (json!("it's"), "\"it's\""),
            (json!("C:\\x"), "'C:\\x'"),
            (json!("'\"\\"), "\"'\\\"\\\\\""),
            (json!("a\nb\t\"c\""), "\"a\\nb\\t\\\"c\\\"\""),
            (json!("\u{202e}\u{7f}\u{0}"), "\"\\u202E\\u007F\\u0000\""),
            (json!([1, null, "x"]), "[1, \"x\"]"),
            (
                json!({"a b": {"": null}, "c": [[]]}),
                "{ \"a b\" = {}, c = [[]] }",
            ),
        ];
        for (value, expected) in table {
            let text = to_toml(&json!({"key": [value, 0]}));
            assert_eq!(text, format!("key = [{expected}, 0]\n"));
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (proptest::num::f64::NORMAL | proptest::num::f64::ZERO).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[a-z'\"\\\\\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                json_object(inner.clone()),
                prop::collection::vec(json_object(inner), 1..4).prop_map(Value::from),
            ]
        })
    }

    fn json_object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[a-c]{1,2}|.{0,3}", value, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in json_object(json_value())) {
            let text = to_toml(&value);
            let node = parse(text.as_bytes(), Syntax::Toml)
                .map_err(|errors| TestCaseError::fail(format!("{errors:?}\n{text}")))?;
            prop_assert_eq!(to_value(&node).unwrap(), value, "{}", text);
        }
    }
}
