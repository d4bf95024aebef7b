//! Hooks of an agent that somebody supervises.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};

use crate::{BINARY, Session};

#[test]
fn inside_of_a_supervised_run_everything_goes_there() {
    let session = Session::new("claude-code", "[loop]\nagent = \"generic\"\n");
    let fields = json!({"hook_event_name": "PostToolUse", "session_id": "in", "cwd": session.work(),
        "tool_name": "Bash", "tool_input": {"command": "inner"}, "tool_response": "ok"});
    fs::write(session.work().join("said.json"), fields.to_string()).unwrap();
    let script = format!("'{BINARY}' hook claude-code < said.json && echo answered");
    let printed = session.run(&["run", "--once", "--", "sh", "-c", &script]);
    assert!(printed.contains("answered"), "{printed}");
    let runs = session.runs();
    assert_eq!(runs.len(), 1, "{printed}");
    let signatures: Vec<_> =
        runs[0].1.iter().filter_map(|event| event["signature"].as_str()).collect();
    assert_eq!(signatures, ["Bash {\"command\":\"inner\"}"]);
}

#[test]
fn what_a_supervised_agent_prints_replaces_what_its_hooks_told_and_nothing_counts_twice() {
    let usage = json!({"input_tokens": 1000, "output_tokens": 100});
    let spoke = json!({"type": "assistant", "uuid": "u", "sessionId": "in",
        "message": {"id": "m", "role": "assistant", "model": "claude-sample", "usage": usage,
            "content": [{"type": "text", "text": "I did it."}]}});
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
        "result": "I did it.", "session_id": "in", "total_cost_usd": 0.5, "usage": usage});
    for (prompt, actions) in [("go", 1), ("add a --json flag", 1), ("--json", 0)] {
        let session = Session::new("claude-code", "[limits]\niterations = 3\n");
        let transcript = session.transcript();
        fs::write(&transcript, format!("{spoke}\n")).expect("a transcript");
        let used = json!({"hook_event_name": "PostToolUse", "session_id": "in",
            "cwd": session.work(), "transcript_path": transcript, "tool_name": "Bash",
            "tool_input": {"command": "inner"}, "tool_response": "ok"});
        fs::write(session.work().join("used.json"), used.to_string()).expect("an input");
        fs::write(session.work().join("result.json"), result.to_string()).expect("a result");
        let script =
            format!("#!/bin/sh\n'{BINARY}' hook claude-code < used.json\ncat result.json\n");
        let agent = session.work().join("claude");
        fs::write(&agent, script).expect("an agent");
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let words = ["run", "--once", "--", "./claude", "-p", prompt, "--output-format", "json"];
        let printed = session.run(&words);
        let runs = session.runs();
        let told = runs[0].1.iter().filter(|event| event["type"] == "action").count();
        assert_eq!(told, actions, "{prompt}: {printed}");
        let state = session.run(&["show", "latest", "--json"]);
        let state: Json = serde_json::from_str(&state).expect("JSON");
        assert_eq!(state["facts"]["tokens"], 1100, "{prompt}");
    }
}
