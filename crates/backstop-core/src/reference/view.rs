//! Facts by their names, for expressions.

use super::evaluate::Scene;
use super::work::rate;
use crate::event::{EventKind, UnitStatus};
use crate::expression::{FactSource, FactValue};
use crate::time::millis;

/// The list as an expression sees it.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) scene: &'a Scene<'a>,
}

impl FactSource for View<'_> {
    fn fact(&self, name: &str) -> Option<FactValue> {
        let history = self.scene.history;
        let (finished, unsuccessful, retried) = history.finished_units();
        Some(match name {
            "iterations" => history.iterations().into(),
            "active_ms" => millis(history.now.active).into(),
            "tokens" => history.tokens(false).into(),
            "tokens_by" => [
                ("input", history.sum(|usage| usage.input_tokens).into()),
                ("output", history.sum(|usage| usage.output_tokens).into()),
                ("cache_read", history.sum(|usage| usage.cache_read_tokens).into()),
                ("cache_write", history.sum(|usage| usage.cache_write_tokens).into()),
            ]
            .into(),
            "cost_usd" => history.cost_usd().into(),
            "cost_known" => history.cost_known().into(),
            "context" => [
                ("used", history.context().map_or(0, |context| context.used).into()),
                ("limit", history.context().map_or(0, |context| context.limit).into()),
            ]
            .into(),
            "units" => [
                ("total", history.units_total().into()),
                ("attempted", history.units_attempted().into()),
                ("approved", history.units_with(UnitStatus::Approved).into()),
                ("rejected", history.units_with(UnitStatus::Rejected).into()),
                ("failed", history.units_with(UnitStatus::Failed).into()),
            ]
            .into(),
            "attempts" => history.attempts().into(),
            "consecutive_fails" => history.consecutive_fails().into(),
            "retry_rate" => rate(retried, finished).into(),
            "reject_rate" => rate(unsuccessful, finished).into(),
            "ended" => history.ended_and_errored().0.into(),
            "errored" => history.ended_and_errored().1.into(),
            "error_rate" => history.error_rate().into(),
            "consecutive_errors" => history.consecutive_errors().into(),
            "test_failure_streak" => history.test_failure_streak().into(),
            "iterations_since_progress" => history.iterations_since_progress().into(),
            "progress_age_ms" => millis(history.progress_age()).into(),
            "cycles" => history.cycles().into(),
            "improvement" => history.improvement().into(),
            "health" => self.scene.health().into(),
            "drift" => history.drift().into(),
            "failure_class" => history.failure_class().map(str::to_owned).into(),
            "exit_code" => history.exit_code().into(),
            "error_now" => history.error_now().into(),
            "verification" => named(history.verification()),
            "review" => [
                ("outcome", named(history.review())),
                ("same_rounds", history.same_rounds().into()),
            ]
            .into(),
            "worker" => named(history.worker().map(|(status, _)| status)),
            "signal" => named(history.signal()),
            "guards" => history.guards().into_iter().map(|kind| named(Some(kind))).collect(),
            "matched" => {
                let mut patterns: Vec<_> = history
                    .events()
                    .filter_map(|(_, kind)| match kind {
                        EventKind::Matched(matched) => Some(matched.pattern.clone()),
                        _ => None,
                    })
                    .collect();
                patterns.sort_unstable();
                patterns.dedup();
                patterns.into()
            }
            _ => return None,
        })
    }
}

fn named(value: Option<impl serde::Serialize>) -> FactValue {
    match value.and_then(|value| serde_json::to_value(value).ok()) {
        Some(serde_json::Value::String(name)) => FactValue::Text(name),
        _ => FactValue::Null,
    }
}
