//! Agents that are heard while they run, with the real binary: what they use counts at once, what
//! they say of failures is told apart, and what they merely quote means nothing. The agents are
//! programs of the tests; a test of something that went wrong for people carries its number.

mod captures;
mod faults;
mod figures;
mod hostile;
mod limits;
mod mapped;
mod meters;
mod phrases;
mod proof;
mod several;
mod shown;
mod status;
mod waits;
mod work;

#[path = "../support/mod.rs"]
mod support;

use serde_json::Value as Json;
use support::looping::Loop;

const MISBEHAVE: &str = env!("CARGO_BIN_EXE_misbehave");

/// `backstop run` of an agent that prints what a file holds.
fn play<'a>(flags: &[&'a str], file: &'a str) -> Vec<&'a str> {
    [&["run"], flags, &["--", MISBEHAVE, "play", file]].concat()
}

/// `backstop run` of an agent that works as told.
fn agent<'a>(flags: &[&'a str], session: &[&'a str]) -> Vec<&'a str> {
    [&["run"], flags, &["--", MISBEHAVE, "agent"], session].concat()
}

/// A stream of Claude Code: its records are given without what every record has.
fn claude(records: &[Json]) -> String {
    let first =
        serde_json::json!({"type": "system", "subtype": "init", "model": "claude-sample-1"});
    let records = std::iter::once(&first).chain(records).map(|record| {
        let mut record = record.clone();
        record["session_id"] = "7b0c1f52-sample".into();
        format!("{record}\n")
    });
    records.collect()
}

/// A message of Claude's main loop.
fn message(content: &Json) -> Json {
    serde_json::json!({"type": "assistant", "parent_tool_use_id": null, "message": {
        "id": "msg_1", "role": "assistant", "model": "claude-sample-1", "content": content,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }})
}

/// A result of Claude that says this.
fn result(says: &str, is_error: bool) -> Json {
    serde_json::json!({
        "type": "result", "subtype": "success", "is_error": is_error, "num_turns": 1,
        "result": says, "total_cost_usd": 0.01, "usage": {"input_tokens": 10, "output_tokens": 5},
    })
}

/// A call of Claude and what came back.
fn call(command: &str, answer: &str) -> [Json; 2] {
    let input = serde_json::json!({"command": command});
    let call =
        serde_json::json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": input}]);
    let answer = serde_json::json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": answer},
    ]}});
    [message(&call), answer]
}

/// The first signal that the tree was sent, as the journal has it.
#[track_caller]
fn first_signal(test: &Loop) -> String {
    let notes = test.events("noted");
    let note = notes.iter().find(|note| note["what"] == "signalled").expect("a signal");
    note["detail"].as_str().expect("words").to_owned()
}
