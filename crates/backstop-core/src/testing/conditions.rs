//! Conditions of every type.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use serde_json::{Value as Json, json};

use crate::condition::Condition;

/// A condition of any type, composites nested up to four deep.
pub fn condition() -> impl Strategy<Value = Condition> {
    nested(leaf()).prop_map(|document| read(&document))
}

/// A condition of any simple type, as documents write it.
pub fn leaf() -> impl Strategy<Value = Json> {
    Union::new_weighted(vec![
        (6, limits().boxed()),
        (6, streaks().boxed()),
        (5, timed().boxed()),
        (5, judged().boxed()),
        (4, asked().boxed()),
        (2, expression().boxed()),
    ])
}

/// Puts conditions into `all`, `any` and `not`, up to four deep.
pub(super) fn nested(leaf: impl Strategy<Value = Json> + 'static) -> impl Strategy<Value = Json> {
    leaf.prop_recursive(4, 12, 3, |inner| {
        let parts = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => parts.clone().prop_map(|parts| json!({ "type": "all", "conditions": parts })),
            3 => parts.prop_map(|parts| json!({ "type": "any", "conditions": parts })),
            2 => inner.prop_map(|part| json!({ "type": "not", "condition": part })),
            1 => Just(json!({ "type": "never" })),
        ]
    })
}

fn read(document: &Json) -> Condition {
    Condition::from_json(document).expect("the generator writes only conditions that can be read")
}

pub(super) fn rate() -> impl Strategy<Value = f64> {
    select(vec![0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.95, 1.0])
}

pub(super) fn duration() -> impl Strategy<Value = &'static str> {
    select(vec!["1ns", "1ms", "1s", "2s", "5s", "10s", "1m", "10m", "1h", "1day"])
}

/// Limits on totals and shares, which are met the later the higher they are.
pub fn limits() -> impl Strategy<Value = Json> {
    let counts = (
        select(vec!["max_iterations", "max_attempts", "job_attempts", "total_attempts"]),
        1_u64..5,
    )
        .prop_map(|(name, count)| json!({ "type": name, "count": count }));
    let tokens = (1_u64..30, any::<bool>()).prop_map(|(count, cache_reads)| {
        json!({ "type": "max_tokens", "count": count, "cache_reads": cache_reads })
    });
    let cost = select(vec![0.1, 0.25, 0.3, 1.0, 2.0])
        .prop_map(|usd| json!({ "type": "max_cost", "usd": usd }));
    let quota = (select(vec!["5h", "weekly"]), rate()).prop_map(
        |(window, at_least)| json!({ "type": "quota", "window": window, "at_least": at_least }),
    );
    let context =
        rate().prop_map(|at_least| json!({ "type": "context_usage", "at_least": at_least }));
    let rates = (select(vec!["reject_rate", "retry_rate"]), rate(), 1_u64..4).prop_map(
        |(name, above, units)| json!({ "type": name, "above": above, "min_units": units }),
    );
    let errors = (rate(), 1_u64..4).prop_map(|(at_least, tasks)| {
        json!({ "type": "error_rate", "at_least": at_least, "min_tasks": tasks })
    });
    let drift = rate().prop_map(|above| json!({ "type": "topic_drift", "above": above }));
    Union::new(vec![
        counts.boxed(),
        tokens.boxed(),
        cost.boxed(),
        quota.boxed(),
        context.boxed(),
        rates.boxed(),
        errors.boxed(),
        drift.boxed(),
    ])
}

/// What counts in a row.
fn streaks() -> impl Strategy<Value = Json> {
    let counts =
        (select(vec!["consecutive_errors", "consecutive_fails", "test_failure_streak"]), 1_u64..4)
            .prop_map(|(name, count)| json!({ "type": name, "count": count }));
    let category = (1_u64..4, select(vec!["transient", "recoverable", "critical"])).prop_map(
        |(count, category)| {
            json!({ "type": "consecutive_errors", "count": count, "category": category })
        },
    );
    let idle = (1_u64..4)
        .prop_map(|iterations| json!({ "type": "no_progress", "iterations": iterations }));
    let signals =
        (1_u64..4).prop_map(|cycles| json!({ "type": "no_signal_change", "cycles": cycles }));
    let repetition = (
        select(vec!["low", "normal", "high"]),
        prop::option::of(1_u64..4),
        prop::option::of(1_u64..4),
        prop::option::of(duration()),
    )
        .prop_map(|(sensitivity, pair, error, wait)| {
            let mut condition = json!({ "type": "repetition", "sensitivity": sensitivity });
            put(&mut condition, "repeat_pair", pair);
            put(&mut condition, "repeat_error", error);
            put(&mut condition, "max_wait", wait);
            condition
        });
    let worker = (select(vec!["blocked", "failed", "timed_out", "rate_limited"]), 1_u64..4)
        .prop_map(|(status, rows)| json!({ "type": "worker", "status": status, "in_a_row": rows }));
    let review =
        (select(vec!["approved", "changes_requested", "rejected"]), prop::option::of(1_u64..4))
            .prop_map(|(outcome, rounds)| {
                let mut condition = json!({ "type": "review", "outcome": outcome });
                put(&mut condition, "same_rounds", rounds);
                condition
            });
    Union::new(vec![
        counts.boxed(),
        category.boxed(),
        idle.boxed(),
        signals.boxed(),
        repetition.boxed(),
        worker.boxed(),
        review.boxed(),
    ])
}

/// What changes as time passes.
fn timed() -> impl Strategy<Value = Json> {
    let durations =
        (select(vec!["max_duration", "stagnation", "cooldown", "unresolved"]), duration())
            .prop_map(|(name, duration)| json!({ "type": name, "duration": duration }));
    let clock = select(vec![
        "07:00",
        "06:59:55",
        "00:00",
        "2026-05-04T07:00:01Z",
        "2026-05-04T07:10:00Z",
        "1990-01-01T00:00:00Z",
    ])
    .prop_map(|at| json!({ "type": "wall_clock", "at": at }));
    let health = select(vec![0.0, 0.5, 0.7, 0.75, 0.8, 0.9, 1.0])
        .prop_map(|below| json!({ "type": "health", "below": below }));
    Union::new_weighted(vec![(4, durations.boxed()), (1, clock.boxed()), (1, health.boxed())])
}

/// What others said of the work.
fn judged() -> impl Strategy<Value = Json> {
    let plain = select(vec!["user_signal", "all_tests_pass", "tasks_done"])
        .prop_map(|name| json!({ "type": name }));
    let error = prop::option::of(select(vec!["boom", "exit", "disk"])).prop_map(|pattern| {
        let mut condition = json!({ "type": "on_error" });
        put(&mut condition, "pattern", pattern);
        condition
    });
    let guard =
        prop::option::of(select(vec!["scope", "protected", "lockfile", "dirty", "collision"]))
            .prop_map(|kind| {
                let mut condition = json!({ "type": "guard_violated" });
                put(&mut condition, "kind", kind);
                condition
            });
    let exit = prop::collection::vec(select(vec![0, 1, 2, -1]), 0..3)
        .prop_map(|codes| json!({ "type": "exit_code", "any_of": codes }));
    let class = prop::collection::vec(select(vec!["lint", " Build ", "x"]), 0..3)
        .prop_map(|classes| json!({ "type": "failure_class", "any_of": classes }));
    let tests = prop::collection::vec(select(vec!["a", "b", "c"]), 1..4)
        .prop_map(|tests| json!({ "type": "specific_tests_pass", "tests": tests }));
    let verification = select(vec!["passed", "failed", "timed_out"])
        .prop_map(|outcome| json!({ "type": "verification", "outcome": outcome }));
    let returns = (1_u64..4, rate()).prop_map(|(cycles, below)| {
        json!({ "type": "diminishing_returns", "cycles": cycles, "below": below })
    });
    Union::new(vec![
        plain.boxed(),
        error.boxed(),
        guard.boxed(),
        exit.boxed(),
        class.boxed(),
        tests.boxed(),
        verification.boxed(),
        returns.boxed(),
    ])
}

/// What somebody outside must answer.
fn asked() -> impl Strategy<Value = Json> {
    let pattern = (
        select(vec!["DONE", "sha256:DONE", "OK"]),
        any::<bool>(),
        select(vec!["any", "assistant", "result", "auto"]),
        select(vec!["iteration", "run"]),
    )
        .prop_map(|(pattern, is_regex, place, since)| {
            json!({
                "type": "output_pattern",
                "pattern": pattern,
                "is_regex": is_regex,
                "in": place,
                "since": since,
            })
        });
    let created = select(vec!["done", "a/b"])
        .prop_map(|path| json!({ "type": "file_created", "path": path }));
    let contains = select(vec!["done", "a/b"])
        .prop_map(|path| json!({ "type": "file_contains", "path": path, "content": "yes" }));
    let script = select(vec!["./check.sh", "/bin/true"])
        .prop_map(|script| json!({ "type": "custom_script", "script": script }));
    Union::new(vec![pattern.boxed(), created.boxed(), contains.boxed(), script.boxed()])
}

/// Expressions over facts that do not change by time alone.
fn expression() -> impl Strategy<Value = Json> {
    select(vec![
        "iterations >= 2",
        "tokens > 3 || cost_usd >= 0.5",
        "tokens_by.cache_read > 2",
        "!cost_known",
        "units.rejected > 0 && error_now",
        "units.total > units.approved",
        "attempts >= 3",
        "verification == 'failed'",
        "context.used > 5",
        "exit_code == 1",
        "improvement < 0.5",
        "review.same_rounds >= 2",
        "signal == 'stop'",
        "worker == 'blocked'",
        "6 / iterations > 2",
        "consecutive_errors >= 2",
        "errored > 0 && ended > errored",
        "'DONE' in matched",
        "drift > 0.3",
        "failure_class == 'lint'",
        "iterations_since_progress > 1",
        "'dirty' in guards",
    ])
    .prop_map(|cel| json!({ "type": "expr", "cel": cel }))
}

/// Sets a key that may be left out.
pub(super) fn put(table: &mut Json, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        table[key] = json!(value);
    }
}
