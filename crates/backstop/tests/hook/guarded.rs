//! Guards of a session that nobody supervises: what its commands write shows afterwards.

use std::fs;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::{Session, bash, stop};

/// A session in a repository, with a policy and some files, all committed.
fn in_a_repository(guards: &str) -> Session {
    let session = Session::new("claude-code", &format!("[guards]\n{guards}\n"));
    for name in ["src/a.rs", "tests/a.rs", "Cargo.lock"] {
        let path = session.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "1\n").unwrap();
    }
    git(&session, &["init", "-q"]);
    git(&session, &["config", "user.name", "ann"]);
    git(&session, &["config", "user.email", "ann@example.org"]);
    git(&session, &["add", "-A"]);
    git(&session, &["commit", "-q", "-m", "first"]);
    session
}

fn git(session: &Session, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(words).current_dir(session.work());
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    assert!(command.status().unwrap().success(), "{words:?}");
}

fn write(session: &Session, name: &str) {
    fs::write(session.work().join(name), "changed\n").unwrap();
}

fn prompt(session: &Session) -> Option<Json> {
    session.says("UserPromptSubmit", json!({"prompt": "go"}))
}

/// The kinds of guards that were violated in the newest run, each with its files.
fn violated(session: &Session) -> Vec<(Json, Json)> {
    let runs = session.runs();
    let (_, events) = runs.last().expect("a run");
    let guards = events.iter().filter(|event| event["type"] == "guard");
    guards.map(|event| (event["kind"].clone(), event["files"].clone())).collect()
}

fn status(session: &Session) -> String {
    session.runs().last().expect("a run").0.clone()
}

#[test]
fn what_a_command_writes_is_seen_when_it_has_ended() {
    for (guards, file, kind, reason) in [
        ("allow = ['src/**']", "README.md", "scope", "guard_violation"),
        ("deny = ['**/*.pem']", "src/key.pem", "scope", "guard_violation"),
        ("protect = ['tests/**']", "tests/a.rs", "protected", "guard_violation"),
        ("", "Cargo.lock", "lockfile", "lockfile_violation"),
    ] {
        let session = in_a_repository(guards);
        assert_eq!(prompt(&session), None);
        write(&session, "src/a.rs");
        assert_eq!(session.says("PostToolUse", bash("make", "ok")), None, "{guards}");
        write(&session, file);
        let answer = session.says("PostToolUse", bash("make more", "ok")).expect("it is noticed");
        assert_eq!(answer["continue"], false, "{guards}: {answer}");
        assert!(answer["stopReason"].as_str().unwrap().contains(reason), "{answer}");
        assert_eq!(violated(&session), [(json!(kind), json!([file]))]);
        assert_eq!(status(&session), "failed");
        let denied = session.says("PreToolUse", bash("make", "")).expect("it is over");
        assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    }
}

#[test]
fn what_was_committed_meanwhile_is_seen_too() {
    let session = in_a_repository("allow = ['src/**']");
    assert_eq!(prompt(&session), None);
    write(&session, "README.md");
    git(&session, &["add", "-A"]);
    git(&session, &["commit", "-q", "-m", "done"]);
    let answer = session.says("PostToolUse", bash("git commit", "ok")).expect("it is noticed");
    assert_eq!(answer["continue"], false, "{answer}");
}

#[test]
fn a_stop_is_the_last_chance_to_see_it() {
    let session = in_a_repository("allow = ['src/**']");
    assert_eq!(prompt(&session), None);
    write(&session, "README.md");
    // Nobody told of the command that did it.
    let answer = session.says("Stop", stop("Done.", false)).expect("it is noticed");
    assert_eq!(answer["continue"], false, "{answer}");
    assert_eq!(status(&session), "failed");
}

#[test]
fn what_a_person_does_between_two_turns_is_their_own_affair() {
    let session = in_a_repository("allow = ['src/**']");
    assert_eq!(prompt(&session), None);
    assert_eq!(session.says("Stop", stop("Done.", false)), None);
    write(&session, "README.md");
    assert_eq!(prompt(&session), None);
    write(&session, "src/a.rs");
    assert_eq!(session.says("PostToolUse", bash("make", "ok")), None);
    assert_eq!(session.says("Stop", stop("Done.", false)), None);
    assert_eq!(violated(&session), []);
}

#[test]
fn who_resumes_has_seen_it_and_is_not_told_again() {
    let session = in_a_repository("allow = ['src/**']");
    assert_eq!(prompt(&session), None);
    write(&session, "README.md");
    assert!(session.says("PostToolUse", bash("make", "ok")).is_some());
    session.run(&["resume", "latest"]);
    assert_eq!(prompt(&session), None);
    assert_eq!(session.says("PostToolUse", bash("make", "ok")), None);
    assert_eq!(violated(&session).len(), 1);
    write(&session, "NOTES.md");
    let answer = session.says("PostToolUse", bash("make", "ok")).expect("that is another file");
    assert!(answer["stopReason"].as_str().unwrap().contains("NOTES.md"), "{answer}");
}

#[test]
fn a_rule_of_the_policy_says_what_follows() {
    let rule = "allow = ['src/**']\n[[rule]]\nwhen = { type = 'guard_violated', kind = 'scope' }\n\
                then = 'warn'\n";
    let session = in_a_repository(rule);
    assert_eq!(prompt(&session), None);
    write(&session, "README.md");
    for _ in 0..2 {
        assert_eq!(session.says("PostToolUse", bash("make", "ok")), None);
    }
    assert_eq!(violated(&session), [(json!("scope"), json!(["README.md"]))], "told once");
}

#[test]
fn files_are_put_back_if_the_policy_says_so() {
    let session = in_a_repository("allow = ['src/**']\nprotect = ['tests/**']\nrevert = true");
    assert_eq!(prompt(&session), None);
    for name in ["src/a.rs", "tests/a.rs", "Cargo.lock", "README.md"] {
        write(&session, name);
    }
    assert!(session.says("PostToolUse", bash("make", "ok")).is_some());
    let read = |name: &str| fs::read_to_string(session.work().join(name)).ok();
    assert_eq!(read("tests/a.rs").as_deref(), Some("1\n"));
    assert_eq!(read("Cargo.lock").as_deref(), Some("1\n"));
    assert_eq!(read("README.md"), None);
    assert_eq!(read("src/a.rs").as_deref(), Some("changed\n"), "what is allowed stays");
    let runs = session.runs();
    let noted = runs[0].1.iter().find(|event| event["what"] == "reverted").expect("it is noted");
    assert!(noted["detail"].as_str().unwrap().contains("refs/backstop/"), "{noted}");
}

#[test]
fn a_session_begins_in_a_clean_work_tree() {
    let session = in_a_repository("");
    write(&session, "loose");
    let start = session.says("SessionStart", json!({"source": "startup"})).expect("it is told");
    let told = start["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("dirty_worktree"), "{start}");
    assert_eq!(prompt(&session).expect("it is blocked")["decision"], "block");
    assert_eq!(violated(&session), [(json!("dirty"), json!(["loose"]))]);
    // Whoever resumes has seen it.
    session.run(&["resume", "latest"]);
    assert_eq!(prompt(&session), None);
    let session = in_a_repository("require_clean = false");
    write(&session, "loose");
    assert_eq!(session.says("SessionStart", json!({"source": "startup"})), None);
    assert_eq!(prompt(&session), None);
    let session = in_a_repository("");
    write(&session, "loose");
    let goes_on = session.says("SessionStart", json!({"source": "resume"}));
    assert_eq!(goes_on, None, "a session that goes on finds its own work");
}

#[test]
fn outside_a_repository_files_are_compared() {
    let session = Session::new("claude-code", "[guards]\nallow = ['src/**']\n");
    fs::create_dir(session.work().join("src")).unwrap();
    assert_eq!(prompt(&session), None);
    write(&session, "src/a.rs");
    assert_eq!(session.says("PostToolUse", bash("make", "ok")), None);
    write(&session, "README.md");
    let answer = session.says("PostToolUse", bash("make", "ok")).expect("it is noticed");
    assert!(answer["stopReason"].as_str().unwrap().contains("README.md"), "{answer}");
}

#[test]
fn guards_that_cannot_be_checked_hold_nothing() {
    let session = in_a_repository("allow = ['src/**']");
    assert_eq!(prompt(&session), None);
    fs::write(session.work().join(".git/index"), "broken").unwrap();
    let answer = session.says("PostToolUse", bash("make", "ok")).expect("it is told");
    assert_eq!(answer["continue"], false, "{answer}");
    let told = answer["systemMessage"].as_str().unwrap();
    assert!(told.contains("the guards could not be checked"), "{answer}");
    let runs = session.runs();
    assert!(runs[0].1.iter().any(|event| event["what"] == "unguarded"), "{runs:?}");
}

#[test]
fn tools_that_only_look_are_not_looked_after() {
    let session = in_a_repository("allow = ['src/**']");
    assert_eq!(prompt(&session), None);
    write(&session, "README.md");
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "src/a.rs"},
        "tool_response": "1"});
    assert_eq!(session.says("PostToolUse", read), None);
    assert_eq!(violated(&session), []);
}
