//! The arguments of a call: in one form to compare, and in a few words to read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::wire::Text;
use crate::excerpt;

/// A tool and its arguments with sorted keys and without blanks: equal for equal calls.
pub(crate) fn signature(tool: &str, input: Option<&RawValue>) -> String {
    let mut signature = String::from(tool);
    if let Some(input) = input {
        signature.push(' ');
        // What is longer is an agent's own long text, and its keys come in the tool's order anyway.
        if input.get().len() <= LONGEST_SORTED {
            canonical(input, 0, &mut signature);
        } else {
            signature.push_str(&excerpt(input.get()));
        }
    }
    match excerpt(&signature) {
        Cow::Borrowed(_) => signature,
        Cow::Owned(short) => short,
    }
}

/// What tells this call from others, for a person.
pub(super) fn subject<'a>(tool: &str, input: Option<&'a RawValue>) -> Cow<'a, str> {
    let Some(arguments) = input.and_then(object) else {
        return Cow::Borrowed("");
    };
    let preferred: &[&str] = match tool {
        "Bash" => &["command"],
        "Read" | "Edit" | "MultiEdit" | "Write" => &["file_path"],
        "NotebookEdit" => &["notebook_path"],
        "Grep" | "Glob" => &["pattern"],
        "Task" | "Agent" => &["description"],
        _ => &[],
    };
    let text = |raw: &'a RawValue| serde_json::from_str::<Text<'a>>(raw.get()).ok();
    let text = |raw: &&'a RawValue| text(raw).map(|text| text.0).filter(|text| !text.is_empty());
    preferred
        .iter()
        .find_map(|key| arguments.get(*key).and_then(text))
        .or_else(|| arguments.values().find_map(text))
        .unwrap_or_default()
}

fn canonical(value: &RawValue, depth: usize, out: &mut String) {
    let text = value.get();
    if depth < DEEPEST_SORTED {
        if let Some(members) = object(value) {
            out.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::Value::from(&**key).to_string());
                out.push(':');
                canonical(member, depth + 1, out);
            }
            out.push('}');
            return;
        }
        if text.starts_with('[')
            && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text)
        {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical(item, depth + 1, out);
            }
            out.push(']');
            return;
        }
    }
    out.push_str(text);
}

fn object(value: &RawValue) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    let text = value.get();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

const LONGEST_SORTED: usize = 64 * 1024;
/// Each level is read once more than the one above it.
const DEEPEST_SORTED: usize = 8;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[rstest]
    #[case(
        r#"{"b":1,"a":{"d":[1,{"z":1,"y":2}],"c":"x y"}}"#,
        r#"T {"a":{"c":"x y","d":[1,{"y":2,"z":1}]},"b":1}"#
    )]
    #[case(r#"{ "a" : [ 1 , 2 ] }"#, r#"T {"a":[1,2]}"#)]
    #[case("{}", "T {}")]
    #[case("null", "T null")]
    fn order_and_blanks_do_not_matter(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(signature("T", Some(raw(input))), expected);
    }

    #[test]
    fn a_long_argument_is_shortened() {
        let input = format!("{{\"content\":\"{}\"}}", "x".repeat(200_000));
        assert!(signature("Write", Some(raw(&input))).len() < 9000);
        let nested = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        assert!(signature("T", Some(raw(&nested))).len() < 9000);
    }

    #[rstest]
    #[case("Bash", r#"{"description":"list","command":"ls"}"#, "ls")]
    #[case("Read", r#"{"limit":5,"file_path":"/a"}"#, "/a")]
    #[case("Task", r#"{"prompt":"long","description":"short"}"#, "short")]
    #[case("mcp__x__y", r#"{"count":5,"query":"q"}"#, "q")]
    #[case("Odd", "[1]", "")]
    fn subjects(#[case] tool: &str, #[case] input: &str, #[case] expected: &str) {
        assert_eq!(subject(tool, Some(raw(input))), expected);
    }
}
