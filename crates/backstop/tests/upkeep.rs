//! Small promises of the commands that look after runs: what `raise` refuses, what `prune` lets go
//! of, how wide `ls` is, and that a misspelt level of containment is none.

mod support;

use std::process::Command;

use support::looping::{Loop, wait_for};
use unicode_width::UnicodeWidthStr as _;

fn git(test: &Loop, words: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let mut command = Command::new("git");
    command.args(identity).args(words).current_dir(test.work());
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_level_of_containment_that_there_is_not_is_refused_with_those_that_there_are() {
    for command in [&["run", "--", "touch", "ran"][..], &["doctor"]] {
        let test = Loop::new().variable("BACKSTOP_CONTAINMENT", "cgroups");
        let words = ["`cgroups`", "`group`", "`sub-reaper`", "`cgroup`"];
        test.run(command).refused(64, &words);
        assert!(!test.exists("ran"));
    }
    let test = Loop::new().variable("BACKSTOP_CONTAINMENT", "");
    test.run(["run", "--once", "--", "touch", "ran"]).exits(0);
    assert!(test.exists("ran"));
}

/// In a store that has just been made nothing is ever wrong.
#[test]
fn a_store_that_is_not_there_is_not_made_to_be_looked_at() {
    let test = Loop::new();
    test.run(["store", "copy", "./typo", "./backup"]).refused(66, &["no store at `./typo`"]);
    for command in [
        &["audit", "verify"][..],
        &["audit", "ls"],
        &["audit", "export"],
        &["ls"],
        &["show", "latest"],
        &["logs", "latest"],
        &["report", "latest"],
        &["token", "ls"],
        &["prune", "--older", "30d"],
    ] {
        let ended = test.run([command, &["--store", "./typo"]].concat());
        ended.refused(66, &["there is no store at `./typo`"]);
    }
    assert!(!test.exists("typo") && !test.exists("backup"));
    test.run(["begin", "--store", "./new"]).exits(0);
    test.run(["audit", "verify", "--store", "./new"]).exits(0);
}

#[test]
fn a_limit_is_not_lowered_by_raising_it() {
    let test = Loop::new().script("agent.sh", "touch up; while [ ! -e go ]; do sleep 0.02; done");
    let running = test.start(["run", "--max-iterations", "3", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    test.run(["raise", "latest", "iterations=2"]).refused(64, &["`iterations` is 3 now"]);
    test.run(["raise", "latest", "iterations=5"]).exits(0);
    test.run(["raise", "latest", "iterations=4"]).refused(64, &["`iterations` is 5 now"]);
    let test = test.file("go", "");
    running.ends().exits(125);
    assert_eq!(test.events("iteration_started").len(), 5);
    test.run(["resume", "--raise", "iterations=1"]).refused(64, &["`iterations` is 5 now"]);
    test.run(["raise", "latest", "iterations=1"]).refused(64, &["`iterations` is 5 now"]);
    assert_eq!(test.events("raised").len(), 1, "what was refused is not on record");
}

#[test]
fn pruned_runs_leave_nothing_in_their_repository_and_others_stay() {
    let test = Loop::new().file("a", "");
    git(&test, &["init", "-q"]);
    git(&test, &["add", "."]);
    git(&test, &["commit", "-q", "-m", "first"]);
    for _run in 0..2 {
        test.run(["run", "--max-iterations", "1", "--", "sh", "-c", "date +%N > a"]).exits(125);
    }
    let kept = || git(&test, &["for-each-ref", "--format=%(refname)", "refs/backstop"]);
    assert_eq!(kept().lines().count(), 2);
    git(&test, &["update-ref", "refs/backstop-of-mine", "HEAD"]);
    let listed = test.run(["ls", "--json"]).exits(0).stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    test.run(["prune", "--older", "1h"]).exits(0);
    assert_eq!(kept().lines().count(), 2, "they are not old");
    let dry = test.run(["prune", "--older", "1ms", "--dry-run"]).exits(0).stdout;
    assert!(dry.contains("2 states of work"), "{dry}");
    assert_eq!(kept().lines().count(), 2);
    let done = test.run(["prune", "--older", "1ms"]).exits(0).stdout;
    assert!(done.contains("2 states of work"), "{done}");
    assert_eq!(kept(), "");
    assert!(git(&test, &["for-each-ref"]).contains("refs/backstop-of-mine"));
    let again = test.run(["prune", "--older", "1ms"]).exits(0).stdout;
    assert!(again.contains("has anything to remove"), "{again}");
}

#[test]
fn a_repository_that_is_gone_keeps_no_run_from_being_pruned() {
    let test = Loop::new().file("inner/a", "");
    git(&test, &["-C", "inner", "init", "-q"]);
    let inner = test.work().join("inner");
    let flags = ["run", "--max-iterations", "1", "--", "true"];
    test.launch(&mut test.command_in(&inner, flags)).ends().exits(125);
    std::fs::remove_dir_all(inner).expect("can be removed");
    let done = test.run(["prune", "--older", "1ms"]).exits(0);
    assert!(done.stdout.contains("removed journals and logs of 1 run"), "{}", done.stdout);
}

#[test]
fn lists_of_all_runs_fit_into_80_columns() {
    let policy = "[[rule]]\nwhen = { type = 'max_iterations', count = 1 }\nthen = 'stop'\n\
                  reason = 'verification_timeout'\n";
    let usage = r#"::backstop {"type":"usage","input_tokens":5,"cost_usd":1234.5678}"#;
    let name = "a-script-with-quite-a-long-name.sh";
    let test =
        Loop::new().file("p.toml", policy).script(name, &format!("echo '{usage}'; sleep 1.1"));
    test.run(["run", "--policy", "p.toml", "--", &format!("./{name}")]).exits(11);
    test.run(["run", "--once", "--", "true"]).exits(0);
    for flags in [&["ls"][..], &["ls", "--all"]] {
        let listed = test.run(flags).exits(0).stdout;
        assert_eq!(listed.lines().count(), 3, "{listed}");
        assert!(listed.lines().all(|line| line.width() <= 80), "{listed}");
    }
}
