//! The one object of `--output-format json`.

use serde_json::Value;

use super::{Gemini, fault, giving_up, tokens};
use crate::fields::{text, words};
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
