//! Every reason of the registry is reached by the real binary, with its exit code.

mod support;

use std::collections::BTreeSet;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value as Json;
use support::looping::{Loop, wait_for};

/// Ends with the reason that is named, in a way that its users would meet it.
type Scene = fn(&Loop) -> Option<i32>;

const SCENES: &[(&str, Scene)] = &[
    ("completed", |test| run(test, "", "true", &["--until-success"])),
    ("guard_violation", |test| {
        repository(test);
        run(test, "[guards]\ndeny = [\"*.pem\"]\n", "echo x > key.pem", &[])
    }),
    ("lockfile_violation", |test| {
        repository(test);
        run(test, "[guards]\n", "echo x > Cargo.lock", &[])
    }),
    ("dirty_worktree", |test| {
        repository(test);
        write(test, "dirt", "left over");
        run(test, "[guards]\n", "true", &[])
    }),
    ("file_collision", |test| {
        repository(test);
        write(test, "p.toml", "[guards]\nrequire_clean = false\n");
        let first =
            test.start(["run", "--policy", "p.toml", "--", "sh", "-c", "touch up; sleep 300"]);
        wait_for("the first run", || test.exists("up"));
        let second = test.run(["run", "--policy", "p.toml", "--", "true"]).code;
        first.signal(Signal::TERM);
        first.ends();
        second
    }),
    ("verification_failed", |test| run(test, "", "true", &["--once", "--verify", "false"])),
    ("verification_timeout", |test| {
        let verify = "[verify]\ncommand = \"sleep 300\"\ntimeout = \"200ms\"\n";
        run(test, verify, "true", &["--once"])
    }),
    ("error", |test| run(test, "", "exit 3", &["--preset", "default"])),
    ("critical_failure", |test| {
        let event = r#"{"type":"error","category":"critical","message":"no space left"}"#;
        run(test, "", &say(event), &[])
    }),
    ("failure_condition", |test| {
        write(
            test,
            "loop.json",
            r#"{"conditions": [{"type": "max_iterations", "count": 2}], "success_conditions": [],
                "failure_conditions": [{"type": "file_created", "path": "BROKEN"}]}"#,
        );
        test.run(["run", "--policy", "loop.json", "--", "touch", "BROKEN"]).code
    }),
    ("review_loop_detected", |test| {
        let review = "[review]\ncommand = \"printf 'CHANGES REQUESTED\\n- add a test\\n'\"\n";
        run(test, review, "true", &[])
    }),
    ("review_rejected", |test| run(test, "[review]\ncommand = \"echo REJECTED\"\n", "true", &[])),
    ("worker_blocked", |test| {
        let event = r#"{"type":"worker","status":"blocked","detail":"a key is needed"}"#;
        run(test, "", &say(event), &[])
    }),
    ("worker_failed", |test| test.run(["run", "--", "./there-is-no-such-program"]).code),
    ("worker_timeout", |test| {
        let times = ["--iteration-timeout", "200ms", "--grace", "100ms"];
        run(test, "", "sleep 300", &times)
    }),
    ("rate_limited", |test| {
        let event =
            r#"{"type":"worker","status":"rate_limited","retry_at":"2999-01-01T00:00:00Z"}"#;
        run(test, "", &say(event), &[])
    }),
    ("circuit_breaker", |test| units(test, "circuit_breaker_limit: 3", &["rejected:3"])),
    ("consecutive_fails", |test| units(test, "max_consecutive_fails: 2", &["failed", "failed"])),
    ("reject_rate", |test| {
        units(test, "max_reject_rate: 0.3", &["approved", "rejected", "approved"])
    }),
    ("retry_rate", |test| units(test, "max_retry_rate: 0.5", &["approved:2"])),
    ("error_rate", |test| {
        let rule = rule("error_rate", "at_least = 0.5, min_tasks = 2", "stop");
        run(test, &rule, "exit 1", &[])
    }),
    ("diminishing_returns", |test| {
        let rule = rule("diminishing_returns", "cycles = 2, below = 0.1", "stop");
        run(test, &rule, &say(r#"{"type":"cycle","metrics":{"score":10}}"#), &[])
    }),
    ("health_critical", |test| {
        let event = r#"{"type":"context","used":100,"limit":100}"#;
        run(test, &rule("health", "below = 0.8", "stop"), &say(event), &[])
    }),
    ("test_failure_streak", |test| {
        let rule = rule("test_failure_streak", "count = 2", "stop");
        run(test, &rule, &say(r#"{"type":"tests","failed":["a"]}"#), &[])
    }),
    ("repetition", |test| {
        let action = r#"{"type":"action","signature":"bash: make","kind":"shell","result_signature":"x","failed":true}"#;
        let script = format!("for i in 1 2 3 4 5 6 7 8 9; do {}; sleep 0.01; done", say(action));
        run(test, &rule("repetition", "sensitivity = \"high\"", "stop"), &script, &[])
    }),
    ("topic_drift", |test| {
        let rule = rule("topic_drift", "above = 0.5", "stop");
        run(test, &rule, &say(r#"{"type":"drift","score":0.9}"#), &[])
    }),
    ("max_attempts", |test| rerun(test, r#"{"job_attempts": 2}"#)),
    ("max_total_reruns", |test| rerun(test, r#"{"total_attempts": 5}"#)),
    ("wait_timeout", |test| rerun(test, r#"{"first_failure_at": "2026-05-04T08:00:00Z"}"#)),
    ("non_retriable", |test| rerun(test, r#"{"failure_class": "lint error"}"#)),
    ("no_signal_change", |test| {
        let rule = rule("no_signal_change", "cycles = 2", "hold");
        run(test, &rule, &say(r#"{"type":"failure_signal","hash":"same"}"#), &[])
    }),
    ("policy_block", |test| {
        write(test, "backstop.toml", "this is no policy");
        let input = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":".","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
        let answer = test.feed(input, ["hook", "claude-code"]);
        assert!(answer.stdout.contains("policy_block"), "{answer:?}");
        // A hook speaks to its agent by its answer; where nothing may start, the code says so.
        std::fs::remove_file(test.work().join("backstop.toml")).expect("it is there");
        test.run(["halt", "--all", "--why", "night"]).exits(0);
        let refused = test.run(["run", "--max-iterations", "1", "--", "true"]);
        assert!(refused.stderr.contains("night"), "{refused:?}");
        refused.code
    }),
    ("cooldown_active", |test| rerun(test, r#"{"last_changed_at": "2026-05-04T09:59:00Z"}"#)),
    ("condition_met", |test| run(test, &rule("exit_code", "any_of = [7]", "stop"), "exit 7", &[])),
    ("timeout", |test| run(test, "", "sleep 300", &["--max-duration", "300ms"])),
    ("max_iterations", |test| run(test, "", "true", &["--max-iterations", "2"])),
    ("stalled", |test| run(test, "", "true", &["--no-progress", "2"])),
    ("token_limit", |test| {
        let event = r#"{"type":"usage","input_tokens":50,"output_tokens":60}"#;
        run(test, "", &say(event), &["--max-tokens", "100"])
    }),
    ("cost_limit", |test| {
        let event = r#"{"type":"usage","input_tokens":1,"output_tokens":1,"cost_usd":2}"#;
        run(test, "", &say(event), &["--max-cost", "1"])
    }),
    ("context_overflow", |test| {
        let policy = rule("context_usage", "at_least = 0.9", "recover");
        let event = r#"{"type":"context","used":95,"limit":100}"#;
        run(test, &format!("{policy}[recover]\ncontext_max = 1\n"), &say(event), &[])
    }),
    ("user_stopped", |test| {
        let running = start(test);
        test.run(["stop", "latest", "--now"]).exits(0);
        running.ends().code
    }),
    ("user_aborted", |test| {
        let policy = rule("max_iterations", "count = 1", "ask");
        write(test, "p.toml", &format!("{policy}[notify]\ncommand = \"true\"\n"));
        let running = test.start(["run", "--policy", "p.toml", "--", "true"]);
        wait_for("the question", || test.has("asked"));
        test.run(["answer", "latest", "abort"]).exits(0);
        running.ends().code
    }),
    ("user_unresponsive", |test| {
        let policy = rule("max_iterations", "count = 1", "ask");
        let more = "[notify]\ncommand = \"true\"\n[intervention]\ntimeout = \"200ms\"\n";
        run(test, &format!("{policy}{more}"), "true", &[])
    }),
    ("terminated", |test| {
        let running = start(test);
        running.signal(Signal::TERM);
        running.ends().code
    }),
];

#[test]
fn every_reason_is_reached() {
    let registry: BTreeSet<String> = registry().into_iter().map(|(code, _)| code).collect();
    let reached: BTreeSet<String> = SCENES.iter().map(|(code, _)| (*code).to_owned()).collect();
    assert_eq!(reached, registry, "every reason of the registry needs a scene");
}

/// Decisions about jobs of others, and those by which no run begins.
const WITHOUT_A_RUN: [&str; 7] = [
    "max_attempts",
    "max_total_reruns",
    "wait_timeout",
    "non_retriable",
    "cooldown_active",
    "file_collision",
    "policy_block",
];

#[test]
fn every_scene_ends_with_the_exit_code_of_its_reason() {
    let mut wrong = Vec::new();
    for (code, scene) in SCENES {
        let test = Loop::new();
        let ended = scene(&test);
        if ended != code_of(code) {
            wrong.push(format!("{code}: {:?} instead of {ended:?}", code_of(code)));
        }
        if WITHOUT_A_RUN.contains(code) {
            continue;
        }
        let told = test.run(["show", "latest", "--json"]).exits(0);
        assert_eq!(told.json()["stop_reason"]["code"], *code, "{}", told.stdout);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Runs a script under a policy.
fn run(test: &Loop, policy: &str, script: &str, flags: &[&str]) -> Option<i32> {
    let times = "[loop]\ngrace = \"200ms\"\nfinish_within = \"0s\"\n";
    let has_preset = flags.contains(&"--preset");
    let mut arguments = vec!["run"];
    if !has_preset {
        write(test, "p.toml", &format!("[limits]\niterations = 9\n{times}{policy}"));
        arguments.extend(["--policy", "p.toml"]);
    }
    arguments.extend(flags);
    arguments.extend(["--", "sh", "-c", script]);
    // What a policy file of the test's own adds to the tree is no change of the agent's.
    commit(test);
    test.run(arguments).code
}

fn start(test: &Loop) -> support::looping::Running {
    let running = test.start(["run", "--grace", "200ms", "--", "sh", "-c", "touch up; sleep 300"]);
    wait_for("the agent", || test.exists("up"));
    running
}

/// A pipeline's units: a status each, and after a colon its attempts.
fn units(test: &Loop, limit: &str, statuses: &[&str]) -> Option<i32> {
    let policy = "retry:\n  stop_conditions:\n    max_reject_rate: 1.0\n    max_retry_rate: 1.0\n    \
                  max_consecutive_fails: 90\n    circuit_breaker_limit: 90\n";
    let name = limit.split(':').next().unwrap_or_default();
    let lines = policy.lines().filter(|line| !line.trim_start().starts_with(name));
    let policy = format!("{}\n    {limit}\n", lines.collect::<Vec<_>>().join("\n"));
    write(test, "p.yaml", &policy);
    let run = test.run(["begin", "--policy", "p.yaml"]).exits(0).stdout.trim().to_owned();
    let mut last = None;
    for (index, told) in statuses.iter().enumerate() {
        let (status, attempts) = told.split_once(':').unwrap_or((told, "1"));
        let id = format!("u{index}");
        let unit = ["--id", &id, "--status", status, "--attempts", attempts];
        last = test.run([&["emit", "--run", &run, "unit"][..], &unit].concat()).code;
    }
    last
}

/// A decision about a CI job.
fn rerun(test: &Loop, facts: &str) -> Option<i32> {
    write(test, "facts.json", facts);
    let now = ["--now", "2026-05-04T10:00:00Z"];
    let arguments = ["check", "--policy", "preset:rerun", "--facts", "facts.json"];
    test.run([&arguments[..], &now].concat()).code
}

fn rule(kind: &str, fields: &str, then: &str) -> String {
    format!("[[rule]]\nwhen = {{ type = \"{kind}\", {fields} }}\nthen = \"{then}\"\n")
}

/// A script that reports an event.
fn say(event: &str) -> String {
    format!("echo '::backstop {event}'")
}

fn write(test: &Loop, name: &str, content: &str) {
    std::fs::write(test.work().join(name), content).expect("it can be written");
}

fn repository(test: &Loop) {
    git(test, &["init", "-q"]);
    write(test, "README.md", "a project\n");
    commit(test);
}

/// Everything but what a scene left there as dirt.
fn commit(test: &Loop) {
    if test.exists(".git") {
        git(test, &["add", "--", "README.md"]);
        if test.exists("p.toml") {
            git(test, &["add", "--", "p.toml"]);
        }
        git(test, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    }
}

fn git(test: &Loop, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(words);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(test.work());
    assert!(command.output().expect("git").status.success(), "{words:?}");
}

/// Every reason and its exit code, as the binary tells them.
fn registry() -> Vec<(String, i32)> {
    let told = Loop::new().run(["reasons", "--json"]).exits(0);
    let all: Json = told.json();
    let list = all.as_array().expect("a list").clone();
    list.iter()
        .map(|reason| {
            let code = reason["code"].as_str().expect("a code").to_owned();
            let exit = reason["exit_code"].as_i64().expect("a number");
            (code, i32::try_from(exit).expect("small"))
        })
        .collect()
}

fn code_of(code: &str) -> Option<i32> {
    registry().into_iter().find(|(known, _)| known == code).map(|(_, exit)| exit)
}
