//! Hooks of an agent that somebody supervises.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};

use crate::{BINARY, Session, bash, stop};

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
    for prompt in ["go", "--json"] {
        let session = Session::new("claude-code", "[limits]\niterations = 3\n");
        let transcript = session.transcript();
        fs::write(&transcript, format!("{spoke}\n")).expect("a transcript");
        let used = json!({"hook_event_name": "PostToolUse", "session_id": "in",
            "cwd": session.work(), "transcript_path": transcript, "tool_name": "Bash",
            "tool_input": {"command": "inner"}, "tool_response": "ok"});
        fs::write(session.work().join("used.json"), used.to_string()).expect("an input");
        fs::write(session.work().join("result.json"), result.to_string()).expect("a result");
        agent(
            &session,
            "claude",
            &format!("'{BINARY}' hook claude-code < used.json\ncat result.json"),
        );
        let words = ["run", "--once", "--", "./claude", "-p", prompt, "--output-format", "json"];
        let printed = session.run(&words);
        let runs = session.runs();
        let told = runs[0].1.iter().filter(|event| event["type"] == "action").count();
        assert_eq!(told, 1, "{prompt}: {printed}");
        assert_eq!(session.tokens(), 1100, "{prompt}");
    }
}

#[test]
fn tokens_of_an_agent_that_answers_in_words_come_from_its_transcript() {
    for (name, program) in [("claude-code", "claude"), ("codex", "codex")] {
        let session = Session::new(name, "[limits]\niterations = 3\ntokens = 5000\n");
        let script = [
            &*calls(&session, "SessionStart", json!({"source": "startup"})),
            &calls(&session, "UserPromptSubmit", json!({"prompt": "go"})),
            &writes(&session, 0..1000),
            &calls(&session, "PreToolUse", bash("one", "")),
            &calls(&session, "PostToolUse", bash("one", "ok")),
            &writes(&session, 1000..2000),
            &calls(&session, "Stop", stop("Done.", false)),
            &writes(&session, 2000..2500),
            &calls(&session, "SessionEnd", json!({"reason": "other"})),
            "echo Done.",
        ];
        agent(&session, program, &script.join("\n"));
        let printed = session.run(&["run", "--once", "--", &format!("./{program}"), "go"]);
        assert!(!printed.contains("ANSWERED"), "{printed}");
        assert_eq!(session.tokens(), 2500, "{printed}");
        let kinds = kinds_of_steps(&session);
        assert_eq!(kinds.iter().filter(|kind| *kind == "action").count(), 1, "{kinds:?}");
        assert!(!kinds.contains(&"person".to_owned()), "{kinds:?}");
        // The limit holds in the middle of an iteration.
        fs::remove_file(session.transcript()).expect("there is one");
        let script = [
            writes(&session, 0..6000),
            calls(&session, "PreToolUse", json!({"session_id": "other", "tool_name": "Bash"})),
        ];
        agent(&session, program, &script.join("\n"));
        let printed = session.run(&["run", "--once", "--", &format!("./{program}"), "go"]);
        assert!(printed.contains("ANSWERED") && printed.contains("token_limit"), "{printed}");
    }
}

#[test]
fn what_a_stream_tells_is_told_by_no_hook_whatever_the_command_says() {
    let session = Session::new("claude-code", "[limits]\niterations = 3\n");
    let usage = |input: u64| json!({"input_tokens": input, "output_tokens": 0});
    let mut script = vec![
        calls(&session, "SessionStart", json!({"source": "startup"})),
        prints(json!({"type": "system", "subtype": "init", "session_id": "0a1b",
            "model": "claude-x", "tools": []})),
        calls(&session, "UserPromptSubmit", json!({"prompt": "go"})),
    ];
    for (id, result, tokens) in [("t1", "one", 0..1000), ("t2", "two", 1000..2000)] {
        let block = json!({"type": "tool_use", "id": id, "name": "Bash",
            "input": {"command": "make"}});
        let message = json!({"id": format!("m-{id}"), "model": "claude-x", "role": "assistant",
            "content": [block], "usage": usage(1000)});
        let returned = json!({"type": "tool_result", "tool_use_id": id, "content": result});
        script.extend([
            prints(json!({"type": "assistant", "session_id": "0a1b", "message": message})),
            heard("usage"),
            writes(&session, tokens),
            calls(&session, "PreToolUse", bash("make", "")),
            calls(&session, "PostToolUse", bash("make", result)),
            prints(json!({"type": "user", "session_id": "0a1b",
                "message": {"role": "user", "content": [returned]}})),
        ]);
    }
    script.extend([
        calls(&session, "Stop", stop("Done.", false)),
        prints(json!({"type": "result", "subtype": "success", "is_error": false,
            "result": "Done.", "session_id": "0a1b", "total_cost_usd": 0.1,
            "usage": usage(2000)})),
        heard("final"),
        writes(&session, 2000..3000),
        calls(&session, "SessionEnd", json!({"reason": "other"})),
    ]);
    agent(&session, "claude", &script.join("\n"));
    let printed = session.run(&["run", "--once", "--", "./claude", "-p", "go"]);
    assert!(!printed.contains("ANSWERED"), "{printed}");
    let kinds = kinds_of_steps(&session);
    assert_eq!(kinds.iter().filter(|kind| *kind == "action").count(), 2, "{kinds:?} {printed}");
    assert_eq!(session.tokens(), 2000, "{printed}");
}

#[test]
fn a_call_that_a_hook_tells_before_the_stream_does_counts_once() {
    let session = Session::new("codex", "[limits]\niterations = 3\n");
    let item = json!({"id": "i1", "type": "command_execution", "command": "make",
        "aggregated_output": "ok", "exit_code": 0, "status": "completed"});
    let usage = json!({"input_tokens": 7, "cached_input_tokens": 0, "output_tokens": 3});
    let script = [
        prints(json!({"type": "thread.started", "thread_id": "0a1b"})),
        // What was written to the log has been read, too.
        "until $BACKSTOP logs latest --raw | grep -q thread.started; do sleep 0.05; done"
            .to_owned(),
        writes(&session, 0..1000),
        calls(&session, "PostToolUse", bash("make", "ok")),
        prints(json!({"type": "item.completed", "item": item})),
        prints(json!({"type": "turn.completed", "usage": usage})),
    ];
    agent(&session, "codex", &script.join("\n"));
    let printed = session.run(&["run", "--once", "--", "./codex", "exec", "go"]);
    assert_eq!(kinds_of_steps(&session), ["action"], "{printed}");
    assert_eq!(session.tokens(), 10, "{printed}");
}

#[test]
fn a_failure_that_a_hook_tells_and_the_output_too_is_one() {
    let said = "API Error: 500 internal server error";
    for last in [format!("echo '{said}'; exit 1"), "exit 1".to_owned(), "exit 0".to_owned()] {
        let session = Session::new("claude-code", "[limits]\niterations = 3\n");
        let died = json!({"error": "server_error", "last_assistant_message": said});
        let script = [calls(&session, "StopFailure", died), last.clone()];
        agent(&session, "claude", &script.join("\n"));
        let printed = session.run(&["run", "--once", "--", "./claude", "-p", "go"]);
        let runs = session.runs();
        let errors: Vec<_> = runs[0].1.iter().filter(|event| event["type"] == "error").collect();
        assert_eq!(errors.len(), 1, "{last}: {errors:?} {printed}");
        assert_eq!(errors[0]["category"], "transient", "{last}: {errors:?}");
    }
}

/// Makes a script the agent of the session's work.
fn agent(session: &Session, name: &str, script: &str) {
    let path = session.work().join(name);
    let beginning = format!("#!/bin/sh\nBACKSTOP='{BINARY}'");
    fs::write(&path, format!("{beginning}\n{script}\n")).expect("an agent");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
}

/// A line of a script that calls a hook and shows what it is answered.
fn calls(session: &Session, event: &str, fields: Json) -> String {
    let mut input = json!({"session_id": "0a1b", "cwd": session.work(), "hook_event_name": event,
        "transcript_path": session.transcript(), "permission_mode": "default"});
    input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    format!(
        "printf '%s' '{input}' | $BACKSTOP hook {} | sed 's/^/ANSWERED {event}: /' >&2",
        session.agent
    )
}

/// A line of a script that writes to the transcript how much was used: from so many tokens to so many.
fn writes(session: &Session, tokens: std::ops::Range<u64>) -> String {
    let usage = |input: u64| json!({"input_tokens": input, "output_tokens": 0});
    let line = match session.agent {
        "codex" => json!({"type": "event_msg", "payload": {"type": "token_count",
            "info": {"total_token_usage": usage(tokens.end)}}}),
        _ => json!({"type": "assistant", "sessionId": "0a1b", "message": {
            "id": tokens.end.to_string(), "model": "claude-x", "role": "assistant", "content": [],
            "usage": usage(tokens.end - tokens.start)}}),
    };
    format!("printf '%s\\n' '{line}' >> '{}'", session.transcript().display())
}

fn prints(record: Json) -> String {
    format!("printf '%s\\n' '{record}'")
}

/// A line of a script that waits until the run knows this.
fn heard(what: &str) -> String {
    format!("until $BACKSTOP show latest --events | grep -q '\"{what}\"'; do sleep 0.05; done")
}

/// The kinds of all steps of the newest run.
fn kinds_of_steps(session: &Session) -> Vec<String> {
    let runs = session.runs();
    let (_, events) = runs.last().expect("a run");
    let steps = events.iter().filter(|event| event["type"] == "action");
    steps.map(|step| step["kind"].as_str().expect("a kind").to_owned()).collect()
}
