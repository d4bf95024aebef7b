//! The records of `--output-format stream-json`.

use serde_json::Value;

use super::{Gemini, fault, giving_up};
use crate::calls::{Call, Returned};
use crate::fields::{count, text, text_at, words};
use crate::launch::used;
use crate::totals::Tokens;
use crate::{Heard, Listener, Moment, Outcome, Shown};

impl Gemini {
    pub(super) fn stream(
        &mut self,
        kind: &str,
        value: &Value,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        if kind != "message" {
            self.end_message(listener);
        }
        if kind != "init" {
            self.launch.touch(listener);
        }
        match kind {
            "init" => {
                self.begin(text(value, "session_id"), listener);
                self.launch.model = text(value, "model").map(str::to_owned);
            }
            "message" => self.message(value, listener),
            "tool_use" => {
                let parameters = value.get("parameters").unwrap_or(&Value::Null);
                let call = Call::new(text(value, "tool_name").unwrap_or_default(), parameters);
                let id = text(value, "tool_id").unwrap_or_default();
                self.launch.calls.begin(id, call, listener);
            }
            "tool_result" => {
                let failed = text(value, "status") == Some("error");
                let error = text_at(value, "/error/message").filter(|_| failed);
                let output = words(value.get("output").unwrap_or(&Value::Null));
                let returned =
                    Returned { output: error.unwrap_or(&output), exit_code: None, failed };
                self.launch.calls.end(
                    text(value, "tool_id").unwrap_or_default(),
                    returned,
                    listener,
                );
            }
            "error" => {
                let message = text(value, "message").unwrap_or("error");
                // A loop is only a warning to Gemini, though it stops for it.
                if text(value, "severity") == Some("error") || giving_up(message).is_some() {
                    // Whatever it is, a result follows, unless something cuts it off.
                    self.gave_up = true;
                    self.launch.cut_off_by(fault(message, moment), listener);
                } else {
                    listener.hear(Heard::Shown(Shown::Notice(message)));
                }
            }
            "result" => self.result(value, moment, listener),
            _ => {}
        }
    }

    fn message(&mut self, value: &Value, listener: &mut dyn Listener) {
        let content = words(value.get("content").unwrap_or(&Value::Null));
        if text(value, "role") != Some("assistant") {
            self.end_message(listener);
        } else if value.get("delta").and_then(Value::as_bool) == Some(true) {
            if self.message.len() < LONGEST_MESSAGE {
                self.message.push_str(&content);
            }
        } else {
            self.end_message(listener);
            self.launch.said(&content, listener);
        }
    }

    fn result(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        // Scripts like to show it once more.
        if self.launch.has_ended() && self.result.as_ref() == Some(value) {
            return;
        }
        self.result = Some(value.clone());
        if let Some(stats) = value.get("stats") {
            self.stats(stats, listener);
        }
        if let Some(error) = value.get("error") {
            self.error(error, moment, listener);
        }
        // After a loop or too many turns the status is still `success`.
        let succeeded = text(value, "status") == Some("success") && !self.gave_up;
        if succeeded {
            self.launch.tell_step(listener);
            self.launch.result(None, listener);
        }
        let outcome = if succeeded { Outcome::Succeeded } else { Outcome::Failed };
        self.launch.ended(outcome, listener);
    }

    /// What each model used, or all of them where no model is named.
    fn stats(&mut self, stats: &Value, listener: &mut dyn Listener) {
        match stats.get("models").and_then(Value::as_object) {
            Some(models) if !models.is_empty() => {
                for (model, stats) in models {
                    used(tokens(stats), None, Some(model.clone()), listener);
                }
            }
            _ => self.launch.used(tokens(stats), None, listener),
        }
    }
}

/// Thoughts are in the total only.
fn tokens(stats: &Value) -> Tokens {
    let all_input = count(stats, "input_tokens");
    let output = count(stats, "output_tokens");
    let cache_read = count(stats, "cached");
    let thoughts = count(stats, "total_tokens").saturating_sub(all_input).saturating_sub(output);
    Tokens {
        input: all_input.saturating_sub(cache_read),
        output: output.saturating_add(thoughts),
        cache_read,
        cache_write: 0,
    }
}

/// The types of records.
pub(super) const KINDS: [&str; 6] =
    ["init", "message", "tool_use", "tool_result", "error", "result"];

const LONGEST_MESSAGE: usize = 1024 * 1024;
