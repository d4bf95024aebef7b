//! What people do to a run while it goes on.

use std::fs;

use rustix::process::Signal;

use crate::support::looping::{Loop, active_ms, at, wait_for};

/// Counts its iterations; each waits for a file of its number.
const STEPS: &str =
    "echo $BACKSTOP_ITERATION >> went; while [ ! -e go$BACKSTOP_ITERATION ]; do sleep 0.02; done";

fn stepping() -> Loop {
    Loop::new().script("agent.sh", STEPS)
}

fn went(test: &Loop) -> usize {
    test.read("went").lines().count()
}

#[test]
fn pause_and_continue() {
    let test = stepping();
    let running = test.start(["run", "--max-iterations", "2", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    test.run(["pause", "latest"]).exits(0);
    assert_eq!(test.state()["run_status"], "running", "the iteration may finish");
    let test = test.file("go1", "").file("go2", "");
    wait_for("the pause", || test.state()["run_status"] == "paused");
    let active = test.state()["facts"]["active_ms"].clone();
    assert_eq!(went(&test), 1);
    let paused = jiff::Timestamp::now();
    let lasts = || jiff::Timestamp::now().duration_since(paused).as_millis();
    wait_for("some time to pass", || lasts() > 1_000);
    assert_eq!(test.state()["facts"]["active_ms"], active, "time stands still");
    let paused = lasts();
    test.run(["pause", "latest", "--continue"]).exits(0);
    running.ends().exits(125);
    assert_eq!(went(&test), 2);
    let signals = test.events("signal");
    let kinds: Vec<_> = signals.iter().filter_map(|signal| signal["kind"].as_str()).collect();
    assert_eq!(kinds, ["pause", "resume"]);
    let (before, after) =
        (&test.events("iteration_finished")[0], &test.events("iteration_started")[1]);
    let counted = active_ms(after) - active_ms(before);
    let passed = at(after).duration_since(at(before)).as_millis();
    assert!(counted + paused <= passed, "{before} to {after}, paused for {paused} ms");
}

#[test]
fn a_completed_run_is_not_said_to_go_on() {
    let test = Loop::new();
    test.run(["run", "--once", "--", "true"]).exits(0);
    let refused = test.run(["stop", "latest"]);
    refused.refused(65, &["is completed already", "`backstop show "]);
    assert!(!refused.stderr.contains("resume"), "{}", refused.stderr);
}

#[test]
fn a_paused_run_can_be_stopped() {
    let test = stepping();
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    test.run(["pause", "latest"]).exits(0);
    let test = test.file("go1", "");
    wait_for("the pause", || test.state()["run_status"] == "paused");
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    let shown = test.run(["show"]).exits(0).stdout;
    assert!(shown.contains(&format!("backstop pause {run} --continue")), "{shown}");
    let again = test.run(["pause", "latest"]).exits(0).stdout;
    assert!(again.contains("is paused already"), "{again}");
    test.run(["stop", "latest"]).exits(0);
    running.ends().exits(130);
    assert_eq!(went(&test), 1);
}

#[test]
fn raise_while_it_runs() {
    let test = stepping();
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    test.run(["raise", "latest", "iterations=2", "--why", "nearly done"]).exits(0);
    let test = test.file("go1", "").file("go2", "");
    running.ends().exits(125);
    assert_eq!(went(&test), 2);
    assert_eq!(test.events("raised")[0]["why"], "nearly done");
}

#[test]
fn stop_lets_the_iteration_finish() {
    let test = stepping();
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    test.run(["stop", "latest"]).exits(0);
    assert_eq!(test.state()["run_status"], "running");
    let test = test.file("go1", "");
    running.ends().exits(130);
    let finished = test.events("iteration_finished");
    assert_eq!(finished[0]["exit_code"], 0);
    assert_eq!(went(&test), 1, "nothing new was started");
    assert!(!sent_a_signal(&test));
}

#[test]
fn stop_now_does_not() {
    let test = stepping();
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    test.run(["stop", "latest", "--now"]).exits(0);
    running.ends().exits(130);
    assert!(sent_a_signal(&test));
    test.leaves_nothing();
    test.run(["stop", "latest"]).refused(65, &["is stopped already"]);
}

#[test]
fn a_signal_overtakes_a_stop_that_waits() {
    let test = stepping();
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    test.run(["stop", "latest"]).exits(0);
    running.signal(Signal::INT);
    running.ends().exits(130);
    assert!(sent_a_signal(&test));
}

#[test]
fn another_policy_is_put_in_place_while_it_runs() {
    let test = stepping().file("p.toml", "[limits]\niterations = 9\n");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the agent", || went(&test) == 1);
    // Editing the file is not enough.
    let test = test.file("p.toml", "[limits]\niterations = 1\n").file("go1", "");
    wait_for("the second iteration", || went(&test) == 2);
    test.run(["policy", "apply", "latest", "--policy", "p.toml"]).exits(0);
    let hash = test.run(["policy", "hash", "p.toml"]).exits(0).stdout.trim().to_owned();
    let test = test.file("go2", "");
    running.ends().exits(125);
    assert_eq!(went(&test), 2);
    assert_eq!(test.state()["policy_hash"], hash.as_str());
    let notes = test.events("noted");
    let applied = notes.iter().find(|note| note["what"] == "policy_applied");
    assert!(applied.expect("it is journalled")["detail"].to_string().contains(&hash));
}

/// Something hangs where no iteration runs: a wait, the verification, a script that is asked.
#[test]
fn an_order_is_heard_wherever_the_run_is() {
    for flags in [["--delay", "1h"], ["--verify", "./hang.sh"], ["--until-script", "./hang.sh"]] {
        for order in [Some(Signal::INT), Some(Signal::TERM), None] {
            let test = Loop::new()
                .script("hang.sh", "touch hangs; sleep 300")
                .script("agent.sh", "touch ran");
            let words = [&["run", "--grace", "1s"], &flags[..], &["--", "./agent.sh"]].concat();
            let running = test.start(words);
            let place = if flags[0] == "--delay" { "ran" } else { "hangs" };
            wait_for("it to hang", || test.exists(place));
            match order {
                Some(signal) => running.signal(signal),
                None => drop(test.run(["stop", "latest", "--now"]).exits(0)),
            }
            running.ends().exits(if order == Some(Signal::TERM) { 143 } else { 130 });
            test.leaves_nothing();
            assert_eq!(test.state()["run_status"], "stopped", "{flags:?}");
        }
    }
}

fn sent_a_signal(test: &Loop) -> bool {
    test.events("noted").iter().any(|note| note["what"] == "signalled")
}

#[test]
fn flags_stay_over_a_policy_that_is_applied() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "2", "--grace", "1s", "--", "true"]).exits(125);
    let test = test.file("backstop.toml", "[limits]\niterations = 50\ncost_usd = 3.0\n");
    let applied = test.run(["policy", "apply", "latest"]).exits(0);
    assert!(applied.stderr.contains("the 2 flags"), "{}", applied.stderr);
    assert!(applied.stdout.contains("backstop.toml + 2 flags"), "{}", applied.stdout);
    test.run(["resume"]).refused(65, &["--raise iterations="]);
    let again = test.run(["policy", "apply", "latest"]).exits(0);
    assert!(again.stdout.contains("has this policy already"), "{}", again.stdout);
}

/// Tells what it has used, and waits for a file after each word.
const SPENDS: &str = r#"
say() { echo "::backstop {\"type\":\"usage\",\"input_tokens\":$1,\"cost_usd\":$2}"; }
await() { while [ ! -e "$1" ]; do sleep 0.02; done; }
say 1 1.5; await first
say 200 0; await second
say 1 9; await go"#;

/// Waits until a run that is under way has decided this last.
fn wait_for_decision(test: &Loop, verdict: &str, reason: Option<&str>) {
    wait_for("the decision", || {
        let decisions = if test.has("decision") { test.events("decision") } else { Vec::new() };
        decisions.last().is_some_and(|last| {
            last["verdict"] == verdict && reason.is_none_or(|reason| last["reason"] == reason)
        })
    });
}

#[test]
fn who_ends_a_run_that_has_reached_a_limit_is_why_it_ends() {
    for (order, code, reason) in [
        (Some(Signal::INT), 130, "user_stopped"),
        (Some(Signal::TERM), 143, "terminated"),
        (None, 130, "user_stopped"),
    ] {
        let test = Loop::new().script("agent.sh", SPENDS);
        let running = test.start(["run", "--max-cost", "1", "--grace", "1s", "--", "./agent.sh"]);
        wait_for_decision(&test, "stop", Some("cost_limit"));
        match order {
            Some(signal) => running.signal(signal),
            None => drop(test.run(["stop", "latest", "--now"]).exits(0)),
        }
        running.ends().exits(code);
        assert_eq!(test.state()["stop_reason"]["code"], reason);
    }
}

#[test]
fn a_limit_that_was_raised_is_not_why_the_run_ends_later() {
    let test = Loop::new().script("agent.sh", SPENDS);
    let limits = ["run", "--max-cost", "1", "--max-tokens", "100", "--", "./agent.sh"];
    let running = test.start(limits);
    wait_for_decision(&test, "stop", Some("cost_limit"));
    test.run(["raise", "latest", "cost_usd=10"]).exits(0);
    wait_for_decision(&test, "continue", None);
    let test = test.file("first", "");
    wait_for_decision(&test, "stop", Some("token_limit"));
    let test = test.file("second", "");
    wait_for("both limits", || test.state()["facts"]["cost_usd"] == 10.5);
    let test = test.file("go", "");
    running.ends().exits(127);
    assert_eq!(test.state()["stop_reason"]["code"], "token_limit");
}

#[test]
fn a_rule_of_the_policy_before_is_not_why_the_run_ends() {
    let rule = |when: &str| format!("[[rule]]\nwhen = {{ {when} }}\nthen = \"stop\"\n");
    let before = rule("type = \"max_cost\", usd = 1.0");
    let after = rule("type = \"expr\", cel = \"cost_usd > 10.0\"")
        + &rule("type = \"max_tokens\", count = 100");
    let test = Loop::new()
        .script("agent.sh", SPENDS)
        .file("before.toml", &before)
        .file("after.toml", &after);
    let running = test.start(["run", "--policy", "before.toml", "--", "./agent.sh"]);
    wait_for_decision(&test, "stop", Some("cost_limit"));
    test.run(["policy", "apply", "latest", "--policy", "after.toml"]).exits(0);
    wait_for_decision(&test, "continue", None);
    let test = test.file("first", "");
    wait_for_decision(&test, "stop", Some("token_limit"));
    let test = test.file("second", "");
    wait_for("both rules", || test.state()["facts"]["cost_usd"] == 10.5);
    let test = test.file("go", "");
    running.ends().exits(127);
    assert_eq!(test.state()["stop_reason"]["code"], "token_limit");
}

#[test]
fn the_file_that_a_run_was_started_with_is_applied_from_anywhere() {
    let limit = |count: u8| format!("[limits]\niterations = {count}\n");
    let test = Loop::new().file("p.toml", &limit(1));
    test.run(["run", "--policy", "p.toml", "--", "true"]).exits(125);
    let test = test.file("p.toml", &limit(2));
    let elsewhere = test.work().join("elsewhere");
    fs::create_dir(&elsewhere).expect("can be created");
    fs::write(elsewhere.join("backstop.toml"), limit(9)).expect("can be written");
    let apply = ["policy", "apply", "latest"];
    let applied = test.launch(&mut test.command_in(&elsewhere, apply)).ends().exits(0);
    assert!(applied.stdout.contains("p.toml now"), "{}", applied.stdout);
    test.run(["resume", "latest"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    fs::remove_file(test.work().join("p.toml")).expect("it is there");
    test.run(apply).refused(66, &["p.toml"]);
}

#[test]
fn where_a_run_has_no_file_there_must_be_one_where_it_runs() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    let why = ["was started without a policy file", "--policy"];
    test.run(["policy", "apply", "latest"]).refused(64, &why);
    let run = test.run(["begin", "--preset", "pipeline"]).exits(0).stdout.trim().to_owned();
    test.run(["policy", "apply", &run]).refused(64, &why);
}
