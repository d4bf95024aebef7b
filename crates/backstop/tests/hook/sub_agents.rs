//! Sub-agents have transcripts of their own, beside the session's.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::{Session, bash, stop};

#[test]
fn a_sub_agent_is_counted_while_it_works_and_once() {
    let session = Session::new("claude-code", "[limits]\ntokens = 1000\n");
    writes(&session, "session", &[10]);
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    writes(&session, "a1", &[300]);
    assert_eq!(session.says("PostToolUse", of("a1", bash("one", ""))), None);
    assert_eq!(session.tokens(), 310);
    writes(&session, "a1", &[300, 200]);
    writes(&session, "b2", &[5]);
    assert_eq!(session.says("PostToolUse", of("a1", bash("two", ""))), None);
    assert_eq!(session.tokens(), 510, "another's calls are another's affair");
    // The same file by another name.
    let path = path(&session, "a1");
    let same = path.with_file_name("../subagents").join(path.file_name().expect("a name"));
    let mut stopped = of("a1", stop("found it", false));
    stopped["agent_transcript_path"] = json!(same);
    assert_eq!(session.says("SubagentStop", stopped), None);
    assert_eq!(session.tokens(), 510);
    assert_eq!(session.says("Stop", stop("done", false)), None);
    assert_eq!(session.tokens(), 515, "at the end nobody is left out");
    session.says("UserPromptSubmit", json!({"prompt": "more"}));
    writes(&session, "c3", &[700]);
    let answer = session.says("PostToolUse", of("c3", bash("three", ""))).expect("an answer");
    assert!(answer["stopReason"].as_str().expect("words").contains("token_limit"), "{answer}");
}

#[test]
fn what_sub_agents_used_before_a_session_was_resumed_does_not_count() {
    let session = Session::new("claude-code", "");
    writes(&session, "session", &[10]);
    writes(&session, "a1", &[300]);
    session.says("SessionStart", json!({"source": "resume"}));
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    writes(&session, "a1", &[300, 7]);
    session.says("SessionEnd", json!({"reason": "other"}));
    assert_eq!(session.tokens(), 7);
}

#[test]
fn a_name_that_leads_elsewhere_is_not_followed() {
    let session = Session::new("claude-code", "");
    writes(&session, "session", &[10]);
    writes(&session, "a1", &[300]);
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    for id in ["x/../agent-a1", "../subagents/agent-a1", "", "é"] {
        session.says("PostToolUse", of(id, bash(id, "")));
    }
    assert_eq!(session.tokens(), 10);
}

fn of(id: &str, mut fields: Json) -> Json {
    fields["agent_id"] = id.into();
    fields["agent_type"] = "Explore".into();
    fields
}

fn path(session: &Session, name: &str) -> PathBuf {
    let transcript = session.transcript();
    match name {
        "session" => transcript,
        _ => transcript.with_extension("").join(format!("subagents/agent-{name}.jsonl")),
    }
}

/// Writes a transcript with an answer for each of these numbers of tokens.
fn writes(session: &Session, name: &str, tokens: &[u64]) {
    let lines = tokens.iter().enumerate().map(|(place, tokens)| {
        let line = json!({"type": "assistant", "sessionId": "0a1b", "isSidechain": name != "session",
            "message": {"id": format!("{name}-{place}"), "model": "claude-x", "role": "assistant",
                "content": [], "usage": {"input_tokens": tokens, "output_tokens": 0}}});
        format!("{line}\n")
    });
    let path = path(session, name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, lines.collect::<String>()).expect("a transcript");
}
