//! Every condition of the specification's table: below, at and above its threshold.

mod support;

use std::collections::BTreeSet;

use backstop_core::condition::Condition;
use backstop_core::verdict::Verdict;
use serde_json::json;
use support::Test;

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

const BUDGETS: &[Case] = &[
    Case {
        when: r#"{ type = "max_iterations", count = 50 }"#,
        says: "after 50 iterations",
        priority: 80,
        reason: "max_iterations",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"iterations": 49}"#, NOT, 0.98, Some((49.0, 50.0))),
            (r#"{"iterations": 50}"#, MET, 1.0, Some((50.0, 50.0))),
            (r#"{"iterations": 51}"#, MET, 1.0, Some((51.0, 50.0))),
        ],
    },
    Case {
        when: r#"{ type = "max_iterations", count = 1 }"#,
        says: "after 1 iteration",
        priority: 80,
        reason: "max_iterations",
        looks: &[(r#"{"iterations": 18446744073709551615}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "max_duration", duration = "2h 30m" }"#,
        says: "after 2h 30m of active time",
        priority: 80,
        reason: "timeout",
        looks: &[
            (r#"{"active_ms": 4500000}"#, NOT, 0.5, None),
            (r#"{"active_ms": 8999999}"#, NOT, 0.999_999_9, None),
            (r#"{"active_ms": 9000000}"#, MET, 1.0, Some((9e6, 9e6))),
            (r#"{"active_ms": 9000001}"#, MET, 1.0, Some((9_000_001.0, 9e6))),
        ],
    },
    Case {
        when: r#"{ type = "max_tokens", count = 1000 }"#,
        says: "after 1,000 tokens",
        priority: 80,
        reason: "token_limit",
        looks: &[
            (r#"{"tokens": 999}"#, NOT, 0.999, None),
            (r#"{"tokens": 1000}"#, MET, 1.0, Some((1000.0, 1000.0))),
            (r#"{"tokens": 1001}"#, MET, 1.0, Some((1001.0, 1000.0))),
            (r#"{"tokens_by": {"cache_read": 5000}}"#, NOT, 0.0, None),
            (
                r#"{"tokens_by": {"input": 400, "output": 300, "cache_write": 300}}"#,
                MET,
                1.0,
                Some((1000.0, 1000.0)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "max_tokens", count = 1000, cache_reads = true }"#,
        says: "after 1,000 tokens, cache reads included",
        priority: 80,
        reason: "token_limit",
        looks: &[
            (r#"{"tokens_by": {"input": 1, "cache_read": 998}}"#, NOT, 0.999, None),
            (r#"{"tokens_by": {"input": 1, "cache_read": 999}}"#, MET, 1.0, Some((1e3, 1e3))),
        ],
    },
    Case {
        when: r#"{ type = "max_cost", usd = 20.0 }"#,
        says: "after $20.00",
        priority: 80,
        reason: "cost_limit",
        looks: &[
            (r#"{"cost_usd": 5}"#, NOT, 0.25, None),
            (r#"{"cost_usd": 19.999999999}"#, NOT, 1.0, None),
            (r#"{"cost_usd": 20}"#, MET, 1.0, Some((20.0, 20.0))),
            (r#"{"cost_usd": 20.000000001}"#, MET, 1.0, Some((20.000_000_001, 20.0))),
        ],
    },
    Case {
        when: r#"{ type = "quota", window = "5h", at_least = 0.8 }"#,
        says: "when the usage window '5h' is at least 80% full",
        priority: 80,
        reason: "rate_limited",
        looks: &[
            (r#"{"quota": {"weekly": 1.0}}"#, NOT, 0.0, None),
            (r#"{"quota": {"5h": 0.79}}"#, NOT, 0.9875, None),
            (r#"{"quota": {"5h": 0.8}}"#, MET, 1.0, Some((0.8, 0.8))),
            (r#"{"quota": {"5h": 0.81}}"#, MET, 1.0, Some((0.81, 0.8))),
        ],
    },
    Case {
        when: r#"{ type = "context_usage", at_least = 0.95 }"#,
        says: "when the context window is at least 95% full",
        priority: 74,
        reason: "context_overflow",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"context": {"used": 5, "limit": 0}}"#, NOT, 0.0, None),
            (r#"{"context": {"used": 949, "limit": 1000}}"#, NOT, 0.949 / 0.95, None),
            (r#"{"context": {"used": 950, "limit": 1000}}"#, MET, 1.0, Some((0.95, 0.95))),
            (r#"{"context": {"used": 951, "limit": 1000}}"#, MET, 1.0, Some((0.951, 0.95))),
        ],
    },
    Case {
        when: r#"{ type = "wall_clock", at = "2026-05-04T10:00:00Z" }"#,
        says: "at 2026-05-04T10:00:00Z",
        priority: 80,
        reason: "condition_met",
        looks: &[(r#"{}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "wall_clock", at = "2026-05-04T10:00:00.000000001Z" }"#,
        says: "at 2026-05-04T10:00:00.000000001Z",
        priority: 80,
        reason: "condition_met",
        looks: &[(r#"{}"#, NOT, 0.0, None)],
    },
    // A time of day is the next one after the run began, which its active time tells.
    Case {
        when: r#"{ type = "wall_clock", at = "09:59" }"#,
        says: "at 09:59",
        priority: 80,
        reason: "condition_met",
        looks: &[
            (r#"{"active_ms": 59999}"#, NOT, 0.0, None),
            (r#"{"active_ms": 60000}"#, MET, 1.0, None),
            (r#"{"active_ms": 60001}"#, MET, 1.0, None),
        ],
    },
];

const UNITS: &[Case] = &[
    Case {
        when: r#"{ type = "max_attempts", count = 50 }"#,
        says: "after 50 attempts over all units",
        priority: 79,
        reason: "circuit_breaker",
        looks: &[
            (r#"{"attempts": 49}"#, NOT, 0.98, None),
            (r#"{"attempts": 50}"#, MET, 1.0, Some((50.0, 50.0))),
            (r#"{"attempts": 51}"#, MET, 1.0, Some((51.0, 50.0))),
        ],
    },
    Case {
        when: r#"{ type = "consecutive_fails", count = 3 }"#,
        says: "after 3 units failed in a row",
        priority: 77,
        reason: "consecutive_fails",
        looks: &[
            (r#"{"consecutive_fails": 2}"#, NOT, 2.0 / 3.0, None),
            (r#"{"consecutive_fails": 3}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"consecutive_fails": 4}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    Case {
        when: r#"{ type = "reject_rate", above = 0.3 }"#,
        says: "when the reject rate exceeds 30%",
        priority: 76,
        reason: "reject_rate",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"units": {"approved": 71, "rejected": 20, "failed": 9}}"#, NOT, 29.0 / 30.0, None),
            // Exclusive: full at the threshold, but not met.
            (r#"{"units": {"approved": 70, "rejected": 20, "failed": 10}}"#, NOT, 1.0, None),
            (
                r#"{"units": {"approved": 69, "rejected": 20, "failed": 11}}"#,
                MET,
                1.0,
                Some((0.31, 0.3)),
            ),
            (r#"{"reject_rate": 0.3}"#, NOT, 1.0, None),
            (r#"{"reject_rate": 0.375}"#, MET, 1.0, Some((0.375, 0.3))),
        ],
    },
    Case {
        when: r#"{ type = "reject_rate", above = 0.3, min_units = 5 }"#,
        says: "when the reject rate exceeds 30% over at least 5 units",
        priority: 76,
        reason: "reject_rate",
        looks: &[
            (r#"{"units": {"rejected": 4}}"#, NOT, 1.0, None),
            (r#"{"units": {"rejected": 5}}"#, MET, 1.0, Some((1.0, 0.3))),
        ],
    },
    Case {
        when: r#"{ type = "reject_rate", above = 1.0 }"#,
        says: "when the reject rate exceeds 100%",
        priority: 76,
        reason: "reject_rate",
        looks: &[(r#"{"reject_rate": 1.0}"#, NOT, 1.0, None)],
    },
    Case {
        when: r#"{ type = "retry_rate", above = 0.5 }"#,
        says: "when the retry rate exceeds 50%",
        priority: 75,
        reason: "retry_rate",
        looks: &[
            (r#"{"retry_rate": 0.49}"#, NOT, 0.98, None),
            (r#"{"retry_rate": 0.5}"#, NOT, 1.0, None),
            (r#"{"retry_rate": 0.51}"#, MET, 1.0, Some((0.51, 0.5))),
        ],
    },
    Case {
        when: r#"{ type = "retry_rate", above = 0.5, min_units = 2 }"#,
        says: "when the retry rate exceeds 50% over at least 2 units",
        priority: 75,
        reason: "retry_rate",
        looks: &[
            (r#"{"retry_rate": 1.0, "units": {"approved": 1}}"#, NOT, 1.0, None),
            (r#"{"retry_rate": 1.0, "units": {"approved": 2}}"#, MET, 1.0, Some((1.0, 0.5))),
        ],
    },
];

const ERRORS: &[Case] = &[
    Case {
        when: r#"{ type = "on_error" }"#,
        says: "when an error occurs",
        priority: 100,
        reason: "error",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"error_now": true}"#, MET, 1.0, None),
            (r#"{"last_error": {"message": "boom"}}"#, MET, 1.0, None),
            (r#"{"last_error": {"message": "boom"}, "error_now": false}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "on_error", pattern = "quota" }"#,
        says: "when an error contains 'quota'",
        priority: 100,
        reason: "error",
        looks: &[
            (r#"{"last_error": {"message": "disk quota exceeded"}}"#, MET, 1.0, None),
            (r#"{"last_error": {"message": "disk Quota exceeded"}}"#, NOT, 0.0, None),
            (r#"{"error_now": true}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "exit_code", any_of = [3, 1, 3] }"#,
        says: "when the command exits with 1 or 3",
        priority: 87,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"exit_code": 2}"#, NOT, 0.0, None),
            (r#"{"exit_code": 3}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "exit_code", any_of = [] }"#,
        says: "never (no exit code is named)",
        priority: 87,
        reason: "condition_met",
        looks: &[(r#"{"exit_code": 0}"#, NOT, 0.0, None)],
    },
    Case {
        when: r#"{ type = "consecutive_errors", count = 3 }"#,
        says: "after 3 errors in a row",
        priority: 78,
        reason: "error",
        looks: &[
            (r#"{"consecutive_errors": 2}"#, NOT, 2.0 / 3.0, None),
            (r#"{"consecutive_errors": 3}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"consecutive_errors": 4}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    Case {
        when: r#"{ type = "consecutive_errors", count = 3, category = "transient" }"#,
        says: "after 3 errors in a row, the latest transient",
        priority: 78,
        reason: "error",
        looks: &[
            (r#"{"consecutive_errors": 3}"#, NOT, 1.0, None),
            (
                r#"{"consecutive_errors": 3, "last_error": {"category": "recoverable"}}"#,
                NOT,
                1.0,
                None,
            ),
            (
                r#"{"consecutive_errors": 2, "last_error": {"category": "transient"}}"#,
                NOT,
                2.0 / 3.0,
                None,
            ),
            (
                r#"{"consecutive_errors": 3, "last_error": {"category": "transient"}}"#,
                MET,
                1.0,
                Some((3.0, 3.0)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "consecutive_errors", count = 2, category = "critical" }"#,
        says: "after 2 errors in a row, the latest critical",
        priority: 78,
        reason: "critical_failure",
        looks: &[
            (
                r#"{"consecutive_errors": 1, "last_error": {"category": "critical"}}"#,
                NOT,
                0.5,
                None,
            ),
            (
                r#"{"consecutive_errors": 2, "last_error": {"category": "critical"}}"#,
                MET,
                1.0,
                Some((2.0, 2.0)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "error_rate", at_least = 0.2 }"#,
        says: "when at least 20% of 1 task or more end in error",
        priority: 73,
        reason: "error_rate",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"ended": 100, "errored": 19}"#, NOT, 0.95, None),
            (r#"{"ended": 100, "errored": 20}"#, MET, 1.0, Some((0.2, 0.2))),
            (r#"{"ended": 100, "errored": 21}"#, MET, 1.0, Some((0.21, 0.2))),
            (r#"{"error_rate": 0.2}"#, MET, 1.0, Some((0.2, 0.2))),
            // Units decide where they are known.
            (
                r#"{"units": {"approved": 8, "failed": 1, "rejected": 1}}"#,
                MET,
                1.0,
                Some((0.2, 0.2)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "error_rate", at_least = 0.2, min_tasks = 5 }"#,
        says: "when at least 20% of 5 tasks or more end in error",
        priority: 73,
        reason: "error_rate",
        looks: &[
            (r#"{"ended": 4, "errored": 4}"#, NOT, 1.0, None),
            (r#"{"ended": 5, "errored": 1}"#, MET, 1.0, Some((0.2, 0.2))),
        ],
    },
];

const PROGRESS: &[Case] = &[
    Case {
        when: r#"{ type = "test_failure_streak", count = 5 }"#,
        says: "after 5 test runs with a failure in a row",
        priority: 70,
        reason: "test_failure_streak",
        looks: &[
            (r#"{"test_failure_streak": 4}"#, NOT, 0.8, None),
            (r#"{"test_failure_streak": 5}"#, MET, 1.0, Some((5.0, 5.0))),
            (r#"{"test_failure_streak": 6}"#, MET, 1.0, Some((6.0, 5.0))),
        ],
    },
    Case {
        when: r#"{ type = "no_progress", iterations = 3 }"#,
        says: "after 3 iterations without progress",
        priority: 70,
        reason: "stalled",
        looks: &[
            (r#"{"iterations_since_progress": 2}"#, NOT, 2.0 / 3.0, None),
            (r#"{"iterations_since_progress": 3}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"iterations_since_progress": 4}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    Case {
        when: r#"{ type = "stagnation", duration = "30m" }"#,
        says: "after 30m without progress",
        priority: 70,
        reason: "stalled",
        looks: &[
            // Without any progress the age counts from the start.
            (r#"{"active_ms": 900000}"#, NOT, 0.5, None),
            (r#"{"progress_age_ms": 1799999}"#, NOT, 1_799_999.0 / 1.8e6, None),
            (r#"{"progress_age_ms": 1800000}"#, MET, 1.0, Some((1.8e6, 1.8e6))),
            (r#"{"progress_age_ms": 1800001}"#, MET, 1.0, Some((1_800_001.0, 1.8e6))),
            (r#"{"active_ms": 9000000, "progress_age_ms": 0}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "repetition", score = 5.0 }"#,
        says: "when the agent repeats itself",
        priority: 69,
        reason: "repetition",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"repetition": {"score": 4.9}}"#, NOT, 0.0, None),
            (r#"{"repetition": {"score": 5.0}}"#, MET, 1.0, Some((5.0, 5.0))),
            (r#"{"repetition": {"score": 5.1}}"#, MET, 1.0, Some((5.1, 5.0))),
        ],
    },
    Case {
        when: r#"{ type = "repetition", sensitivity = "high" }"#,
        says: "when the agent repeats itself (high sensitivity)",
        priority: 69,
        reason: "repetition",
        looks: &[(r#"{"repetition": {"score": 0.0}}"#, NOT, 0.0, None)],
    },
];

const RERUNS: &[Case] = &[
    Case {
        when: r#"{ type = "failure_class", any_of = ["lint error", " Syntax ERROR "] }"#,
        says: "when the failure's class contains ' Syntax ERROR ' or 'lint error'",
        priority: 68,
        reason: "non_retriable",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"failure_class": "flaky"}"#, NOT, 0.0, None),
            (r#"{"failure_class": "lint"}"#, NOT, 0.0, None),
            (r#"{"failure_class": "  A LINT Error in main "}"#, MET, 1.0, None),
            (r#"{"failure_class": "syntax error"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "failure_class", any_of = [] }"#,
        says: "never (no failure class is named)",
        priority: 68,
        reason: "non_retriable",
        looks: &[(r#"{"failure_class": "lint error"}"#, NOT, 0.0, None)],
    },
    Case {
        when: r#"{ type = "job_attempts", count = 2 }"#,
        says: "after 2 re-runs of this job",
        priority: 67,
        reason: "max_attempts",
        looks: &[
            (r#"{"job_attempts": 1}"#, NOT, 0.5, None),
            (r#"{"job_attempts": 2}"#, MET, 1.0, Some((2.0, 2.0))),
            (r#"{"job_attempts": 3}"#, MET, 1.0, Some((3.0, 2.0))),
        ],
    },
    Case {
        when: r#"{ type = "total_attempts", count = 5 }"#,
        says: "after 5 re-runs over all jobs",
        priority: 66,
        reason: "max_total_reruns",
        looks: &[
            (r#"{"total_attempts": 4}"#, NOT, 0.8, None),
            (r#"{"total_attempts": 5}"#, MET, 1.0, Some((5.0, 5.0))),
            (r#"{"total_attempts": 6}"#, MET, 1.0, Some((6.0, 5.0))),
        ],
    },
    Case {
        when: r#"{ type = "no_signal_change", cycles = 3 }"#,
        says: "when the last 3 failures look the same",
        priority: 65,
        reason: "no_signal_change",
        looks: &[
            (r#"{"failure_signals": []}"#, NOT, 0.0, None),
            (r#"{"failure_signals": ["a", "a"]}"#, NOT, 2.0 / 3.0, None),
            (r#"{"failure_signals": ["a", "a", "b"]}"#, NOT, 1.0 / 3.0, None),
            (r#"{"failure_signals": ["b", "a", "a", "a"]}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"failure_signals": ["a", "a", "a", "a"]}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    // The one that is met while there is something left to wait.
    Case {
        when: r#"{ type = "cooldown", duration = "5m" }"#,
        says: "for 5m after a change",
        priority: 64,
        reason: "cooldown_active",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"last_changed_at": "2026-05-04T10:00:00Z"}"#, MET, 1.0, Some((0.0, 3e5))),
            (r#"{"last_changed_at": "2026-05-04T09:56:00Z"}"#, MET, 0.2, Some((2.4e5, 3e5))),
            (r#"{"last_changed_at": "2026-05-04T09:55:00.003Z"}"#, MET, 0.000_01, None),
            (r#"{"last_changed_at": "2026-05-04T09:55:00Z"}"#, NOT, 0.0, None),
            (r#"{"last_changed_at": "2026-05-04T09:54:59Z"}"#, NOT, 0.0, None),
            (r#"{"last_changed_at": "2026-05-04T11:00:00Z"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "unresolved", duration = "1h" }"#,
        says: "when a failure is unresolved for 1h",
        priority: 63,
        reason: "wait_timeout",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"first_failure_at": "2026-05-04T09:30:00Z"}"#, NOT, 0.5, None),
            (r#"{"first_failure_at": "2026-05-04T09:00:00.036Z"}"#, NOT, 0.999_99, None),
            (r#"{"first_failure_at": "2026-05-04T09:00:00Z"}"#, MET, 1.0, Some((3.6e6, 3.6e6))),
            (r#"{"first_failure_at": "2026-05-04T08:00:00Z"}"#, MET, 1.0, Some((7.2e6, 3.6e6))),
        ],
    },
];

const JUDGING: &[Case] = &[
    Case {
        when: r#"{ type = "health", below = 0.5 }"#,
        says: "when the health score is below 50%",
        priority: 62,
        reason: "health_critical",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"health": 0.51}"#, NOT, 0.0, None),
            (r#"{"health": 0.5}"#, NOT, 0.0, None),
            (r#"{"health": 0.49}"#, MET, 1.0, Some((0.49, 0.5))),
        ],
    },
    Case {
        when: r#"{ type = "all_tests_pass" }"#,
        says: "when all tests pass",
        priority: 60,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"tests": {"skipped": ["a"]}}"#, NOT, 0.0, None),
            (r#"{"tests": {"passed": ["a", "b", "c"], "failed": ["d"]}}"#, NOT, 0.75, None),
            (r#"{"tests": {"passed": ["a"], "skipped": ["d"]}}"#, MET, 1.0, Some((1.0, 1.0))),
            (
                r#"{"tests": {"passed": ["a"], "counts": {"passed": 9, "failed": 1}}}"#,
                NOT,
                0.9,
                None,
            ),
            (r#"{"tests": {"counts": {"passed": 9}}}"#, MET, 1.0, Some((9.0, 9.0))),
        ],
    },
    Case {
        when: r#"{ type = "specific_tests_pass", tests = ["b", "a", "b"] }"#,
        says: "when 2 named tests pass",
        priority: 60,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"tests": {"passed": ["b", "c"]}}"#, NOT, 0.5, None),
            (r#"{"tests": {"passed": ["b", "a"], "failed": ["a"]}}"#, NOT, 0.5, None),
            (r#"{"tests": {"passed": ["b", "a"], "failed": ["c"]}}"#, MET, 1.0, Some((2.0, 2.0))),
        ],
    },
    Case {
        when: r#"{ type = "tasks_done" }"#,
        says: "when all tasks are done",
        priority: 58,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"tasks": {"total": 0, "done": 0}}"#, NOT, 0.0, None),
            (r#"{"tasks": {"total": 4, "done": 3}}"#, NOT, 0.75, None),
            (r#"{"tasks": {"total": 4, "done": 4, "queued": 1}}"#, NOT, 1.0, None),
            (r#"{"tasks": {"total": 4, "done": 4}}"#, MET, 1.0, Some((4.0, 4.0))),
            (r#"{"tasks": {"total": 4, "done": 4, "improvements": 2}}"#, MET, 1.0, None),
            (
                r#"{"tasks": {"total": 4, "done": 4, "phase": "improvement", "improvements": 2}}"#,
                NOT,
                1.0,
                None,
            ),
            (r#"{"tasks": {"total": 4, "done": 4, "phase": "improvement"}}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "diminishing_returns" }"#,
        says: "after 5 cycles, when the last one improved less than 10%",
        priority: 57,
        reason: "diminishing_returns",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"cycles": 4, "improvement": 0.01}"#, NOT, 0.8, None),
            (r#"{"cycles": 5}"#, NOT, 1.0, None),
            (r#"{"cycles": 5, "improvement": 0.11}"#, NOT, 1.0, None),
            (r#"{"cycles": 5, "improvement": 0.10}"#, NOT, 1.0, None),
            (r#"{"cycles": 5, "improvement": 0.09}"#, MET, 1.0, Some((0.09, 0.1))),
            (r#"{"cycles": 6, "improvement": -2.0}"#, MET, 1.0, Some((-2.0, 0.1))),
            // With nothing left but improvements, the number of cycles does not matter.
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "phase": "improvement", "improvements": 1}}"#,
                MET,
                1.0,
                Some((0.09, 0.1)),
            ),
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "phase": "improvement"}}"#,
                NOT,
                0.4,
                None,
            ),
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "improvements": 1}}"#,
                NOT,
                0.4,
                None,
            ),
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "queued": 1, "phase": "improvement", "improvements": 1}}"#,
                NOT,
                0.4,
                None,
            ),
            (
                r#"{"cycles": 2, "improvement": 0.1, "tasks":
                   {"total": 1, "done": 1, "phase": "improvement", "improvements": 1}}"#,
                NOT,
                0.4,
                None,
            ),
        ],
    },
    Case {
        when: r#"{ type = "topic_drift", above = 0.5 }"#,
        says: "when the work drifts more than 50% from what was asked",
        priority: 55,
        reason: "topic_drift",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"drift": 0.25}"#, NOT, 0.5, None),
            (r#"{"drift": 0.5}"#, NOT, 1.0, None),
            (r#"{"drift": 0.51}"#, MET, 1.0, Some((0.51, 0.5))),
        ],
    },
];

const PEOPLE: &[Case] = &[
    Case {
        when: r#"{ type = "guard_violated" }"#,
        says: "when a guard is violated",
        priority: 95,
        reason: "guard_violation",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"guards": ["scope"]}"#, MET, 1.0, None),
            (r#"{"guards": ["protected"]}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "guard_violated", kind = "lockfile" }"#,
        says: "when the lockfile guard is violated",
        priority: 95,
        reason: "lockfile_violation",
        looks: &[(r#"{"guards": ["lockfile"]}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "guard_violated", kind = "dirty" }"#,
        says: "when the dirty guard is violated",
        priority: 95,
        reason: "dirty_worktree",
        looks: &[(r#"{"guards": [{"kind": "dirty", "files": ["a"]}]}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "guard_violated", kind = "collision" }"#,
        says: "when the collision guard is violated",
        priority: 95,
        reason: "file_collision",
        looks: &[(r#"{"guards": ["collision"]}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "user_signal" }"#,
        says: "when a stop is asked for",
        priority: 90,
        reason: "user_stopped",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"signal": "pause"}"#, NOT, 0.0, None),
            (r#"{"signal": "resume"}"#, NOT, 0.0, None),
            (r#"{"signal": "stop"}"#, MET, 1.0, None),
            (r#"{"signal": "kill"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "worker", status = "blocked" }"#,
        says: "when the worker is blocked",
        priority: 88,
        reason: "worker_blocked",
        looks: &[(r#"{}"#, NOT, 0.0, None), (r#"{"worker": "blocked"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "worker", status = "failed" }"#,
        says: "when the worker fails for good",
        priority: 88,
        reason: "worker_failed",
        looks: &[
            (r#"{"worker": "rate_limited"}"#, NOT, 0.0, None),
            (r#"{"worker": "failed"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "worker", status = "timed_out" }"#,
        says: "when the worker times out",
        priority: 88,
        reason: "worker_timeout",
        looks: &[(r#"{"worker": "timed_out"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "worker", status = "rate_limited" }"#,
        says: "when the worker is rate limited",
        priority: 88,
        reason: "rate_limited",
        looks: &[(r#"{"worker": "rate_limited"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "verification", outcome = "passed" }"#,
        says: "when the verification has passed",
        priority: 60,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"verification": "failed"}"#, NOT, 0.0, None),
            (r#"{"verification": "passed"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "verification", outcome = "failed" }"#,
        says: "when the verification has failed",
        priority: 60,
        reason: "verification_failed",
        looks: &[(r#"{"verification": "failed"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "verification", outcome = "timed_out" }"#,
        says: "when the verification has timed out",
        priority: 60,
        reason: "verification_timeout",
        looks: &[(r#"{"verification": "timed_out"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "review", outcome = "rejected" }"#,
        says: "when the last review says rejected",
        priority: 59,
        reason: "review_rejected",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"review": {"outcome": "approved"}}"#, NOT, 0.0, None),
            (r#"{"review": {"outcome": "rejected"}}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "review", outcome = "approved" }"#,
        says: "when the last review says approved",
        priority: 59,
        reason: "condition_met",
        looks: &[(r#"{"review": {"outcome": "approved"}}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "review", outcome = "changes_requested", same_rounds = 3 }"#,
        says: "when 3 reviews in a row ask for the same (changes requested)",
        priority: 59,
        reason: "review_loop_detected",
        looks: &[
            (
                r#"{"review": {"outcome": "changes_requested", "same_rounds": 2}}"#,
                NOT,
                2.0 / 3.0,
                None,
            ),
            (r#"{"review": {"outcome": "approved", "same_rounds": 3}}"#, NOT, 1.0, None),
            (
                r#"{"review": {"outcome": "changes_requested", "same_rounds": 3}}"#,
                MET,
                1.0,
                Some((3.0, 3.0)),
            ),
        ],
    },
];

const OUTPUT: &[Case] = &[
    Case {
        when: r#"{ type = "output_pattern", pattern = "DONE" }"#,
        says: "when output contains 'DONE'",
        priority: 50,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"recent_output": "all done"}"#, NOT, 0.0, None),
            (r#"{"recent_output": "a\nDONE\n"}"#, MET, 1.0, None),
            (r#"{"matched": ["DONE"]}"#, MET, 1.0, None),
            (r#"{"matched": ["D"]}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "output_pattern", pattern = "D.NE$", is_regex = true, in = "result" }"#,
        says: "when the agent's result matches 'D.NE$'",
        priority: 50,
        reason: "condition_met",
        looks: &[
            (r#"{"recent_output": "D.NE$ and more"}"#, NOT, 0.0, None),
            (r#"{"recent_output": "it is DUNE"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "output_pattern", pattern = "x", in = "assistant", since = "run" }"#,
        says: "when what the agent says contains 'x'",
        priority: 50,
        reason: "condition_met",
        looks: &[(r#"{"recent_output": "x"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "expr", cel = "iterations > 3 && units.approved == 0" }"#,
        says: "when 'iterations > 3 && units.approved == 0' holds",
        priority: 30,
        reason: "condition_met",
        looks: &[
            (r#"{"iterations": 3}"#, NOT, 0.0, None),
            (r#"{"iterations": 4}"#, MET, 1.0, None),
            (r#"{"iterations": 4, "units": {"approved": 1}}"#, NOT, 0.0, None),
        ],
    },
];

const COMPOSITES: &[Case] = &[
    Case {
        when: r#"{ type = "all", conditions = [
            { type = "max_iterations", count = 4 }, { type = "max_attempts", count = 10 }] }"#,
        says: "when ALL: [after 4 iterations AND after 10 attempts over all units]",
        priority: 20,
        reason: "condition_met",
        looks: &[
            (r#"{"iterations": 2}"#, NOT, 0.25, None),
            (r#"{"iterations": 9, "attempts": 5}"#, NOT, 0.75, None),
            (r#"{"iterations": 4, "attempts": 10}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "any", conditions = [
            { type = "all_tests_pass" }, { type = "max_attempts", count = 10 },
            { type = "max_iterations", count = 4 }] }"#,
        says: "when ANY: [when all tests pass OR after 10 attempts over all units OR after 4 iterations]",
        priority: 20,
        reason: "max_iterations",
        looks: &[
            (r#"{"iterations": 2, "attempts": 2}"#, NOT, 0.5, None),
            (r#"{"iterations": 4, "attempts": 9}"#, MET, 1.0, Some((4.0, 4.0))),
        ],
    },
    Case {
        when: r#"{ type = "not", condition = { type = "max_iterations", count = 4 } }"#,
        says: "when NOT: [after 4 iterations]",
        priority: 10,
        reason: "condition_met",
        looks: &[
            (r#"{"iterations": 3}"#, MET, 1.0, None),
            (r#"{"iterations": 4}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "never" }"#,
        says: "never",
        priority: 0,
        reason: "condition_met",
        looks: &[(r#"{"iterations": 99}"#, NOT, 0.0, None)],
    },
];

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
