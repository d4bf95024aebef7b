//! What a person has seen or changed is not asked again: acknowledgements, raises, silent meters.

mod support;

use backstop_core::verdict::Verdict;
use support::Test;

const NOTHING: &str = "[limits]\nunlimited = true\n";

/// A policy of one rule that stops, and nothing else.
fn stop_when(when: &str) -> String {
    format!("{NOTHING}[[rule]]\nwhen = {{ {when} }}\nthen = \"stop\"\n")
}

fn verdict(policy: &str, lines: &str) -> Verdict {
    Test::policy(policy).events(lines).decide().verdict
}

fn lines(events: &[&str]) -> String {
    events.join("\n")
}

const STARTED: &str = r#"{"type": "iteration_started"}"#;
const ERROR: &str = r#"{"type": "error", "category": "transient", "message": "boom"}"#;
const EXIT_0: &str = r#"{"type": "iteration_finished", "exit_code": 0}"#;
const TESTS_FAIL: &str = r#"{"type": "tests", "passed": ["a"], "failed": ["b"]}"#;
const RESUMED: &str = r#"{"type": "resumed"}"#;

/// What makes each streak, and the rule on it.
const STREAKS: &[(&str, &str, &[&str])] = &[
    ("no_progress", "type = \"no_progress\", iterations = 2", &[EXIT_0, EXIT_0]),
    ("consecutive_errors", "type = \"consecutive_errors\", count = 2", &[ERROR, ERROR]),
    (
        "consecutive_fails",
        "type = \"consecutive_fails\", count = 2",
        &[
            r#"{"type": "unit", "id": "a", "status": "failed"}"#,
            r#"{"type": "unit", "id": "b", "status": "rejected"}"#,
        ],
    ),
    ("test_failure_streak", "type = \"test_failure_streak\", count = 2", &[TESTS_FAIL, TESTS_FAIL]),
    (
        "repetition",
        "type = \"repetition\", repeat_pair = 4",
        &[r#"{"type": "action", "signature": "ls", "kind": "bash", "result_signature": "a"}"#; 4],
    ),
    (
        "worker",
        "type = \"worker\", status = \"blocked\"",
        &[STARTED, r#"{"type": "worker", "status": "blocked"}"#, EXIT_0],
    ),
    (
        "same_rounds",
        "type = \"review\", outcome = \"changes_requested\", same_rounds = 2",
        &[r#"{"type": "review", "outcome": "changes_requested", "hash": "h"}"#; 2],
    ),
    ("signal", "type = \"user_signal\"", &[r#"{"type": "signal", "kind": "stop"}"#]),
    (
        "guards",
        "type = \"guard_violated\", kind = \"protected\"",
        &[r#"{"type": "guard", "kind": "protected", "files": ["check.sh"]}"#],
    ),
    (
        "stagnation",
        "type = \"stagnation\", duration = \"1h\"",
        &[
            r#"{"type": "run_started", "at": "2026-05-04T08:00:00Z"}"#,
            r#"{"type": "iteration_started", "at": "2026-05-04T09:30:00Z"}"#,
        ],
    ),
];

#[test]
fn an_acknowledged_streak_is_not_asked_twice() {
    for (name, when, made_by) in STREAKS {
        let policy = stop_when(when);
        let made_by = lines(made_by);
        let fired = format!(r#"{{"type": "decision", "verdict": "stop", "streaks": ["{name}"]}}"#);
        assert_eq!(verdict(&policy, &made_by), Verdict::Stop, "{name}");
        for acknowledged in [
            r#"{"type": "resumed"}"#,
            r#"{"type": "released"}"#,
            r#"{"type": "answered", "answer": "continue"}"#,
        ] {
            let seen = lines(&[&made_by, &fired, acknowledged]);
            assert_eq!(verdict(&policy, &seen), Verdict::Continue, "{name} {acknowledged}");
            // It counts from there on: a second time is asked again.
            if *name != "stagnation" {
                let again = lines(&[&seen, &made_by]);
                assert_eq!(verdict(&policy, &again), Verdict::Stop, "{name} {acknowledged}");
            }
        }
        let other = if *name == "signal" { "worker" } else { "signal" };
        let other = format!(r#"{{"type": "decision", "verdict": "stop", "streaks": ["{other}"]}}"#);
        let unseen = lines(&[&made_by, &other, RESUMED]);
        assert_eq!(verdict(&policy, &unseen), Verdict::Stop, "{name}: another rule fired");
        let crashed = lines(&[&made_by, r#"{"type": "decision", "verdict": "continue"}"#, RESUMED]);
        assert_eq!(verdict(&policy, &crashed), Verdict::Stop, "{name}: nobody looked");
        let twice = lines(&[&fired, RESUMED, &made_by, RESUMED]);
        if *name != "stagnation" {
            assert_eq!(verdict(&policy, &twice), Verdict::Stop, "{name}: acknowledged before");
        }
    }
}

#[test]
fn conditions_name_the_streaks_that_an_acknowledgement_sets_back() {
    for (name, when, _) in STREAKS {
        let test = Test::policy(&stop_when(when));
        let names: Vec<_> = test.engine.policy().rules[0].when.streaks().names().collect();
        assert_eq!(names, [*name]);
    }
}

#[test]
fn a_total_or_a_rate_must_be_raised() {
    let stopped = r#"{"type": "decision", "verdict": "stop"}"#;
    for (when, made_by, raise) in [
        (
            "type = \"max_iterations\", count = 2",
            lines(&[EXIT_0, EXIT_0]),
            [r#""limit": "iterations", "value": 3"#, r#""limit": "max_iterations", "value": 3"#],
        ),
        (
            "type = \"max_tokens\", count = 10",
            r#"{"type": "usage", "input_tokens": 10}"#.to_owned(),
            [r#""limit": "tokens", "value": 11"#, r#""limit": "token_limit", "value": 11"#],
        ),
        (
            "type = \"max_cost\", usd = 1.0",
            r#"{"type": "usage", "cost_usd": 1.0}"#.to_owned(),
            [r#""limit": "cost_usd", "value": 1.1"#, r#""limit": "COST_LIMIT", "value": 2"#],
        ),
        (
            "type = \"max_duration\", duration = \"1h\"",
            r#"{"type": "run_started", "active_ms": 3600000}"#.to_owned(),
            [r#""limit": "duration", "value": "2h""#, r#""limit": "max_duration", "value": "61m""#],
        ),
        (
            "type = \"reject_rate\", above = 0.3",
            r#"{"type": "unit", "id": "a", "status": "rejected"}"#.to_owned(),
            [r#""limit": "reject_rate", "value": 1.0"#, r#""limit": "reject-rate", "value": 1"#],
        ),
        (
            "type = \"max_attempts\", count = 3",
            r#"{"type": "unit", "id": "a", "status": "in_progress", "attempts": 3}"#.to_owned(),
            [
                r#""limit": "circuit_breaker", "value": 4"#,
                r#""limit": "circuit_breaker", "value": 99"#,
            ],
        ),
    ] {
        let policy = stop_when(when);
        let resumed = lines(&[&made_by, stopped, RESUMED]);
        assert_eq!(verdict(&policy, &resumed), Verdict::Stop, "{when}");
        for raise in raise {
            let raised = format!(r#"{{"type": "raised", {raise}, "by": "me", "why": "more"}}"#);
            assert_eq!(
                verdict(&policy, &lines(&[&resumed, &raised])),
                Verdict::Continue,
                "{raise}"
            );
            assert_eq!(
                verdict(&policy, &lines(&[&raised, &made_by])),
                Verdict::Continue,
                "{raise}"
            );
            let elsewhere = raised.replacen("\"limit\": \"", "\"limit\": \"x", 1);
            assert_eq!(verdict(&policy, &lines(&[&made_by, &elsewhere])), Verdict::Stop, "{raise}");
        }
    }
}

#[test]
fn a_rule_with_a_reason_of_its_own_is_raised_by_that_name() {
    let policy =
        format!("{}reason = \"stalled\"\n", stop_when("type = \"max_iterations\", count = 1"));
    let raise = |limit: &str| format!(r#"{{"type": "raised", "limit": "{limit}", "value": 5}}"#);
    assert_eq!(verdict(&policy, &lines(&[EXIT_0, &raise("iterations")])), Verdict::Stop);
    assert_eq!(verdict(&policy, &lines(&[EXIT_0, &raise("no_progress")])), Verdict::Continue);
}

#[test]
fn a_silent_meter_holds_with_its_limits_own_reason() {
    let used = r#"{"type": "usage", "input_tokens": 1}"#;
    let paid = r#"{"type": "usage", "input_tokens": 1, "cost_usd": 0.1}"#;
    let tokens = stop_when("type = \"max_tokens\", count = 10");
    let cost = stop_when("type = \"max_cost\", usd = 10.0");
    for (policy, events, reason) in [
        (&tokens, lines(&[]), None),
        (&tokens, lines(&[STARTED]), None),
        (&tokens, lines(&[STARTED, EXIT_0]), Some("token_limit")),
        (&tokens, lines(&[STARTED, used, EXIT_0]), None),
        (&tokens, lines(&[STARTED, used, EXIT_0, STARTED, EXIT_0]), Some("token_limit")),
        (&cost, lines(&[STARTED, EXIT_0]), Some("cost_limit")),
        (&cost, lines(&[STARTED, used, EXIT_0]), Some("cost_limit")),
        (&cost, lines(&[STARTED, paid, EXIT_0]), None),
    ] {
        let decision = Test::policy(policy).events(&events).decide();
        assert_eq!(decision.reason.as_deref(), reason, "{events}");
        let expected = if reason.is_some() { Verdict::Hold } else { Verdict::Continue };
        assert_eq!(decision.verdict, expected, "{events}");
        assert_eq!(decision.unknown.len(), usize::from(reason.is_some()), "{events}");
        // A question about stated facts takes silence for nothing used.
        let asked = Test::policy(policy).facts("{}").events(&events).decide();
        assert_eq!((asked.verdict, asked.unknown.len()), (Verdict::Continue, 0), "{events}");
    }
    for allowed in [
        "[limits]\ntokens = 10\nunlimited = true\nunmetered = \"allow\"\n".to_owned(),
        "preset = \"default\"\n".to_owned(),
        format!("{tokens}[[rule]]\nwhen = {{ type = \"max_cost\", usd = 1.0 }}\nthen = \"ask\"\n")
            .replace("unlimited", "unmetered = \"allow\"\nunlimited"),
        stop_when("type = \"any\", conditions = [{ type = \"max_cost\", usd = 1.0 }]")
            .replace("unlimited", "unmetered = \"allow\"\nunlimited"),
    ] {
        let decision = Test::policy(&allowed).events(&lines(&[STARTED, EXIT_0])).decide();
        assert_eq!(decision.verdict, Verdict::Continue, "{allowed}");
        assert!(!decision.unknown.is_empty(), "{allowed}: it is still told");
    }
}

#[test]
fn who_stopped_an_iteration_and_resumes_knows_that_it_could_not_tell() {
    let stop = r#"{"type": "signal", "kind": "stop"}"#;
    let killed = r#"{"type": "iteration_finished", "signal": 15}"#;
    let decided = r#"{"type": "decision", "verdict": "stop", "reason": "user_stopped"}"#;
    let cost = stop_when("type = \"max_cost\", usd = 10.0");
    let stopped = [STARTED, stop, killed, decided];
    let resumed = [&stopped[..], &[RESUMED]].concat();
    assert_eq!(verdict(&cost, &lines(&stopped)), Verdict::Stop);
    assert_eq!(verdict(&cost, &lines(&resumed)), Verdict::Continue);
    // The next one tells, or holds the run.
    let silent = [&resumed[..], &[STARTED, EXIT_0]].concat();
    assert_eq!(verdict(&cost, &lines(&silent)), Verdict::Hold);
    // It ended by itself, while the stop let it finish, or ran out of its time.
    let timed_out = r#"{"type": "iteration_finished", "signal": 15, "timed_out": true}"#;
    for end in [EXIT_0, r#"{"type": "iteration_finished", "exit_code": 1}"#, timed_out] {
        let finished = [STARTED, stop, end, decided, RESUMED];
        assert_eq!(verdict(&cost, &lines(&finished)), Verdict::Hold, "{end}");
    }
    // It died of something else, and was stopped only then.
    let died = [STARTED, killed, stop, decided, RESUMED];
    assert_eq!(verdict(&cost, &lines(&died)), Verdict::Hold);
    // Nobody stopped this one.
    let held = r#"{"type": "decision", "verdict": "hold", "reason": "cost_limit"}"#;
    let unseen = [STARTED, EXIT_0, held, RESUMED];
    assert_eq!(verdict(&cost, &lines(&unseen)), Verdict::Hold);
}

#[test]
fn money_spent_before_the_meter_fell_silent_is_spent() {
    let spent = r#"{"type": "usage", "input_tokens": 10}"#;
    let events = lines(&[STARTED, spent, EXIT_0, STARTED, EXIT_0]);
    assert_eq!(verdict(&stop_when("type = \"max_tokens\", count = 10"), &events), Verdict::Stop);
}
