//! `stop`, `pause`, `raise` and `policy apply` on runs that nobody supervises, through the real
//! binary. A supervisor's part is tested where the supervisor is.

use serde_json::Value as Json;

mod support;

use support::Test;

const POLICY: &str = "[limits]\niterations = 2\nduration = \"1h\"\n\
                      [[rule]]\nwhen = { type = \"reject_rate\", above = 0.5 }\nthen = \"stop\"\n";

fn begun() -> (Test, String) {
    let test = Test::new().file("p.toml", POLICY);
    let run = test.run(["begin", "--policy", "p.toml"]).exits(0).stdout.trim().to_owned();
    (test, run)
}

fn reject(test: &Test, run: &str, id: &str) -> support::Ended {
    test.run(["emit", "--run", run, "unit", "--id", id, "--status", "rejected"])
}

fn state(test: &Test, run: &str) -> Json {
    let path = format!(".local/state/backstop/runs/{run}/state.json");
    serde_json::from_str(&test.read(&path)).expect("state.json")
}

#[test]
fn a_stop_is_told_to_the_next_one_who_reports() {
    let (test, run) = begun();
    let test = test.variable("USER", "ann");
    test.run(["stop", &run]).exits(0);
    assert_eq!(state(&test, &run)["stop_reason"]["code"], "user_stopped");
    let told = test.run(["emit", "--run", &run, "drift", "--score", "0"]).exits(130);
    assert!(told.stdout.starts_with("stop  user_stopped"), "{}", told.stdout);
    test.run(["stop", &run]).refused(65, &["is stopped already: user_stopped", "backstop resume"]);
    test.run(["pause", &run]).refused(65, &["is stopped already"]);
}

#[test]
fn a_stop_now_is_a_stop() {
    let (test, run) = begun();
    test.run(["stop", "latest", "--now"]).exits(0);
    assert_eq!(state(&test, &run)["run_status"], "stopped");
}

#[test]
fn what_has_no_supervisor_can_not_wait() {
    let (test, run) = begun();
    test.run(["pause", &run]).refused(65, &["no supervisor", "backstop stop"]);
    test.run(["pause", &run, "--continue"]).refused(65, &["no supervisor"]);
}

#[test]
fn a_raised_limit_gives_room() {
    let (test, run) = begun();
    let iteration = ["emit", "--run", &run, "iteration_finished", "--exit-code", "0"];
    test.run(["raise", &run, "iterations=3", "--why", "nearly done"]).exits(0);
    test.run(iteration).exits(0);
    test.run(iteration).exits(0);
    test.run(iteration).exits(125);
    // A halted run keeps what is raised for when it goes on.
    let raised = test.run(["raise", &run, "max_iterations=9", "duration=2h"]).exits(0);
    assert!(raised.stderr.contains("backstop resume"), "{}", raised.stderr);
}

#[test]
fn what_would_raise_nothing_is_refused() {
    let (test, run) = begun();
    for (limit, expected) in [
        ("iteration=9", "did you mean `iterations`?"),
        ("tokens=9", "no limit called `tokens`"),
        ("iterations=2h", "whole number"),
        ("duration=9", "a duration"),
        ("reject_rate=9", "a rate"),
        ("iterations", "iterations=80"),
    ] {
        test.run(["raise", &run, limit]).refused(64, &[expected]);
        // Not even the good one beside it is raised.
        test.run(["raise", &run, "iterations=99", limit]).refused(64, &[expected]);
    }
    test.run(["raise", &run]).refused(64, &["LIMIT=VALUE"]);
    test.run(["raise", "ZZZZ", "iterations=9"]).refused(66, &["`ZZZZ`"]);
    let next = ["emit", "--run", &run, "--print", "json", "drift", "--score", "0"];
    assert_eq!(test.run(next).exits(0).json()["seq"], 2);
}

#[test]
fn another_policy_is_put_in_place() {
    let (test, run) = begun();
    reject(&test, &run, "a").exits(42);
    let (test, run) = begun();
    let test = test.file("mild.toml", POLICY.replace("0.5", "1.0"));
    let applied = test.run(["policy", "apply", &run, "--policy", "mild.toml"]).exits(0);
    let hash = test.run(["policy", "hash", "mild.toml"]).exits(0).stdout;
    assert!(applied.stdout.contains(hash.trim()), "{}", applied.stdout);
    reject(&test, &run, "a").exits(0);
    assert_eq!(state(&test, &run)["policy_hash"], hash.trim());
    let again = test.run(["policy", "apply", &run, "--policy", "mild.toml"]).exits(0);
    assert!(again.stdout.contains("already"), "{}", again.stdout);
    test.run(["policy", "apply", &run, "--preset", "ralph"]).exits(0);
    let own = test.run(["policy", "apply", &run]).exits(0);
    assert!(own.stdout.contains("the policy of p.toml now"), "{}", own.stdout);
    test.run(["policy", "apply", &run, "--policy", "absent.toml"]).refused(66, &["absent.toml"]);
}

#[test]
fn a_policy_file_that_is_edited_has_no_effect() {
    let (test, run) = begun();
    let test = test.file("p.toml", POLICY.replace("0.5", "1.0"));
    reject(&test, &run, "a").exits(42);
    drop(test);
}

#[test]
fn supervised_processes_can_not_raise_or_apply() {
    let (test, run) = begun();
    let test = test
        .variable("BACKSTOP_RUN_ID", "4K7Q2M9X1BD3F")
        .variable("BACKSTOP_SOCKET", "/nowhere/report.sock");
    let words = ["4K7Q2M9X1BD3F", "another terminal"];
    test.run(["raise", &run, "iterations=99"]).refused(64, &words);
    test.run(["policy", "apply", &run, "--preset", "ralph"]).refused(64, &words);
    // A script may well keep the name of its own run, which nobody supervises.
    let own = Test::new().file("p.toml", POLICY);
    let run_of_script = own.run(["begin", "--policy", "p.toml"]).exits(0).stdout;
    let own = own.variable("BACKSTOP_RUN_ID", run_of_script.trim());
    own.run(["raise", run_of_script.trim(), "iterations=99"]).exits(0);
    // What it came from counts too, whatever its own environment says.
    let script = format!("env -i HOME=\"$HOME\" {} raise {run} iterations=99", support::BINARY);
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &format!("{script}; exit $?")])
        .env("HOME", test.path())
        .env("BACKSTOP_RUN_ID", "4K7Q2M9X1BD3F")
        .env("BACKSTOP_SOCKET", "/nowhere/report.sock")
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
}
