//! What meters tell of a run in which something went wrong, and what is said where they tell nothing.

use serde_json::{Value as Json, json};

use crate::support::looping::Loop;
use crate::{claude, message, result};

const CODEX: &str = include_str!("../samples/codex.jsonl");

/// Money by a table, and four iterations.
const PRICED: &str = "[limits]\niterations = 4\ncost_usd = 5\n\
                      [prices.'*']\ninput = 1\noutput = 1\ncache_read = 1\n";

fn records(records: &[Json]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A turn of Codex that lost its connection.
fn lost() -> String {
    let why = "stream disconnected before completion: error sending request";
    records(&[
        json!({"type": "thread.started", "thread_id": "a"}),
        json!({"type": "turn.started"}),
        json!({"type": "error", "message": why}),
        json!({"type": "turn.failed", "error": {"message": why}}),
    ])
}

/// A loop that prints `good`, and `bad` in the iterations that a pattern of the shell names.
fn one_fails(good: &str, bad: &str, pattern: &str) -> Loop {
    let script = format!("case $BACKSTOP_ITERATION in {pattern}) cat bad; exit 1;; esac; cat good");
    Loop::new().file("p.toml", PRICED).file("good", good).file("bad", bad).script("agent", &script)
}

#[test]
fn a_passing_error_before_anything_was_used_silences_no_meter() {
    let gemini = |status: &str, tokens: u64| {
        let error = match status {
            "error" => json!({"type": "Error", "message": "The model is overloaded. Please try \
                                                           again later."}),
            _ => Json::Null,
        };
        records(&[
            json!({"type": "init", "timestamp": "2026-05-04T10:00:00.000Z", "session_id": "g",
                   "model": "gemini-sample"}),
            json!({"type": "result", "timestamp": "2026-05-04T10:00:02.000Z", "status": status,
                   "error": error, "stats": {"total_tokens": tokens, "input_tokens": tokens,
                   "output_tokens": 0, "cached": 0, "input": tokens, "duration_ms": 5,
                   "tool_calls": 0}}),
        ])
    };
    let opencode = records(&[
        json!({"type": "step_start", "timestamp": 1_794_866_400_000_u64, "sessionID": "ses_1",
               "part": {"type": "step-start"}}),
        json!({"type": "step_finish", "timestamp": 1_794_866_400_000_u64, "sessionID": "ses_1",
               "part": {"type": "step-finish", "reason": "stop", "cost": 0.1,
               "tokens": {"input": 671, "output": 8, "reasoning": 0,
               "cache": {"read": 21_415, "write": 0}}}}),
    ]);
    let overloaded = records(&[json!({"type": "error", "timestamp": 1_794_866_401_000_u64,
        "sessionID": "ses_1", "error": {"name": "APIError", "data": {"message": "Overloaded",
        "statusCode": 529, "isRetryable": true}}})]);
    for (good, bad) in [
        (CODEX.to_owned(), lost()),
        (gemini("success", 1000), gemini("error", 0)),
        (opencode, overloaded),
    ] {
        let test = one_fails(&good, &bad, "2");
        let ended = test.run(["run", "--policy", "p.toml", "--", "./agent"]).exits(125);
        assert!(!ended.stderr.contains("reported"), "{}", ended.stderr);
        let facts = &test.state()["facts"];
        assert_eq!((&facts["iterations"], &facts["errored"]), (&json!(4), &json!(1)), "{bad}");
        assert_eq!(facts["cost_known"], true, "{bad}");
    }
    let test = one_fails(CODEX, &lost(), "2");
    let flags = ["--max-tokens", "5000000", "--max-iterations", "4"];
    test.run([&["run"], &flags[..], &["--", "./agent"]].concat()).exits(125);
}

#[test]
fn passing_errors_that_tell_nothing_hold_a_limit_once_there_are_three_in_a_row() {
    let policy = PRICED.replace("iterations = 4", "iterations = 50");
    let test = one_fails(CODEX, &lost(), "2|3|4").file("p.toml", &policy);
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent"]).exits(128);
    let state = test.state();
    assert_eq!((&state["run_status"], &state["facts"]["iterations"]), (&json!("held"), &json!(4)));
    let message = "No cost was reported for the last 3 iterations, which ended in errors";
    assert_eq!(state["stop_reason"]["message"], message);
    assert!(!ended.stderr.contains("[prices]"), "no tokens are known: {}", ended.stderr);
    // The rule for errors in a row has the word where there is one.
    let policy = format!("preset = 'default'\n{policy}");
    let test = one_fails(CODEX, &lost(), "2|3|4").file("p.toml", &policy);
    test.run(["run", "--policy", "p.toml", "--", "./agent"]);
    assert_eq!(test.state()["stop_reason"]["code"], "error");
}

#[test]
fn an_iteration_that_fails_and_tells_nothing_holds_a_limit() {
    for (limit, code) in [("--max-tokens", 127), ("--max-cost", 128)] {
        let test = Loop::new();
        test.run(["run", limit, "5", "--", "false"]).exits(code);
        assert_eq!(test.state()["facts"]["iterations"], 1);
    }
}

#[test]
fn work_whose_cost_is_lost_holds_a_limit_on_it_and_is_counted_when_the_run_goes_on() {
    let seen = claude(&[message(&json!([{"type": "text", "text": "I begin."}]))]);
    let told = claude(&[result("Done.", false)]);
    let (hangs, crashes) = ("exec sleep 60", "exit 1");
    for how in [hangs, crashes] {
        let script = format!("case $BACKSTOP_ITERATION in 1) cat seen; {how};; esac; cat told");
        let test = Loop::new().file("seen", &seen).file("told", &told).script("claude", &script);
        let limits = ["--max-cost", "5", "--max-iterations", "3", "--iteration-timeout", "1s"];
        let run = [&["run"], &limits[..], &["--grace", "1s", "--", "./claude", "-p", "x"]].concat();
        test.run(run).exits(128);
        assert_eq!(test.state()["facts"]["iterations"], 1, "{how}");
        let ended = test.run(["resume", "--unmetered", "allow"]).exits(125);
        let facts = &test.state()["facts"];
        assert_eq!(facts["iterations"], 3);
        assert_eq!((&facts["cost_usd"], &facts["cost_known"]), (&json!(0.02), &json!(false)));
        let spent = "spent      at least $0.02 of $5, a part is not known";
        assert!(ended.stderr.contains(spent), "{}", ended.stderr);
    }
}

#[test]
fn a_cost_that_is_known_in_part_is_told_as_that_everywhere() {
    let test = Loop::new().file("told", &claude(&[result("Read it.", false)]));
    let test = test.file("untold", CODEX).script("agent", "cat told; cat untold");
    let ended = test.run(["run", "--max-cost", "5", "--", "./agent"]).exits(128);
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "exit 0 · at least $0.01",
        "Only a part of the last iteration's cost was reported, so the limit can't be held.",
        "set what they cost in `[prices]`",
        "spent at least $0.01 of $5, a part is not known",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let state = test.state();
    assert_eq!(state["facts"]["cost_known"], false);
    assert_eq!(state["statistics"]["cost_known"], false);
    let diagnosis = state["stop_reason"]["diagnosis"].as_str().expect("words");
    assert!(diagnosis.contains("$0.01 of $5.00 is all that is known"), "{diagnosis}");
    assert!(!diagnosis.contains("--raise"), "{diagnosis}");
    let report = test.run(["report", "latest"]).exits(0).stdout;
    assert!(report.starts_with("# ▲ held: Cost not known\n"), "{report}");
    assert!(report.contains("- cost: at least $0.01 of $5\n"), "{report}");
    assert!(!report.contains("--raise"), "{report}");
    let listed = test.run(["ls"]).exits(0).stdout;
    assert!(listed.contains("$0.01+"), "{listed}");
}
