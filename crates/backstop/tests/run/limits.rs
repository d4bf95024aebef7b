//! What stops a run.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::support::looping::Loop;
use crate::{MISBEHAVE, run_of, usage};

#[test]
fn max_iterations() {
    let test = Loop::new().script("agent.sh", "echo $BACKSTOP_ITERATION >> went");
    test.run(["run", "--max-iterations", "3", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.read("went"), "1\n2\n3\n");
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "max_iterations");
    assert_eq!(state["stop_reason"]["threshold"], json!(3.0));
    assert_eq!(state["resumable"], true);
}

#[test]
fn max_duration_ends_a_running_iteration() {
    let test = Loop::new();
    let flags = ["--max-duration", "300ms", "--finish-within", "0s"];
    test.run(run_of(&flags, &["sleep", "100"])).exits(124);
    test.leaves_nothing();
    assert!(test.state()["facts"]["active_ms"].as_u64() >= Some(300));
}

#[test]
fn max_duration_counts_all_iterations() {
    let test = Loop::new();
    test.run(run_of(&["--max-duration", "3s"], &["sleep", "0.5"])).exits(124);
    assert!(test.state()["facts"]["iterations"].as_u64() >= Some(1));
    assert_eq!(test.events("noted").iter().filter(|note| note["what"] == "signalled").count(), 0);
}

#[test]
fn max_tokens() {
    let test = Loop::new().script("agent.sh", &usage(60, "0"));
    test.run(["run", "--max-tokens", "100", "--", "./agent.sh"]).exits(127);
    assert_eq!(test.state()["facts"]["tokens"], 120);
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn max_cost() {
    let test = Loop::new().script("agent.sh", &usage(1, "0.6"));
    test.run(["run", "--max-cost", "1", "--", "./agent.sh"]).exits(128);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn preflight_is_off_unless_set() {
    let test = Loop::new().script("agent.sh", &usage(10, "1.8"));
    test.run(["run", "--max-cost", "10", "--", "./agent.sh"]).exits(128);
    assert_eq!(test.state()["facts"]["iterations"], 6);
}

#[test]
fn unmetered_hold_and_allow() {
    let test = Loop::new();
    let run = |what| {
        let limits = ["--max-tokens", "10", "--max-iterations", "2", "--unmetered", what];
        test.run([&["run"], &limits[..], &["--", "true"]].concat())
    };
    run("hold").exits(127);
    assert_eq!(test.state()["run_status"], "held");
    run("allow").exits(125);
}

#[test]
fn until_time() {
    let test = Loop::new();
    let at = Timestamp::now() + Duration::from_secs(2);
    let text = at.to_string();
    test.run(run_of(&["--until-time", &text, "--finish-within", "0s"], &["sleep", "100"]))
        .exits(60);
    let stopped = test.state()["stopped_at"].as_str().expect("a time").parse::<Timestamp>();
    assert!(stopped.expect("a time") >= at);
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn until_a_time_that_has_passed_runs_nothing() {
    let test = Loop::new();
    test.run(["run", "--until-time", "2026-01-01T00:00:00Z", "--", "touch", "ran"]).exits(60);
    assert!(!test.exists("ran"));
}

#[test]
fn no_progress() {
    let test = Loop::new();
    test.run(["run", "--no-progress", "2", "--", "true"]).exits(126);
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

#[test]
fn reported_progress_is_progress() {
    let progress = r#"[ $BACKSTOP_ITERATION = 2 ] && echo '::backstop {"type":"progress","kind":"other"}'; true"#;
    let test = Loop::new().script("agent.sh", progress);
    test.run(["run", "--no-progress", "2", "--", "./agent.sh"]).exits(126);
    assert_eq!(test.state()["facts"]["iterations"], 4);
}

#[test]
fn a_hold_has_its_reasons_code_and_can_be_resumed() {
    let policy = "[[rule]]\nwhen = { type = 'exit_code', any_of = [9] }\nthen = 'hold'\nreason = 'review_rejected'\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "exit $((9 - went)) ");
    let test = test.script("agent.sh", "[ -e went ] || { touch went; exit 9; }");
    test.run(["run", "--policy", "p.toml", "--max-iterations", "2", "--", "./agent.sh"]).exits(21);
    let state = test.state();
    assert_eq!((&state["run_status"], &state["resumable"]), (&json!("held"), &json!(true)));
    assert_eq!(test.events("held").len(), 1);
    test.run(["resume"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

#[test]
fn what_is_printed_fires_no_rule_on_errors() {
    let policy = "limits = { iterations = 1 }\n[[rule]]\nthen = 'fail'\n\
                  when = { type = 'on_error', pattern = 'FATAL' }\n";
    for (place, code) in [("", 125), (">&2", 12)] {
        let agent = format!("echo 'the docs say FATAL' {place}; exit 1");
        let test = Loop::new().file("p.toml", policy).script("agent.sh", &agent);
        test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(code);
    }
}

#[test]
fn an_error_is_told_without_its_colours() {
    let test =
        Loop::new().script("agent.sh", "printf 'Error: \\033[31mred\\033[0m thing\\n' >&2; exit 4");
    let ended = test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    assert!(ended.stderr.contains("exit status 4: Error: red thing\n"), "{}", ended.stderr);
    assert_eq!(test.events("error")[0]["message"], "exit status 4: Error: red thing");
}

#[test]
fn the_card_says_how_a_limit_of_ones_own_is_raised() {
    let policy = "[[reason]]\ncode = 'mine'\ntitle = 'Mine'\nexit_code = 61\ndiagnosis = 'Enough.'\n\
                  [[rule]]\nwhen = { type = 'max_iterations', count = 1 }\nthen = 'stop'\nreason = 'mine'\n";
    let test = Loop::new().file("p.toml", policy);
    let ended = test.run(["run", "--policy", "p.toml", "--", "true"]).exits(61);
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    assert!(
        ended.stderr.contains(&format!("backstop resume {run} --raise mine=2")),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("go on where it was"), "{}", ended.stderr);
    test.run(["resume", &run, "--raise", "mine=2"]).exits(61);
}

#[test]
fn the_card_offers_what_concerns_this_run() {
    let policy = "limits = { iterations = 9 }\n[[rule]]\nthen = 'stop'\n\
                  when = { type = 'exit_code', any_of = [0] }\n";
    let test = Loop::new().file("p.toml", policy);
    let ended = test.run(["run", "--policy", "p.toml", "--", "true"]);
    assert!(!ended.stderr.contains("policy explain"), "that is of another one: {}", ended.stderr);
    assert!(ended.stderr.contains("backstop show "), "{}", ended.stderr);
}

#[test]
fn errors_in_a_row_stop_a_run_without_any_flag() {
    let test = Loop::new();
    test.run(["run", "--", MISBEHAVE, "say", "--stderr", "--exit", "4", "no luck"]).exits(12);
    assert_eq!(test.state()["facts"]["last_error"]["message"], "exit status 4: no luck");
    assert_eq!(test.state()["facts"]["iterations"], 3);
}
