//! The one object of `--output-format json`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::{Gemini, fault, giving_up, tokens};
use crate::calls::Call;
use crate::fields::{count, text, words};
use crate::launch::used;
use crate::{Listener, Moment, Outcome};

pub(super) fn is_report(value: &Value) -> bool {
    ["response", "stats", "error"].iter().any(|key| value.get(key).is_some())
}

impl Gemini {
    pub(super) fn report(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        self.begin(text(value, "session_id"), listener);
        if let Some(models) = value.pointer("/stats/models").and_then(Value::as_object) {
            for (model, stats) in models {
                let stats = stats.get("tokens").unwrap_or(&Value::Null);
                used(tokens(stats, "prompt", "candidates"), None, Some(model.clone()), listener);
            }
        }
        calls(value, listener);
        if let Some(error) = value.get("error") {
            self.error(error, moment, listener);
        }
        let warnings = value.get("warnings").and_then(Value::as_array);
        for warning in warnings.into_iter().flatten() {
            let warning = words(warning);
            if giving_up(&warning).is_some() {
                self.failed(fault(&warning, moment), listener);
            }
        }
        let response = text(value, "response").unwrap_or_default();
        self.launch.said(response, listener);
        if !self.gave_up {
            self.launch.result(None, listener);
        }
        let outcome = if self.gave_up { Outcome::Failed } else { Outcome::Succeeded };
        self.launch.ended(outcome, listener);
    }
}

/// The calls of tools, of which only the numbers are told. No two of them may look the same, so each
/// is named by its place in the report.
fn calls(report: &Value, listener: &mut dyn Listener) {
    let tools = report.pointer("/stats/tools/byName").and_then(Value::as_object);
    let mut hasher = DefaultHasher::new();
    report.to_string().hash(&mut hasher);
    let identity = hasher.finish();
    for (tool, stats) in tools.into_iter().flatten() {
        let (all, failed) = (count(stats, "count").min(MOST_CALLS), count(stats, "fail"));
        for number in 0..all {
            Call::of_text(tool, "")
                .with_name(&(identity, number))
                .counted(number < failed, listener);
        }
    }
}

/// Against a report with an invented number.
const MOST_CALLS: u64 = 10_000;
