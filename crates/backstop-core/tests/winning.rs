//! Which of several rules wins, and what happens to those that can't be evaluated.

mod support;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::verdict::Verdict;
use serde_json::json;
use support::Test;

const UNLIMITED: &str = "[limits]\nunlimited = true\n";

/// Rules that are met by `ALL_MET`, each by its verdict and further keys.
fn rules(rules: &[(&str, &str)]) -> String {
    let rule = |(position, (then, more)): (usize, &(&str, &str))| {
        let when =
            if more.contains("when = ") { "" } else { "when = { type = \"user_signal\" }\n" };
        format!("[[rule]]\nname = \"{position}\"\n{when}then = \"{then}\"\n{more}\n")
    };
    format!("{UNLIMITED}{}", rules.iter().enumerate().map(rule).collect::<String>())
}

const ALL_MET: &str = r#"{"signal": "stop"}"#;

fn decide(policy: &str) -> Decision {
    Test::policy(policy).facts(ALL_MET).decide()
}

fn winner(decision: &Decision) -> Option<&str> {
    decision.rule.as_ref().map(|rule| rule.name.as_str())
}

fn also_met(decision: &Decision) -> Vec<&str> {
    decision.also_met.iter().map(|also| also.name.as_str()).collect()
}

#[test]
fn the_most_severe_verdict_wins_whatever_its_priority_and_place() {
    let levels: [&[&str]; 6] = [
        &["fail", "kill"],
        &["complete"],
        &["stop"],
        &["ask", "hold"],
        &["recover", "retry"],
        &["warn"],
    ];
    for (higher, severe) in levels.iter().enumerate() {
        for mild in &levels[higher + 1..] {
            for (severe, mild) in
                severe.iter().flat_map(|one| mild.iter().map(move |two| (*one, *two)))
            {
                let (low, high) = ("priority = 1", "priority = 99");
                let first = decide(&rules(&[(severe, low), (mild, high)]));
                let last = decide(&rules(&[(mild, high), (severe, low)]));
                assert_eq!(
                    (first.verdict.as_str(), last.verdict.as_str()),
                    (severe, severe),
                    "{mild}"
                );
                assert_eq!(first.also_met[0].verdict.as_str(), mild);
                assert_eq!(
                    first.also_met[0].reason,
                    match mild {
                        "complete" => "completed",
                        _ => "user_stopped",
                    }
                );
            }
        }
    }
}

#[test]
fn inside_one_level_the_higher_priority_then_the_first_declared_wins() {
    for (one, other) in [("fail", "kill"), ("ask", "hold"), ("recover", "retry"), ("stop", "stop")]
    {
        let by_priority = decide(&rules(&[(one, "priority = 5"), (other, "priority = 6")]));
        assert_eq!((by_priority.verdict.as_str(), winner(&by_priority)), (other, Some("1")));
        let by_place = decide(&rules(&[(one, "priority = 5"), (other, "priority = 5")]));
        assert_eq!((by_place.verdict.as_str(), winner(&by_place)), (one, Some("0")));
        let negative = decide(&rules(&[(one, "priority = -6"), (other, "priority = -5")]));
        assert_eq!(winner(&negative), Some("1"));
    }
    // Without a priority of its own a rule has its condition's: drift 55, iterations 80.
    let drift = "when = { type = \"topic_drift\", above = 0.1 }";
    let count = "when = { type = \"max_iterations\", count = 1 }";
    let decision = Test::policy(&rules(&[("stop", drift), ("stop", count)]))
        .facts(r#"{"drift": 0.5, "iterations": 2}"#)
        .decide();
    assert_eq!((winner(&decision), also_met(&decision)), (Some("1"), vec!["0"]));
}

#[test]
fn by_priority_severity_does_not_count() {
    let two = rules(&[("fail", "priority = 1"), ("warn", "priority = 2")]);
    assert_eq!(decide(&two).verdict, Verdict::Fail);
    for key in ["order = \"priority\"", "stop_on_first = true"] {
        let decision = decide(&format!("{key}\n{two}"));
        assert_eq!((decision.verdict, also_met(&decision)), (Verdict::Warn, vec!["0"]), "{key}");
    }
    let tie = rules(&[("warn", "priority = 2"), ("fail", "priority = 2")]);
    assert_eq!(decide(&format!("order = \"priority\"\n{tie}")).verdict, Verdict::Warn);
    assert_eq!(decide(&format!("order = \"severity\"\n{two}")).verdict, Verdict::Fail);
}

#[test]
fn the_last_allowed_iteration_may_be_a_success_but_not_a_failure() {
    let limit = "when = { type = \"max_iterations\", count = 3 }";
    let tests = "when = { type = \"all_tests_pass\" }";
    let code = "when = { type = \"exit_code\", any_of = [9] }";
    let policy = rules(&[("stop", limit), ("complete", tests), ("fail", code)]);
    let on = |facts: &str| {
        let decision = Test::policy(&policy).facts(facts).decide();
        (decision.verdict, decision.reason)
    };
    let facts = r#"{"iterations": 3, "tests": {"passed": ["a"]}}"#;
    assert_eq!(on(facts), (Verdict::Complete, Some("completed".into())));
    assert_eq!(on(r#"{"iterations": 3}"#), (Verdict::Stop, Some("max_iterations".into())));
    let facts = r#"{"iterations": 3, "tests": {"passed": ["a"]}, "exit_code": 9}"#;
    assert_eq!(on(facts), (Verdict::Fail, Some("condition_met".into())));
}

#[test]
fn also_met_lists_the_others_in_the_order_in_which_they_would_win() {
    let decision = decide(&rules(&[
        ("warn", ""),
        ("stop", "priority = 1"),
        ("stop", "priority = 2\nmessage = \"mine\"\nreason = \"stalled\""),
        ("hold", ""),
        ("stop", "when = { type = \"never\" }"),
        ("kill", "shadow = true"),
    ]));
    assert_eq!(winner(&decision), Some("2"));
    assert_eq!((decision.message.as_str(), decision.reason.as_deref()), ("mine", Some("stalled")));
    assert_eq!(also_met(&decision), ["1", "3", "0", "5"]);
    let shadows: Vec<_> = decision.also_met.iter().map(|also| also.shadow).collect();
    assert_eq!(shadows, [false, false, false, true]);
    let met: Vec<_> = decision.progress.iter().map(|rule| (rule.rule, rule.met)).collect();
    assert_eq!(met, [(0, true), (1, true), (2, true), (3, true), (4, false), (5, true)]);
}

#[test]
fn a_shadow_rule_is_shown_and_never_acted_on() {
    let watched = "shadow = true\nwhen = { type = \"exit_code\", any_of = [7] }";
    let decision = Test::policy(&rules(&[("fail", watched)])).facts(r#"{"exit_code": 7}"#).decide();
    assert_eq!((decision.verdict, decision.reason.as_deref()), (Verdict::Continue, None));
    assert_eq!(also_met(&decision), ["0"]);
    assert!(decision.progress[0].met);
    assert_eq!(decision.overall_progress, 0.0);
}

#[test]
fn a_shadow_rule_stands_in_for_nobody() {
    let policy = "preset = \"default\"\n[[rule]]\nwhen = { type = \"max_iterations\", count = 10 }\nthen = \"stop\"\nshadow = true\n";
    let decide = |facts| Test::policy(policy).facts(facts).decide();
    assert_eq!(decide(r#"{"iterations": 50}"#).verdict, Verdict::Continue);
    assert_eq!(decide(r#"{"iterations": 100}"#).verdict, Verdict::Stop);
}

#[test]
fn overall_progress_is_the_nearest_end() {
    let limit = "when = { type = \"max_iterations\", count = 10 }";
    let drift = "when = { type = \"topic_drift\", above = 0.5 }";
    let policy = rules(&[("stop", limit), ("ask", drift)]);
    let overall = |facts| Test::policy(&policy).facts(facts).decide().overall_progress;
    assert_eq!(overall("{}"), 0.0);
    assert_eq!(overall(r#"{"iterations": 4, "drift": 0.1}"#), 0.4);
    assert_eq!(overall(r#"{"iterations": 4, "drift": 0.3}"#), 0.6);
    assert_eq!(overall(r#"{"iterations": 10}"#), 1.0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    No,
    Unknown,
    Yes,
}
use Answer::{No, Unknown, Yes};

/// A script that a probe has answered, as TOML and as its entry in the facts.
fn script(name: &str, answer: Answer) -> (String, (String, serde_json::Value)) {
    let condition = json!({ "type": "custom_script", "script": name });
    let key = Condition::from_json(&condition).expect("a condition").key();
    let met = match answer {
        No => json!(false),
        Unknown => json!(null),
        Yes => json!(true),
    };
    (format!("{{ type = \"custom_script\", script = \"{name}\" }}"), (key, met))
}

fn judged(when: &str, probes: Vec<(String, serde_json::Value)>, on_unknown: &str) -> Decision {
    let more = format!("when = {when}\non_unknown = \"{on_unknown}\"");
    let probes: serde_json::Map<_, _> = probes.into_iter().collect();
    Test::policy(&rules(&[("stop", &more)]))
        .facts(&json!({ "probes": probes }).to_string())
        .decide()
}

#[test]
fn composites_use_three_valued_logic() {
    let answers = [No, Unknown, Yes];
    for one in answers {
        for other in answers {
            let (first, probe) = script("a", one);
            let (second, other_probe) = script("b", other);
            let probes = vec![probe, other_probe];
            for (name, expected) in [("all", one.min(other)), ("any", one.max(other))] {
                let when = format!("{{ type = \"{name}\", conditions = [{first}, {second}] }}");
                expect(&when, &probes, expected);
                let inverse = match expected {
                    No => Yes,
                    Unknown => Unknown,
                    Yes => No,
                };
                expect(&format!("{{ type = \"not\", condition = {when} }}"), &probes, inverse);
            }
        }
    }
}

/// Holds a condition's answer against each way of dealing with the unknown.
fn expect(when: &str, probes: &[(String, serde_json::Value)], answer: Answer) {
    let verdicts = match answer {
        No => [Verdict::Continue; 3],
        Unknown => [Verdict::Hold, Verdict::Continue, Verdict::Stop],
        Yes => [Verdict::Stop; 3],
    };
    for (on_unknown, verdict) in ["hold", "ignore", "fire"].into_iter().zip(verdicts) {
        let decision = judged(when, probes.to_vec(), on_unknown);
        assert_eq!(decision.verdict, verdict, "{when} {on_unknown}");
        assert_eq!(!decision.unknown.is_empty(), answer == Unknown, "{when}");
        assert_eq!(decision.progress[0].met, answer == Yes, "{when}");
        if verdict != Verdict::Continue {
            assert_eq!(decision.reason.as_deref(), Some("condition_met"), "{when}");
        }
    }
}

#[test]
fn what_could_not_be_evaluated_is_listed_with_its_cause() {
    let (when, probe) = script("./check.sh", Unknown);
    let decision = judged(&when, vec![probe], "ignore");
    assert_eq!(decision.unknown[0].name, "0");
    assert_eq!(decision.unknown[0].why, "Could not run './check.sh'");
}

#[test]
fn the_default_for_the_unknown_depends_on_who_wrote_what() {
    // Not evaluable: there are no tests to look into.
    let expr = "{ type = \"expr\", cel = \"tests.passed[0] == 'a'\" }";
    let (file, probe) = script("a", Unknown);
    let facts = json!({ "probes": { probe.0: probe.1 } }).to_string();
    for (when, then, verdict) in [
        (expr, "stop", Verdict::Hold),
        (expr, "kill", Verdict::Hold),
        (expr, "fail", Verdict::Hold),
        (expr, "ask", Verdict::Continue),
        (expr, "warn", Verdict::Continue),
        (expr, "complete", Verdict::Continue),
        (expr, "recover", Verdict::Continue),
        (&file, "stop", Verdict::Continue),
        (&file, "fail", Verdict::Continue),
    ] {
        let more = format!("when = {when}\nreason = \"stalled\"\nmessage = \"mine\"");
        let decision = Test::policy(&rules(&[(then, &more)])).facts(&facts).decide();
        assert_eq!(decision.verdict, verdict, "{when} {then}");
        assert_eq!(decision.unknown.len(), 1, "{when} {then}");
        if verdict == Verdict::Hold {
            // The hold has the rule's reason, and says why it holds.
            assert_eq!(decision.reason.as_deref(), Some("stalled"));
            assert_ne!(decision.message, "mine");
        }
    }
}

const FULL: &str = r#"{"type": "context", "used": 96, "limit": 100}"#;
const RECOVERED: &str = r#"{"type": "recovered", "kind": "context"}"#;

#[test]
fn a_full_context_is_recovered_from_so_often_and_then_stops() {
    let rule = rules(&[("recover", "when = { type = \"context_usage\", at_least = 0.95 }")]);
    for (settings, most) in [("", 3), ("[recover]\ncontext_max = 1\n", 1)] {
        let policy = format!("{rule}{settings}");
        let after = |recoveries: usize, more: &str| {
            let lines = [vec![RECOVERED; recoveries], vec![more, FULL]].concat().join("\n");
            let decision = Test::policy(&policy).events(&lines).decide();
            assert_eq!(decision.reason.as_deref(), Some("context_overflow"));
            decision
        };
        assert_eq!(after(most - 1, "").verdict, Verdict::Recover);
        let exhausted = after(most, "");
        assert_eq!((exhausted.verdict, exhausted.also_met.len()), (Verdict::Stop, 0));
        assert!(exhausted.message.contains("fresh start"), "{}", exhausted.message);
        assert_eq!((exhausted.value, exhausted.threshold), (Some(0.96), Some(0.95)));
        assert_eq!(after(most + 5, "").verdict, Verdict::Stop);
        // Progress gives the recoveries back.
        assert_eq!(
            after(most, r#"{"type": "progress", "kind": "other"}"#).verdict,
            Verdict::Recover
        );
    }
}

#[test]
fn the_moderator_recovers_from_stagnation_once_and_then_stops() {
    let after = |minutes: u64, more: &str| {
        let stale =
            format!(r#"{{"type": "iteration_started", "active_ms": {}}}"#, minutes * 60_000);
        let decision =
            Test::policy("preset = \"moderator\"\n").events(&format!("{more}\n{stale}")).decide();
        (decision.verdict, decision.reason.unwrap_or_default())
    };
    let stalled = |verdict| (verdict, "stalled".to_owned());
    let recovered = r#"{"type": "recovered", "kind": "stagnation", "active_ms": 1800000}"#;
    let progress = r#"{"type": "progress", "kind": "other", "active_ms": 2000000}"#;
    assert_eq!(after(29, "").0, Verdict::Continue);
    assert_eq!(after(30, ""), stalled(Verdict::Recover));
    assert_eq!(after(31, recovered).0, Verdict::Continue);
    assert_eq!(after(59, recovered).0, Verdict::Continue);
    assert_eq!(after(60, recovered), stalled(Verdict::Stop));
    assert_eq!(after(60, ""), stalled(Verdict::Stop));
    // After progress it may recover once more.
    assert_eq!(after(60, &format!("{recovered}\n{progress}")).0, Verdict::Continue);
    assert_eq!(after(64, &format!("{recovered}\n{progress}")), stalled(Verdict::Recover));
}

#[rstest::rstest]
#[case(r#"{"tokens": 999999}"#, "continue", "")]
#[case(r#"{"tokens": 1000000}"#, "stop", "token_limit")]
#[case(r#"{"active_ms": 86400000, "progress_age_ms": 0}"#, "stop", "timeout")]
#[case(r#"{"ended": 4, "errored": 4}"#, "continue", "")]
#[case(r#"{"ended": 5, "errored": 1}"#, "stop", "error_rate")]
#[case(r#"{"cycles": 5, "improvement": 0.09}"#, "stop", "diminishing_returns")]
#[case(r#"{"cycles": 5, "improvement": 0.10}"#, "continue", "")]
#[case(r#"{"context": {"used": 95, "limit": 100}}"#, "recover", "context_overflow")]
#[case(r#"{"consecutive_errors": 3, "last_error": {"category": "recoverable"}}"#, "ask", "error")]
#[case(r#"{"consecutive_errors": 3, "last_error": {"category": "transient"}}"#, "retry", "error")]
#[case(r#"{"consecutive_errors": 2, "last_error": {"category": "transient"}}"#, "continue", "")]
#[case(
    r#"{"consecutive_errors": 1, "last_error": {"category": "critical"}}"#,
    "fail",
    "critical_failure"
)]
#[case(r#"{"drift": 0.5}"#, "continue", "")]
#[case(r#"{"drift": 0.51}"#, "ask", "topic_drift")]
#[case(r#"{"health": 0.5}"#, "continue", "")]
#[case(r#"{"health": 0.49}"#, "warn", "health_critical")]
#[case(r#"{"health": 0.19}"#, "stop", "health_critical")]
#[case(r#"{"tasks": {"total": 1, "done": 1}}"#, "complete", "completed")]
fn the_moderator_decides(#[case] facts: &str, #[case] verdict: &str, #[case] reason: &str) {
    let decision = Test::policy("preset = \"moderator\"\n").facts(facts).decide();
    assert_eq!(decision.verdict.as_str(), verdict);
    assert_eq!(decision.reason.unwrap_or_default(), reason);
}

#[rstest::rstest]
#[case(r#"{"guards": ["scope"]}"#, "fail", "guard_violation", 2)]
#[case(r#"{"guards": ["protected"]}"#, "fail", "guard_violation", 2)]
#[case(r#"{"guards": ["lockfile"]}"#, "fail", "lockfile_violation", 3)]
#[case(r#"{"guards": ["dirty"]}"#, "fail", "dirty_worktree", 4)]
#[case(r#"{"guards": ["collision"]}"#, "fail", "file_collision", 5)]
#[case(r#"{"worker": "blocked"}"#, "hold", "worker_blocked", 30)]
#[case(r#"{"worker": "failed"}"#, "fail", "worker_failed", 31)]
#[case(r#"{"worker": "timed_out"}"#, "continue", "", 0)]
#[case(r#"{"worker": "rate_limited"}"#, "continue", "", 0)]
#[case(
    r#"{"consecutive_errors": 1, "last_error": {"category": "critical"}}"#,
    "fail",
    "critical_failure",
    13
)]
#[case(r#"{"verification": "failed"}"#, "continue", "", 0)]
fn settings_imply_rules(
    #[case] facts: &str,
    #[case] verdict: &str,
    #[case] reason: &str,
    #[case] exit_code: u8,
) {
    let mut test = Test::policy(UNLIMITED).facts(facts);
    let decision = test.decide();
    assert_eq!(decision.verdict.as_str(), verdict);
    assert_eq!(decision.exit_code(test.engine.policy()), exit_code);
    assert_eq!(decision.reason.unwrap_or_default(), reason);
}

#[test]
fn a_rule_with_the_same_reason_replaces_an_implied_one() {
    let blocked = "when = { type = \"worker\", status = \"blocked\" }";
    let decision =
        Test::policy(&rules(&[("warn", blocked)])).facts(r#"{"worker": "blocked"}"#).decide();
    assert_eq!((decision.verdict, decision.also_met.len()), (Verdict::Warn, 0));
    let guards = "when = { type = \"guard_violated\" }";
    let decision =
        Test::policy(&rules(&[("ask", guards)])).facts(r#"{"guards": ["dirty"]}"#).decide();
    assert_eq!((decision.verdict, decision.also_met.len()), (Verdict::Ask, 0));
}

#[test]
fn a_decision_has_the_figures_of_the_rule_that_won() {
    let policy =
        rules(&[("stop", "when = { type = \"reject_rate\", above = 0.3, min_units = 8 }")]);
    let mut test = Test::policy(&policy).facts(r#"{"units": {"approved": 5, "rejected": 3}}"#);
    let decision: serde_json::Value = serde_json::from_str(&test.decide().to_json()).unwrap();
    let hash = test.engine.policy_hash();
    assert_eq!(decision["verdict"], "stop");
    assert_eq!(decision["message"], "Reject rate 37.5% exceeds 30% threshold");
    assert_eq!(decision["rule"]["when"], "when the reject rate exceeds 30% over at least 8 units");
    assert_eq!((&decision["value"], &decision["threshold"]), (&json!(0.375), &json!(0.3)));
    assert_eq!(decision["next_step"], "manual_review");
    assert_eq!(decision["policy_hash"], hash);
    assert_eq!(decision["decided_at"], support::NOW);
    assert!(hash.starts_with("sha256:") && hash.len() == 71);
}
