//! The registry against the contract, and the generated reference against the registry.

use std::collections::{BTreeMap, BTreeSet};

use backstop_core::reason::{self, AnyReason, Family, NextStep, ReasonCode, Values};

/// Code, exit code, aliases.
type Row = (&'static str, u8, &'static [&'static str]);

/// The contract's table, copied out by hand.
const CONTRACT: &[(Family, &[Row])] = &[
    (Family::Success, &[("completed", 0, &["all_tasks_done", "success_condition"])]),
    (
        Family::Constraint,
        &[
            ("guard_violation", 2, &["scope_violation", "guard_fail"]),
            ("lockfile_violation", 3, &[]),
            ("dirty_worktree", 4, &[]),
            ("file_collision", 5, &[]),
        ],
    ),
    (
        Family::Failure,
        &[
            ("verification_failed", 10, &[]),
            ("verification_timeout", 11, &[]),
            ("error", 12, &[]),
            ("critical_failure", 13, &[]),
            ("failure_condition", 14, &[]),
        ],
    ),
    (Family::Review, &[("review_loop_detected", 20, &[]), ("review_rejected", 21, &[])]),
    (
        Family::Worker,
        &[
            ("worker_blocked", 30, &[]),
            ("worker_failed", 31, &[]),
            ("worker_timeout", 32, &["worker_call_timeout"]),
            ("rate_limited", 33, &[]),
        ],
    ),
    (
        Family::Quality,
        &[
            ("circuit_breaker", 40, &[]),
            ("consecutive_fails", 41, &[]),
            ("reject_rate", 42, &[]),
            ("retry_rate", 43, &[]),
            ("error_rate", 44, &["high_error_rate"]),
            ("diminishing_returns", 45, &[]),
            ("health_critical", 46, &[]),
            ("test_failure_streak", 47, &[]),
            ("repetition", 48, &[]),
            ("topic_drift", 49, &[]),
        ],
    ),
    (
        Family::Policy,
        &[
            ("max_attempts", 50, &[]),
            ("max_total_reruns", 51, &[]),
            ("wait_timeout", 52, &[]),
            ("non_retriable", 53, &[]),
            ("no_signal_change", 54, &[]),
            ("policy_block", 55, &["lawbook_block"]),
            ("cooldown_active", 56, &[]),
        ],
    ),
    (Family::Custom, &[("condition_met", 60, &[])]),
    (
        Family::ResourceLimit,
        &[
            (
                "timeout",
                124,
                &["time_limit", "time_budget_exceeded", "runtime_limit", "max_duration"],
            ),
            ("max_iterations", 125, &["max_ticks"]),
            ("stalled", 126, &["stagnation", "no_progress", "stalled_timeout"]),
            ("token_limit", 127, &[]),
            ("cost_limit", 128, &[]),
            ("context_overflow", 129, &[]),
        ],
    ),
    (
        Family::User,
        &[
            ("user_stopped", 130, &["user_signal", "user_interrupt"]),
            ("user_aborted", 131, &[]),
            ("user_unresponsive", 132, &[]),
            ("terminated", 143, &[]),
        ],
    ),
];

#[test]
fn the_registry_is_the_contracts_table() {
    let contract: Vec<_> = CONTRACT
        .iter()
        .flat_map(|(family, rows)| {
            rows.iter().map(|(code, exit_code, aliases)| (*family, *code, *exit_code, *aliases))
        })
        .collect();
    let registry: Vec<_> = reason::all()
        .iter()
        .map(|reason| (reason.family, reason.code, reason.exit_code, reason.aliases))
        .collect();
    assert_eq!(registry, contract);
}

#[test]
fn titles_that_other_tools_show_are_kept() {
    for (code, title) in [
        ("timeout", "Time budget exceeded"),
        ("stalled", "Run stalled (no progress)"),
        ("guard_violation", "Scope guard violation"),
        ("lockfile_violation", "Disallowed lockfile changes"),
        ("dirty_worktree", "Dirty worktree before run"),
        ("file_collision", "File ownership collision with active run"),
        ("verification_failed", "Verification commands failed"),
        ("verification_timeout", "Verification timeout"),
        ("review_loop_detected", "Review loop detected (repeated same review)"),
        ("review_rejected", "Review explicitly rejected"),
        ("worker_blocked", "Worker reported blocked status"),
        ("worker_failed", "Worker process failed"),
        ("worker_timeout", "Worker call timeout"),
        ("user_stopped", "User requested stop"),
    ] {
        assert_eq!(AnyReason::resolve(code, &[]).title(), title);
    }
}

#[test]
fn codes_and_aliases_are_unique_and_spelt_alike() {
    let mut seen = BTreeSet::new();
    for reason in reason::all() {
        for name in std::iter::once(&reason.code).chain(reason.aliases) {
            assert!(seen.insert(*name), "`{name}` is used twice");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        }
    }
}

#[test]
fn every_variant_is_its_own_entry() {
    assert_eq!(ReasonCode::ALL.len(), reason::all().len());
    for (code, reason) in ReasonCode::ALL.iter().zip(reason::all()) {
        assert_eq!(code.reason(), reason);
        assert_eq!(code.as_str(), reason.code);
        let spelt = format!("{code:?}");
        assert_eq!(spelt.to_lowercase(), reason.code.replace('_', ""), "variant {spelt}");
    }
    assert!(ReasonCode::ALL.is_sorted());
}

#[test]
fn an_exit_code_is_in_its_familys_range_and_has_one_reason() {
    let mut seen = BTreeMap::new();
    for reason in reason::all() {
        assert!(reason.family.contains(reason.exit_code), "{}", reason.code);
        let other = seen.insert((reason.family, reason.exit_code), reason.code);
        assert_eq!(other, None, "shares its exit code with {}", reason.code);
    }
}

#[test]
fn only_what_may_pass_by_itself_is_auto_resumable() {
    let resumable: BTreeSet<_> = reason::all()
        .iter()
        .filter(|reason| reason.auto_resumable)
        .map(|reason| reason.code)
        .collect();
    assert_eq!(resumable, BTreeSet::from(["rate_limited", "stalled", "worker_timeout"]));
}

#[test]
fn next_steps_agree_with_the_established_answers() {
    for (code, next_step) in [
        ("non_retriable", NextStep::FixRequired),
        ("cooldown_active", NextStep::Wait),
        ("rate_limited", NextStep::Wait),
        ("max_attempts", NextStep::ManualReview),
        ("max_total_reruns", NextStep::ManualReview),
        ("no_signal_change", NextStep::ManualReview),
        ("wait_timeout", NextStep::ManualReview),
        ("policy_block", NextStep::ManualReview),
        ("reject_rate", NextStep::ManualReview),
        ("critical_failure", NextStep::FixRequired),
        ("guard_violation", NextStep::FixRequired),
        ("lockfile_violation", NextStep::FixRequired),
        ("dirty_worktree", NextStep::FixRequired),
        ("verification_failed", NextStep::Prompt),
    ] {
        assert_eq!(AnyReason::resolve(code, &[]).next_step(), next_step, "{code}");
    }
}

#[test]
fn texts_are_complete() {
    let mut titles = BTreeSet::new();
    for reason in reason::all() {
        let code = reason.code;
        assert!(!reason.title.trim().is_empty() && titles.insert(reason.title), "{code}: title");
        assert!(reason.summary.ends_with('.'), "{code}: the summary is a sentence");
        assert_eq!(reason.summary.matches(". ").count(), 0, "{code}: one sentence");
        assert!(reason.diagnosis.contains('`'), "{code}: the diagnosis names a flag or key");
        assert!((1..=3).contains(&reason.next_commands.len()), "{code}: one to three commands");
        for command in reason.next_commands_with(&Values::new()) {
            let verb = command.strip_prefix("backstop ").and_then(|rest| rest.split(' ').next());
            assert!(verb.is_some_and(|verb| VERBS.contains(&verb)), "{code}: {command}");
        }
        assert!(reason.since.split('.').all(|part| part.parse::<u32>().is_ok()), "{code}: since");
    }
}

#[test]
fn the_reference_is_up_to_date() {
    // Not `assert_eq`: thousands of lines of difference would hide what to do.
    assert!(
        include_str!("../../../docs/reference/reasons.md") == reason::reference(),
        "docs/reference/reasons.md differs from the registry; run `cargo xtask generate`"
    );
}

const VERBS: &[&str] =
    &["answer", "doctor", "policy", "raise", "release", "replay", "report", "resume", "show"];
