//! What a command exports is counted while it runs.

use serde_json::json;

use crate::support::looping::Loop;
use crate::{MISBEHAVE, run_of};

#[test]
fn a_limit_ends_an_iteration_in_the_middle() {
    let test = Loop::new();
    let flags = ["--once", "--telemetry", "--max-cost", "1", "--finish-within", "0s"];
    let export = ["export", "--cost", "0.6", "--cost", "0.6", "--stay"];
    let ended = test.run(run_of(&flags, &export)).exits(128);
    // The limit may come before the command has said how its second export was answered.
    assert!(["200\n", "200\n200\n"].contains(&&*ended.stdout), "{}", ended.stdout);
    test.leaves_nothing();
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "cost_limit");
    assert_eq!(state["facts"]["cost_usd"], json!(1.2));
    assert_eq!(state["facts"]["tokens"], 240);
    assert!(test.events("usage").iter().all(|usage| usage["basis"] == "live"));
}

#[test]
fn the_meter_is_not_silent_and_a_resumption_counts_on() {
    let test = Loop::new();
    let flags = ["--telemetry", "--max-cost", "1", "--max-iterations", "1"];
    test.run(run_of(&flags, &["export", "--cost", "0.4"])).exits(125);
    test.run(["resume", "--raise", "iterations=9"]).exits(128);
    assert_eq!(test.state()["facts"]["cost_usd"], json!(1.2));
}

#[test]
fn what_metrics_tell_too_much_is_taken_back_when_the_span_comes() {
    let test = Loop::new();
    let request = ["export-request", "--input", "900", "--cached", "600"];
    test.run(run_of(&["--once", "--telemetry"], &request)).exits(0);
    let by = &test.state()["facts"]["tokens_by"];
    assert_eq!((&by["input"], &by["cache_read"]), (&json!(300), &json!(600)), "{by}");
}

#[test]
fn a_refusal_that_the_agent_gets_past_is_no_failure() {
    let test = Loop::new();
    let flags = ["--max-iterations", "1", "--telemetry"];
    test.run(run_of(&flags, &["export", "--refused", "--cost", "0.4"])).exits(125);
    assert_eq!(test.events("error").len(), 0);
    assert_eq!(test.state()["facts"]["cost_usd"], json!(0.4));
}

#[test]
fn a_refusal_that_the_agent_ends_or_stays_with_is_its_failure() {
    for stay in [None, Some("--stay")] {
        let test = Loop::new();
        let flags = ["--max-iterations", "3", "--telemetry"];
        let words = ["export", "--refused"].into_iter().chain(stay).collect::<Vec<_>>();
        test.run(run_of(&flags, &words));
        let errors = test.events("error");
        assert_eq!(errors.len(), 1, "{stay:?}: {errors:?}");
        assert_eq!(errors[0]["category"], "critical", "{stay:?}: {errors:?}");
        assert_eq!(test.state()["facts"]["iterations"], 1, "{stay:?}");
        test.leaves_nothing();
    }
}

#[test]
fn without_the_secret_nothing_is_counted() {
    let test = Loop::new();
    let flags = ["--once", "--telemetry"];
    let ended = test.run(run_of(&flags, &["export", "--cost", "5", "--secret", "guess"])).exits(0);
    assert_eq!(ended.stdout, "401\n");
    assert_eq!(test.events("usage").len(), 0);
}

#[test]
fn without_the_flag_the_environment_is_left_alone() {
    let test = Loop::new().variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
    let show = "echo $OTEL_EXPORTER_OTLP_ENDPOINT $CLAUDE_CODE_ENABLE_TELEMETRY";
    let ended = test.run(["run", "--once", "--", "sh", "-c", show]).exits(0);
    assert_eq!(ended.stdout, "http://collector:4318\n");
    let ended = test.run(["run", "--once", "--telemetry", "--", "sh", "-c", show]).exits(0);
    assert!(ended.stdout.starts_with("http://127.0.0.1:"), "{}", ended.stdout);
    assert!(ended.stderr.contains("not to `http://collector:4318`"), "{}", ended.stderr);
}

/// An agent that prints what it uses, before or after its telemetry tells the same.
fn printing_and_exporting(printed: &str, first: bool) -> Loop {
    let print = format!("printf '%s\\n' '{printed}'");
    let export = format!("{MISBEHAVE} export --cost 0.6 >&2");
    // What was printed is read beside what is exported, so each waits for the other to be heard.
    let heard = |what: &str| {
        format!("until $BACKSTOP show latest --events | grep -q '{what}'; do sleep 0.05; done")
    };
    let body = if first {
        format!("{print}\n{}\n{export}", heard("\"type\":\"usage\""))
    } else {
        format!("{export}\n{print}\n{}", heard("\"input_tokens\":7"))
    };
    Loop::new().variable("BACKSTOP", env!("CARGO_BIN_EXE_backstop")).script("codex.sh", &body)
}

#[test]
fn what_the_output_tells_is_not_counted_again() {
    let printed = r#"{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":0,"output_tokens":3}}"#;
    for first in [true, false] {
        let test = printing_and_exporting(printed, first);
        let policy = "[loop]\nagent = \"codex\"\n";
        let test = test.file("backstop.toml", policy);
        let ended = test.run(["run", "--once", "--telemetry", "--", "./codex.sh"]);
        assert_eq!(test.state()["facts"]["tokens"], 10, "printed first: {first}");
        assert_eq!(test.state()["facts"]["cost_usd"], json!(0.6), "printed first: {first}");
        assert_eq!(test.state()["facts"]["cost_known"], true, "printed first: {first}");
        let said = ended.stderr.matches("so of its telemetry only the cost");
        assert_eq!(said.count(), 1, "{}", ended.stderr);
    }
}

/// A stream of Claude that tells tokens on the way, telemetry that tells a cost, and perhaps a
/// result.
fn claude_that_exports(cost: &str, end: &str) -> Loop {
    let message = r#"{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m","role":"assistant","model":"claude-sample-1","content":[],"usage":{"input_tokens":7,"output_tokens":3}}}"#;
    let body = format!(
        "printf '%s\\n' '{message}'\n\
         until $BACKSTOP show latest --events | grep -q '\"input_tokens\":7'; do sleep 0.05; done\n\
         {MISBEHAVE} export --cost {cost} >&2\n{end}"
    );
    let test = Loop::new().variable("BACKSTOP", env!("CARGO_BIN_EXE_backstop"));
    test.script("claude.sh", &body).file("backstop.toml", "[loop]\nagent = \"claude\"\n")
}

#[test]
fn a_cost_that_only_the_telemetry_tells_ends_an_iteration_in_the_middle() {
    let test = claude_that_exports("1.2", "sleep 300");
    let flags = ["--once", "--telemetry", "--max-cost", "1", "--finish-within", "0s"];
    test.run([&["run"], &flags[..], &["--", "./claude.sh"]].concat()).exits(128);
    let facts = &test.state()["facts"];
    assert_eq!(facts["cost_usd"], json!(1.2));
    assert_eq!(facts["tokens"], 10);
}

#[test]
fn the_cost_of_the_result_replaces_that_of_the_telemetry() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":1,"result":"Done.","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":3}}"#;
    let test = claude_that_exports("0.4", &format!("printf '%s\\n' '{result}'"));
    test.run(["run", "--once", "--telemetry", "--", "./claude.sh"]).exits(0);
    let facts = &test.state()["facts"];
    assert_eq!(facts["cost_usd"], json!(0.5));
    assert_eq!(facts["tokens"], 10);
}

#[test]
fn a_limit_on_money_that_is_looked_at_late_is_told_of() {
    let test = Loop::new().script("claude", "true");
    let run =
        |flags: &[&str]| test.run([&["run", "--dry-run"], flags, &["--", "./claude"]].concat());
    let said = "`--telemetry` or `[prices]`";
    assert!(run(&["--max-cost", "1"]).exits(0).stdout.contains(said));
    assert!(!run(&["--max-cost", "1", "--telemetry"]).exits(0).stdout.contains(said));
    assert!(!run(&[]).exits(0).stdout.contains(said));
}
