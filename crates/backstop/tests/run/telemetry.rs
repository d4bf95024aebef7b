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
        assert_eq!(test.state()["facts"]["cost_usd"], json!(0.0), "printed first: {first}");
        assert_eq!(ended.stderr.matches("its telemetry is not counted").count(), 1);
    }
}
