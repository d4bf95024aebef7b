//! What each event does to the facts, seen through their stable names and through decisions.

mod support;

use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind};
use backstop_core::verdict::Verdict;
use serde_json::{Value as Json, json};
use support::{NOW, Test};

const NOTHING: &str = "[limits]\nunlimited = true\n";

/// A policy of one rule that stops, and nothing else.
fn stop_when(when: &str) -> String {
    format!("{NOTHING}[[rule]]\nwhen = {{ {when} }}\nthen = \"stop\"\n")
}

/// Folds events under a policy without rules.
fn fold(lines: &str) -> Test {
    let mut test = Test::policy(NOTHING).events(lines);
    test.decide();
    test
}

fn fact(test: &Test, pointer: &str) -> Json {
    let facts = test.engine.view().to_json();
    facts.pointer(pointer).unwrap_or_else(|| panic!("no fact {pointer} in {facts:#}")).clone()
}

fn verdict(policy: &str, lines: &str) -> Verdict {
    Test::policy(policy).events(lines).decide().verdict
}

/// Events, a fact by its pointer, and its value after them.
type Row = (&'static str, &'static str, fn() -> Json);

const EACH_TYPE: &[Row] = &[
    (r#"{"type": "run_started", "run": "r", "total_units": 9}"#, "/units/total", || json!(9)),
    (
        r#"{"type": "context", "used": 5, "limit": 10}
           {"type": "iteration_started", "iteration": 1}"#,
        "/context",
        || json!({ "used": 0, "limit": 0 }),
    ),
    (r#"{"type": "iteration_finished", "exit_code": 3}"#, "/iterations", || json!(1)),
    (r#"{"type": "iteration_finished", "exit_code": 3}"#, "/exit_code", || json!(3)),
    (r#"{"type": "matched", "key": "k", "pattern": "DONE"}"#, "/matched", || json!(["DONE"])),
    (
        r#"{"type": "unit", "id": "a", "status": "approved", "attempts": 2}"#,
        "/units",
        || json!({ "total": 1, "attempted": 1, "approved": 1, "rejected": 0, "failed": 0 }),
    ),
    (
        r#"{"type": "tests", "passed": ["b", "a"], "failed": ["c"], "skipped": ["d"]}"#,
        "/tests",
        || json!({ "passed": ["a", "b"], "failed": ["c"], "skipped": ["d"] }),
    ),
    (
        r#"{"type": "usage", "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 4,
            "cache_write_tokens": 8, "cost_usd": 0.5}"#,
        "/tokens_by",
        || json!({ "input": 1, "output": 2, "cache_read": 4, "cache_write": 8 }),
    ),
    (
        r#"{"type": "context", "used": 5, "limit": 10}"#,
        "/context",
        || json!({ "used": 5, "limit": 10 }),
    ),
    (
        r#"{"type": "error", "category": "transient", "message": "reset", "signature": "s"}"#,
        "/last_error",
        || json!({ "category": "transient", "message": "reset", "signature": "s" }),
    ),
    (
        r#"{"type": "iteration_finished", "exit_code": 0}
           {"type": "progress", "kind": "commit"}"#,
        "/iterations_since_progress",
        || json!(0),
    ),
    (
        r#"{"type": "tasks", "total": 4, "done": 1, "queued": 2, "phase": "improvement",
            "improvements": 3}"#,
        "/tasks",
        || json!({ "total": 4, "done": 1, "queued": 2, "phase": "improvement", "improvements": 3 }),
    ),
    (r#"{"type": "cycle", "metrics": {"coverage": 0.5}}"#, "/cycles", || json!(1)),
    (r#"{"type": "action", "signature": "ls", "kind": "bash"}"#, "/repetition/kind", || {
        json!(null)
    }),
    (r#"{"type": "probe", "key": "sha256:ab", "met": null}"#, "/probes", || json!({ "ab": null })),
    (
        r#"{"type": "failure_signal", "hash": "h", "class": "lint error"}"#,
        "/failure_signals",
        || json!(["h"]),
    ),
    (r#"{"type": "failure_signal", "hash": "h", "class": "lint error"}"#, "/failure_class", || {
        json!("lint error")
    }),
    (r#"{"type": "guard", "kind": "scope", "files": ["a"]}"#, "/guards", || json!(["scope"])),
    (r#"{"type": "verification", "outcome": "timed_out"}"#, "/verification", || json!("timed_out")),
    (
        r#"{"type": "review", "outcome": "changes_requested", "hash": "h"}"#,
        "/review",
        || json!({ "outcome": "changes_requested", "same_rounds": 1 }),
    ),
    (r#"{"type": "worker", "status": "blocked"}"#, "/worker", || json!("blocked")),
    (r#"{"type": "quota", "window": "5h", "used": 0.5}"#, "/quota", || json!({ "5h": 0.5 })),
    (r#"{"type": "drift", "score": 0.25}"#, "/drift", || json!(0.25)),
    (r#"{"type": "signal", "kind": "pause"}"#, "/signal", || json!("pause")),
    (
        r#"{"type": "signal", "kind": "stop"}
           {"type": "resumed"}"#,
        "/signal",
        || json!(null),
    ),
    (
        r#"{"type": "iteration_finished", "exit_code": 0}
           {"type": "asked", "question": "q"}
           {"type": "answered", "question": "q", "answer": "continue"}"#,
        "/iterations_since_progress",
        || json!(0),
    ),
    (
        r#"{"type": "guard", "kind": "scope"}
           {"type": "held"}
           {"type": "released"}"#,
        "/guards",
        || json!([]),
    ),
    (
        r#"{"type": "run_started", "at": "2026-05-04T09:00:00Z"}
           {"type": "suspended", "ms": 600000, "at": "2026-05-04T09:20:00Z"}"#,
        "/active_ms",
        || json!(3_000_000),
    ),
    (
        r#"{"type": "run_started", "at": "2026-05-04T09:00:00Z"}
           {"type": "halted", "at": "2026-05-04T09:20:00Z"}"#,
        "/active_ms",
        || json!(1_200_000),
    ),
    // These are heard and change no fact of their own.
    (r#"{"type": "raised", "limit": "iterations", "value": 9}"#, "/iterations", || json!(0)),
    (r#"{"type": "recovered", "kind": "context"}"#, "/iterations", || json!(0)),
    (r#"{"type": "decision", "verdict": "warn", "reason": "repetition"}"#, "/signal", || {
        json!(null)
    }),
    (r#"{"type": "noted", "what": "swept", "detail": "sleep"}"#, "/iterations", || json!(0)),
];

#[test]
fn each_event_is_folded() {
    for (lines, pointer, expected) in EACH_TYPE {
        // An event may be written over several lines here; in a stream it is one.
        let lines = lines.replace(",\n", ", ");
        assert_eq!(fact(&fold(&lines), pointer), expected(), "{lines}");
    }
    for name in EventKind::TYPE_NAMES {
        let written = format!("\"type\": \"{name}\"");
        assert!(
            EACH_TYPE.iter().any(|(lines, ..)| lines.contains(&written)),
            "{name} is not shown"
        );
    }
}

const STARTED: &str = r#"{"type": "iteration_started"}"#;
const ERROR: &str = r#"{"type": "error", "category": "transient", "message": "boom"}"#;
const EXIT_0: &str = r#"{"type": "iteration_finished", "exit_code": 0}"#;
const EXIT_1: &str = r#"{"type": "iteration_finished", "exit_code": 1}"#;
const KILLED: &str = r#"{"type": "iteration_finished", "signal": 15}"#;
const TIMED_OUT: &str = r#"{"type": "iteration_finished", "exit_code": 0, "timed_out": true}"#;
const PROGRESS: &str = r#"{"type": "progress", "kind": "commit"}"#;
const APPROVED: &str = r#"{"type": "unit", "id": "a", "status": "approved"}"#;
const TASK_DONE: &str = r#"{"type": "tasks", "total": 3, "done": 0}
{"type": "tasks", "total": 3, "done": 1}"#;
const TESTS_PASS: &str = r#"{"type": "tests", "passed": ["a"]}"#;
const TESTS_FAIL: &str = r#"{"type": "tests", "passed": ["a"], "failed": ["b"]}"#;
const RATE_LIMITED: &str = r#"{"type": "worker", "status": "rate_limited"}"#;

fn lines(events: &[&str]) -> String {
    events.join("\n")
}

#[rstest::rstest]
#[case::clean(&[STARTED, EXIT_0], false, 0)]
#[case::bad_exit(&[STARTED, EXIT_1], true, 1)]
#[case::signal(&[STARTED, KILLED], true, 1)]
#[case::timed_out(&[STARTED, TIMED_OUT], true, 1)]
#[case::error_and_bad_exit_are_one(&[STARTED, ERROR, EXIT_1], true, 1)]
#[case::two_errors(&[STARTED, ERROR, ERROR, EXIT_0], true, 2)]
#[case::error_without_success(&[STARTED, ERROR, EXIT_0], true, 1)]
#[case::error_then_progress(&[STARTED, ERROR, PROGRESS, EXIT_0], false, 0)]
#[case::error_then_approval(&[STARTED, ERROR, APPROVED, EXIT_0], false, 0)]
#[case::error_then_passing_tests(&[STARTED, ERROR, TESTS_PASS, EXIT_0], false, 0)]
#[case::error_then_failing_tests(&[STARTED, ERROR, TESTS_FAIL, EXIT_0], true, 1)]
#[case::progress_then_error(&[STARTED, PROGRESS, ERROR, EXIT_0], true, 1)]
#[case::progress_does_not_excuse_a_bad_exit(&[STARTED, ERROR, PROGRESS, EXIT_1], true, 0)]
#[case::the_next_clean_one_resets(&[STARTED, EXIT_1, STARTED, EXIT_0], false, 0)]
#[case::a_row(&[STARTED, EXIT_1, STARTED, EXIT_1], true, 2)]
#[case::stop_ended_it(&[STARTED, r#"{"type": "signal", "kind": "stop"}"#, KILLED], false, 0)]
#[case::pause_ended_it(&[STARTED, r#"{"type": "signal", "kind": "pause"}"#, KILLED], false, 0)]
#[case::recovery_ended_it(&[STARTED, r#"{"type": "recovered", "kind": "context"}"#, KILLED], false, 0)]
#[case::a_stop_verdict_ended_it(&[STARTED, r#"{"type": "decision", "verdict": "stop"}"#, KILLED], false, 0)]
#[case::it_ended_by_itself_after_a_stop_verdict(
    &[STARTED, r#"{"type": "decision", "verdict": "stop"}"#, EXIT_1], true, 1)]
#[case::it_ran_out_of_its_time_after_a_stop_verdict(&[STARTED,
    r#"{"type": "decision", "verdict": "stop"}"#,
    r#"{"type": "iteration_finished", "signal": 15, "timed_out": true}"#], true, 1)]
#[case::a_warning_did_not(&[STARTED, r#"{"type": "decision", "verdict": "warn"}"#, KILLED], true, 1)]
#[case::only_that_one_is_excused(
    &[STARTED, r#"{"type": "signal", "kind": "stop"}"#, KILLED, STARTED, KILLED], true, 1)]
#[case::rate_limit(&[STARTED, RATE_LIMITED, EXIT_1], false, 0)]
#[case::rate_limit_is_no_success(
    &[STARTED, EXIT_1, STARTED, RATE_LIMITED, EXIT_0, STARTED, EXIT_1], true, 2)]
fn an_iteration_ends_in_error_or_not(
    #[case] events: &[&str],
    #[case] error_now: bool,
    #[case] in_a_row: u64,
) {
    let test = fold(&lines(events));
    assert_eq!(fact(&test, "/error_now"), json!(error_now));
    assert_eq!(fact(&test, "/consecutive_errors"), json!(in_a_row));
}

#[test]
fn a_bad_exit_makes_a_recoverable_error() {
    let test = fold(&lines(&[STARTED, EXIT_1]));
    assert_eq!(fact(&test, "/last_error/message"), json!("exit status 1"));
    assert_eq!(fact(&test, "/last_error/category"), json!("recoverable"));
}

#[test]
fn an_error_belongs_to_its_iteration() {
    let policy = stop_when("type = \"on_error\"");
    assert_eq!(verdict(&policy, ERROR), Verdict::Stop);
    assert_eq!(verdict(&policy, &lines(&[STARTED, ERROR, EXIT_0])), Verdict::Stop);
    assert_eq!(verdict(&policy, &lines(&[STARTED, EXIT_1, STARTED])), Verdict::Continue);
    // Even where nobody says when iterations start.
    assert_eq!(verdict(&policy, &lines(&[EXIT_1])), Verdict::Stop);
    assert_eq!(verdict(&policy, &lines(&[EXIT_1, EXIT_0])), Verdict::Continue);
}

#[test]
fn a_critical_error_fails_at_once_and_a_rate_counts_units_where_there_are_any() {
    let critical = r#"{"type": "error", "category": "critical", "message": "no space left"}"#;
    let decision = Test::policy(NOTHING).events(critical).decide();
    assert_eq!(decision.verdict, Verdict::Fail);
    assert_eq!(decision.reason.as_deref(), Some("critical_failure"));

    let test = fold(&lines(&[STARTED, EXIT_1, STARTED, EXIT_0]));
    assert_eq!(fact(&test, "/error_rate"), json!(0.5));
    let test = fold(&lines(&[STARTED, EXIT_1, APPROVED]));
    assert_eq!((fact(&test, "/error_rate"), fact(&test, "/ended")), (json!(0.0), json!(1)));
    let failed = r#"{"type": "unit", "id": "b", "status": "failed"}"#;
    let test = fold(&lines(&[APPROVED, failed]));
    assert_eq!((fact(&test, "/error_rate"), fact(&test, "/errored")), (json!(0.5), json!(1)));
}

#[test]
fn tokens_are_added_up_without_cache_reads_and_saturate() {
    let some = r#"{"type": "usage", "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 400, "cache_write_tokens": 8}"#;
    let test = fold(&lines(&[some, some]));
    assert_eq!((fact(&test, "/tokens"), fact(&test, "/cost_known")), (json!(22), json!(false)));
    let most = r#"{"type": "usage", "input_tokens": 18446744073709551615, "output_tokens": 1e30}"#;
    let test = fold(&lines(&[some, most, most]));
    // A fact is a signed number where expressions read it.
    assert_eq!(fact(&test, "/tokens"), json!(i64::MAX));
    let rich = r#"{"type": "usage", "cost_usd": 1e300}"#;
    assert!(fact(&fold(&lines(&[rich, rich])), "/cost_usd").as_f64().unwrap().is_finite());
}

#[test]
fn units_are_counted_once_by_their_last_status() {
    let unit = |id: &str, status: &str, attempts: u64| {
        format!(r#"{{"type": "unit", "id": "{id}", "status": "{status}", "attempts": {attempts}}}"#)
    };
    let events = [
        unit("a", "pending", 0),
        unit("a", "in_progress", 1),
        unit("a", "rejected", 1),
        unit("a", "in_progress", 2),
        unit("a", "approved", 2),
        unit("b", "failed", 1),
        unit("c", "rejected", 3),
        unit("d", "in_progress", 1),
        unit("e", "pending", 0),
    ];
    let test = fold(&events.join("\n"));
    assert_eq!(
        fact(&test, "/units"),
        json!({ "total": 4, "attempted": 4, "approved": 1, "rejected": 1, "failed": 1 })
    );
    assert_eq!(fact(&test, "/attempts"), json!(7));
    assert_eq!(fact(&test, "/consecutive_fails"), json!(2));
    assert_eq!(fact(&test, "/reject_rate"), json!(2.0 / 3.0));
    assert_eq!(fact(&test, "/retry_rate"), json!(2.0 / 3.0));
    assert_eq!(test.engine.facts().first_unfinished_unit(), Some(("d", None)));
    let approved = fold(&format!("{}\n{}", events.join("\n"), unit("f", "approved", 1)));
    assert_eq!(fact(&approved, "/consecutive_fails"), json!(0));
}

#[test]
fn counts_of_tests_decide_where_names_are_unknown() {
    let counted = r#"{"type": "tests", "passed": ["a"], "counts": {"passed": 4, "failed": 1}}"#;
    let test = fold(&lines(&[ERROR, counted, counted]));
    assert_eq!(fact(&test, "/test_failure_streak"), json!(2));
    assert_eq!(fact(&test, "/consecutive_errors"), json!(1));
    let clean = r#"{"type": "tests", "failed": ["a"], "counts": {"passed": 4}}"#;
    let test = fold(&lines(&[ERROR, counted, clean]));
    assert_eq!(fact(&test, "/test_failure_streak"), json!(0));
    assert_eq!(fact(&test, "/consecutive_errors"), json!(0));
    let policy = stop_when("type = \"all_tests_pass\"");
    assert_eq!(verdict(&policy, clean), Verdict::Stop);
    assert_eq!(verdict(&policy, &lines(&[clean, TESTS_FAIL])), Verdict::Continue);
}

#[rstest::rstest]
#[case::any_kind("", PROGRESS, 0)]
#[case::named("[progress]\ncount = [\"commit\", \"tree\"]\n", PROGRESS, 0)]
#[case::not_named("[progress]\ncount = [\"tree\"]\n", PROGRESS, 1)]
#[case::approved("[progress]\ncount = [\"tree\"]\n", APPROVED, 0)]
#[case::task_done_before("", r#"{"type": "tasks", "total": 3, "done": 1}"#, 1)]
#[case::task_newly_done("", TASK_DONE, 0)]
#[case::task_not_counted("[progress]\ncount = [\"tree\"]\n", TASK_DONE, 1)]
#[case::rejected("", r#"{"type": "unit", "id": "a", "status": "rejected"}"#, 1)]
#[case::tests_alone("", TESTS_PASS, 1)]
fn only_what_counts_is_progress(#[case] settings: &str, #[case] event: &str, #[case] since: u64) {
    let policy = format!("{NOTHING}{settings}");
    let mut test = Test::policy(&policy).events(&lines(&[STARTED, event, EXIT_0]));
    test.decide();
    assert_eq!(fact(&test, "/iterations_since_progress"), json!(since));
}

#[test]
fn a_task_that_was_done_already_is_no_progress() {
    let tasks = r#"{"type": "tasks", "total": 3, "done": 1}"#;
    let test = fold(&lines(&[STARTED, tasks, EXIT_0, STARTED, tasks, EXIT_0]));
    assert_eq!(fact(&test, "/iterations_since_progress"), json!(2));
}

#[test]
fn active_time_is_told_or_wall_time_without_waits() {
    let at = |time: &str, event: &str| {
        format!(r#"{{"type": "{event}", "at": "2026-05-04T{time}Z"}}"#)
            .replace("\"answered\"", "\"answered\", \"answer\": \"continue\"")
            .replace("\"pause\"", "\"signal\", \"kind\": \"pause\"")
            .replace("\"unpause\"", "\"signal\", \"kind\": \"resume\"")
            .replace("\"limited\"", "\"worker\", \"status\": \"rate_limited\"")
    };
    // Ten minutes of work, ten of waiting, and ten more until the decision at 10:00.
    for (waits, ends) in [
        ("held", "released"),
        ("held", "resumed"),
        ("halted", "resumed"),
        ("halted", "released"),
        ("asked", "answered"),
        ("asked", "resumed"),
        ("pause", "unpause"),
        ("pause", "resumed"),
        ("limited", "iteration_started"),
    ] {
        let events =
            [at("09:30:00", "run_started"), at("09:40:00", waits), at("09:50:00", ends)].join("\n");
        assert_eq!(fact(&fold(&events), "/active_ms"), json!(1_200_000), "{waits} {ends}");
    }
    // Where it is told, it is taken as it is, and never goes back.
    let told = r#"{"type": "run_started", "at": "2026-05-04T09:00:00Z", "active_ms": 5}
                  {"type": "progress", "kind": "other", "at": "2026-05-04T10:00:00Z", "active_ms": 7}"#;
    assert_eq!(fact(&fold(told), "/active_ms"), json!(7));
    let back = format!("{told}\n{}", r#"{"type": "progress", "kind": "other", "active_ms": 3}"#);
    assert_eq!(fact(&fold(&back), "/active_ms"), json!(7));
}

#[test]
fn time_never_goes_back() {
    let events = r#"{"type": "run_started", "at": "2026-05-04T09:00:00Z"}
        {"type": "progress", "kind": "other", "at": "2026-05-04T09:50:00Z"}
        {"type": "progress", "kind": "other", "at": "2026-05-04T08:00:00Z"}
        {"type": "failure_signal", "hash": "a", "at": "2020-01-01T00:00:00Z"}"#;
    let test = fold(events);
    assert_eq!(fact(&test, "/last_changed_at"), json!("2026-05-04T09:50:00Z"));
    assert_eq!(fact(&test, "/first_failure_at"), json!("2026-05-04T09:50:00Z"));
    assert_eq!(fact(&test, "/active_ms"), json!(3_600_000));
    assert_eq!(fact(&test, "/progress_age_ms"), json!(600_000));
}

#[test]
fn a_suspended_machine_does_not_work() {
    let events = r#"{"type": "run_started", "at": "2026-05-04T09:00:00Z"}
        {"type": "suspended", "ms": 99999999999, "at": "2026-05-04T09:30:00Z"}"#;
    assert_eq!(fact(&fold(events), "/active_ms"), json!(1_800_000));
}

#[test]
fn a_rate_limited_iteration_is_charged_to_nobody() {
    let test = fold(&lines(&[STARTED, RATE_LIMITED, EXIT_1, STARTED, RATE_LIMITED, EXIT_1]));
    assert_eq!(fact(&test, "/iterations_since_progress"), json!(0));
    assert_eq!(fact(&test, "/errored"), json!(0));
    assert_eq!(fact(&test, "/worker"), json!("rate_limited"));
    assert_eq!(fact(&test, "/iterations"), json!(2));
    // Not so the one after it.
    let test = fold(&lines(&[STARTED, RATE_LIMITED, EXIT_1, STARTED, EXIT_1]));
    assert_eq!(fact(&test, "/iterations_since_progress"), json!(1));
    assert_eq!(fact(&test, "/worker"), json!(null));
}

#[test]
fn three_time_outs_in_a_row_stop_and_a_block_holds() {
    let timed_out = [STARTED, TIMED_OUT];
    let clean = [STARTED, EXIT_0];
    let decide = |parts: &[[&str; 2]]| {
        let decision = Test::policy(NOTHING).events(&lines(&parts.concat())).decide();
        (decision.verdict, decision.reason)
    };
    assert_eq!(decide(&[timed_out; 2]).0, Verdict::Continue);
    assert_eq!(decide(&[timed_out; 3]), (Verdict::Stop, Some("worker_timeout".into())));
    assert_eq!(decide(&[timed_out, timed_out, clean, timed_out]).0, Verdict::Continue);
    let said = |status: &str| {
        let worker = format!(r#"{{"type": "worker", "status": "{status}"}}"#);
        Test::policy(NOTHING).events(&lines(&[STARTED, &worker, EXIT_0])).decide()
    };
    assert_eq!(said("blocked").verdict, Verdict::Hold);
    assert_eq!(said("failed").verdict, Verdict::Fail);
    assert_eq!(said("failed").reason.as_deref(), Some("worker_failed"));
}

#[test]
fn reviews_in_a_row_that_ask_for_the_same_are_counted() {
    let review = |outcome: &str, hash: &str| {
        format!(r#"{{"type": "review", "outcome": "{outcome}", "hash": "{hash}"}}"#)
    };
    let rounds = |reviews: &[(&str, &str)]| {
        let all: Vec<_> = reviews.iter().map(|(outcome, hash)| review(outcome, hash)).collect();
        fact(&fold(&all.join("\n")), "/review/same_rounds")
    };
    let (asks, rejects) = ("changes_requested", "rejected");
    assert_eq!(rounds(&[(asks, "a"), (asks, "a"), (asks, "a")]), json!(3));
    assert_eq!(rounds(&[(asks, "a"), (asks, "b")]), json!(1));
    assert_eq!(rounds(&[(asks, "a"), (rejects, "a")]), json!(2));
    assert_eq!(rounds(&[(asks, "a"), ("approved", "a")]), json!(0));
    assert_eq!(rounds(&[(asks, "a"), ("approved", "a"), (asks, "a")]), json!(1));
}

#[test]
fn a_usage_window_is_empty_again_once_it_was_reset() {
    let quota = |reset: &str| {
        format!(
            r#"{{"type": "quota", "window": "5h", "used": 0.9, "resets_at": "2026-05-04T{reset}Z"}}"#
        )
    };
    let policy = stop_when("type = \"quota\", window = \"5h\", at_least = 0.9");
    assert_eq!(verdict(&policy, &quota("10:00:00.000000001")), Verdict::Stop);
    assert_eq!(verdict(&policy, &quota("10:00:00")), Verdict::Continue);
    let newer = r#"{"type": "quota", "window": "5h", "used": 0.1}"#;
    assert_eq!(verdict(&policy, &lines(&[&quota("11:00:00"), newer])), Verdict::Continue);
}

#[rstest::rstest]
#[case::first(&[r#"{"a": 1}"#], json!(null))]
#[case::rise(&[r#"{"a": 10}"#, r#"{"a": 11}"#], json!(0.1))]
#[case::mean(&[r#"{"a": 10, "b": 4}"#, r#"{"a": 15, "b": 3}"#], json!(0.125))]
#[case::negative_before(&[r#"{"a": -4}"#, r#"{"a": -2}"#], json!(0.5))]
#[case::from_zero_up(&[r#"{"a": 0}"#, r#"{"a": 7}"#], json!(1.0))]
#[case::from_zero_nowhere(&[r#"{"a": 0}"#, r#"{"a": 0}"#], json!(0.0))]
#[case::from_zero_down(&[r#"{"a": 0}"#, r#"{"a": -7}"#], json!(0.0))]
#[case::only_common(&[r#"{"a": 10, "b": 1}"#, r#"{"a": 11, "c": 1}"#], json!(0.1))]
#[case::nothing_in_common(&[r#"{"a": 10}"#, r#"{"b": 11}"#], json!(null))]
#[case::the_last_pair_counts(&[r#"{"a": 1}"#, r#"{"a": 2}"#, r#"{"a": 2}"#], json!(0.0))]
fn improvement_is_the_mean_relative_rise(#[case] cycles: &[&str], #[case] expected: Json) {
    let events: Vec<_> = cycles
        .iter()
        .map(|metrics| format!(r#"{{"type": "cycle", "metrics": {metrics}}}"#))
        .collect();
    let test = fold(&events.join("\n"));
    match (fact(&test, "/improvement").as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-12, "{found}"),
        (found, expected) => assert_eq!(found, expected),
    }
    assert_eq!(fact(&test, "/cycles"), json!(cycles.len()));
}

#[test]
fn health_is_what_is_left() {
    let policy = "[limits]\ntokens = 1000\nunlimited = true\n[[rule]]\nwhen = { type = \"error_rate\", at_least = 0.5 }\nthen = \"warn\"\n";
    let health = |events: &[&str]| {
        let mut test = Test::policy(policy).facts("{}").events(&lines(events));
        test.decide();
        fact(&test, "/health").as_f64().unwrap()
    };
    let tokens = r#"{"type": "usage", "input_tokens": 500}"#;
    let context = r#"{"type": "context", "used": 4, "limit": 5}"#;
    let old = r#"{"type": "iteration_started", "active_ms": 600000}"#;
    for (events, expected) in [
        (vec![], 1.0),
        (vec![tokens], 0.85),
        (vec![tokens, tokens, tokens], 0.7),
        (vec![context], 0.8),
        (vec![EXIT_1, EXIT_0, EXIT_0, EXIT_0], 0.875),
        (vec![EXIT_1], 0.75),
        (vec![old], 0.8),
        (vec![old, PROGRESS], 1.0),
        (vec![r#"{"type": "iteration_started", "active_ms": 599999}"#], 1.0),
        (
            vec![tokens, context, EXIT_1, r#"{"type": "drift", "score": 1, "active_ms": 600000}"#],
            0.2,
        ),
    ] {
        let found = health(&events);
        assert!((found - expected).abs() < 1e-9, "{events:?}: {found}, not {expected}");
    }
}

#[test]
fn a_match_is_of_its_iteration_unless_the_run_counts() {
    let matched = r#"{"type": "matched", "pattern": "DONE"}"#;
    let now = stop_when("type = \"output_pattern\", pattern = \"DONE\"");
    let ever = stop_when("type = \"output_pattern\", pattern = \"DONE\", since = \"run\"");
    assert_eq!(verdict(&now, &lines(&[STARTED, matched, EXIT_0])), Verdict::Stop);
    assert_eq!(verdict(&now, &lines(&[STARTED, matched, EXIT_0, STARTED])), Verdict::Continue);
    assert_eq!(verdict(&ever, &lines(&[STARTED, matched, EXIT_0, STARTED])), Verdict::Stop);
}

#[test]
fn an_answer_may_be_the_first_thing_that_happens() {
    // The clock time is the next one after the run began, which the first event tells.
    let policy = stop_when("type = \"wall_clock\", at = \"09:30\"");
    let mut test = Test::policy(&policy);
    assert_eq!(test.decide().verdict, Verdict::Continue);
    let probe = r#"{"type": "probe", "key": "k", "met": true, "at": "2026-05-04T09:00:00Z"}"#;
    assert_eq!(test.events(probe).decide().verdict, Verdict::Stop);
}

/// One iteration in which everything happens that has no name of its own.
const BUSY: &str = r#"{"type": "iteration_started"}
    {"type": "usage", "input_tokens": 7, "output_tokens": 5, "cost_usd": 0.01}
    {"type": "context", "used": 5, "limit": 10}
    {"type": "unit", "id": "u", "status": "rejected", "attempts": @}
    {"type": "tests", "passed": ["a"], "failed": ["b"]}
    {"type": "error", "category": "transient", "message": "error @", "signature": "s@"}
    {"type": "matched", "key": "k", "pattern": "p", "excerpt": "x@"}
    {"type": "progress", "kind": "other", "note": "n@"}
    {"type": "tasks", "total": 9, "done": 1, "queued": @}
    {"type": "cycle", "metrics": {"m": @, "m@": 1}}
    {"type": "action", "signature": "do @", "kind": "bash", "result_signature": "r@"}
    {"type": "probe", "key": "k", "met": false, "detail": "d@"}
    {"type": "failure_signal", "hash": "h@", "class": "c@"}
    {"type": "guard", "kind": "scope", "files": ["f@"]}
    {"type": "verification", "outcome": "failed"}
    {"type": "review", "outcome": "changes_requested", "hash": "h@"}
    {"type": "worker", "status": "rate_limited", "detail": "d@"}
    {"type": "quota", "window": "w@", "used": 0.5}
    {"type": "raised", "limit": "l@", "value": 1}
    {"type": "suspended", "ms": 1}
    {"type": "drift", "score": 0.5}
    {"type": "signal", "kind": "pause"}
    {"type": "signal", "kind": "resume"}
    {"type": "recovered", "kind": "error"}
    {"type": "decision", "verdict": "warn", "reason": "r@", "streaks": ["signal"]}
    {"type": "held"}
    {"type": "released"}
    {"type": "asked", "question": "q@"}
    {"type": "iteration_finished", "exit_code": 1}"#;

#[test]
fn facts_do_not_grow_with_the_number_of_events() {
    let mut engine = Engine::new(Test::policy(NOTHING).engine.policy().clone());
    let now = NOW.parse().unwrap();
    let mut work = |iterations: std::ops::Range<u64>| {
        for number in iterations {
            // Numbers of a fixed width, so that a longer text is a larger set of facts.
            let lines = BUSY.replace('@', &(1_000_000 + number).to_string());
            for line in lines.lines() {
                engine.handle_event(&Event::from_json(line.trim().as_bytes()).unwrap(), now);
            }
        }
        serde_json::to_string(engine.facts()).unwrap().len()
    };
    let few = work(0..1_000);
    let many = work(1_000..8_000);
    assert!(many <= few + 512, "{few} bytes, then {many}");
}

#[test]
fn facts_do_not_grow_in_a_long_run() {
    let mut engine = Engine::new(Test::policy(NOTHING).engine.policy().clone());
    let now = NOW.parse().unwrap();
    let lines = BUSY.replace('@', "1000000");
    let events: Vec<_> =
        lines.lines().map(|line| Event::from_json(line.trim().as_bytes()).unwrap()).collect();
    let mut work = |iterations: u64| {
        for _ in 0..iterations {
            events.iter().for_each(|event| engine.handle_event(event, now));
        }
        serde_json::to_string(engine.facts()).unwrap().len()
    };
    let few = work(1_000);
    let many = work(199_000);
    assert!(many <= few + 512, "{few} bytes, then {many}");
}
