//! A held run costs nothing, and lets go when it may.

use crate::support::looping::{Loop, active_ms, at, wait_for};

/// Progress is a change, and a cool-down counts from it.
fn cooling(duration: &str, more: &str) -> Loop {
    let policy = format!(
        "[limits]\niterations = 2\n[progress]\nmarkers = [\"[PROGRESS]\"]\n{more}\
         [[rule]]\nwhen = {{ type = \"cooldown\", duration = \"{duration}\" }}\nthen = \"hold\"\n"
    );
    let script = "[ $BACKSTOP_ITERATION = 2 ] || echo '[PROGRESS]'";
    Loop::new().file("p.toml", &policy).script("agent.sh", script)
}

#[test]
fn a_short_cool_down_is_waited_out() {
    let test = cooling("3s", "");
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(125);
    assert!(ended.stderr.contains("held for"), "{}", ended.stderr);
    let held = test.events("held");
    assert_eq!(held.len(), 1);
    assert_eq!(held[0]["reason"], "cooldown_active");
    assert!(held[0]["until"].is_string());
    let released = test.events("released");
    assert_eq!(released[0]["by"], "backstop");
    // Time stood still meanwhile.
    let counted = active_ms(&released[0]) - active_ms(&held[0]);
    let waited = at(&released[0]).duration_since(at(&held[0])).as_millis();
    assert!(counted * 2 < waited, "{held:?} {released:?}");
}

#[test]
fn a_cool_down_counts_from_a_change_that_nobody_reported() {
    let policy = "[limits]\niterations = 2\n[[rule]]\n\
                  when = { type = \"cooldown\", duration = \"1h\" }\nthen = \"hold\"\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "echo 1 > changed");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    assert_eq!(test.state()["run_status"], "held");
    assert_eq!(test.state()["facts"]["iterations"], 1);
}

#[test]
fn a_long_one_ends_the_process() {
    for (duration, more) in [("1h", ""), ("30s", "[loop]\nhold_wait = \"1s\"\n")] {
        let test = cooling(duration, more);
        test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(56);
        assert_eq!(test.state()["run_status"], "held");
        test.leaves_nothing();
    }
}

#[test]
fn a_person_lets_a_waiting_run_go_at_once() {
    let test = cooling("9m", "");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the hold", || test.has("held"));
    test.run(["release", "latest", "--why", "checked by hand"]).exits(0);
    running.ends().exits(125);
    let released = test.events("released");
    assert_eq!(released[0]["why"], "checked by hand");
    assert_eq!(test.events("iteration_finished").len(), 2);
}

#[test]
fn a_waiting_run_can_be_stopped() {
    let test = cooling("9m", "");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the hold", || test.has("held"));
    test.run(["stop", "latest"]).exits(0);
    running.ends().exits(130);
}

const HOLDS: &str = "[limits]\niterations = 3\n[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\n\
                     then = \"hold\"\nreason = \"no_signal_change\"\n";

#[test]
fn who_resumes_a_held_run_lets_it_go_for_one_iteration() {
    let test = Loop::new().file("p.toml", HOLDS).script("agent.sh", "true");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(54);
    test.run(["resume", "latest"]).exits(54);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    test.run(["release", "latest", "--why", "seen"]).exits(0);
    assert_eq!(test.state()["run_status"], "stopped");
    test.run(["resume", "latest"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 3);
    assert_eq!(test.events("released")[0]["why"], "seen");
}

#[test]
fn a_run_that_is_not_held_is_not_released() {
    let test = Loop::new().script("agent.sh", "until [ -e go_on ]; do sleep 0.02; done");
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.has("iteration_started"));
    let refused = test.run(["release", "latest"]).exits(65);
    assert!(refused.stderr.contains("not held"), "{}", refused.stderr);
    let test = test.file("go_on", "");
    running.ends().exits(125);
    test.run(["release", "latest"]).exits(65);
}

#[test]
fn a_run_that_a_script_drives_goes_on_when_it_is_released() {
    let policy = "[[rule]]\nwhen = { type = \"consecutive_fails\", count = 1 }\nthen = \"hold\"\n";
    let test = Loop::new().file("p.toml", policy);
    let begun = test.run(["begin", "--policy", "p.toml"]).exits(0);
    let run = begun.stdout.trim().to_owned();
    let unit = |id: &str, status: &str| {
        test.run(["emit", "--run", &run, "unit", "--id", id, "--status", status, "--attempts", "1"])
    };
    unit("a", "failed").exits(41);
    unit("b", "approved").exits(41);
    test.run(["release", &run]).exits(0);
    unit("c", "approved").exits(0);
}

#[test]
fn a_script_that_must_ask_is_held_until_somebody_answers() {
    let policy = "[limits]\niterations = 9\n\
                  [[rule]]\nwhen = { type = \"consecutive_fails\", count = 1 }\nthen = \"ask\"\n";
    let test = Loop::new().file("p.toml", policy);
    let run = test.run(["begin", "--policy", "p.toml"]).exits(0).stdout;
    let run = run.trim();
    let emit = |id: &str, status: &str| {
        let words = ["emit", "--run", run, "unit", "--id", id, "--status", status];
        test.run(words.into_iter().chain(["--attempts", "1"]))
    };
    emit("a", "failed").exits(41);
    assert_eq!(test.state()["run_status"], "held");
    let asked = test.events("asked");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(test.run(["ls"]).exits(0).stdout.contains("held ?"));
    test.run(["answer", run, "continue"]).exits(0);
    assert_eq!(test.state()["run_status"], "running");
    emit("b", "approved").exits(0);
    test.run(["answer", run, "continue"]).exits(65);
}

#[test]
fn every_halt_has_a_line_in_the_log_whoever_brought_it_about() {
    let policy = "[limits]\niterations = 4\n\
                  [[rule]]\nwhen = { type = \"no_progress\", iterations = 1 }\nthen = \"ask\"\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "true");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    test.run(["answer", "latest", "abort"]).exits(0);
    let run = test.run(["begin"]).exits(0).stdout.trim().to_owned();
    test.run(["end", "--run", &run]).exits(0);
    let log = std::fs::read_to_string(test.state_directory().join("backstop.log")).expect("a log");
    let lines: Vec<_> = log.lines().filter(|line| line.contains("event=run_halted")).collect();
    let told = ["status=held reason=stalled", "reason=user_aborted", "status=completed"];
    assert_eq!(lines.len(), told.len(), "{log}");
    for (line, words) in lines.iter().zip(told) {
        assert!(line.contains(words), "{line}");
    }
}
