//! Every condition of the specification's table: below, at and above its threshold.

mod budgets;
mod composites;
mod errors;
mod judging;
mod output;
mod people;
mod progress;
mod reruns;
mod units;

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use backstop_core::condition::Condition;
use backstop_core::verdict::Verdict;
use budgets::BUDGETS;
use composites::COMPOSITES;
use errors::ERRORS;
use judging::JUDGING;
use output::OUTPUT;
use people::PEOPLE;
use progress::PROGRESS;
use reruns::RERUNS;
use serde_json::json;
use support::Test;
use units::UNITS;

/// A condition, what the table says of it, and what it makes of some facts.
struct Case {
    when: &'static str,
    says: &'static str,
    priority: i32,
    reason: &'static str,
    looks: &'static [Look],
}

/// Facts, whether the condition is met by them, how far it is, and its value and threshold.
type Look = (&'static str, bool, f64, Option<(f64, f64)>);

const MET: bool = true;
const NOT: bool = false;

/// Conditions that a probe answers: their priority and what they say.
const PROBED: &[(&str, &str, i32)] = &[
    (r#"{"type": "file_created", "path": "out/done"}"#, "when 'out/done' exists", 40),
    (
        r#"{"type": "file_contains", "path": "a.txt", "content": "ok"}"#,
        "when 'a.txt' contains 'ok'",
        40,
    ),
    (
        r#"{"type": "custom_script", "script": "/usr/bin/check"}"#,
        "when the script '/usr/bin/check' succeeds",
        30,
    ),
];

const FAMILIES: [&[Case]; 9] =
    [BUDGETS, UNITS, ERRORS, PROGRESS, RERUNS, JUDGING, PEOPLE, OUTPUT, COMPOSITES];

fn rule(when: &str) -> String {
    let when = when.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    format!("[limits]\nunlimited = true\n[[rule]]\nwhen = {when}\nthen = \"stop\"\n")
}

#[rstest::rstest]
#[case::budgets(BUDGETS)]
#[case::units(UNITS)]
#[case::errors(ERRORS)]
#[case::progress(PROGRESS)]
#[case::reruns(RERUNS)]
#[case::judging(JUDGING)]
#[case::people(PEOPLE)]
#[case::output(OUTPUT)]
#[case::composites(COMPOSITES)]
fn each_condition_does_what_the_table_says(#[case] cases: &[Case]) {
    for Case { when, says, priority, reason, looks } in cases {
        let policy = rule(when);
        assert_eq!(Test::policy(&policy).engine.policy().rules[0].priority(), *priority, "{when}");
        for (facts, met, progress, figures) in *looks {
            let place = format!("{when} on {facts}");
            let mut test = Test::policy(&policy).facts(facts);
            let decision = test.decide();
            let own = &decision.progress[0];
            assert_eq!(own.met, *met, "{place}");
            assert!((own.progress - progress).abs() < 1e-6, "{place}: {}", own.progress);
            assert!(!own.note.is_empty(), "{place}");
            if !met {
                assert_eq!(
                    (decision.verdict, decision.reason),
                    (Verdict::Continue, None),
                    "{place}"
                );
                continue;
            }
            assert_eq!(decision.verdict, Verdict::Stop, "{place}");
            assert_eq!(decision.reason.as_deref(), Some(*reason), "{place}");
            let won = decision.rule.expect("a rule won");
            assert_eq!((won.index, won.when.as_str()), (0, *says), "{place}");
            if let Some((value, threshold)) = figures {
                assert_eq!(decision.value, Some(*value), "{place}");
                assert_eq!(decision.threshold, Some(*threshold), "{place}");
            }
        }
    }
}

#[test]
fn the_description_is_the_same_whether_met_or_not() {
    for Case { when, says, .. } in FAMILIES.into_iter().flatten() {
        let test = Test::policy(&rule(when));
        assert_eq!(test.engine.policy().rules[0].when.describe(), *says);
    }
}

#[test]
fn probes_answer_files_and_scripts() {
    for (json, says, priority) in PROBED {
        let condition = Condition::from_json(&serde_json::from_str(json).unwrap()).unwrap();
        assert_eq!((condition.describe().as_str(), condition.priority()), (*says, *priority));
        let policy = rule(&json.replace("\":", "\" ="));
        for (answer, met, unknown) in
            [(json!(true), true, false), (json!(false), false, false), (json!(null), false, true)]
        {
            let facts = json!({ "probes": { condition.key(): answer } }).to_string();
            let decision = Test::policy(&policy).facts(&facts).decide();
            assert_eq!(decision.verdict == Verdict::Stop, met, "{json} {answer}");
            assert_eq!(!decision.unknown.is_empty(), unknown, "{json} {answer}");
            assert_eq!(decision.progress[0].progress, f64::from(u8::from(met)), "{json} {answer}");
            if met {
                assert_eq!(decision.reason.as_deref(), Some("condition_met"));
            }
        }
        let unasked = Test::policy(&policy).facts("{}").decide();
        assert_eq!((unasked.verdict, unasked.unknown.len()), (Verdict::Continue, 0), "{json}");
    }
}

#[test]
fn the_tables_leave_no_condition_out() {
    let shown = FAMILIES.into_iter().flatten().map(|case| case.when);
    let probed = PROBED.iter().map(|(json, ..)| *json);
    let named: BTreeSet<_> = shown
        .chain(probed)
        .map(|when| when.split('"').find(|part| is_type(part)).unwrap())
        .collect();
    assert_eq!(named, Condition::TYPE_NAMES.iter().copied().collect());
}

fn is_type(word: &str) -> bool {
    Condition::TYPE_NAMES.contains(&word)
}

#[rstest::rstest]
#[case(r#"{"guards": ["lockfile"]}"#, "lockfile_violation")]
#[case(r#"{"guards": ["dirty"]}"#, "dirty_worktree")]
#[case(r#"{"guards": ["collision"]}"#, "file_collision")]
fn a_guard_of_any_kind_gives_that_kinds_reason(#[case] facts: &str, #[case] reason: &str) {
    let policy = rule(r#"{ type = "guard_violated" }"#);
    assert_eq!(Test::policy(&policy).facts(facts).decide().reason.as_deref(), Some(reason));
}

#[test]
fn errors_in_a_row_are_a_critical_failure_if_the_latest_is_critical() {
    let policy = rule(r#"{ type = "consecutive_errors", count = 2 }"#);
    let facts = r#"{"consecutive_errors": 2, "last_error": {"category": "critical"}}"#;
    let decision = Test::policy(&policy).facts(facts).decide();
    // The rule that every policy implies is the more severe one.
    assert_eq!(
        (decision.verdict, decision.reason.as_deref()),
        (Verdict::Fail, Some("critical_failure"))
    );
    assert_eq!(decision.also_met[0].reason, "critical_failure");
}

#[test]
fn a_verdict_of_complete_is_completed_whatever_the_condition() {
    for Case { when, looks, .. } in FAMILIES.into_iter().flatten() {
        let Some((facts, ..)) = looks.iter().find(|(_, met, ..)| *met) else { continue };
        // Guards and workers have rules that settings imply, which win over a completion.
        let policy = rule(when).replace("\"stop\"\n", "\"complete\"\nreason = \"completed\"\n");
        let implicit = policy.replace("reason = \"completed\"\n", "");
        for policy in [policy, implicit] {
            let decision = Test::policy(&policy).facts(facts).decide();
            let reasons = decision.also_met.iter().map(|also| also.reason.as_str());
            let all: Vec<_> = decision.reason.as_deref().into_iter().chain(reasons).collect();
            assert!(all.contains(&"completed"), "{when} on {facts}: {all:?}");
        }
    }
}

#[rstest::rstest]
#[case(r#"{ type = "max_iterations", count = 50 }"#, r#"{"iterations": 20}"#, "Iteration 20/50")]
#[case(
    r#"{ type = "test_failure_streak", count = 5 }"#,
    r#"{"test_failure_streak": 3}"#,
    "3/5 failures"
)]
#[case(
    r#"{ type = "reject_rate", above = 0.3 }"#,
    r#"{"reject_rate": 0.375}"#,
    "Reject rate 37.5% exceeds 30% threshold"
)]
#[case(r#"{ type = "all_tests_pass" }"#, r#"{"tests": {"passed": ["a"]}}"#, "The only test passes")]
#[case(
    r#"{ type = "all_tests_pass" }"#,
    r#"{"tests": {"passed": ["a", "b"]}}"#,
    "All 2 tests pass"
)]
#[case(
    r#"{ type = "specific_tests_pass", tests = ["a", "b", "c", "d", "e"] }"#,
    r#"{"tests": {"passed": ["c"]}}"#,
    "1/5 named tests pass, missing: a, b, d and 1 more"
)]
#[case(
    r#"{ type = "any", conditions = [{ type = "never" }, { type = "topic_drift", above = 0.5 }] }"#,
    r#"{"drift": 0.75}"#,
    "Drift 75% exceeds 50% threshold"
)]
fn a_result_says_why_in_one_sentence(#[case] when: &str, #[case] facts: &str, #[case] note: &str) {
    let decision = Test::policy(&rule(when)).facts(facts).decide();
    assert_eq!(decision.progress[0].note, note);
}

#[test]
fn the_detector_that_reads_actions_is_the_one_that_facts_state() {
    let action =
        r#"{"type": "action", "signature": "ls", "kind": "bash", "result_signature": "a"}"#;
    let policy = rule(r#"{ type = "repetition", repeat_pair = 4 }"#);
    for (times, verdict) in [(3, Verdict::Continue), (4, Verdict::Stop)] {
        let lines = vec![action; times].join("\n");
        assert_eq!(Test::policy(&policy).events(&lines).decide().verdict, verdict, "{times}");
    }
}
