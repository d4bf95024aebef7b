//! The records of Codex's session files.

use backstop_core::event::{Action, Context};
use serde_json::Value;

use super::{Codex, fault, limits, tokens};
use crate::calls::{Call, Returned};
use crate::fields::{count, text, time, words};
use crate::{FaultKind, Heard, Listener, Moment, Outcome, Shown};

impl Codex {
    pub(super) fn rollout(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        let at = value.get("timestamp").and_then(time);
        if let Some(at) = at {
            listener.hear(Heard::At(at));
        }
        // Distances in a file of last year count from its own time.
        let moment = &moment.of(at);
        let payload = value.get("payload").unwrap_or(&Value::Null);
        let kind = text(value, "type").unwrap_or_default();
        if kind != "session_meta" {
            self.launch.touch(listener);
        }
        match kind {
            "session_meta" => self.begin(text(payload, "id"), listener),
            "turn_context" => self.launch.model = text(payload, "model").map(str::to_owned),
            "response_item" => self.response_item(payload, listener),
            "event_msg" => self.event(payload, moment, listener),
            "compacted" => compacted(listener),
            _ => {}
        }
    }

    fn response_item(&mut self, item: &Value, listener: &mut dyn Listener) {
        let id = text(item, "call_id").or_else(|| text(item, "id")).unwrap_or_default();
        let name = text(item, "name").unwrap_or_default();
        self.spoke_last &= self.launch.calls.is_empty();
        match text(item, "type").unwrap_or_default() {
            "function_call" => {
                let arguments = embedded(item.get("arguments"));
                self.launch.calls.begin(id, Call::new(name, &arguments), listener);
            }
            "custom_tool_call" => {
                let input = embedded(item.get("input"));
                self.launch.calls.begin(id, Call::new(name, &input), listener);
            }
            "local_shell_call" => {
                let action = item.get("action").unwrap_or(&Value::Null);
                self.launch.calls.begin(id, Call::new("shell", action), listener);
            }
            "tool_search_call" => {
                let arguments = embedded(item.get("arguments"));
                self.launch.calls.begin(id, Call::new("tool_search", &arguments), listener);
            }
            // Searches of the provider come with their end.
            "web_search_call" => {
                let action = item.get("action").unwrap_or(&Value::Null);
                let query = text(action, "query").or_else(|| text(action, "url"));
                let call = Call::of_text("web_search", query.unwrap_or_default());
                call.at_once(Returned::default(), listener);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let output = item.get("output").unwrap_or(&Value::Null);
                // Shells answer with an object of text and exit status, as JSON in a string.
                let answer = embedded(Some(output));
                let exit_code = answer.pointer("/metadata/exit_code").and_then(Value::as_i64);
                let output = words(answer.get("output").unwrap_or(&answer));
                let failed = answer.get("success").and_then(Value::as_bool) == Some(false);
                self.launch.calls.end(
                    id,
                    Returned { output: &output, exit_code, failed },
                    listener,
                );
            }
            "tool_search_output" => {
                let tools = words(item.get("tools").unwrap_or(&Value::Null));
                let returned = Returned { output: &tools, ..Returned::default() };
                self.launch.calls.end(id, returned, listener);
            }
            _ => {}
        }
    }

    pub(super) fn event(&mut self, event: &Value, moment: &Moment, listener: &mut dyn Listener) {
        match text(event, "type").unwrap_or_default() {
            "token_count" => self.token_count(event, moment, listener),
            "agent_message" => {
                self.launch.said(text(event, "message").unwrap_or_default(), listener);
                self.spoke_last = true;
            }
            "task_started" | "turn_started" => {
                self.launch.goes_on();
                self.has_turns = true;
            }
            "user_message" => self.spoke_last = false,
            "task_complete" | "turn_complete" => {
                self.launch.result(text(event, "last_agent_message"), listener);
                match event.get("error").filter(|error| error.is_object()) {
                    Some(error) => {
                        self.launch.failed(fault::of_record(error, moment), listener);
                        self.launch.ended(Outcome::Failed, listener);
                    }
                    // A turn that ends without a word after an error ended with the error.
                    None if text(event, "last_agent_message").is_none()
                        && self.launch.has_failed() =>
                    {
                        self.launch.ended(Outcome::Failed, listener);
                    }
                    None => self.launch.ended(Outcome::Succeeded, listener),
                }
            }
            // Somebody interrupted it, or something replaced it: no failure of the service.
            "turn_aborted" => {
                let reason = text(event, "reason").unwrap_or("aborted");
                listener.hear(Heard::Shown(Shown::Notice(reason)));
                self.launch.ended(Outcome::Failed, listener);
            }
            "error" => {
                let mut fault = fault::of_record(event, moment);
                if fault.kind == FaultKind::RateLimited {
                    fault.retry_at = fault.retry_at.or(self.full_until);
                }
                self.launch.failed(fault, listener);
            }
            "stream_error" | "warning" => {
                let message = text(event, "message").unwrap_or_default();
                listener.hear(Heard::Shown(Shown::Notice(message)));
            }
            _ => {}
        }
    }

    /// The thread's total, how full its context is, and how full the plan's windows are.
    fn token_count(&mut self, event: &Value, moment: &Moment, listener: &mut dyn Listener) {
        if let Some(information) = event.get("info").filter(|information| information.is_object()) {
            if let Some(total) = information.get("total_token_usage") {
                let added = self.total.advance(tokens(total));
                self.launch.used(added, None, listener);
            }
            let last = information.get("last_token_usage").unwrap_or(&Value::Null);
            let limit = count(information, "model_context_window");
            let context = Context::of(count(last, "total_tokens"), limit);
            if context.limit > 0 && context.used > 0 {
                listener.hear(Heard::Event(context.into()));
            }
        }
        let windows = event.get("rate_limits").unwrap_or(&Value::Null);
        if windows.is_object() {
            self.full_until = None;
        }
        for quota in limits::quotas(windows, moment) {
            if quota.used >= 1.0 {
                self.full_until = self.full_until.max(quota.resets_at);
            }
            listener.hear(Heard::Event(quota.into()));
        }
    }
}

fn compacted(listener: &mut dyn Listener) {
    let action = Action {
        signature: "compaction".to_owned(),
        kind: "compaction".to_owned(),
        ..Action::default()
    };
    listener.hear(Heard::Event(action.into()));
    listener.hear(Heard::Shown(Shown::Notice("the context was compacted")));
}

/// A value that may stand as JSON in a string.
fn embedded(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(text)) if text.trim_start().starts_with('{') => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(value) => value.clone(),
        None => Value::Null,
    }
}
