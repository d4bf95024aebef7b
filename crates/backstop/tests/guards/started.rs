//! Before anything runs: is the work tree clean?

use crate::support::looping::Loop;
use crate::{git, noted, repository, run, violated, violates};

#[test]
fn a_dirty_work_tree_is_no_place_to_start_from() {
    for change in ["echo 2 > docs/a.md", "echo 1 > loose", "echo 1 > loose; git add loose"] {
        let test = repository("", "touch ran");
        let mut command = std::process::Command::new("sh");
        let changed = command.args(["-c", change]).current_dir(test.work()).status();
        assert!(changed.expect("sh runs").success());
        let ended = run(&test, &[]).exits(4);
        let file = if change.contains("loose") { "loose" } else { "docs/a.md" };
        violates(&test, "dirty", &[file]);
        assert!(ended.stderr.contains(file), "{}", ended.stderr);
        assert!(ended.stderr.contains("`--allow-dirty`"), "{}", ended.stderr);
        assert!(!test.exists("ran"), "{change}");
        assert_eq!(test.state()["stop_reason"]["code"], "dirty_worktree");
        // The guard is for the start, and whoever resumes has seen it.
        test.run(["resume"]).exits(125);
        assert!(test.exists("ran"), "{change}");
    }
}

#[test]
fn it_can_be_lifted_by_a_flag_or_by_the_policy() {
    let test = repository("", "true").file("loose", "");
    run(&test, &["--allow-dirty"]).exits(125);
    let notes = noted(&test, "guard_lifted");
    assert!(notes.len() == 1 && notes[0].contains("--allow-dirty"), "{notes:?}");
    let test = repository("require_clean = false", "true").file("loose", "");
    run(&test, &[]).exits(125);
    assert_eq!(noted(&test, "guard_lifted"), Vec::<String>::new());
}

#[test]
fn what_is_ignored_is_not_dirty() {
    let test = repository("", "true").file("ignored/x", "");
    run(&test, &[]).exits(125);
    assert_eq!(violated(&test), []);
}

#[test]
fn dirt_beside_a_sub_directory_is_dirt() {
    let test = repository("", "true").file("loose", "");
    let mut command = test.command_in(&test.work().join("src"), ["run", "--", "true"]);
    test.launch(&mut command).ends().exits(4);
    violates(&test, "dirty", &["../loose"]);
}

#[test]
fn a_repository_without_a_commit_is_as_dirty_as_its_files() {
    let policy = "[limits]\niterations = 1\n[guards]\n";
    let test = Loop::new().file("backstop.toml", policy);
    git(&test.work(), &["init", "-q"]);
    test.run(["run", "--", "true"]).exits(4);
    violates(&test, "dirty", &["backstop.toml"]);
    test.run(["run", "--allow-dirty", "--", "true"]).exits(125);
}

#[test]
fn without_guards_nothing_is_guarded() {
    let test = repository("", "echo 2 > Cargo.lock").file("p.toml", "[limits]\niterations = 1\n");
    let flags = ["--policy", "p.toml", "--allow-dirty"];
    let ended = run(&test, &flags).exits(125);
    assert_eq!(violated(&test), []);
    assert!(ended.stderr.contains("no `[guards]`"), "{}", ended.stderr);
}

#[test]
fn a_glob_that_can_not_be_used_is_refused_with_its_place() {
    let test = repository("allow = ['src/**', 'docs/[a']", "true");
    run(&test, &[]).refused(78, &["backstop.toml", "docs/[a", "not closed"]);
}
