//! Turns of a session and what they used: a limit wants figures of those that worked, and waits for
//! figures that are late.

use std::fs;
use std::io::Write as _;

use serde_json::json;

use crate::{Session, bash, stop, types};

const LIMITED: &str = "[limits]\niterations = 20\ntokens = 500000\ncost_usd = 50\n\
    [prices.claude-x]\ninput = 1\noutput = 1\n";

#[test]
fn a_turn_that_died_or_was_broken_off_owes_no_figures() {
    let died =
        json!({"error": "overloaded", "last_assistant_message": "API Error: 529 Overloaded"});
    for event in [Some("StopFailure"), None] {
        let session = Session::new("claude-code", LIMITED);
        session.says("UserPromptSubmit", json!({"prompt": "hi"}));
        answers(&session, "m1");
        assert_eq!(session.says("Stop", stop("hello", false)), None);
        for _ in 0..2 {
            assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "more"})), None);
            if let Some(event) = event {
                assert_eq!(session.says(event, died.clone()), None);
            }
        }
        assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "again"})), None);
        answers(&session, "m2");
        assert_eq!(session.says("Stop", stop("hello", false)), None);
        assert_eq!(session.tokens(), 20, "{event:?}");
    }
}

#[test]
fn an_answer_that_is_late_in_the_transcript_is_waited_for() {
    // The next step brings it, whatever that is.
    for (event, fields) in [
        ("UserPromptSubmit", json!({"prompt": "go on"})),
        ("PostToolUse", bash("ls", "")),
        ("Stop", stop("hello", true)),
    ] {
        let session = Session::new("claude-code", LIMITED);
        fs::write(session.transcript(), "{\"type\":\"user\"}\n").expect("a transcript");
        session.says("UserPromptSubmit", json!({"prompt": "hi"}));
        assert_eq!(session.says("Stop", stop("hello", false)), None, "{event}");
        answers(&session, "m1");
        if event == "Stop" {
            answers(&session, "m2");
        }
        assert_eq!(session.says(event, fields), None, "{event}");
        let runs = session.runs();
        let kinds = types(&runs[0].1);
        let place = |wanted: &str| {
            let place = kinds.iter().position(|kind| *kind == wanted);
            place.unwrap_or_else(|| panic!("{event}: no {wanted} in {kinds:?}"))
        };
        assert!(place("usage") < place("iteration_finished"), "{event}: {kinds:?}");
    }
}

#[test]
fn a_turn_that_worked_and_told_nothing_holds_the_run() {
    let session = Session::new("claude-code", LIMITED);
    fs::write(session.transcript(), "{\"type\":\"user\"}\n").expect("a transcript");
    session.says("UserPromptSubmit", json!({"prompt": "hi"}));
    assert_eq!(session.says("Stop", stop("hello", false)), None);
    let refused = session.says("UserPromptSubmit", json!({"prompt": "more"})).expect("an answer");
    assert_eq!(refused["decision"], "block");
    let why = refused["reason"].as_str().expect("words");
    assert!(why.contains("backstop holds run ") && why.contains("reported for the last"), "{why}");
    let refused = session.says("UserPromptSubmit", json!({"prompt": "more"})).expect("an answer");
    assert!(refused["reason"].as_str().expect("words").contains("backstop holds run "));
    // Where there is no transcript, nothing is worth waiting for.
    let session = Session::new("claude-code", LIMITED);
    session.says("UserPromptSubmit", json!({"prompt": "hi"}));
    let end = session.says("Stop", stop("hello", false)).expect("an answer");
    assert_eq!(end["continue"], false, "{end}");
}

/// How many iterations the journal begins and ends, and how many are counted.
fn iterations(session: &Session) -> (usize, usize, u64) {
    let runs = session.runs();
    let told = types(&runs[0].1);
    let count = |wanted: &str| told.iter().filter(|kind| **kind == wanted).count();
    let state: serde_json::Value =
        serde_json::from_str(&session.run(&["show", "latest", "--json"])).expect("JSON");
    let counted = state["facts"]["iterations"].as_u64().expect("a number");
    assert_eq!(state["statistics"]["iterations"], counted, "{state}");
    (count("iteration_started"), count("iteration_finished"), counted)
}

#[test]
fn a_run_that_has_halted_counts_no_turn_any_more() {
    // By its limit, at the end of a turn.
    let session = Session::new("claude-code", "[limits]\niterations = 1\n");
    session.says("UserPromptSubmit", json!({"prompt": "hi"}));
    for _ in 0..3 {
        let end = session.says("Stop", stop("hello", false)).expect("an answer");
        assert_eq!(end["continue"], false, "{end}");
        session.says("PostToolUse", bash("ls", ""));
    }
    session.says("SessionEnd", json!({"reason": "other"}));
    assert_eq!(iterations(&session), (1, 1, 1));
    // By a person, in the middle of one: the next has its number.
    let session = Session::new("claude-code", "[limits]\niterations = 5\n");
    session.says("UserPromptSubmit", json!({"prompt": "hi"}));
    session.run(&["stop", "latest"]);
    let denied = session.says("PreToolUse", bash("ls", "")).expect("an answer");
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    session.says("Stop", stop("hello", false)).expect("an answer");
    assert_eq!(iterations(&session), (1, 0, 0));
    session.run(&["resume", "latest"]);
    assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "more"})), None);
    assert_eq!(session.says("Stop", stop("hello", false)), None);
    let runs = session.runs();
    let ended = runs[0].1.iter().find(|event| event["type"] == "iteration_finished");
    assert_eq!(ended.expect("a turn that ended")["iteration"], 1);
    let shown = session.run(&["show", "latest"]);
    assert!(shown.contains("1 iteration ·") && shown.contains("Iteration 1/5"), "{shown}");
}

#[test]
fn a_turn_that_had_ended_before_the_halt_counts() {
    for (event, fields) in [
        ("SessionEnd", json!({"reason": "other"})),
        ("PostToolUse", bash("ls", "")),
        ("Stop", stop("hello", true)),
    ] {
        let session = Session::new("claude-code", LIMITED);
        fs::write(session.transcript(), "{\"type\":\"user\"}\n").expect("a transcript");
        session.says("UserPromptSubmit", json!({"prompt": "hi"}));
        assert_eq!(session.says("Stop", stop("hello", false)), None, "{event}");
        session.run(&["stop", "latest"]);
        answers(&session, "m1");
        session.says(event, fields);
        assert_eq!((iterations(&session), session.tokens()), ((1, 1, 1), 10), "{event}");
    }
}

/// The agent writes an answer to its transcript that took ten tokens.
fn answers(session: &Session, id: &str) {
    let line = json!({"type": "assistant", "sessionId": "0a1b", "message": {"id": id,
        "model": "claude-x", "role": "assistant", "content": [],
        "usage": {"input_tokens": 9, "output_tokens": 1}}});
    let mut options = fs::File::options();
    let mut file = options.create(true).append(true).open(session.transcript()).expect("a file");
    file.write_all(format!("{line}\n").as_bytes()).expect("room");
}
