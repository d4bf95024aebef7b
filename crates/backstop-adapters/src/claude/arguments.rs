//! The arguments of a call: in one form to compare, and in a few words to read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::wire::Text;
use crate::excerpt::distinct_excerpt;

/// The arguments of one call, read once.
#[derive(Debug)]
pub(crate) struct Arguments<'a> {
    input: Option<&'a RawValue>,
    members: Option<Members<'a>>,
}

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl<'a> Arguments<'a> {
    pub fn new(input: Option<&'a RawValue>) -> Self {
        Self { input, members: input.and_then(members) }
    }

    /// A tool and its arguments with sorted keys and without blanks: equal for equal calls.
    pub fn signature(&self, tool: &str) -> String {
        let mut signature = String::from(tool);
        if let Some(input) = self.input {
            signature.push(' ');
            // What is longer is an agent's own long text, and its keys come in the tool's order
            // anyway.
            if input.get().len() > LONGEST_SORTED {
                signature.push_str(&distinct_excerpt(input.get()));
            } else if let Some(members) = &self.members {
                object(members, 0, &mut signature);
            } else {
                canonical(input, 0, &mut signature);
            }
        }
        match distinct_excerpt(&signature) {
            Cow::Borrowed(_) => signature,
            Cow::Owned(short) => short,
        }
    }

    /// What tells this call from others, for a person.
    pub(super) fn subject(&self, tool: &str) -> Cow<'a, str> {
        let Some(members) = &self.members else {
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
        let text =
            |raw: &&'a RawValue| text(raw).map(|text| text.0).filter(|text| !text.is_empty());
        preferred
            .iter()
            .find_map(|key| members.get(*key).and_then(text))
            .or_else(|| members.values().find_map(text))
            .unwrap_or_default()
    }
}

fn canonical(value: &RawValue, depth: usize, out: &mut String) {
    let text = value.get();
    if depth < DEEPEST_SORTED {
        if let Some(members) = members(value) {
            object(&members, depth, out);
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

fn object(members: &Members<'_>, depth: usize, out: &mut String) {
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
}

fn members(value: &RawValue) -> Option<Members<'_>> {
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
        assert_eq!(Arguments::new(Some(raw(input))).signature("T"), expected);
    }

    #[test]
    fn a_long_argument_is_shortened() {
        let input = format!("{{\"content\":\"{}\"}}", "x".repeat(200_000));
        assert!(Arguments::new(Some(raw(&input))).signature("Write").len() < 9000);
        let nested = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        assert!(Arguments::new(Some(raw(&nested))).signature("T").len() < 9000);
    }

    #[rstest]
    #[case("Bash", r#"{"description":"list","command":"ls"}"#, "ls")]
    #[case("Read", r#"{"limit":5,"file_path":"/a"}"#, "/a")]
    #[case("Task", r#"{"prompt":"long","description":"short"}"#, "short")]
    #[case("mcp__x__y", r#"{"count":5,"query":"q"}"#, "q")]
    #[case("Odd", "[1]", "")]
    fn subjects(#[case] tool: &str, #[case] input: &str, #[case] expected: &str) {
        assert_eq!(Arguments::new(Some(raw(input))).subject(tool), expected);
    }
}
