//! A policy's hash: the same for the same meaning, another for another.

use backstop_core::condition::Condition;
use backstop_core::document::{Syntax, to_toml};
use backstop_core::policy::{Policy, Preset};
use serde_json::{Value as Json, json};

fn load(text: &str, syntax: Syntax) -> Policy {
    Policy::load(text.as_bytes(), syntax)
        .unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
        .policy
}

fn toml(text: &str) -> String {
    load(text, Syntax::Toml).hash()
}

/// Writes a policy in every form, reads it again and compares.
fn assert_round_trip(policy: &Policy, name: &str) {
    let json = policy.to_json().to_string();
    let forms = [
        (policy.to_toml(), Syntax::Toml),
        (json.clone(), Syntax::Json),
        // JSON is YAML too.
        (json, Syntax::Yaml),
    ];
    for (text, syntax) in forms {
        let again = load(&text, syntax);
        assert_eq!(again.hash(), policy.hash(), "{name} as {}:\n{text}", syntax.name());
        assert_eq!(again.to_json(), policy.to_json(), "{name}");
        let rules = |policy: &Policy| {
            policy.all_rules().map(|rule| (rule.to_json(), rule.on_unknown)).collect::<Vec<_>>()
        };
        assert_eq!(rules(&again), rules(policy), "{name}");
        assert_eq!((again.order, again.dialect), (policy.order, policy.dialect), "{name}");
    }
}

#[test]
fn presets_survive_being_written() {
    for preset in Preset::ALL {
        let policy = Policy::preset(preset);
        assert_round_trip(&policy, preset.name());
        let named = load(&format!("preset = \"{}\"\n", preset.name()), Syntax::Toml);
        assert_round_trip(&named, preset.name());
    }
    assert_round_trip(
        &load("preset = [\"default\", \"ralph\", \"moderator\"]", Syntax::Toml),
        "all",
    );
}

#[test]
fn a_preset_is_its_own_document() {
    for preset in Preset::ALL {
        let rules = |policy: Policy| policy.to_json()["rule"].as_array().unwrap().len();
        assert_eq!(
            rules(Policy::preset(preset)),
            rules(load(preset.source(), Syntax::Toml)),
            "{}",
            preset.name()
        );
    }
}

#[test]
fn dialects_survive_being_written_in_the_native_form() {
    for text in [
        "conditions: [{ type: max_iterations, count: 5 }]\nfailure_conditions: [{ type: never }, { type: on_error }]\nsuccess_conditions: [{ type: all_tests_pass }]\nstop_on_first: true\n",
        "success_conditions: [{ type: custom_script, script: ./ok.sh, args: [b, a] }]\n",
        "conditions: []\n",
        "retry: {}\n",
        "retry: { stop_conditions: { max_retry_rate: 0, circuit_breaker_limit: 1 } }\n",
        "stopRules: {}\n",
        "lawbookVersion: 1.10\n",
        "lawbookVersion: v2\nstopRules: { maxWaitMinutesForGreen: 0.001, cooldownMinutes: 0 }\n",
    ] {
        assert_round_trip(&load(text, Syntax::Yaml), text);
    }
}

/// One condition of every type, with every field.
fn every_condition() -> Vec<Json> {
    let leaves = [
        json!({ "type": "on_error", "pattern": "quota" }),
        json!({ "type": "guard_violated", "kind": "protected" }),
        json!({ "type": "user_signal" }),
        json!({ "type": "worker", "status": "timed_out", "in_a_row": 2 }),
        json!({ "type": "exit_code", "any_of": [-1, 0, 255] }),
        json!({ "type": "wall_clock", "at": "07:00" }),
        json!({ "type": "wall_clock", "at": "2026-05-04T07:00:00.5Z" }),
        json!({ "type": "max_iterations", "count": 9_000_000_000_000_000_000_u64 }),
        json!({ "type": "max_duration", "duration": "1year 2months 3days 4h 5m 6s 7ms 8us 9ns" }),
        json!({ "type": "max_tokens", "count": 1, "cache_reads": true }),
        json!({ "type": "max_cost", "usd": 0.1 }),
        json!({ "type": "quota", "window": "5h \"quoted\"", "at_least": 0.333_333_333_333_333_3 }),
        json!({ "type": "max_attempts", "count": 3 }),
        json!({ "type": "consecutive_errors", "count": 3, "category": "transient" }),
        json!({ "type": "consecutive_fails", "count": 3 }),
        json!({ "type": "reject_rate", "above": 1.0, "min_units": 4 }),
        json!({ "type": "retry_rate", "above": 0.0, "min_units": 4 }),
        json!({ "type": "context_usage", "at_least": 0.95 }),
        json!({ "type": "error_rate", "at_least": 1e-7, "min_tasks": 5 }),
        json!({ "type": "test_failure_streak", "count": 5 }),
        json!({ "type": "no_progress", "iterations": 3 }),
        json!({ "type": "stagnation", "duration": "30m" }),
        json!({
            "type": "repetition", "sensitivity": "low", "repeat_pair": 2, "repeat_action": 3,
            "repeat_error": 4, "cycle": 5, "monologue": 6, "monologue_equal": 7, "empty": 8,
            "content_chant": 10,
            "compaction": 9, "novelty": 0.5, "score": 2.25, "max_wait": "1h", "max_wait_cost": 0.5
        }),
        json!({ "type": "failure_class", "any_of": ["b", "a"] }),
        json!({ "type": "job_attempts", "count": 2 }),
        json!({ "type": "total_attempts", "count": 5 }),
        json!({ "type": "no_signal_change", "cycles": 2 }),
        json!({ "type": "cooldown", "duration": "5m" }),
        json!({ "type": "unresolved", "duration": "1h" }),
        json!({ "type": "health", "below": 0.2 }),
        json!({ "type": "all_tests_pass" }),
        json!({ "type": "specific_tests_pass", "tests": ["z::é", "a \\ \n\t'x'"] }),
        json!({ "type": "verification", "outcome": "failed" }),
        json!({ "type": "review", "outcome": "changes_requested", "same_rounds": 3 }),
        json!({ "type": "tasks_done" }),
        json!({ "type": "diminishing_returns", "cycles": 4, "below": 0.05 }),
        json!({ "type": "topic_drift", "above": 0.5 }),
        json!({
            "type": "output_pattern", "pattern": "^D\\w+$", "is_regex": true, "in": "result",
            "since": "run"
        }),
        json!({ "type": "file_created", "path": "../x", "outside": true }),
        json!({ "type": "file_contains", "path": "/etc/x", "content": "\u{1}\u{7f}", "outside": true }),
        json!({
            "type": "custom_script", "script": "/bin/x", "args": ["b", "", "a"], "timeout": "10m",
            "every": "30s"
        }),
        json!({ "type": "expr", "cel": "iterations > 3" }),
    ];
    let mut all = leaves.to_vec();
    all.push(json!({ "type": "all", "conditions": leaves.to_vec() }));
    all.push(json!({ "type": "any", "conditions": [{ "type": "never" }] }));
    all.push(json!({ "type": "not", "condition": { "type": "never" } }));
    all.push(json!({ "type": "never" }));
    all
}

/// A policy that uses every key of the native form.
fn everything() -> Json {
    let verdicts = ["warn", "retry", "recover", "ask", "hold", "stop", "kill", "fail", "complete"];
    let rule = |(position, when): (usize, Json)| {
        json!({
            "name": format!("rule {position}"), "when": when, "then": verdicts[position % 9],
            "reason": (if position % 2 == 0 { "budget_owner_said_no" } else { "STAGNATION" }),
            "priority": -5, "message": "three\nlines\n\"of\" text", "shadow": position % 3 == 0,
            "on_unknown": (["hold", "ignore", "fire"][position % 3]),
        })
    };
    json!({
        "$schema": "https://example.org/policy.json",
        "preset": ["moderator", "ralph"],
        "label": "v1 \"é\"",
        "order": "priority",
        "stop_on_first": true,
        "limits": {
            "iterations": 50, "duration": "8h", "tokens": 1_000_000, "cost_usd": 20.0,
            "preflight": true, "unmetered": "hold", "unlimited": false
        },
        "rule": every_condition().into_iter().enumerate().map(rule).collect::<Vec<_>>(),
        "loop": {
            "iteration_timeout": "1h", "idle_timeout": "15m", "stop_signal": "SIGINT",
            "grace": "0s", "finish_within": "5m", "delay": "0s", "stdin": "PROMPT.md",
            "agent": "auto"
        },
        "verify": { "command": ["cargo", "test"], "timeout": "10m", "report": "junit:a.xml" },
        "progress": {
            "git": true, "tasks": ["PLAN.md", "A.md"], "files": true, "tests": true,
            "markers": ["[PROGRESS]"], "count": ["tree", "commit", "tests", "task"]
        },
        "guards": {
            "allow": ["src/**"], "deny": ["**/*.pem"], "lockfiles": "deny",
            "protect": ["tests/**", "check.sh"], "require_clean": true, "collisions": "allow",
            "revert": true
        },
        "intervention": { "timeout": "5m", "on_timeout": "hold" },
        "work": { "requirements": "SPEC.md", "task": "…" },
        "errors": { "critical": ["b", "a"], "transient": ["x"], "recoverable": ["y"] },
        "recover": { "context_max": 3 },
        "review": { "command": "./review.sh" },
        "drift": { "command": "./score.sh" },
        "notify": {
            "on": ["warn", "halted", "asked", "held"], "webhook": "https://example.org/",
            "command": ["notify-send", "backstop"], "secret_env": "SECRET", "allow_private": true,
            "max_per_hour": 5, "github": "off"
        },
        "reason": [{
            "code": "budget_owner_said_no", "title": "No", "exit_code": 61, "diagnosis": "…"
        }],
    })
}

#[test]
fn a_policy_of_every_key_and_condition_survives_being_written() {
    let document = everything();
    let named: std::collections::BTreeSet<_> =
        every_condition().iter().map(|when| when["type"].as_str().unwrap().to_owned()).collect();
    let all = Condition::TYPE_NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(named, all);
    assert_round_trip(&load(&document.to_string(), Syntax::Json), "everything");
}

#[test]
fn each_condition_survives_by_itself() {
    for when in every_condition() {
        let condition =
            Condition::from_json(&when).unwrap_or_else(|errors| panic!("{when}\n{errors:?}"));
        let again = Condition::from_json(&condition.to_json()).unwrap();
        assert_eq!((&again, again.key()), (&condition, condition.key()), "{when}");
    }
}

#[test]
fn numbers_at_the_border_survive() {
    for text in [
        "[limits]\niterations = 9223372036854775807\n",
        "[limits]\ntokens = 1e300\niterations = 1\n",
        "[limits]\ncost_usd = 5e-324\niterations = 1\n",
        "[limits]\ncost_usd = 1.7976931348623157e308\niterations = 1\n",
        "[limits]\nduration = \"1ns\"\n",
        "[limits]\nduration = \"500000000000years\"\n",
    ] {
        assert_round_trip(&load(text, Syntax::Toml), text);
    }
}

#[test]
fn syntax_key_order_and_formatting_do_not_matter() {
    let document = everything();
    let hash = load(&document.to_string(), Syntax::Json).hash();
    assert_eq!(load(&serde_json::to_string_pretty(&document).unwrap(), Syntax::Json).hash(), hash);
    assert_eq!(load(&document.to_string(), Syntax::Yaml).hash(), hash);
    assert_eq!(load(&to_toml(&document), Syntax::Toml).hash(), hash);
    assert_eq!(load(&reversed(&document).to_string(), Syntax::Json).hash(), hash);

    let inline =
        toml("[[rule]]\nwhen = { type = \"max_tokens\", count = 1000000 }\nthen = \"stop\"\n");
    let table = toml(
        "# a comment\n\n[[rule]]\nthen = 'stop'\n[rule.when]\ncount = 1_000_000\ntype = \"max_tokens\"\n",
    );
    let block =
        "rule:\n- then: stop # here too\n  when:\n    type: max_tokens\n    count: 1000000\n";
    assert_eq!(inline, table);
    assert_eq!(inline, load(block, Syntax::Yaml).hash());
}

/// The same document with the keys of every table in the opposite order.
fn reversed(value: &Json) -> Json {
    match value {
        Json::Object(map) => {
            map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect()
        }
        Json::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

/// Two documents that mean the same.
const EQUAL: &[(&str, &str)] = &[
    // Sets are sorted and have each member once.
    (
        r#"when = { type = "failure_class", any_of = ["b", "a"] }"#,
        r#"when = { type = "failure_class", any_of = ["a", "b", "a"] }"#,
    ),
    (
        r#"when = { type = "exit_code", any_of = [2, 1] }"#,
        r#"when = { type = "exit_code", any_of = [1, 2] }"#,
    ),
    (
        r#"when = { type = "specific_tests_pass", tests = ["b", "a"] }"#,
        r#"when = { type = "specific_tests_pass", tests = ["a", "b"] }"#,
    ),
    // A default that is written out is still the default.
    (
        r#"when = { type = "diminishing_returns" }"#,
        r#"when = { type = "diminishing_returns", cycles = 5, below = 0.1 }"#,
    ),
    (
        r#"when = { type = "reject_rate", above = 0.3 }"#,
        r#"when = { type = "reject_rate", above = 0.30, min_units = 1 }"#,
    ),
    (
        r#"when = { type = "topic_drift", above = 1 }"#,
        r#"when = { type = "topic_drift", above = 1.0 }"#,
    ),
    (
        r#"when = { type = "max_duration", duration = "90m" }"#,
        r#"when = { type = "max_duration", duration = "1h 30min" }"#,
    ),
    // A reason by its alias, in any case.
    (
        "when = { type = \"never\" }\nreason = \"no_progress\"",
        "when = { type = \"never\" }\nreason = \"STALLED\"",
    ),
    ("when = { type = \"never\" }\nshadow = false", "when = { type = \"never\" }"),
];

/// Two documents that do not.
const DIFFERENT: &[(&str, &str)] = &[
    (
        r#"when = { type = "max_iterations", count = 5 }"#,
        r#"when = { type = "max_iterations", count = 6 }"#,
    ),
    (
        r#"when = { type = "reject_rate", above = 0.3 }"#,
        r#"when = { type = "reject_rate", above = 0.3000001 }"#,
    ),
    (
        r#"when = { type = "max_duration", duration = "1s" }"#,
        r#"when = { type = "max_duration", duration = "1001ms" }"#,
    ),
    (
        r#"when = { type = "custom_script", script = "x", args = ["a", "b"] }"#,
        r#"when = { type = "custom_script", script = "x", args = ["b", "a"] }"#,
    ),
    ("when = { type = \"never\" }", "when = { type = \"never\" }\npriority = 1"),
    ("when = { type = \"never\" }", "when = { type = \"never\" }\nshadow = true"),
    ("when = { type = \"never\" }", "when = { type = \"never\" }\non_unknown = \"hold\""),
    (
        r#"when = { type = "any", conditions = [{ type = "never" }, { type = "user_signal" }] }"#,
        r#"when = { type = "any", conditions = [{ type = "user_signal" }, { type = "never" }] }"#,
    ),
];

fn rule(body: &str) -> String {
    toml(&format!("[[rule]]\nthen = \"stop\"\n{body}\n"))
}

#[test]
fn the_same_meaning_has_the_same_hash() {
    for (one, other) in EQUAL {
        assert_eq!(rule(one), rule(other), "{one}\n{other}");
    }
    let progress = |count: &str| toml(&format!("[progress]\ncount = {count}\n"));
    assert_eq!(progress("[\"tree\", \"commit\"]"), progress("[\"commit\", \"tree\"]"));
    let guards = |globs: &str| toml(&format!("[guards]\nallow = {globs}\nprotect = {globs}\n"));
    assert_eq!(guards("[\"b\", \"a\"]"), guards("[\"a\", \"b\", \"b\"]"));
    // Shorthand, a preset's expansion and the document that it stands for.
    assert_eq!(
        toml("[limits]\niterations = 5\n"),
        rule(r#"when = { type = "max_iterations", count = 5 }"#)
    );
}

#[test]
fn another_meaning_has_another_hash() {
    for (one, other) in DIFFERENT {
        assert_ne!(rule(one), rule(other), "{one}\n{other}");
    }
    assert_ne!(toml("label = \"a\"\n"), toml("label = \"b\"\n"));
    assert_ne!(toml("order = \"priority\"\n"), toml(""));
}
