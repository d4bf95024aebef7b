//! The names that an expression may use.

/// The facts of a run, by their stable names.
pub const FACT_NAMES: &[&str] = &[
    "active_ms",
    "attempts",
    "consecutive_errors",
    "consecutive_fails",
    "context",
    "cost_known",
    "cost_usd",
    "cycles",
    "drift",
    "ended",
    "error_now",
    "error_rate",
    "errored",
    "exit_code",
    "failure_class",
    "failure_signals",
    "first_failure_at",
    "guards",
    "health",
    "improvement",
    "iterations",
    "iterations_since_progress",
    "job_attempts",
    "last_changed_at",
    "last_error",
    "matched",
    "probes",
    "progress_age_ms",
    "quota",
    "reject_rate",
    "repetition",
    "retry_rate",
    "review",
    "signal",
    "tasks",
    "test_failure_streak",
    "tests",
    "tokens",
    "tokens_by",
    "total_attempts",
    "units",
    "verification",
    "worker",
];

/// The fields of the facts that are records; those with keys of their own (`quota`, `probes`) and
/// plain values are not listed.
const FIELDS: &[(&str, &[&str])] = &[
    ("context", &["used", "limit"]),
    ("last_error", &["category", "message", "signature"]),
    ("repetition", &["score", "kind"]),
    ("review", &["outcome", "same_rounds"]),
    ("tasks", &["total", "done", "queued", "phase", "improvements"]),
    ("tests", &["passed", "failed", "skipped"]),
    ("tokens_by", &["input", "output", "cache_read", "cache_write"]),
    ("units", &["total", "attempted", "approved", "rejected", "failed"]),
];

/// Facts that change while nothing happens.
pub(super) const TIME_FACTS: &[&str] = &["active_ms", "progress_age_ms", "health"];

/// Everything that can be called, for the nearest name to a misspelt one.
pub(super) const FUNCTIONS: &[&str] = &[
    "all",
    "contains",
    "double",
    "endsWith",
    "exists",
    "exists_one",
    "filter",
    "has",
    "int",
    "map",
    "matches",
    "size",
    "startsWith",
    "string",
];

/// The name as a fact, if it is one.
pub(super) fn fact(name: &str) -> Option<&'static str> {
    FACT_NAMES.iter().find(|known| **known == name).copied()
}

/// The fields of a fact, if it is a record.
pub(super) fn fields(fact: &str) -> Option<&'static [&'static str]> {
    FIELDS.iter().find(|(name, _)| *name == fact).map(|(_, fields)| *fields)
}
