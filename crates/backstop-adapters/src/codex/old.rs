//! The records of `codex exec --json` until autumn 2025: the events of the session files under `msg`,
//! with calls among them.

use serde_json::Value;

use super::{Codex, tokens};
use crate::calls::{Call, Returned};
use crate::fields::{text, text_at, words};
use crate::launch::Launch;
use crate::{Listener, Moment};

/// Whether it is one of those records: an event with the number of its request, or the settings that
/// come first.
pub(super) fn is_record(value: &Value) -> bool {
    is_event(value) || is_settings(value)
}

/// Whether it is an event with the number of its request.
pub(crate) fn is_event(value: &Value) -> bool {
    text(value, "id").is_some() && text_at(value, "/msg/type").is_some()
}

fn is_settings(value: &Value) -> bool {
    value.get("type").is_none()
        && text(value, "model").is_some()
        && text(value, "workdir").is_some()
}

impl Codex {
    pub(super) fn old(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        let Some(event) = value.get("msg") else {
            self.begin(None, listener);
            self.launch.model = text(value, "model").map(str::to_owned);
            return;
        };
        self.launch.touch(listener);
        let kind = text(event, "type").unwrap_or_default();
        let id = text(event, "call_id").unwrap_or_default();
        match kind {
            "exec_command_begin" => {
                self.launch.calls.begin(id, Call::new("shell", event), listener);
            }
            "mcp_tool_call_begin" => {
                let invocation = event.get("invocation").unwrap_or(event);
                let tool = text(invocation, "tool").unwrap_or_default();
                let name = match text(invocation, "server") {
                    Some(server) => format!("{server}.{tool}"),
                    None => tool.to_owned(),
                };
                let arguments = invocation.get("arguments").unwrap_or(&Value::Null);
                self.launch.calls.begin(id, Call::new(&name, arguments), listener);
            }
            "patch_apply_begin" => {
                let changes = event.get("changes").unwrap_or(&Value::Null);
                self.launch.calls.begin(id, Call::new("apply_patch", changes), listener);
            }
            "exec_command_end" | "mcp_tool_call_end" | "patch_apply_end" => {
                ended(&mut self.launch, id, event, listener);
            }
            // The first builds told the tokens of each request alone.
            "token_count" if event.get("info").is_none() => {
                self.launch.used(tokens(event), None, listener);
            }
            _ => self.event(event, moment, listener),
        }
    }
}

fn ended(launch: &mut Launch, id: &str, event: &Value, listener: &mut dyn Listener) {
    let outputs = ["aggregated_output", "stdout", "stderr", "result"].map(|key| event.get(key));
    let outputs = outputs.into_iter().flatten().map(words);
    let output = outputs.into_iter().find(|output| !output.is_empty()).unwrap_or_default();
    let returned = Returned {
        output: &output,
        exit_code: event.get("exit_code").and_then(Value::as_i64),
        failed: event.get("success").and_then(Value::as_bool) == Some(false)
            || event.pointer("/result/Err").is_some(),
    };
    launch.calls.end(id, returned, listener);
}
