//! Two runs in one repository.

use rustix::process::Signal;

use crate::support::looping::{Loop, Running, send, wait_for};
use crate::{git, noted, repository, run, violated};

/// A run that goes on until it is ended, and its name.
fn other(test: &Loop, policy: &str) -> (Running, String) {
    let words = ["run", "--policy", policy, "--", "sh", "-c", "touch ignored/runs; exec sleep 300"];
    let running = test.start(words);
    wait_for("the other run", || test.exists("ignored/runs"));
    let name = test.state()["run_id"].as_str().expect("a name").to_owned();
    (running, name)
}

fn two(own: &str, others: &str) -> Loop {
    let policy = format!("[limits]\niterations = 1\n[guards]\n{others}\n");
    let test = repository(own, "true").file("other.toml", &policy).file("ignored/x", "");
    git(&test.work(), &["add", "-A"]);
    git(&test.work(), &["commit", "-qm", "other"]);
    test
}

#[test]
fn a_run_that_claims_the_same_files_is_named() {
    let test = two("allow = ['src/**']", "allow = ['src/core/**', 'docs/**']");
    let (running, name) = other(&test, "other.toml");
    let ended = run(&test, &[]).exits(5);
    assert_eq!(violated(&test), [("collision".to_owned(), vec![format!("src/** (run {name})")])]);
    assert!(ended.stderr.contains(&name), "{}", ended.stderr);
    assert!(ended.stderr.contains("`--force-parallel`"), "{}", ended.stderr);
    assert_eq!(test.state()["stop_reason"]["code"], "file_collision");
    // By force, both go on.
    run(&test, &["--force-parallel"]).exits(125);
    let notes = noted(&test, "guard_lifted");
    assert!(notes.len() == 1 && notes[0].contains("--force-parallel"), "{notes:?}");
    test.run(["resume", "--raise", "iterations=4"]).exits(125);
    // Once the other one has ended, nothing is in the way.
    running.signal(Signal::KILL);
    running.ends();
    wait_for("the other run to end", || test.marked().is_empty());
    run(&test, &[]).exits(125);
}

#[test]
fn what_a_killed_supervisor_left_behind_is_in_the_way() {
    let test = two("allow = ['src/**']", "allow = ['src/**']");
    let (running, name) = other(&test, "other.toml");
    wait_for("the agent", || !test.processes_named("sleep").is_empty());
    let agent = test.processes_named("sleep");
    let others: Vec<_> = test.marked().into_iter().filter(|pid| !agent.contains(pid)).collect();
    Loop::cut_off(&others);
    running.ends();
    wait_for("only the agent is left", || test.marked() == agent);
    run(&test, &[]).exits(5);
    let left = format!("src/** (left-over processes of run {name})");
    assert_eq!(violated(&test), [("collision".to_owned(), vec![left])]);
    agent.iter().for_each(|pid| send(*pid, Signal::KILL));
    wait_for("nothing is left", || test.marked().is_empty());
    run(&test, &[]).exits(125);
}

#[test]
fn runs_that_claim_other_files_do_not_meet() {
    let test = two("allow = ['src/**']", "allow = ['docs/**']");
    let (_running, _) = other(&test, "other.toml");
    run(&test, &[]).exits(125);
}

#[test]
fn who_says_nothing_claims_everything() {
    let test =
        two("allow = ['src/**']", "").file("ignored/plain.toml", "[limits]\niterations = 1\n");
    let (_running, name) = other(&test, "ignored/plain.toml");
    run(&test, &[]).exits(5);
    assert!(violated(&test)[0].1[0].contains(&name));
}

#[test]
fn a_work_tree_of_its_own_meets_nobody() {
    let test = two("", "");
    let (_running, _) = other(&test, "other.toml");
    let place = test.work().with_file_name("tree");
    git(&test.work(), &["worktree", "add", "-q", place.to_str().expect("text")]);
    let mut command = test.command_in(&place, ["run", "--", "./agent.sh"]);
    test.launch(&mut command).ends().exits(125);
}

#[test]
fn the_policy_can_let_it_be() {
    let test = two("collisions = 'allow'", "");
    let (_running, _) = other(&test, "other.toml");
    run(&test, &[]).exits(125);
}

#[test]
fn of_two_that_begin_together_only_one_yields() {
    for _ in 0..4 {
        let test = two("", "");
        let runs = [0, 1].map(|_| test.start(["run", "--once", "--", "sh", "-c", "sleep 0.5"]));
        let codes = runs.map(|run| run.ends().code);
        assert_ne!(codes, [Some(5), Some(5)]);
    }
}
