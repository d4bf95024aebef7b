//! Cursor's agent: `cursor-agent -p --output-format json` and `stream-json`, and its bare answer.
//!
//! Written from its documentation: it gives no tokens and no cost, and after a failure no record at
//! all, only words on the standard error. Recent builds may add figures, which are read if they come.

use serde_json::Value;

use crate::calls::{Call, Returned};
use crate::fields::{self, count, text, words};
use crate::launch::{Launch, fault_of};
use crate::totals::Tokens;
use crate::{Adapter, Exit, Listener, Moment, Outcome, Record};

/// Reads what Cursor's agent prints.
#[derive(Debug, Default)]
pub struct Cursor {
    launch: Launch,
}

impl Adapter for Cursor {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let bytes = match record {
            Record::Json(bytes) => bytes,
            Record::Text(line) => return self.launch.plain_line(line, listener),
        };
        let Some(value) = fields::record(bytes) else { return };
        let Some(kind) = text(&value, "type").filter(|kind| KINDS.contains(kind)) else {
            return self.launch.plain_json(bytes, listener);
        };
        self.launch.took_record();
        if kind != "system" {
            self.launch.touch(listener);
        }
        match kind {
            "system" => {
                self.launch.begin(text(&value, "session_id"), Outcome::CutOff, listener);
                self.launch.model = text(&value, "model").map(str::to_owned);
            }
            "assistant" => {
                let content = value.pointer("/message/content").unwrap_or(&Value::Null);
                self.launch.said(&words(content), listener);
            }
            "tool_call" => self.tool_call(&value, listener),
            "result" => self.result(&value, moment, listener),
            _ => {}
        }
    }

    fn error_line(&mut self, line: &str, moment: &Moment, _listener: &mut dyn Listener) {
        self.launch.suspect(line, moment);
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        _moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.launch.finish(exit, Outcome::CutOff, listener)
    }
}

impl Cursor {
    fn tool_call(&mut self, value: &Value, listener: &mut dyn Listener) {
        let id = text(value, "call_id").unwrap_or_default();
        let calls = value.get("tool_call").and_then(Value::as_object);
        let Some((name, call)) = calls.and_then(|calls| calls.iter().next()) else { return };
        let tool = name.strip_suffix("ToolCall").unwrap_or(name);
        let arguments = call.get("args").unwrap_or(&Value::Null);
        self.launch.calls.begin(id, Call::new(tool, arguments), listener);
        if text(value, "subtype") == Some("completed") {
            let result = call.get("result").unwrap_or(&Value::Null);
            let (inner, failed) = match result.get("success") {
                Some(success) => (success, false),
                None => (result, true),
            };
            let exit_code = inner.get("exitCode").and_then(Value::as_i64);
            let returned = Returned { output: &words(inner), exit_code, failed };
            self.launch.calls.end(id, returned, listener);
        }
    }

    fn result(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        if let Some(usage) = value.get("usage") {
            let tokens = Tokens {
                input: count(usage, "inputTokens"),
                output: count(usage, "outputTokens"),
                cache_read: count(usage, "cacheReadTokens"),
                cache_write: count(usage, "cacheWriteTokens"),
            };
            self.launch.used(tokens, None, listener);
        }
        let result = text(value, "result");
        if value.get("is_error").and_then(Value::as_bool) == Some(true) {
            let message = result.or_else(|| text(value, "subtype")).unwrap_or("error");
            self.launch.failed(fault_of(message, moment), listener);
            self.launch.ended(Outcome::Failed, listener);
        } else {
            self.launch.result(result, listener);
            self.launch.ended(Outcome::Succeeded, listener);
        }
    }
}

/// The types of records.
const KINDS: [&str; 6] = ["system", "user", "assistant", "thinking", "tool_call", "result"];

#[cfg(test)]
mod tests;
