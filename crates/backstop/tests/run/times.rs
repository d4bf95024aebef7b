//! How long things may take.

use serde_json::Value as Json;

use crate::run_of;
use crate::support::looping::Loop;

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
    let flags = ["--iteration-timeout", "2s", "--max-iterations", "2", "--grace", "1s"];
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
    let flags = ["--idle-timeout", "600ms", "--max-iterations", "1"];
    test.run(run_of(&flags, &["eat-cpu", "1.5"])).exits(125);
    assert_eq!(test.state()["facts"]["exit_code"], 0);
}

#[test]
fn idle_timeout_lets_a_lazy_child_talk() {
    let test = Loop::new();
    let flags = ["--idle-timeout", "1s", "--max-iterations", "1"];
    let lines = ["a"; 20];
    let words = [&["say", "--pause-ms", "100"], &lines[..]].concat();
    test.run(run_of(&flags, &words)).exits(125);
    assert_eq!(test.state()["facts"]["exit_code"], 0);
}

#[test]
fn grace_is_the_time_between_the_signals() {
    let test = Loop::new();
    let flags = ["--max-duration", "300ms", "--finish-within", "0s", "--grace", "300ms"];
    test.run(run_of(&flags, &["ignore-term", "--children", "2"])).exits(124);
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
    let test = Loop::new();
    let flags = ["--max-duration", "200ms", "--finish-within", "0s", "--grace", "0s"];
    test.run(run_of(&flags, &["ignore-term"])).exits(124);
    assert_eq!(signals(&test), ["SIGKILL"]);
}

#[test]
fn finish_within_lets_the_iteration_finish() {
    let test = Loop::new().script("agent.sh", "sleep 0.8; touch finished");
    let flags = ["run", "--max-duration", "200ms", "--finish-within", "1h", "--", "./agent.sh"];
    test.run(flags).exits(124);
    assert!(test.exists("finished"));
    assert_eq!(signals(&test), Vec::<String>::new());
    assert_eq!(test.state()["facts"]["iterations"], 1);
}

#[test]
fn finish_within_is_not_for_ever() {
    let test = Loop::new();
    let flags = ["--max-duration", "200ms", "--finish-within", "300ms"];
    test.run(run_of(&flags, &["sleep", "100"])).exits(124);
    assert_eq!(signals(&test), ["SIGTERM"]);
    let decided = active(&test.events("decision"))[1];
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
    let test = Loop::new()
        .file("p.toml", "[loop]\nstop_signal = 'SIGUSR1'\n")
        .script("agent.sh", "trap 'touch usr1; exit 0' USR1; while :; do sleep 0.05; done");
    let flags = ["--policy", "p.toml", "--max-duration", "500ms", "--finish-within", "0s"];
    test.run([&["run"], &flags[..], &["--", "./agent.sh"]].concat()).exits(124);
    assert_eq!(signals(&test), ["SIGUSR1"]);
    assert!(test.exists("usr1"));
}

fn active(events: &[Json]) -> Vec<u64> {
    events.iter().map(|event| event["active_ms"].as_u64().expect("active time")).collect()
}
