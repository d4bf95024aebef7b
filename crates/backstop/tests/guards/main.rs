//! What the work must not touch: every guard, with the real binary in real repositories.

mod claims;
mod protected;
mod put_back;
mod scope;
mod standing;
mod started;

#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use support::Ended;
use support::looping::Loop;

/// A repository with a policy, an agent and some files, all committed.
fn repository(guards: &str, agent: &str) -> Loop {
    let policy = format!("[limits]\niterations = 3\n[guards]\n{guards}\n");
    let test = Loop::new()
        .file("backstop.toml", &policy)
        .script("agent.sh", agent)
        .script("check.sh", "[ -e good ]")
        .file("src/a.rs", "1\n")
        .file("tests/a.rs", "1\n")
        .file("Cargo.lock", "1\n")
        .file("docs/a.md", "1\n")
        .file(".gitignore", "ignored/\n");
    commit(&test);
    test
}

/// A repository as `git init` makes one, with all that is there committed.
fn commit(test: &Loop) {
    let work = test.work();
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["config", "user.name", "ann"]);
    git(&work, &["config", "user.email", "ann@example.org"]);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "first"]);
}

#[track_caller]
fn git(cwd: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(cwd)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Runs the agent under the policy that lies there.
#[track_caller]
fn run(test: &Loop, flags: &[&str]) -> Ended {
    test.run([&["run"], flags, &["--", "./agent.sh"]].concat())
}

/// The kinds of guards that were violated, each with its files.
#[track_caller]
fn violated(test: &Loop) -> Vec<(String, Vec<String>)> {
    let text = |value: &Json| value.as_str().expect("a text").to_owned();
    let files = |event: &Json| event["files"].as_array().expect("files").iter().map(text).collect();
    test.events("guard").iter().map(|event| (text(&event["kind"]), files(event))).collect()
}

#[track_caller]
fn violates(test: &Loop, kind: &str, files: &[&str]) {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(violated(test), [(kind.to_owned(), files)]);
}

/// What was noted of a kind.
#[track_caller]
fn noted(test: &Loop, what: &str) -> Vec<String> {
    let notes = test.events("noted").into_iter().filter(|note| note["what"] == what);
    notes.map(|note| note["detail"].as_str().expect("a text").to_owned()).collect()
}
