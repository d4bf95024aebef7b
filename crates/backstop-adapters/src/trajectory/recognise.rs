//! Who wrote a trajectory, by what is in it.

use std::ops::ControlFlow;

use serde_json::Value;

use super::{Kind, decoded, document, each_record};

/// Whose trajectory it is; `None` if it is none of those that are known here.
///
/// A file of several values is known by the first of them that is, so that noise before it does no
/// harm.
pub fn recognise(bytes: &[u8]) -> Option<Kind> {
    let bytes = decoded(bytes);
    match document(&bytes) {
        Some(Value::Array(elements)) => elements.first().and_then(|first| {
            kind(first).or_else(|| is_message(first).then_some(Kind::MiniSweAgent))
        }),
        Some(value) => kind(&value),
        None => first(&bytes, kind),
    }
}

/// Whether each value of several is a run of its own, and not an event of one.
pub(super) fn holds_runs(text: &[u8]) -> bool {
    let is_run = |value: &Value| {
        let has_list = |key| value.get(key).is_some_and(Value::is_array);
        kind(value).map(|_| {
            ["trajectory", "messages", "history", "results"].into_iter().any(has_list)
                || is_trial(value)
        })
    };
    first(text, is_run).unwrap_or(false)
}

/// What the first value that says anything says.
fn first<T>(text: &[u8], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let mut seen = 0;
    each_record(text, |value| {
        seen += 1;
        match read(&value) {
            None if seen < RECORDS => ControlFlow::Continue(()),
            found => ControlFlow::Break(found),
        }
    })
    .flatten()
}

fn kind(value: &Value) -> Option<Kind> {
    let has = |key: &str| value.get(key).is_some();
    let has_list = |key: &str| value.get(key).is_some_and(Value::is_array);
    let is_event = has("source") && has("timestamp") && has("id");
    if has_list("trajectory") && (has("info") || has("history") || has("environment")) {
        Some(Kind::SweAgent)
    } else if has_list("messages") && (has("info") || has("trajectory_format")) {
        Some(Kind::MiniSweAgent)
    } else if has_list("history") && (has("metrics") || has("test_result") || has("metadata")) {
        Some(Kind::OpenHands)
    } else if is_event && value.get("kind").is_some_and(Value::is_string) {
        Some(Kind::OpenHandsSdk)
    } else if is_event && (has("action") || has("observation")) {
        Some(Kind::OpenHands)
    } else if is_trial(value) || value.pointer("/results/0").is_some_and(is_trial) {
        Some(Kind::TerminalBench)
    } else if is_copilot(value) {
        Some(Kind::Copilot)
    } else if is_droid(value) {
        Some(Kind::Droid)
    } else {
        None
    }
}

/// Its events know the one before them.
fn is_copilot(value: &Value) -> bool {
    let starts = ["session.", "assistant.", "user.", "tool."];
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    value.get("parentId").is_some()
        && value.get("data").is_some_and(Value::is_object)
        && starts.iter().any(|start| kind.starts_with(start))
}

/// Others have calls and ends, too, but under other names.
fn is_droid(value: &Value) -> bool {
    let has = |key| value.get(key).is_some();
    match value.get("type").and_then(Value::as_str) {
        Some("tool_call") => has("session_id") && has("toolCallId") && has("toolName"),
        Some("completion") => has("session_id") && has("finalText"),
        _ => false,
    }
}

fn is_trial(value: &Value) -> bool {
    let has = |key| value.get(key).is_some();
    // The long instruction comes first, so a file that was cut off may end in it.
    (has("is_resolved") && (has("failure_mode") || has("parser_results")))
        || (has("trial_name") && has("task_id"))
}

/// A message without anything around it. Those of other agents have a type.
fn is_message(value: &Value) -> bool {
    let has = |key| value.get(key).is_some();
    has("role") && has("content") && !has("type")
}

/// So many values are looked at.
const RECORDS: usize = 100;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"info":{},"trajectory":[]}"#, Some(Kind::SweAgent))]
    #[case(r#"{"trajectory":[],"history":[],"metadata":{},"info":{}}"#, Some(Kind::SweAgent))]
    #[case(r#"{"trajectory":"a text","info":{}}"#, None)]
    #[case(r#"{"trajectory_format":"mini-swe-agent-1.1","messages":[]}"#, Some(Kind::MiniSweAgent))]
    #[case(r#"[{"content":"","role":"system"}]"#, Some(Kind::MiniSweAgent))]
    #[case(r#"[{"content":"","role":"user","type":"message"}]"#, None)]
    #[case(r#"{"content":"","role":"system"}"#, None)]
    #[case(r#"{"metrics":null,"history":[],"instance_id":"a"}"#, Some(Kind::OpenHands))]
    #[case(r#"[{"action":"run","source":"agent","id":1,"timestamp":"t"}]"#, Some(Kind::OpenHands))]
    #[case(
        "starting\n{\"kind\":\"MessageEvent\",\"source\":\"agent\",\"timestamp\":\"t\",\"id\":\"x\"}",
        Some(Kind::OpenHandsSdk)
    )]
    #[case(r#"{"parser_results":null,"is_resolved":null}"#, Some(Kind::TerminalBench))]
    #[case(
        r#"{"accuracy":1.0,"results":[{"is_resolved":true,"failure_mode":"unset"}]}"#,
        Some(Kind::TerminalBench)
    )]
    #[case(r#"{"results":[{"id":1}]}"#, None)]
    #[case(r#"{"id":"x","trial_name":"a.1","task_id":"a"}"#, Some(Kind::TerminalBench))]
    #[case(
        "2026-01-15T10:00:00Z [{\"content\":\"\",\n2026-01-15T10:00:00Z \"role\":\"system\"}]",
        Some(Kind::MiniSweAgent)
    )]
    #[case("\x1b[2m[{\"content\":\"\",\x1b[0m\"role\":\"user\"}]", Some(Kind::MiniSweAgent))]
    #[case(r#"{"type":"session.start","data":{},"id":"e","parentId":null}"#, Some(Kind::Copilot))]
    #[case(r#"{"type":"session.start","data":{}}"#, None)]
    #[case(
        r#"{"type":"tool_call","session_id":"s","toolCallId":"c","toolName":"Shell"}"#,
        Some(Kind::Droid)
    )]
    #[case(r#"{"type":"tool_call","subtype":"started","call_id":"c","session_id":"s"}"#, None)]
    #[case("\u{feff}{\"info\":{},\"trajectory\":[]}", Some(Kind::SweAgent))]
    #[case("\x1b[2m{\"info\":{},\x1b[0m\n \"trajectory\":[]\n}\nx", Some(Kind::SweAgent))]
    #[case("x\n{\n \"info\":{},\n \"trajectory\":[]\n}", Some(Kind::SweAgent))]
    #[case(r#"[{"action":"run","source":"agent","id":1,"timestamp":"t"},{"#, Some(Kind::OpenHands))]
    #[case("[]", None)]
    #[case("{\"info\":{},\"trajectory\":[", None)]
    #[case("", None)]
    fn known_by_content(#[case] document: &str, #[case] expected: Option<Kind>) {
        assert_eq!(recognise(document.as_bytes()), expected);
    }

    #[test]
    fn any_encoding_will_do() {
        let text = "{\"info\":{},\"trajectory\":[]}";
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
            assert_eq!(recognise(&bytes), Some(Kind::SweAgent));
        }
    }

    #[test]
    fn depth_is_no_danger() {
        assert_eq!(recognise("[".repeat(1_000_000).as_bytes()), None);
        assert_eq!(recognise("{\"a\":".repeat(100_000).as_bytes()), None);
    }
}
