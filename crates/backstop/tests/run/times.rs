//! How long things may take.

use serde_json::Value as Json;

use crate::support::looping::{Loop, wait_for};
use crate::{MISBEHAVE, run_of};

/// Stops the run when its command says by a file that it is up.
const STOPS_WHEN_UP: &str =
    "[[rule]]\nwhen = { type = 'file_created', path = 'up' }\nthen = 'stop'\n";

fn stops_when_up(agent: &str) -> Loop {
    Loop::new().file("p.toml", STOPS_WHEN_UP).script("agent.sh", agent)
}

fn run_of_agent<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--policy", "p.toml"], flags, &["--", "./agent.sh"]].concat()
}

/// When it was decided that the run stops, in active time.
fn stop_decided(test: &Loop) -> Option<u64> {
    let decisions = test.events("decision");
    let stop = decisions.iter().find(|decision| decision["verdict"] == "stop")?;
    stop["active_ms"].as_u64()
}

fn signals(test: &Loop) -> Vec<String> {
    let notes = test.events("noted").into_iter().filter(|note| note["what"] == "signalled");
    notes.filter_map(|note| note["detail"].as_str()?.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn iteration_timeout() {
    let test = Loop::new();
    let flags = ["--iteration-timeout", "150ms", "--grace", "1s"];
    test.run(run_of(&flags, &["sleep", "100"])).exits(32);
    let state = test.state();
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["facts"]["iterations"], 3, "three in a row");
    assert!(test.events("iteration_finished").iter().all(|end| end["timed_out"] == true));
    test.leaves_nothing();
}

#[test]
fn one_time_out_is_an_error_that_the_loop_survives() {
    let test = Loop::new().script("agent.sh", "[ $BACKSTOP_ITERATION = 1 ] && sleep 300; true");
    let flags = ["--iteration-timeout", "5s", "--max-iterations", "2", "--grace", "1s"];
    test.run([&["run"], &flags[..], &["--", "./agent.sh"]].concat()).exits(125);
    assert_eq!(test.state()["facts"]["errored"], 1);
}

#[test]
fn idle_timeout_ends_a_silent_child() {
    let test = Loop::new();
    test.run(run_of(&["--idle-timeout", "300ms", "--grace", "1s"], &["sleep", "100"])).exits(32);
    let worker = test.events("worker");
    assert_eq!(worker.len(), 3);
    assert_eq!(worker[0]["status"], "timed_out");
}

#[test]
fn idle_timeout_lets_a_silent_child_work() {
    let test = Loop::new();
    let flags = ["--idle-timeout", "3s", "--max-iterations", "1"];
    test.run(run_of(&flags, &["eat-cpu", "4"])).exits(125);
    assert_eq!(test.state()["facts"]["exit_code"], 0);
}

#[test]
fn idle_timeout_lets_a_lazy_child_talk() {
    let test = Loop::new();
    let flags = ["--idle-timeout", "3s", "--max-iterations", "1"];
    let lines = ["a"; 10];
    let words = [&["say", "--pause-ms", "500"], &lines[..]].concat();
    test.run(run_of(&flags, &words)).exits(125);
    assert_eq!(test.state()["facts"]["exit_code"], 0);
}

#[test]
fn grace_is_the_time_between_the_signals() {
    let test = stops_when_up(&format!(
        "trap '' TERM; touch up; exec {MISBEHAVE} ignore-term --children 2"
    ));
    test.run(run_of_agent(&["--finish-within", "0s", "--grace", "300ms"])).exits(60);
    assert_eq!(signals(&test), ["SIGTERM", "SIGKILL"]);
    let times: Vec<u64> = test
        .events("noted")
        .iter()
        .filter(|note| note["what"] == "signalled")
        .filter_map(|note| note["active_ms"].as_u64())
        .collect();
    assert!(times[1] - times[0] >= 300, "{times:?}");
    test.leaves_nothing();
}

#[test]
fn without_grace_the_first_signal_is_sigkill() {
    let test = stops_when_up(&format!("touch up; exec {MISBEHAVE} ignore-term"));
    test.run(run_of_agent(&["--finish-within", "0s", "--grace", "0s"])).exits(60);
    assert_eq!(signals(&test), ["SIGKILL"]);
}

#[test]
fn finish_within_lets_the_iteration_finish() {
    let waits = "touch up; until [ -e go_on ]; do sleep 0.02; done; touch finished";
    let test = stops_when_up(waits);
    let running = test.start(run_of_agent(&["--finish-within", "1h"]));
    wait_for("the decision", || test.has("decision") && stop_decided(&test).is_some());
    let test = test.file("go_on", "");
    running.ends().exits(60);
    assert!(test.exists("finished"));
    assert_eq!(signals(&test), Vec::<String>::new());
    assert_eq!(test.state()["facts"]["iterations"], 1);
}

#[test]
fn finish_within_is_not_for_ever() {
    let test = stops_when_up("touch up; exec sleep 300");
    test.run(run_of_agent(&["--finish-within", "300ms"])).exits(60);
    assert_eq!(signals(&test), ["SIGTERM"]);
    let decided = stop_decided(&test).expect("a decision");
    let sent = active(&test.events("noted"));
    assert!(sent.last().expect("a signal") - decided >= 300, "{decided} {sent:?}");
    let facts = &test.state()["facts"];
    assert_eq!(facts["error_now"], false, "who was ended on purpose did not fail");
}

#[test]
fn delay_is_between_iterations_and_counts() {
    let test = Loop::new();
    test.run(["run", "--delay", "300ms", "--max-iterations", "3", "--", "true"]).exits(125);
    let ended = active(&test.events("iteration_finished"));
    let started = active(&test.events("iteration_started"));
    for (ended, started) in ended.iter().zip(&started[1..]) {
        assert!(started - ended >= 300, "{ended} to {started}");
    }
    assert_eq!(started.len(), 3);
}

#[test]
fn stop_signal_of_the_policy() {
    let traps = "trap 'touch usr1; exit 0' USR1; touch up; while :; do sleep 0.05; done";
    let policy = format!("[loop]\nstop_signal = 'SIGUSR1'\n{STOPS_WHEN_UP}");
    let test = stops_when_up(traps).file("p.toml", &policy);
    test.run(run_of_agent(&["--finish-within", "0s"])).exits(60);
    assert_eq!(signals(&test), ["SIGUSR1"]);
    assert!(test.exists("usr1"));
}

fn active(events: &[Json]) -> Vec<u64> {
    events.iter().map(|event| event["active_ms"].as_u64().expect("active time")).collect()
}
