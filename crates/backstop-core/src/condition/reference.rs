//! The reference of conditions, generated from their declarations.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::{Condition, KindInfo, Scene};
use crate::document::{Syntax, parse, to_value};
use crate::event::LimitValue;
use crate::facts::{Facts, Streaks};

/// `docs/reference/conditions.md`.
pub fn reference() -> String {
    let kinds = Condition::kinds();
    let mut text = String::from(INTRODUCTION);
    for kind in &kinds {
        let name = kind.type_name;
        let summary = one_line(kind.summary);
        let _ = writeln!(text, "| [`{name}`](#{name}) | {summary} | {} |", kind.priority);
    }
    text.push_str(COMPOSITES);
    for kind in &kinds {
        text.push_str(&section(kind));
    }
    text
}

fn section(kind: &KindInfo) -> String {
    let mut text = format!("\n## {}\n\n{}\n", kind.type_name, one_line(kind.summary));
    let example = example(kind);
    if let Some(condition) = example.as_ref().and_then(|json| Condition::from_json(json).ok()) {
        let _ = write!(
            text,
            "\n```toml condition\n{}\n```\n\nMet {}.\n\n",
            kind.example,
            condition.describe()
        );
        let _ = writeln!(text, "- Priority: {}", kind.priority);
        let _ = writeln!(text, "- Reason: {}", reasons(kind));
        let _ = writeln!(text, "- Progress: {}", kind.progress);
        for remark in remarks(&condition) {
            let _ = writeln!(text, "- {remark}");
        }
    }
    text.push_str(&fields(kind));
    text
}

fn fields(kind: &KindInfo) -> String {
    let mut text = String::new();
    for (name, schema) in properties(kind) {
        if text.is_empty() {
            text.push_str("\n| field | default | meaning |\n|---|---|---|\n");
        }
        let default = match (&schema["default"], is_required(kind, &name)) {
            (_, true) => "required".to_owned(),
            (Json::Null, false) => "–".to_owned(),
            (value, false) => format!("`{value}`"),
        };
        let mut meaning = schema["description"].as_str().unwrap_or_default().to_owned();
        let names: Vec<_> = choices(&schema).iter().map(|name| format!("`{name}`")).collect();
        if !names.is_empty() {
            let _ = write!(meaning, " One of {}.", names.join(", "));
        }
        let _ = writeln!(text, "| `{name}` | {default} | {meaning} |");
    }
    text
}

/// The reasons that a condition of this type gives by itself, as far as its fields decide.
fn reasons(kind: &KindInfo) -> String {
    let mut variants: Vec<Json> = example(kind).into_iter().collect();
    for (name, schema) in properties(kind) {
        let mut more = Vec::new();
        for variant in &variants {
            for choice in choices(&schema) {
                let mut other = variant.clone();
                other[&name] = choice.into();
                more.push(other);
            }
            if !is_required(kind, &name) {
                let mut other = variant.clone();
                other.as_object_mut().map(|fields| fields.remove(&name));
                more.push(other);
            }
        }
        variants.extend(more);
    }
    let nothing = Facts::default();
    let scene = Scene::neutral(&nothing);
    let mut codes: Vec<&str> = Vec::new();
    for condition in variants.iter().filter_map(|json| Condition::from_json(json).ok()) {
        let code = condition.reason(&scene).as_str();
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let links: Vec<_> = codes.iter().map(|code| format!("[`{code}`](reasons.md#{code})")).collect();
    links.join(", ")
}

fn remarks(condition: &Condition) -> Vec<&'static str> {
    let raised =
        [LimitValue::Number(0.123), LimitValue::Duration(Duration::from_secs(123))].map(|value| {
            let mut other = condition.clone();
            other.raise(value);
            other != *condition
        });
    let has_streak = condition.streaks() != Streaks::NONE;
    [
        (condition.reads_a_meter(), "May be unknown: see `on_unknown`"),
        (!condition.asked().is_empty(), "Answered from outside, by `matched` or `probe` events"),
        (has_streak, "Counts anew once a person has acknowledged it"),
        (raised.contains(&true), "Its limit can be raised by a `raised` event"),
    ]
    .into_iter()
    .filter_map(|(holds, remark)| holds.then_some(remark))
    .collect()
}

fn example(kind: &KindInfo) -> Option<Json> {
    let document = parse(format!("when = {}", kind.example).as_bytes(), Syntax::Toml).ok()?;
    to_value(&document).ok()?.get("when").cloned()
}

/// The fields but for `type`, with the schema of each.
fn properties(kind: &KindInfo) -> Map<String, Json> {
    let properties = kind.schema["properties"].as_object().cloned().unwrap_or_default();
    properties.into_iter().filter(|(name, _)| name != "type").collect()
}

fn is_required(kind: &KindInfo, name: &str) -> bool {
    kind.schema["required"].as_array().is_some_and(|names| names.contains(&name.into()))
}

fn choices(schema: &Json) -> Vec<&str> {
    let names = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(Json::as_str).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const INTRODUCTION: &str = "\
# Conditions

Generated by `cargo xtask generate` from the declarations in `crates/backstop-core/src/condition/`.

A condition is a table with a `type` and the fields of that type. Durations are written as people
write them: `\"90s\"`, `\"2h 30m\"`. What a field calls `above` or `below` must be passed; everything
else is met at the threshold itself. Progress lies between 0 and 1, and what is met is 1 (but for
`cooldown`). A rule has its condition's priority and reason unless it says its own.

| type | what it looks at | priority |
|---|---|---|
";

const COMPOSITES: &str = "\
| [`all`](#composites), [`any`](#composites) | Several conditions. | 20 |
| [`not`](#composites) | The opposite of a condition. | 10 |
| [`never`](#composites) | Nothing: it is never met. | 0 |

## Composites

```toml condition
{ type = \"all\", conditions = [{ type = \"max_iterations\", count = 10 }, { type = \"not\", condition = { type = \"all_tests_pass\" } }] }
```

`all` is met when all of its `conditions` are; its progress is their mean. `any` is met when one of
them is; its progress is the highest, and its reason that of the first that is met. `not` is met when
its `condition` is not. What can't be told stays unknown: `all` is unknown if one part is and none
says no, `any` if one part is and none says yes, `not` if its part is. Composites may stand in each
other, 32 deep.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_a_condition_of_its_type() {
        for kind in Condition::kinds() {
            let json = example(&kind).unwrap_or_else(|| panic!("{} is no TOML", kind.example));
            let condition = Condition::from_json(&json)
                .unwrap_or_else(|findings| panic!("{}: {findings:?}", kind.example));
            assert_eq!(condition.type_name(), kind.type_name);
        }
    }

    #[test]
    fn reasons_follow_the_fields() {
        let kinds = Condition::kinds();
        let of = |name: &str| {
            reasons(kinds.iter().find(|kind| kind.type_name == name).expect("a known type"))
        };
        assert_eq!(of("max_duration"), "[`timeout`](reasons.md#timeout)");
        let errors = of("consecutive_errors");
        assert!(errors.contains("`error`") && errors.contains("`critical_failure`"), "{errors}");
    }
}
