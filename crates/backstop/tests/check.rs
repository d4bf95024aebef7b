//! `backstop check`: one decision, from facts or events, in every form.

use serde_json::{Value as Json, json};

mod support;

use support::{NOW, Test, keys};

const MANIFEST: &str = "\
name: film
retry:
  stop_conditions:
    max_reject_rate: 0.3
";

/// Three of eight units are rejected.
fn units() -> String {
    let unit = |index: usize| {
        let status = if [2, 5, 7].contains(&index) { "rejected" } else { "approved" };
        let attempts = if [1, 5].contains(&index) { 2 } else { 1 };
        format!(
            "{}\n",
            json!({"type": "unit", "id": format!("u{index}"), "index": index, "status": status, "attempts": attempts})
        )
    };
    (0..8).map(unit).collect()
}

fn rejected_units() -> Test {
    Test::new().file("manifest.yaml", MANIFEST).file("run.jsonl", units())
}

const CHECK_UNITS: [&str; 7] =
    ["check", "--policy", "manifest.yaml", "--events", "run.jsonl", "--now", NOW];

/// A policy with one rule, and what it says of the facts.
#[track_caller]
fn one_rule(when: &str, then: &str, facts: &str) -> (i32, Json) {
    let policy =
        format!("[limits]\nunlimited = true\n[[rule]]\nwhen = {when}\nthen = \"{then}\"\n");
    decide("p.toml", &policy, facts)
}

#[track_caller]
fn decide(name: &str, policy: &str, facts: &str) -> (i32, Json) {
    let test = Test::new().file(name, policy).stdin(facts);
    let ended = test.run(["check", "--policy", name, "--facts", "-", "--json", "--now", NOW]);
    let json = ended.json();
    (ended.code.expect("an exit code"), json)
}

#[test]
fn the_report_fits_80_columns_and_reads_without_colour() {
    let ended = rejected_units().run(CHECK_UNITS).exits(42);
    insta::assert_snapshot!(ended.stdout, @r##"
    stop  reject_rate   Reject rate 37.5% exceeds 30% threshold

      circuit breaker    ████░░░░░░░░░░░░░░░░  10 of 50 attempts
      consecutive fails  ██████░░░░░░░░░░░░░░  1/3 failures in a row
      reject rate        ████████████████████  37.5% exceeds 30% threshold  ← fired
      retry rate         ██████████░░░░░░░░░░  25% of 50% (2 of 8 units)

    exit 42 · see `backstop reasons reject_rate` for what to do
    "##);
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_report_of_many_rules_fits_80_columns() {
    let facts = r#"{"context": {"used": 95, "limit": 100}, "error_rate": 0.3, "ended": 10,
                    "drift": 0.7, "iterations": 12}"#;
    let test = Test::new().stdin(facts);
    let ended = test.run(["check", "--policy", "preset:moderator", "--facts", "-", "--now", NOW]);
    insta::assert_snapshot!(ended.stdout, @"
    stop  error_rate   Error rate 30% has reached the 20% threshold

      max duration         ░░░░░░░░░░░  0s of 1day
      max tokens           ░░░░░░░░░░░  0 of 1,000,000 tokens
      tasks done           ░░░░░░░░░░░  No tasks are known
      error rate           ███████████  30% has reached the 20% threshold  ← fired
      diminishing returns  ░░░░░░░░░░░  Cycle 0/5
      stagnation-begins    ░░░░░░░░░░░  0s of 30m without progress
      stagnation           ░░░░░░░░░░░  0s of 1h without progress
      context usage        ███████████  Context is 95% full, the limit is 95%  ← met
      critical-errors      ░░░░░░░░░░░  0/3 errors in a row
      recoverable-errors   ░░░░░░░░░░░  0/3 errors in a row
      transient-errors     ░░░░░░░░░░░  0/3 errors in a row
      critical-error       ░░░░░░░░░░░  No such error in the last iteration
      topic drift          ███████████  Drift 70% exceeds 50% threshold  ← met
      health-critical      ░░░░░░░░░░░  Health 51.25%, the limit is 20%
      health-low           ░░░░░░░░░░░  Health 51.25%, the limit is 50%
      repetition-begins    ░░░░░░░░░░░  No repetition (score 0.00)
      repetition           ░░░░░░░░░░░  No repetition (score 0.00)

    also fired
      ask       topic_drift       Drift 70% exceeds 50% threshold
      recover   context_overflow  Context is 95% full, the limit is 95%

    exit 44 · see `backstop reasons error_rate` for what to do
    ");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(ended.code, Some(44));
}

#[test]
fn names_and_messages_of_any_length_fit_80_columns_too() {
    let name = "a-very-long-name-".repeat(9);
    let message = format!("{} and wide: {}", "long words ".repeat(20), "大".repeat(90));
    let policy = format!(
        "[limits]\nunlimited = true\n\
         [[rule]]\nwhen = {{ type = \"max_iterations\", count = 1 }}\nthen = \"stop\"\n\
         name = \"{name}\"\nmessage = \"{message}\\u001b[31m\"\n\
         [[rule]]\nwhen = {{ type = \"max_cost\", usd = 1 }}\nthen = \"warn\"\nmessage = \"{message}\"\n"
    );
    let test = Test::new().file("p.toml", policy).stdin(r#"{"iterations": 1, "cost_usd": 2}"#);
    let ended = test.run(["check", "--policy", "p.toml", "--facts", "-"]).exits(125);
    for line in ended.stdout.lines() {
        let columns: usize = line.chars().map(|sign| if sign == '大' { 2 } else { 1 }).sum();
        assert!(columns <= 80, "{columns}: {line}");
    }
    assert!(!ended.stdout.contains('\u{1b}'), "an escape of the policy's reaches the terminal");
}

#[test]
fn colour_comes_only_when_asked_for() {
    let coloured = rejected_units().run(CHECK_UNITS.into_iter().chain(["--color", "always"]));
    assert!(coloured.stdout.starts_with("\u{1b}["), "{}", coloured.stdout);
    let plain: String = {
        let mut inside = false;
        let keep = |sign: &char| {
            let shown = !inside && *sign != '\u{1b}';
            inside = if inside { *sign != 'm' } else { *sign == '\u{1b}' };
            shown
        };
        coloured.stdout.chars().filter(keep).collect()
    };
    let ended = rejected_units().run(CHECK_UNITS);
    assert_eq!(plain, ended.stdout);
    let never = rejected_units().run(CHECK_UNITS.into_iter().chain(["--color", "never"]));
    assert_eq!(never.stdout, ended.stdout);
    let json = rejected_units().run(CHECK_UNITS.into_iter().chain(["--color", "always", "--json"]));
    assert!(!json.stdout.contains('\u{1b}'));
}

#[test]
fn json_has_every_key_of_a_decision() {
    let ended = rejected_units().run(CHECK_UNITS.into_iter().chain(["--json"])).exits(42);
    assert_eq!(ended.stdout.lines().count(), 1);
    let decision = ended.json();
    assert_eq!(
        keys(&decision),
        [
            "verdict",
            "reason",
            "message",
            "rule",
            "value",
            "threshold",
            "next_step",
            "also_met",
            "progress",
            "unknown",
            "overall_progress",
            "policy_hash",
            "decided_at"
        ]
    );
    assert_eq!(decision["verdict"], "stop");
    assert_eq!(decision["reason"], "reject_rate");
    assert_eq!(decision["message"], "Reject rate 37.5% exceeds 30% threshold");
    assert_eq!(
        decision["rule"],
        json!({"index": 2, "name": "reject_rate", "when": "when the reject rate exceeds 30%"})
    );
    assert_eq!((&decision["value"], &decision["threshold"]), (&json!(0.375), &json!(0.3)));
    assert_eq!(decision["next_step"], "manual_review");
    assert_eq!((&decision["also_met"], &decision["unknown"]), (&json!([]), &json!([])));
    assert_eq!(decision["overall_progress"], 1.0);
    assert_eq!(decision["decided_at"], NOW);
    let hash = decision["policy_hash"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let progress = decision["progress"].as_array().unwrap();
    assert_eq!(progress.len(), 4);
    for (index, rule) in progress.iter().enumerate() {
        assert_eq!(keys(rule), ["rule", "name", "progress", "met", "note"]);
        assert_eq!(rule["rule"], index);
        assert!((0.0..=1.0).contains(&rule["progress"].as_f64().unwrap()));
        assert!(rule["note"].is_string() && rule["met"].is_boolean());
    }
}

#[test]
fn a_decision_to_go_on_has_no_reason_and_no_rule() {
    let (code, decision) = decide("p.toml", "[limits]\niterations = 50\n", r#"{"iterations": 20}"#);
    assert_eq!(code, 0);
    for key in ["reason", "rule", "value", "threshold"] {
        assert_eq!(decision[key], Json::Null, "{key}");
    }
    assert_eq!(
        (&decision["verdict"], &decision["next_step"]),
        (&json!("continue"), &json!("prompt"))
    );
    assert_eq!(decision["progress"][0]["note"], "Iteration 20/50");
    assert_eq!(decision["progress"][0]["progress"], 0.4);
    assert_eq!(decision["overall_progress"], 0.4);
}

#[test]
fn each_verdict_has_its_exit_code() {
    let when = r#"{ type = "max_iterations", count = 3 }"#;
    for (verdict, expected, reason) in [
        ("warn", 0, "max_iterations"),
        ("retry", 125, "max_iterations"),
        ("recover", 125, "max_iterations"),
        ("ask", 125, "max_iterations"),
        ("hold", 125, "max_iterations"),
        ("stop", 125, "max_iterations"),
        ("kill", 125, "max_iterations"),
        ("fail", 125, "max_iterations"),
        ("complete", 0, "completed"),
    ] {
        let (code, decision) = one_rule(when, verdict, r#"{"iterations": 3}"#);
        assert_eq!((code, decision["verdict"].as_str()), (expected, Some(verdict)));
        assert_eq!(decision["reason"], reason, "{verdict}");
        let (code, decision) = one_rule(when, verdict, r#"{"iterations": 2}"#);
        assert_eq!((code, decision["verdict"].as_str()), (0, Some("continue")), "{verdict}");
    }
}

#[test]
fn what_else_fired_is_listed_in_the_order_in_which_it_would_have_won() {
    let policy = r#"
        [limits]
        iterations = 5
        cost_usd = 1.0
        [[rule]]
        when = { type = "context_usage", at_least = 0.9 }
        then = "recover"
        [[rule]]
        when = { type = "max_tokens", count = 10 }
        then = "kill"
        shadow = true
        [[rule]]
        when = { type = "on_error" }
        then = "fail"
    "#;
    let facts = r#"{"iterations": 5, "cost_usd": 1.0, "tokens": 10, "context": {"used": 9, "limit": 10},
                    "last_error": {"message": "no space"}}"#;
    let (code, decision) = decide("p.toml", policy, facts);
    assert_eq!((code, &decision["reason"]), (12, &json!("error")));
    let also: Vec<_> = decision["also_met"].as_array().unwrap().iter().collect();
    let reasons: Vec<_> = also.iter().map(|other| other["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["max_iterations", "cost_limit", "context_overflow", "token_limit"]);
    assert_eq!(also.last().unwrap()["shadow"], true);
    for other in also {
        assert_eq!(
            keys(other),
            ["rule", "name", "verdict", "reason", "message", "value", "threshold", "shadow"]
        );
    }
}

#[test]
fn all_dialects_and_syntaxes_give_decisions() {
    let loop_ = json!({
        "conditions": [{"type": "max_duration", "duration": "1h 30m"}],
        "success_conditions": [{"type": "output_pattern", "pattern": "READY"}],
        "failure_conditions": [{"type": "file_created", "path": "x"}, {"type": "on_error", "pattern": "boom"}],
        "stop_on_first": false,
    })
    .to_string();
    let pipeline = r#"{"retry": {"stop_conditions": {"max_consecutive_fails": 2}}, "frames": []}"#;
    let rerun = r#"{"lawbookVersion": "7", "stopRules": {"maxRerunsPerJob": 1}}"#;
    let native = "limits:\n  iterations: 5\n";
    for (name, policy, facts, expected) in [
        ("loop.json", &*loop_, r#"{"active_ms": 5399999}"#, (0, "continue", None)),
        ("loop.json", &loop_, r#"{"active_ms": 5400000}"#, (124, "stop", Some("timeout"))),
        (
            "loop.json",
            &loop_,
            r#"{"active_ms": 5400000, "recent_output": "READY."}"#,
            (0, "complete", Some("completed")),
        ),
        (
            "loop.json",
            &loop_,
            r#"{"recent_output": "READY", "last_error": {"message": "a boom"}}"#,
            (12, "fail", Some("error")),
        ),
        ("loop.yaml", &loop_, r#"{"matched": ["READY"]}"#, (0, "complete", Some("completed"))),
        ("pipe.json", pipeline, r#"{"consecutive_fails": 1}"#, (0, "continue", None)),
        (
            "pipe.json",
            pipeline,
            r#"{"consecutive_fails": 2}"#,
            (41, "stop", Some("consecutive_fails")),
        ),
        (
            "pipe.json",
            pipeline,
            r#"{"consecutive_fails": 2, "attempts": 50}"#,
            (40, "stop", Some("circuit_breaker")),
        ),
        ("pipe.json", pipeline, r#"{"reject_rate": 0.3}"#, (0, "continue", None)),
        (
            "pipe.json",
            pipeline,
            r#"{"reject_rate": 0.31, "retry_rate": 0.6, "units": {"approved": 2}}"#,
            (42, "stop", Some("reject_rate")),
        ),
        ("law.json", rerun, r#"{"job_attempts": 1}"#, (50, "hold", Some("max_attempts"))),
        (
            "law.json",
            rerun,
            r#"{"failure_class": " Lint Error ", "job_attempts": 1}"#,
            (53, "hold", Some("non_retriable")),
        ),
        ("native.yaml", native, r#"{"iterations": 5}"#, (125, "stop", Some("max_iterations"))),
        ("native.yml", native, r#"{"iterations": 4}"#, (0, "continue", None)),
    ] {
        let (code, decision) = decide(name, policy, facts);
        let found = (code, decision["verdict"].as_str().unwrap(), decision["reason"].as_str());
        assert_eq!(found, expected, "{name} {facts}: {decision}");
    }
}

#[test]
fn facts_and_events_work_together() {
    let test = Test::new()
        .file("p.toml", "[limits]\niterations = 5\n")
        .file("facts.json", r#"{"iterations": 4}"#)
        .file("e.jsonl", finished(1));
    let call = ["check", "--policy", "p.toml", "--facts", "facts.json", "--json"];
    assert_eq!(test.run(call).exits(0).json()["verdict"], "continue");
    let both = test.run(call.into_iter().chain(["--events", "e.jsonl"])).exits(125).json();
    assert_eq!(both["value"], 5.0);
}

fn finished(iteration: u64) -> String {
    format!(
        "{}\n{}\n",
        json!({"type": "iteration_started", "iteration": iteration}),
        json!({"type": "iteration_finished", "iteration": iteration, "exit_code": 0, "timed_out": false, "duration_ms": 5}),
    )
}

#[test]
fn a_dash_is_standard_input() {
    let test = Test::new().file("p.toml", "[limits]\niterations = 2\n");
    let two = format!("{}{}", finished(1), finished(2));
    let events = ["check", "--policy", "p.toml", "--events", "-"];
    test.stdin(&two).run(events).exits(125);
    let policy = Test::new().stdin("[limits]\niterations = 2\n").file("e.jsonl", &two);
    policy.run(["check", "--policy", "-", "--events", "e.jsonl"]).exits(125);
    for syntax in [r#"{"limits": {"iterations": 2}}"#, "limits:\n  iterations: 2\n"] {
        let test = Test::new().stdin(syntax).file("e.jsonl", &two);
        test.run(["check", "--policy", "-", "--events", "e.jsonl"]).exits(125);
    }
}

#[test]
fn now_is_the_time_of_the_decision() {
    let facts = r#"{"last_changed_at": "2026-05-04T09:55:00Z"}"#;
    let test = Test::new().stdin(facts);
    let at = |now| {
        test.run(["check", "--policy", "preset:rerun", "--facts", "-", "--json", "--now", now])
    };
    at("2026-05-04T09:59:59.999Z").exits(56);
    at("2026-05-04T10:00:00Z").exits(0);
    let shifted = at("2026-05-04T11:59:59+02:00").exits(56).json();
    assert_eq!(shifted["decided_at"], "2026-05-04T09:59:59Z");
}

#[test]
fn events_out_of_order_in_time_never_turn_time_back() {
    let events = [
        r#"{"type": "iteration_started", "at": "2026-05-04T09:00:00Z", "iteration": 1}"#,
        r#"{"type": "progress", "at": "2026-05-04T09:30:00Z", "kind": "commit"}"#,
        r#"{"type": "progress", "at": "2026-05-04T08:00:00Z", "kind": "commit"}"#,
    ];
    let policy = "[limits]\nduration = \"30m\"\n";
    let test = Test::new().file("p.toml", policy).stdin(events.join("\n"));
    let call =
        |now| test.run(["check", "--policy", "p.toml", "--events", "-", "--json", "--now", now]);
    call("2026-05-04T09:30:00Z").exits(124);
    call("2026-05-04T08:00:00Z").exits(124);
}

#[test]
fn blank_lines_carriage_returns_and_a_byte_order_mark_are_harmless() {
    let policy = "[limits]\niterations = 1\n";
    let events = format!("\u{feff}\r\n\n   {}\n\n", finished(1).replace('\n', "\r\n"));
    let test = Test::new().file("p.toml", format!("\u{feff}{policy}")).stdin(events);
    test.run(["check", "--policy", "p.toml", "--events", "-"]).exits(125);
    let test = Test::new().stdin("\u{feff}{\"iterations\": 100}");
    test.run(["check", "--facts", "-"]).exits(125);
}

#[test]
fn numbers_that_overflow_are_held_at_the_largest() {
    let (code, decision) =
        decide("p.toml", "[limits]\ntokens = 1000\n", r#"{"tokens": 99999999999999999999999}"#);
    assert_eq!((code, &decision["reason"]), (127, &json!("token_limit")));
    let usage = r#"{"type": "usage", "input_tokens": 18446744073709551615, "output_tokens": 9e18}"#;
    let test = Test::new().stdin(format!("{usage}\n{usage}\n"));
    test.run(["check", "--policy", "preset:default", "--events", "-"]).exits(127);
    let policy = "[limits]\niterations = 99999999999999999999999\n";
    let (code, _) = decide("p.toml", policy, r#"{"iterations": 99999999999999999999999}"#);
    assert_eq!(code, 125);
}

#[test]
fn what_cannot_be_evaluated_is_said() {
    let policy = r#"
        [limits]
        unlimited = true
        [[rule]]
        when = { type = "expr", cel = "tokens / iterations > 5" }
        then = "stop"
        [[rule]]
        when = { type = "custom_script", script = "./done.sh" }
        then = "complete"
    "#;
    let (code, decision) = decide("p.toml", policy, "{}");
    let names: Vec<_> = decision["unknown"].as_array().unwrap().iter().collect();
    assert!(!names.is_empty(), "{decision}");
    for unknown in names {
        assert_eq!(keys(unknown), ["rule", "name", "why"]);
    }
    assert_eq!((code, &decision["verdict"]), (60, &json!("hold")));
    let test = Test::new().file("p.toml", policy);
    let shown = test.run(["check", "--policy", "p.toml"]).stdout;
    assert!(shown.contains("could not be evaluated\n  expr: "), "{shown}");
}

#[test]
fn a_cost_that_is_said_to_be_unknown_holds() {
    let policy = "[limits]\ncost_usd = 20.0\niterations = 100\n";
    for (facts, code, verdict) in [
        (r#"{"iterations": 1, "cost_known": false}"#, 128, "hold"),
        (r#"{"iterations": 0, "cost_known": false}"#, 0, "continue"),
        (r#"{"iterations": 1}"#, 0, "continue"),
        (r#"{"iterations": 1, "cost_usd": 20.0, "cost_known": true}"#, 128, "stop"),
    ] {
        let (found, decision) = decide("p.toml", policy, facts);
        assert_eq!((found, decision["verdict"].as_str()), (code, Some(verdict)), "{facts}");
    }
}

#[test]
fn own_reasons_and_messages_are_used() {
    let policy = r#"
        [limits]
        iterations = 100
        [[rule]]
        when = { type = "max_cost", usd = 2.5 }
        then = "stop"
        reason = "budget_owner_said_no"
        message = "ask Kim first"
        name = "money"
        [[reason]]
        code = "budget_owner_said_no"
        title = "Budget refused"
        exit_code = 61
        diagnosis = "Kim decides."
    "#;
    let (code, decision) = decide("p.toml", policy, r#"{"cost_usd": 2.5}"#);
    assert_eq!(code, 61);
    assert_eq!(decision["reason"], "budget_owner_said_no");
    assert_eq!(decision["message"], "ask Kim first");
    assert_eq!(decision["rule"]["name"], "money");
}

#[test]
fn the_nearest_policy_above_is_used_and_named() {
    let test = Test::new()
        .file("backstop.toml", "[limits]\niterations = 7\n")
        .folder("a/b")
        .within("a/b")
        .stdin(r#"{"iterations": 7}"#);
    let above = test.run(["check", "--facts", "-"]).exits(125);
    assert!(above.stderr.starts_with("policy: /") && above.stderr.ends_with("backstop.toml\n"));
    let test = test.file("a/b/backstop.toml", "[limits]\niterations = 8\n");
    let here = test.run(["check", "--facts", "-"]).exits(0);
    assert_eq!(here.stderr, "policy: backstop.toml\n");
    let named = test.run(["check", "--policy", "../../backstop.toml", "--facts", "-"]).exits(125);
    assert_eq!(named.stderr, "");
}

#[test]
fn a_policy_that_cannot_be_read_is_never_no_policy() {
    let test = Test::new().folder("a").within("a");
    std::os::unix::fs::symlink("nowhere", test.path().join("backstop.toml")).unwrap();
    test.run(["check"]).refused(66, &["backstop.toml"]);
    let test = Test::new().folder("backstop.toml");
    test.run(["check"]).exits(0);
}

#[test]
fn without_a_policy_preset_default_holds() {
    let test = Test::new().stdin(r#"{"iterations": 100}"#);
    let ended = test.run(["check", "--facts", "-", "--json", "--now", NOW]).exits(125);
    assert_eq!(ended.stderr, "policy: preset:default\n");
    let preset = ["check", "--policy", "preset:default", "--facts", "-", "--json", "--now", NOW];
    assert_eq!(test.run(preset).stdout, ended.stdout);
}

#[test]
fn a_policy_without_limits_gets_some_and_is_told_so() {
    let test = Test::new().file("p.toml", "").stdin(r#"{"iterations": 100}"#);
    let ended = test.run(["check", "--policy", "p.toml", "--facts", "-"]).exits(125);
    assert!(
        ended.stderr.starts_with("note: p.toml: no rule limits iterations"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1);
    let unlimited = test.file("p.toml", "[limits]\nunlimited = true\n");
    let ended = unlimited.run(["check", "--policy", "p.toml", "--facts", "-"]).exits(0);
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_same_question_has_the_same_answer_to_the_byte() {
    for form in [&[][..], &["--json"], &["--form", "rerun"]] {
        let call = || rejected_units().run(CHECK_UNITS.into_iter().chain(form.iter().copied()));
        assert_eq!(call(), call());
    }
}

#[test]
fn a_loop_may_break_when_the_work_is_complete() {
    let facts = r#"{"tests": {"passed": ["a"]}}"#;
    let policy = "[[rule]]\nwhen = { type = \"all_tests_pass\" }\nthen = \"complete\"\n";
    let test = Test::new().file("p.toml", policy).stdin(facts);
    let check = ["check", "--policy", "p.toml", "--facts", "-"];
    test.run(check).exits(0);
    test.run(check.into_iter().chain(["--break"])).exits(1);
    Test::new()
        .file("p.toml", policy)
        .stdin("{}")
        .run(check.into_iter().chain(["--break"]))
        .exits(0);
}

#[test]
fn a_question_about_nothing_or_about_the_past_is_remarked_on() {
    let ended = Test::new().run(["check", "--policy", "preset:default"]).exits(0);
    assert!(ended.stderr.contains("neither --facts nor --events"), "{}", ended.stderr);
    let old = r#"{"type": "iteration_started", "at": "2020-01-01T00:00:00Z"}"#;
    let test = Test::new().stdin(old);
    let ended = test.run(["check", "--policy", "preset:pipeline", "--events", "-"]);
    assert!(ended.stderr.contains("--now 2020-01-01T00:00:00Z"), "{}", ended.stderr);
}

#[test]
fn a_time_of_day_is_meant_in_the_zone_of_the_machine() {
    let zone = "Europe/Berlin";
    if !std::path::Path::new("/usr/share/zoneinfo").join(zone).exists() {
        println!("skipped: this machine has no time zone database");
        return;
    }
    let policy = "[limits]\nunlimited = true\n[[rule]]\nwhen = { type = \"wall_clock\", at = \"07:00\" }\nthen = \"stop\"\n";
    let started = r#"{"type": "run_started", "at": "2026-05-04T22:00:00Z"}"#;
    let at = |zone: &str, now: &str| {
        let test = Test::new().file("p.toml", policy).stdin(started).variable("TZ", zone);
        test.run(["check", "--policy", "p.toml", "--events", "-", "--json", "--now", now]).json()["verdict"].clone()
    };
    // It is 07:00 in Berlin at 05:00 in London.
    assert_eq!(at(zone, "2026-05-05T04:59:59Z"), "continue");
    assert_eq!(at(zone, "2026-05-05T05:00:00Z"), "stop");
    assert_eq!(at("UTC", "2026-05-05T05:00:00Z"), "continue");
}
