//! What judges the work is not changed by it.

use crate::support::looping::Loop;
use crate::{git, noted, repository, run, violated, violates};

const PROTECT: &str = "protect = ['tests/**', 'check.sh']";

#[test]
fn every_way_to_change_what_is_protected_is_seen() {
    for (change, file) in [
        ("echo 2 > tests/a.rs", "tests/a.rs"),
        ("echo 2 > tests/a.rs; git commit -qam x", "tests/a.rs"),
        ("rm tests/a.rs", "tests/a.rs"),
        ("echo 1 > tests/new.rs", "tests/new.rs"),
        (
            "cp check.sh x; echo exit 0 >> x; mv x check.sh; touch -d 2020-01-01 check.sh",
            "check.sh",
        ),
        ("chmod -x check.sh", "check.sh"),
        ("mv check.sh real; ln -s real check.sh", "check.sh"),
        ("echo tests/ > .gitignore; echo 1 > tests/hidden", "tests/hidden"),
        ("git update-index --assume-unchanged tests/a.rs; echo 2 > tests/a.rs", "tests/a.rs"),
    ] {
        let test = repository(PROTECT, change);
        let ended = run(&test, &[]).exits(2);
        violates(&test, "protected", &[file]);
        assert!(ended.stderr.contains(file), "{}", ended.stderr);
        assert_eq!(test.state()["stop_reason"]["code"], "guard_violation", "{change}");
    }
}

#[test]
fn the_same_content_is_no_change() {
    let agent = "touch tests/a.rs; cp -p check.sh x; mv x check.sh
        mkdir -p tests/__pycache__; date +%N > tests/__pycache__/a.pyc";
    let test = repository(PROTECT, agent);
    run(&test, &[]).exits(125);
    assert_eq!(violated(&test), []);
}

#[test]
fn a_link_is_protected_with_what_it_leads_to() {
    for change in ["ln -sfn docs/a.md link", "echo 2 > src/a.rs", "rm link; cp src/a.rs link"] {
        let test = repository("protect = ['link']\nrequire_clean = false", change);
        std::os::unix::fs::symlink("src/a.rs", test.work().join("link")).expect("can be made");
        run(&test, &[]).exits(2);
        violates(&test, "protected", &["link"]);
    }
}

#[test]
fn a_folder_by_another_name_is_protected_too() {
    let test = repository("protect = ['judges/**']\nrequire_clean = false", "ln -sfn docs judges");
    std::os::unix::fs::symlink("tests", test.work().join("judges")).expect("can be made");
    run(&test, &[]).exits(2);
    assert!(violated(&test)[0].1.contains(&"judges".to_owned()));
}

#[test]
fn what_git_does_not_know_and_what_no_git_knows_is_protected_too() {
    let test = repository("protect = ['ignored']", "echo 2 > ignored/secret");
    run(&test.file("ignored/secret", "1\n"), &[]).exits(2);
    let policy = "[limits]\niterations = 2\n[guards]\nprotect = ['check.sh']\n";
    let test = Loop::new().file("backstop.toml", policy).script("check.sh", "false");
    let test = test.script("agent.sh", "echo exit 0 > check.sh");
    run(&test, &[]).exits(2);
    violates(&test, "protected", &["check.sh"]);
}

#[test]
fn done_is_not_done_when_nothing_was_done() {
    let test = repository(PROTECT, "echo DONE");
    let flags = ["--until-output", "DONE", "--verify", "./check.sh"];
    run(&test, &flags).exits(125);
    assert_eq!(noted(&test, "claim_refused").len(), 3);
}

#[test]
fn done_is_not_done_when_the_checker_was_edited() {
    let agent = "echo DONE; printf '#!/bin/sh\\nexit 0\\n' > check.sh";
    let test = repository(PROTECT, agent);
    let flags = ["--until-output", "DONE", "--verify", "./check.sh"];
    run(&test, &flags).exits(2);
    violates(&test, "protected", &["check.sh"]);
    assert_eq!(test.state()["run_status"], "failed");
}

#[test]
fn no_rule_makes_it_done() {
    // Whoever only wants to be warned still can't have it called done.
    let lenient = "protect = ['check.sh']\n[[rule]]\nwhen = { type = 'guard_violated' }
        then = 'warn'";
    let spoils = "echo DONE; printf '#!/bin/sh\\nexit 0\\n' > check.sh";
    for flags in [
        &["--until-output", "DONE"][..],
        &["--until-success"],
        &["--until-script", "./check.sh"],
        &["--until-success", "--verify", "./check.sh"],
    ] {
        let test = repository(lenient, spoils);
        run(&test, flags).exits(125);
        assert!(!noted(&test, "claim_refused").is_empty(), "{flags:?}");
        assert_eq!(violated(&test).len(), 1, "told once");
    }
    let test = repository(lenient, spoils);
    run(&test, &["--once"]).exits(2);
    // Put right, it counts again.
    let repairs =
        "echo DONE; [ $BACKSTOP_ITERATION = 2 ] && git checkout -q check.sh || echo >> check.sh";
    let test = repository(lenient, repairs);
    run(&test, &["--until-output", "DONE"]).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

#[test]
fn a_resumed_run_is_compared_with_its_first_beginning() {
    let test = repository(PROTECT, "[ $BACKSTOP_ITERATION = 1 ] && echo 2 > tests/a.rs; true");
    run(&test, &[]).exits(2);
    let resumed = test.run(["resume"]).exits(2);
    assert!(resumed.stderr.contains("tests/a.rs"), "{}", resumed.stderr);
    assert_eq!(test.state()["facts"]["iterations"], 1, "nothing was run");
    git(&test.work(), &["checkout", "-q", "tests"]);
    test.run(["resume"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 3);
}

#[test]
fn another_policy_may_protect_less_or_more() {
    let test = repository(PROTECT, "[ $BACKSTOP_ITERATION = 1 ] && echo 2 > tests/a.rs; true");
    run(&test, &[]).exits(2);
    let policy =
        |protect: &str| format!("[limits]\niterations = 3\n[guards]\nprotect = {protect}\n");
    let test = test.file("less.toml", &policy("['check.sh', 'docs']"));
    test.run(["policy", "apply", "latest", "--policy", "less.toml"]).exits(0);
    test.run(["resume"]).exits(125);
    let test = test.script("agent.sh", "echo 2 > docs/a.md");
    test.run(["resume", "--raise", "iterations=9"]).exits(2);
    assert_eq!(violated(&test).last().expect("one").1, ["docs/a.md"]);
}

#[test]
fn what_they_were_is_out_of_reach_and_its_loss_is_no_permission() {
    let agent = "rm -rf \"$XDG_STATE_HOME\"/backstop/runs/*/protected; echo 2 > tests/a.rs";
    let test = repository(PROTECT, agent);
    run(&test, &[]).exits(2);
    git(&test.work(), &["checkout", "-q", "tests"]);
    let ended = test.run(["resume"]).exits(2);
    assert!(ended.stderr.contains("could not be checked"), "{}", ended.stderr);
    assert_eq!(test.state()["run_status"], "held");
}
