//! Facts by their stable names, for people, scripts and expressions.

use std::collections::BTreeMap;

use super::errors::LastError;
use super::{Facts, HealthLimits, Watch};
use crate::expression::{FACT_NAMES, FactSource, FactValue};
use crate::time::{Moment, millis};

/// Facts as they are seen at a moment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub facts: &'a Facts,
    pub now: Moment,
    pub limits: HealthLimits,
}

impl View<'_> {
    /// Every fact by its name, as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let named =
            FACT_NAMES.iter().filter_map(|name| Some(((*name).to_owned(), self.fact(name)?)));
        json(FactValue::Map(named.collect()))
    }
}

impl View<'_> {
    /// The groups of facts that a name stands for.
    pub(crate) fn watch(name: &str) -> Watch {
        match name {
            "iterations" => Watch::ITERATIONS,
            "tokens" | "tokens_by" => Watch::TOKENS,
            "cost_usd" | "cost_known" => Watch::COST,
            "context" => Watch::CONTEXT,
            "quota" => Watch::QUOTA,
            "units" | "attempts" | "consecutive_fails" | "retry_rate" | "reject_rate" => {
                Watch::UNITS
            }
            "tasks" => Watch::TASKS,
            "ended" | "errored" | "error_rate" | "consecutive_errors" | "last_error"
            | "error_now" => Watch::ERRORS | Watch::UNITS,
            "tests" | "test_failure_streak" => Watch::TESTS,
            "iterations_since_progress" | "progress_age_ms" => Watch::PROGRESS,
            "cycles" | "improvement" => Watch::CYCLES,
            "drift" => Watch::DRIFT,
            "repetition" => Watch::REPETITION,
            "job_attempts" | "total_attempts" | "failure_class" | "failure_signals"
            | "last_changed_at" | "first_failure_at" => Watch::RERUN,
            "guards" => Watch::GUARDS,
            "verification" => Watch::VERIFICATION,
            "review" => Watch::REVIEW,
            "worker" => Watch::WORKER,
            "signal" => Watch::SIGNAL,
            "exit_code" => Watch::EXIT,
            "matched" => Watch::MATCHED,
            "probes" => Watch::PROBES,
            "active_ms" => Watch::NONE,
            // The health reads several groups; a name of a later version may read any.
            _ => Watch::ALL,
        }
    }
}

impl FactSource for View<'_> {
    fn fact(&self, name: &str) -> Option<FactValue> {
        let facts = self.facts;
        let spent = &facts.spent;
        let units = &facts.units;
        let (ended, errored) = facts.ended_and_errored();
        Some(match name {
            "iterations" => facts.iterations.into(),
            "active_ms" => millis(self.now.active).into(),
            "tokens" => spent.tokens(false).into(),
            "tokens_by" => {
                let amounts = spent.amounts();
                [
                    ("input", amounts.input.into()),
                    ("output", amounts.output.into()),
                    ("cache_read", amounts.cache_read.into()),
                    ("cache_write", amounts.cache_write.into()),
                ]
                .into()
            }
            "cost_usd" => spent.cost_usd().into(),
            "cost_known" => spent.is_cost_known().into(),
            "context" => {
                let context = facts.context.as_ref();
                [
                    ("used", context.map_or(0, |context| context.used).into()),
                    ("limit", context.map_or(0, |context| context.limit).into()),
                ]
                .into()
            }
            "quota" => FactValue::Map(
                facts
                    .quotas
                    .iter(self.now)
                    .map(|(window, used)| (window.to_owned(), used.into()))
                    .collect(),
            ),
            "units" => [
                ("total", units.total.unwrap_or(units.attempted).into()),
                ("attempted", units.attempted.into()),
                ("approved", units.approved.into()),
                ("rejected", units.rejected.into()),
                ("failed", units.failed.into()),
            ]
            .into(),
            "attempts" => units.attempts.into(),
            "consecutive_fails" => units.consecutive_fails.into(),
            "retry_rate" => facts.retry_rate().into(),
            "reject_rate" => facts.reject_rate().into(),
            "tasks" => tasks(facts),
            "ended" => ended.into(),
            "errored" => errored.into(),
            "error_rate" => facts.error_rate().into(),
            "consecutive_errors" => facts.errors.consecutive.into(),
            "last_error" => optional(facts.errors.last.as_ref(), last_error),
            "tests" => [
                ("passed", facts.tests.passed.clone().into()),
                ("failed", facts.tests.failed.clone().into()),
                ("skipped", facts.tests.skipped.clone().into()),
            ]
            .into(),
            "test_failure_streak" => facts.tests.failure_streak.into(),
            "iterations_since_progress" => facts.progress.iterations_since.into(),
            "progress_age_ms" => millis(facts.progress.age(self.now.active)).into(),
            "cycles" => facts.cycles.count.into(),
            "improvement" => facts.cycles.improvement.into(),
            "health" => facts.health_score(self.now, self.limits).into(),
            "drift" => facts.drift.unwrap_or(0.0).into(),
            "repetition" => repetition(facts),
            "job_attempts" => facts.reruns.job_attempts.into(),
            "total_attempts" => facts.reruns.total_attempts.into(),
            "failure_class" => facts.reruns.failure_class.clone().into(),
            "failure_signals" => facts.reruns.signals.iter().cloned().collect(),
            "last_changed_at" => facts.reruns.last_changed_at.map(|at| at.to_string()).into(),
            "first_failure_at" => facts.reruns.first_failure_at.map(|at| at.to_string()).into(),
            "guards" => facts.guards.0.iter().map(|guard| named(&guard.kind)).collect(),
            "verification" => optional(facts.verification.as_ref(), named),
            "review" => [
                ("outcome", optional(facts.reviews.outcome.as_ref(), named)),
                ("same_rounds", facts.reviews.same_rounds.into()),
            ]
            .into(),
            "worker" => optional(facts.worker.status.as_ref(), named),
            "signal" => optional(facts.signal.as_ref(), named),
            "exit_code" => facts.exit_code.into(),
            "error_now" => facts.errors.now.into(),
            "matched" => facts.patterns.matched().map(str::to_owned).collect(),
            "probes" => FactValue::Map(
                facts.probes.iter().map(|(key, met)| (key.to_owned(), met.into())).collect(),
            ),
            _ => return None,
        })
    }
}

fn last_error(error: &LastError) -> FactValue {
    [
        ("category", named(&error.category)),
        ("message", error.message.as_str().into()),
        ("signature", error.signature.clone().into()),
    ]
    .into()
}

fn tasks(facts: &Facts) -> FactValue {
    let tasks = facts.tasks.as_ref();
    let number = |read: fn(&crate::event::Tasks) -> u64| FactValue::from(tasks.map_or(0, read));
    [
        ("total", number(|tasks| tasks.total)),
        ("done", number(|tasks| tasks.done)),
        ("queued", number(|tasks| tasks.queued)),
        ("phase", named(&tasks.map(|tasks| tasks.phase).unwrap_or_default())),
        ("improvements", number(|tasks| tasks.improvements.unwrap_or(0))),
    ]
    .into()
}

fn repetition(facts: &Facts) -> FactValue {
    let (score, kind) = match (&facts.overrides.repetition, facts.repetition()) {
        (Some(given), _) => (given.score, given.kind),
        (None, Some(reading)) => (reading.score, reading.kind),
        (None, None) => (0.0, None),
    };
    [("score", score.into()), ("kind", kind.map(|kind| kind.as_str().to_owned()).into())].into()
}

fn optional<T>(value: Option<&T>, view: impl FnOnce(&T) -> FactValue) -> FactValue {
    value.map_or(FactValue::Null, view)
}

/// An enum by the name that it has in JSON.
fn named(value: &impl serde::Serialize) -> FactValue {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => FactValue::Text(name),
        _ => FactValue::Null,
    }
}

fn json(value: FactValue) -> serde_json::Value {
    match value {
        FactValue::Null => serde_json::Value::Null,
        FactValue::Bool(value) => value.into(),
        FactValue::Int(value) => value.into(),
        FactValue::Float(value) => value.into(),
        FactValue::Text(value) => value.into(),
        FactValue::List(items) => items.into_iter().map(json).collect(),
        FactValue::Map(entries) => {
            let entries: BTreeMap<_, _> = entries;
            entries
                .into_iter()
                .map(|(key, value)| (key, json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}
