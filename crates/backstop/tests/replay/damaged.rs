//! Captures that something befell: cut off, encoded otherwise, or kept by a CI service.

use serde_json::{Value, json};

use crate::support::Test;

/// One whole capture of each kind: its agent, its value or values, and how it ended.
fn captures() -> Vec<(&'static str, Vec<Value>, &'static str)> {
    let step = |action: &str| json!({"action": action, "observation": "done", "thought": "so"});
    let message = |role: &str, content: &str, extra: Value| json!({"role": role, "content": content, "extra": extra});
    let event = |id: u64, kind: &str, content: &str| {
        json!({"id": id, "timestamp": format!("2026-01-15T10:00:0{id}"), "source": "agent",
               "action": kind, "args": {"command": content, "final_thought": "done"}})
    };
    let trial = json!({"is_resolved": true, "failure_mode": "unset",
        "parser_results": {"a": "passed"}, "total_input_tokens": 10, "total_output_tokens": 5});
    let saved = json!({"id": "1", "timestamp": "2026-01-15T10:00:00Z", "type": "gemini",
        "content": "Hi", "model": "m",
        "tokens": {"input": 10, "output": 1, "cached": 0, "thoughts": 2, "tool": 0, "total": 13}});
    let line = json!({"type": "assistant", "sessionId": "s", "uuid": "u",
        "timestamp": "2026-01-15T10:00:00Z",
        "message": {"id": "m1", "model": "opus", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "done"}],
            "usage": {"input_tokens": 3, "output_tokens": 4}}});
    vec![
        (
            "swe-agent",
            vec![json!({"environment": "swe", "trajectory": [step("ls"), step("cat a")],
                "info": {"exit_status": "submitted", "submission": "diff",
                    "model_stats": {"instance_cost": 0.5, "tokens_sent": 9, "tokens_received": 1}}})],
            "succeeded",
        ),
        (
            "mini-swe-agent",
            vec![json!({"trajectory_format": "mini-swe-agent-1.1", "messages": [
                message("system", "be good", json!({})),
                message("assistant", "```bash\nls\n```", json!({"cost": 0.25})),
                message("user", "a b", json!({})),
                message("assistant", "```bash\ncat a\n```", json!({"cost": 0.25}))],
                "info": {"exit_status": "Submitted", "submission": "diff"}})],
            "succeeded",
        ),
        (
            "openhands",
            vec![json!([event(1, "run", "ls"), event(2, "run", "make"), event(3, "finish", "")])],
            "succeeded",
        ),
        (
            "openhands",
            vec![event(1, "run", "ls"), event(2, "run", "make"), event(3, "finish", "")],
            "succeeded",
        ),
        ("terminal-bench", vec![trial], "succeeded"),
        (
            "gemini",
            vec![json!({"sessionId": "s", "projectHash": "p", "messages": [saved]})],
            "succeeded",
        ),
        ("claude", vec![json!({"loglines": [line]})], "succeeded"),
        (
            "claude",
            vec![json!({"type": "result", "subtype": "success", "is_error": false,
                "num_turns": 2, "total_cost_usd": 0.75, "session_id": "s", "result": "done",
                "usage": {"input_tokens": 15, "output_tokens": 90}})],
            "succeeded",
        ),
    ]
}

fn replayed(bytes: impl AsRef<[u8]>) -> Value {
    Test::new().file("capture", bytes).run(["replay", "capture", "--json"]).exits(0).json()
}

/// What must not depend on how the capture was kept.
fn figures(object: &Value) -> Value {
    let facts = ["tokens", "input_tokens", "output_tokens", "cost_usd", "iterations"]
        .map(|name| object["facts"][name].clone());
    json!([object["agent"], object["outcome"], object["actions"], object["launches"], facts])
}

#[test]
fn how_a_capture_was_kept_does_not_matter() {
    for (agent, values, outcome) in captures() {
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        let whole = replayed(lines.join("\n"));
        assert_eq!((&whole["agent"], &whole["outcome"]), (&json!(agent), &json!(outcome)));
        let pretty: Vec<String> =
            values.iter().map(|value| serde_json::to_string_pretty(value).unwrap()).collect();
        for text in [lines.join("\n"), pretty.join("\n"), lines.join(""), lines.join(" ")] {
            let stamped: String =
                text.lines().map(|line| format!("2026-01-15T10:00:00.1234567Z {line}\n")).collect();
            let coloured: String =
                text.lines().map(|line| format!("\u{1b}[2m{line}\u{1b}[0m\n")).collect();
            let sixteen: Vec<u8> = "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect();
            let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
            for bytes in
                [text.into_bytes(), stamped.into(), coloured.into(), sixteen, marked.into()]
            {
                let shown = String::from_utf8_lossy(&bytes).into_owned();
                assert_eq!(figures(&replayed(&bytes)), figures(&whole), "{shown}");
            }
        }
    }
}

#[test]
fn a_value_that_was_cut_off_tells_what_is_complete() {
    for (agent, values, _) in captures().into_iter().filter(|(_, values, _)| values.len() == 1) {
        let compact = values[0].to_string();
        let pretty = serde_json::to_string_pretty(&values[0]).unwrap();
        for text in [compact, pretty] {
            let cut = text.trim_end().trim_end_matches(['}', ']', ' ', '\n']);
            let cut = &cut[..cut.len() - 1];
            let object = replayed(cut);
            assert_eq!((&object["agent"], &object["outcome"]), (&json!(agent), &json!("cut_off")));
            let sixteen: Vec<u8> = cut.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert_eq!(figures(&replayed(sixteen)), figures(&object), "{cut}");
        }
    }
    let cut = r#"{"trajectory":[{"action":"ls","observation":"a"},{"action":"cat a","observation":"b"},{"action":"cat b","obs"#;
    let cut = format!(
        r#"{{"info":{{"exit_status":"submitted","model_stats":{{"instance_cost":0.5}}}},{}"#,
        &cut[1..]
    );
    let object = replayed(&cut);
    assert_eq!((&object["actions"], &object["facts"]["cost_usd"]), (&json!(3), &json!(0.5)));
    assert_eq!(object["outcome"], "cut_off");
    let run =
        r#"{"info":{"exit_status":"submitted"},"trajectory":[{"action":"ls","observation":"a"}]}"#;
    let object = replayed(format!("{run}\n{cut}"));
    assert_eq!((&object["launches"], &object["actions"]), (&json!(2), &json!(4)));
    assert_eq!(object["outcome"], "cut_off");
    let cut = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"total_cost_usd":0.75,"result":"do"#;
    let object = replayed(cut);
    assert_eq!(
        (&object["outcome"], &object["facts"]["cost_usd"]),
        (&json!("cut_off"), &json!(0.75))
    );
}
