//! `revert = true`: files are put back, and only those, after everything was kept.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::looping::{Loop, wait_for};
use crate::{git, noted, repository, run, violated};

const GUARDS: &str = "allow = ['src/**']\nprotect = ['tests/**', 'check.sh']\nrevert = true";

#[test]
fn the_files_are_put_back_and_kept() {
    let agent = "echo good > src/a.rs; echo 2 > docs/a.md; echo 2 > Cargo.lock; rm tests/a.rs
        mkdir -p new/deep; echo 1 > new/deep/file; echo 1 > staged; git add staged
        echo exit 0 > check.sh; echo 1 > tests/more.rs";
    let test = repository(GUARDS, agent);
    run(&test, &[]).exits(2);
    assert_eq!(test.read("src/a.rs"), "good\n", "what is allowed stays");
    assert_eq!(test.read("docs/a.md"), "1\n");
    assert_eq!(test.read("Cargo.lock"), "1\n");
    assert_eq!(test.read("tests/a.rs"), "1\n");
    assert!(test.read("check.sh").contains("-e good"));
    for gone in ["new", "staged", "tests/more.rs"] {
        assert!(!test.exists(gone), "{gone}");
    }
    assert_eq!(git(&test.work(), &["status", "--porcelain"]), " M src/a.rs");
    let notes = noted(&test, "reverted");
    assert_eq!(notes.len(), 1, "{notes:?}");
    let kept = notes[0].rsplit("kept as ").next().expect("a name");
    let shown = |file: &str| git(&test.work(), &["show", &format!("{kept}:{file}")]);
    assert_eq!(shown("docs/a.md"), "2");
    assert_eq!(shown("new/deep/file"), "1");
    assert_eq!(shown("check.sh"), "exit 0");
    let kinds: Vec<_> = violated(&test).into_iter().map(|found| found.0).collect();
    assert_eq!(kinds, ["scope", "protected", "lockfile"]);
    // What was put back stands in nobody's way, and what a person commits there stays.
    fs::write(test.work().join("docs/a.md"), "mine\n").expect("can be written");
    git(&test.work(), &["commit", "-qam", "mine"]);
    fs::write(test.work().join("agent.sh"), "#!/bin/sh\ntrue\n").expect("can be written");
    test.run(["resume"]).exits(125);
    assert_eq!(test.read("docs/a.md"), "mine\n");
}

#[test]
fn what_was_committed_is_put_back_without_rewriting_history() {
    let test = repository(GUARDS, "echo 2 > docs/a.md; echo 1 > new; git add -A; git commit -qm x");
    run(&test, &[]).exits(2);
    assert_eq!(test.read("docs/a.md"), "1\n");
    assert!(!test.exists("new"));
    assert_eq!(git(&test.work(), &["log", "--format=%s"]), "x\nfirst");
}

#[test]
fn what_an_iteration_did_whose_end_nobody_saw_is_put_back_too() {
    let agent = "echo 2 > docs/a.md; echo 1 > outside; rm tests/a.rs; touch src/up; sleep 300";
    let test = repository(GUARDS, agent);
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the changes", || test.exists("src/up"));
    Loop::cut_off(&test.marked());
    running.ends();
    wait_for("their end", || test.marked().is_empty());
    test.run(["resume"]).exits(2);
    assert_eq!(test.read("docs/a.md"), "1\n");
    assert_eq!(test.read("tests/a.rs"), "1\n");
    assert!(!test.exists("outside"));
    let notes = noted(&test, "reverted");
    assert!(notes.len() == 1 && notes[0].contains("kept as refs/backstop/"), "{notes:?}");
    let kinds: Vec<_> = violated(&test).into_iter().map(|found| found.0).collect();
    assert_eq!(kinds, ["scope", "protected"]);
}

#[test]
fn what_git_ignores_is_put_back_from_a_copy() {
    let guards = "protect = ['ignored']\nrevert = true";
    let test = repository(guards, "echo 2 > ignored/secret").file("ignored/secret", "1\n");
    run(&test, &[]).exits(2);
    assert_eq!(test.read("ignored/secret"), "1\n");
    let runs = fs::read_dir(test.state_directory().join("runs")).expect("runs");
    let run = runs.flatten().next().expect("a run").path();
    let kept = fs::read_to_string(run.join("reverted/1/ignored%secret")).expect("kept");
    assert_eq!(kept, "2\n");
}

#[test]
fn what_was_dirty_before_is_left_and_told() {
    let guards = "allow = ['src/**']\nrevert = true\nrequire_clean = false";
    let test = repository(guards, "echo theirs > docs/a.md").file("docs/a.md", "mine\n");
    let ended = run(&test, &[]).exits(2);
    assert_eq!(test.read("docs/a.md"), "theirs\n");
    assert!(ended.stderr.contains("not put back"), "{}", ended.stderr);
}

#[test]
fn without_it_nothing_is_touched() {
    let test = repository("allow = ['src/**']", "echo 2 > docs/a.md; echo 1 > new");
    run(&test, &[]).exits(2);
    assert_eq!(test.read("docs/a.md"), "2\n");
    assert!(test.exists("new"));
    assert_eq!(noted(&test, "reverted"), Vec::<String>::new());
}

#[test]
fn a_folder_that_became_a_file_is_a_folder_again_with_its_permissions() {
    let agent = "rm -rf tests; echo cheat > tests";
    let test = repository("protect = ['tests/**']\nrevert = true\n", agent);
    let file = test.work().join("tests/a.rs");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    let before = fs::read(&file).expect("it is there");
    run(&test, &[]).exits(2);
    assert_eq!(fs::read(&file).expect("it is there again"), before);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o400);
}
