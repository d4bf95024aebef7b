//! What violated a guard stands in the way until it is put right, or a person lets it stay.

use std::fs;

use crate::support::looping::Loop;
use crate::{commit, noted, repository, run, violated, violates};

const ALLOW: &str = "allow = ['src/**']";

/// Halted, because the agent wrote where it must not. From now on it would do nothing wrong.
fn halted(guards: &str, agent: &str, code: i32) -> Loop {
    let test = repository(guards, agent);
    run(&test, &[]).exits(code);
    // A change of a person's, outside of what is allowed: none of the agent's doing.
    let agent = "#!/bin/sh\necho ran >> ignored-count\ntouch src/b.rs\n";
    fs::write(test.work().join("agent.sh"), agent).expect("can be written");
    test
}

#[track_caller]
fn ran(test: &Loop, times: usize) {
    let ran = fs::read_to_string(test.work().join("ignored-count")).unwrap_or_default();
    assert_eq!(ran.lines().count(), times);
}

#[test]
fn a_resumption_alone_does_not_put_it_right() {
    let test = halted("allow = ['src/**', 'ignored-count']", "echo 2 > docs/a.md", 2);
    for _ in 0..2 {
        let ended = test.run(["resume"]).exits(2);
        assert!(ended.stderr.contains("docs/a.md"), "{}", ended.stderr);
        ran(&test, 0);
    }
    assert_eq!(test.state()["stop_reason"]["code"], "guard_violation");
    let test = test.file("docs/a.md", "1\n");
    test.run(["resume"]).exits(125);
    ran(&test, 2);
}

#[test]
fn what_was_committed_stands_too() {
    let agent = "echo 2 > docs/a.md; git commit -qam x";
    let test = halted("allow = ['src/**', 'ignored-count']", agent, 2);
    test.run(["resume"]).exits(2);
    ran(&test, 0);
}

#[test]
fn outside_a_repository_too() {
    let policy = format!("[limits]\niterations = 3\n[guards]\n{ALLOW}\nrequire_clean = false\n");
    let test = Loop::new().file("backstop.toml", &policy).file("docs/a.md", "1\n");
    let test = test.script("agent.sh", "echo 2 > docs/a.md");
    run(&test, &[]).exits(2);
    test.run(["resume"]).exits(2);
    assert_eq!(test.state()["facts"]["iterations"], 1);
    let test = test.file("docs/a.md", "1\n").script("agent.sh", "true");
    test.run(["resume"]).exits(125);
}

#[test]
fn a_policy_that_allows_it_lets_it_stay() {
    let test = halted(ALLOW, "echo 2 > docs/a.md", 2);
    let wider = "[limits]\niterations = 3\n[guards]\nallow = ['**']\n";
    let test = test.file("wider.toml", wider);
    test.run(["policy", "apply", "latest", "--policy", "wider.toml"]).exits(0);
    test.run(["resume"]).exits(125);
    ran(&test, 2);
}

#[test]
fn lock_files_are_let_stay_by_a_flag_of_the_resumption() {
    let guards = "allow = ['src/**', 'ignored-count']";
    let test = halted(guards, "echo 2 > Cargo.lock", 3);
    let ended = test.run(["resume"]).exits(3);
    assert!(ended.stderr.contains("--allow-lockfiles"), "{}", ended.stderr);
    test.run(["resume", "--allow-deps"]).exits(125);
    ran(&test, 2);
    let notes = noted(&test, "guard_lifted");
    assert!(notes.len() == 1 && notes[0].contains("--allow-lockfiles"), "{notes:?}");
    // It stays lifted.
    fs::write(test.work().join("agent.sh"), "#!/bin/sh\ndate +%N > Cargo.lock\n").expect("written");
    test.run(["resume", "--raise", "iterations=4"]).exits(125);
    // What there is not can't be lifted.
    let test = Loop::new().script("agent.sh", "true");
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    let resumed = ["resume", "--raise", "iterations=2", "--force-parallel"];
    let ended = test.run(resumed).exits(125);
    assert!(ended.stderr.contains("no such guard"), "{}", ended.stderr);
}

#[test]
fn a_person_who_answers_or_releases_lets_it_stay() {
    let release = &["release", "latest"][..];
    let answer = &["answer", "latest", "continue"][..];
    for (verdict, way, is_part) in [
        ("hold", release, false),
        ("hold", release, true),
        ("ask", answer, false),
        ("ask", answer, true),
    ] {
        let guard = "{ type = 'guard_violated' }";
        let part = format!(
            "{{ type = 'any', conditions = [{guard}, {{ type = 'file_created', path = 'never' }}] }}"
        );
        let when = if is_part { part.as_str() } else { guard };
        let rule =
            format!("[[rule]]\nwhen = {when}\nthen = '{verdict}'\nreason = 'guard_violation'\n");
        let policy = format!("[limits]\niterations = 3\n[guards]\n{ALLOW}\n{rule}");
        let test = Loop::new().file("backstop.toml", &policy).file("docs/a.md", "1\n");
        let test = test.script("agent.sh", "echo 2 > docs/a.md");
        commit(&test);
        let first = run(&test, &[]);
        violates(&test, "scope", &["docs/a.md"]);
        test.run(way).exits(0);
        test.run(["resume"]).exits(125);
        assert_eq!(violated(&test).len(), 1, "{verdict}: {}", first.stderr);
        assert_eq!(test.state()["facts"]["iterations"], 3, "{verdict}");
    }
}
