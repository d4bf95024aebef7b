//! `begin`, `emit` and `end`: a run without a supervisor, through the real binary.

use std::process::{Command, Stdio};

use serde_json::Value as Json;

mod support;

use support::{BINARY, Ended, Test};

/// Two units in a row that fail end the run.
const POLICY: &str =
    "[[rule]]\nwhen = { type = \"consecutive_fails\", count = 2 }\nthen = \"stop\"\n";

fn with(policy: &str) -> Test {
    Test::new().file("p.toml", policy)
}

/// Begins a run and answers with its name.
#[track_caller]
fn begin(test: &Test, more: &[&str]) -> String {
    let call = ["begin", "--policy", "p.toml"].into_iter().chain(more.iter().copied());
    let ended = test.run(call).exits(0);
    let name = ended.stdout.strip_suffix('\n').expect("one line").to_owned();
    assert_eq!(name.len(), 13, "{name}");
    name
}

fn unit(test: &Test, run: &str, id: &str, status: &str) -> Ended {
    test.run(["emit", "--run", run, "unit", "--id", id, "--status", status, "--attempts", "1"])
}

fn state(test: &Test, run: &str) -> Json {
    let path = format!(".local/state/backstop/runs/{run}/state.json");
    serde_json::from_str(&test.read(&path)).expect("state.json")
}

#[test]
fn a_rule_that_fires_ends_the_run_with_its_code() {
    let test = with(POLICY);
    let run = begin(&test, &["--total-units", "3"]);
    assert_eq!(state(&test, &run)["run_status"], "running");
    let first = unit(&test, &run, "f0", "failed").exits(0);
    assert!(first.stdout.starts_with("continue"), "{}", first.stdout);
    let second = unit(&test, &run, "f1", "failed").exits(41);
    assert!(second.stdout.starts_with("stop  consecutive_fails"), "{}", second.stdout);
    let state = state(&test, &run);
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["stop_reason"]["code"], "consecutive_fails");
    assert_eq!(state["resumable"], true);
    assert_eq!(state["statistics"]["units_failed"], 2);
    assert_eq!(state["statistics"]["units_remaining"], 1);
}

#[test]
fn events_after_a_halt_are_kept_and_answered_with_what_halted_the_run() {
    let test = with(POLICY);
    let run = begin(&test, &[]);
    unit(&test, &run, "f0", "failed").exits(0);
    unit(&test, &run, "f1", "failed").exits(41);
    // An approval ends the streak, but not the halt.
    let late = unit(&test, &run, "f2", "approved").exits(41);
    assert!(late.stdout.starts_with("stop  consecutive_fails"), "{}", late.stdout);
    test.run(["end", "--run", &run]).exits(41);
    assert_eq!(state(&test, &run)["stop_reason"]["code"], "consecutive_fails");
}

#[test]
fn a_run_whose_script_is_done_is_completed() {
    let test = with(POLICY);
    let run = begin(&test, &["--total-units", "1"]);
    unit(&test, &run, "f0", "approved").exits(0);
    let ended = test.run(["end", "--run", &run]).exits(0);
    assert!(ended.stdout.contains("is completed: completed"), "{}", ended.stdout);
    let state = state(&test, &run);
    assert_eq!((&state["run_status"], &state["resumable"]), (&"completed".into(), &false.into()));
}

#[test]
fn a_run_with_open_units_is_stopped_and_can_go_on() {
    let test = with(POLICY);
    let run = begin(&test, &["--total-units", "4"]);
    unit(&test, &run, "f0", "approved").exits(0);
    let ended = test.run(["end", "--run", &run]).exits(130);
    assert!(ended.stdout.contains("3 of 4 units open"), "{}", ended.stdout);
    assert_eq!(state(&test, &run)["resumable"], true);
}

#[test]
fn a_loop_breaks_on_completion_too() {
    let test = with("[[rule]]\nwhen = { type = \"tasks_done\" }\nthen = \"complete\"\n");
    let run = begin(&test, &[]);
    let open = ["emit", "--run", &run, "tasks", "--total", "2", "--done", "1", "--break"];
    test.run(open).exits(0);
    let done = ["emit", "--run", &run, "tasks", "--total", "2", "--done", "2"];
    test.run(done).exits(0);
    test.run(done.into_iter().chain(["--break"])).exits(1);
    let before = ["emit", "--break", "--run", &run, "tasks", "--total", "2", "--done", "2"];
    test.run(before).exits(1);
}

#[test]
fn the_decision_is_printed_as_json_on_request() {
    let test = with(POLICY);
    let run = begin(&test, &[]);
    let call = ["emit", "--run", &run, "--print", "json", "drift", "--score", "0.5"];
    let decision = test.run(call).exits(0).json();
    assert_eq!(decision["verdict"], "continue");
    assert_eq!((&decision["seq"], &decision["exit_code"]), (&2.into(), &0.into()));
    assert!(decision["progress"].is_array(), "{decision}");
    let event = r#"{"type":"drift","score":0.25}"#;
    let decision = test.run(["emit", "--run", &run, "--json", event, "--print", "json"]).exits(0);
    assert_eq!(decision.json()["seq"], 3);
}

#[test]
fn lines_of_standard_input_get_an_answer_each() {
    let lines = "{\"type\":\"unit\",\"id\":\"a\",\"status\":\"failed\"}\n\n\
                 {\"type\":\"unit\",\"id\":\"b\",\"status\":\"failed\"}\n";
    let test = with(POLICY);
    let run = begin(&test, &[]);
    let test = test.stdin(lines);
    let ended = test.run(["emit", "--run", &run, "--json", "-"]).exits(41);
    let verdicts: Vec<_> = ended.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(verdicts, ["continue", "stop"]);
    let test = test.stdin("{\"type\":\"drift\",\"score\":0.1}\n{\"type\":\"drfit\"}\n");
    let ended = test.run(["emit", "--run", &run, "--json", "-"]).exits(65);
    assert!(ended.stderr.contains("<stdin>:2"), "{}", ended.stderr);
}

#[test]
fn what_is_wrong_is_named() {
    let test = with(POLICY);
    let run = begin(&test, &[]);
    for (words, code, expected) in [
        (vec!["unti", "--id", "a"], 65, "did you mean `unit`?"),
        (vec!["unit", "--idd", "a", "--status", "failed"], 65, "did you mean `id`?"),
        (vec!["unit", "--id", "a", "--status", "fialed"], 65, "did you mean `failed`?"),
        (vec!["unit", "--id", "a"], 65, "missing field `status`"),
        (vec!["usage", "--input_tokens", "-5"], 65, "at least 0"),
        (vec!["drift", "--score", "much"], 65, "score"),
        (vec!["raised", "--limit", "iterations", "--value", "9"], 65, "backstop raise"),
        (vec!["halted"], 65, "backstop end"),
        (vec!["unit", "--id"], 64, "needs a value"),
        (vec![], 64, "what happened?"),
    ] {
        let call = ["emit", "--run", &run].into_iter().chain(words);
        test.run(call).refused(code, &[expected]);
    }
    test.run(["emit", "drift", "--score", "0"]).refused(64, &["which run", "--run"]);
    test.run(["emit", "--run", "ZZZZ", "drift", "--score", "0"]).refused(66, &["`ZZZZ`"]);
    test.run(["end", "--run", "no run"]).refused(66, &["`no run`"]);
    test.run(["end"]).refused(64, &["which run"]);
}

#[test]
fn a_policy_that_can_not_be_used_begins_nothing() {
    let test = with("[[rule]]\nwhen = { type = \"max_iteratons\" }\nthen = \"stop\"\n");
    test.run(["begin", "--policy", "p.toml"]).refused(78, &["max_iterations"]);
    test.run(["begin", "--policy", "absent.toml"]).refused(66, &["absent.toml"]);
    test.run(["begin", "--preset", "pipelin"]).refused(64, &["did you mean `pipeline`?"]);
    test.run(["begin", "--label", "team"]).refused(64, &["team=core"]);
    assert!(!test.path().join(".local").exists());
}

#[test]
fn a_store_that_can_not_be_is_refused() {
    let test = with(POLICY).file("flat", "not a directory");
    let call = ["begin", "--policy", "p.toml", "--store"];
    test.run(call.into_iter().chain(["flat"])).refused(73, &["flat"]);
    test.run(call.into_iter().chain(["mysql://me:secret@host/db"])).refused(64, &["`mysql`"]);
}

#[test]
fn the_store_is_the_one_that_was_named() {
    let test = with(POLICY);
    let run = begin(&test, &["--store", "here"]);
    assert!(test.path().join("here/backstop.db").exists());
    test.run(["emit", "--run", &run, "drift", "--score", "0"]).refused(66, &[&run]);
    test.run(["emit", "--run", &run, "drift", "--score", "0", "--store", "here"]).exits(0);
    let test = test.variable("BACKSTOP_STORE", "here");
    test.run(["emit", "--run", &run, "drift", "--score", "0"]).exits(0);
}

#[test]
fn runs_are_found_by_their_beginning_and_by_being_the_latest() {
    let test = with(POLICY).folder("elsewhere");
    let first = begin(&test, &["--label", "team=core", "--label", "night="]);
    let second = begin(&test, &[]);
    let shown = |test: &Test, name: &str| {
        let ended = test.run(["emit", "--run", name, "--print", "json", "drift", "--score", "0"]);
        ended.exits(0).json()["seq"].as_u64()
    };
    assert_eq!(shown(&test, "latest"), Some(2));
    assert_eq!(shown(&test, &second.to_lowercase()), Some(3));
    assert_eq!(shown(&test, &first), Some(2));
    // Both were begun in the same second, so they share the first letters.
    let ended = test.run(["emit", "--run", &first[..4], "drift", "--score", "0"]);
    ended.refused(64, &[&first, &second]);
    let test = test.within("elsewhere");
    assert_eq!(shown(&test, "latest"), Some(4));
    let test = test.variable("BACKSTOP_RUN_ID", &first);
    test.run(["emit", "drift", "--score", "0"]).exits(0);
    test.run(["end"]).exits(0);
}

#[test]
fn nobody_loses_an_event_when_many_report_at_once() {
    const PROCESSES: usize = 12;
    const EVENTS: usize = 8;
    let test = with("[limits]\nunlimited = true\n");
    let run = begin(&test, &[]);
    let reporters: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let script = format!(
                "for i in $(seq {EVENTS}); do \"$0\" emit --run {run} unit --id u{process}-$i \
                 --status approved --attempts 2 || exit 9; done"
            );
            Command::new("/bin/sh")
                .args(["-c", &script, BINARY])
                .current_dir(test.path())
                .env_clear()
                .env("HOME", test.path())
                .env("PATH", "/usr/bin:/bin")
                .stdout(Stdio::null())
                .spawn()
                .expect("a shell")
        })
        .collect();
    for mut reporter in reporters {
        assert!(reporter.wait().expect("it ends").success());
    }
    let state = state(&test, &run);
    assert_eq!(state["statistics"]["units_approved"], PROCESSES * EVENTS);
    assert_eq!(state["statistics"]["total_attempts"], 2 * PROCESSES * EVENTS);
    let last = test.run(["emit", "--run", &run, "--print", "json", "drift", "--score", "0"]);
    // The first is the run's beginning; each has a number of its own.
    assert_eq!(last.exits(0).json()["seq"], 2 + PROCESSES * EVENTS);
}

#[test]
fn a_run_without_a_supervisor_may_report_what_one_would_observe() {
    let test = with("[limits]\niterations = 2\n");
    let run = begin(&test, &[]);
    let iteration = ["emit", "--run", &run, "iteration_finished", "--exit-code", "0"];
    test.run(iteration).exits(0);
    test.run(iteration).exits(125);
}

#[test]
fn a_type_lists_its_fields() {
    let help = Test::new().run(["emit", "unit", "--help"]).exits(0);
    assert!(help.stdout.contains("--attempts  a whole number"), "{}", help.stdout);
}
