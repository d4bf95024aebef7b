//! Goose: `goose run --output-format json` and `stream-json`, and its text for people.
//!
//! Written from its source. It tells the sum of all tokens and no kinds, and no cost.

use serde_json::Value;

use crate::calls::{Call, Returned};
use crate::fields::{self, text, text_at, whole, words};
use crate::launch::{Launch, fault_of};
use crate::totals::{Tokens, Total};
use crate::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record, Shown};

/// Reads what Goose prints.
#[derive(Debug, Default)]
pub struct Goose {
    launch: Launch,
    total: Total,
    /// The message that comes in parts, and its name.
    message: (String, String),
    /// In the text for people, the lines are about the session or a call, until an empty one.
    in_block: bool,
}

impl Adapter for Goose {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let bytes = match record {
            Record::Json(bytes) => bytes,
            Record::Text(line) => return self.plain_line(line, listener),
        };
        let Some(value) = fields::record(bytes) else { return };
        let is_record = match text(&value, "type") {
            Some(kind) => KINDS.contains(&kind),
            None => value.get("messages").is_some(),
        };
        if !is_record {
            return self.launch.plain_json(bytes, listener);
        }
        // Its last word is `complete`: what comes behind is another launch's, with a sum of its own.
        if self.launch.has_ended()
            && !matches!(text(&value, "type"), Some("complete" | "notification"))
        {
            self.launch.begin_anew(None, Outcome::CutOff, listener);
            self.total = Total::default();
        }
        self.launch.took_record();
        self.launch.touch(listener);
        match text(&value, "type") {
            Some("message") => {
                self.message(value.get("message").unwrap_or(&Value::Null), listener);
            }
            Some("notification") => {
                if let Some(message) = text_at(&value, "/log/message").or(text(&value, "message")) {
                    listener.hear(Heard::Shown(Shown::Notice(message)));
                }
            }
            Some("error") => {
                // Without one it is somebody else's, such as a log's.
                let Some(error) = value.get("error") else { return };
                let message = words(error);
                self.launch.failed(fault_of(&message, moment), listener);
            }
            Some("complete") => self.complete(value.get("total_tokens"), None, listener),
            None => self.report(&value, listener),
            Some(_) => {}
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
        self.end_message(listener);
        self.launch.finish(exit, Outcome::CutOff, listener)
    }
}

impl Goose {
    /// A line of the text for people. Only what comes after the last call is the answer.
    fn plain_line(&mut self, line: &str, listener: &mut dyn Listener) {
        if line.starts_with("starting session |") || is_heading(line) {
            self.launch.forget_plain();
            self.in_block = true;
        } else if self.in_block {
            self.in_block = !line.trim().is_empty();
        } else {
            self.launch.plain_line(line, listener);
        }
    }

    /// The one object of `json`.
    fn report(&mut self, value: &Value, listener: &mut dyn Listener) {
        let Some(messages) = value.get("messages").and_then(Value::as_array) else { return };
        for message in messages {
            self.message(message, listener);
        }
        let metadata = value.get("metadata").unwrap_or(&Value::Null);
        self.complete(metadata.get("total_tokens"), text(metadata, "status"), listener);
    }

    fn complete(
        &mut self,
        total: Option<&Value>,
        status: Option<&str>,
        listener: &mut dyn Listener,
    ) {
        self.end_message(listener);
        // Kinds are unknown. It counts as input, of which nearly all of it is.
        let input = total.and_then(whole).unwrap_or(0);
        let added = self.total.advance(Tokens { input, ..Tokens::default() });
        self.launch.used(added, None, listener);
        let failed = self.launch.has_failed() || matches!(status, Some("error" | "failed"));
        if !failed {
            self.launch.tell_step(listener);
            self.launch.result(None, listener);
        }
        let outcome = if failed { Outcome::Failed } else { Outcome::Succeeded };
        self.launch.ended(outcome, listener);
    }

    /// A message, or a part of one: parts have the same name.
    fn message(&mut self, message: &Value, listener: &mut dyn Listener) {
        let id = text(message, "id").unwrap_or_default();
        if id.is_empty() || id != self.message.0 {
            self.end_message(listener);
            id.clone_into(&mut self.message.0);
        }
        let is_assistant = text(message, "role") == Some("assistant");
        let content = message.get("content").and_then(Value::as_array);
        for block in content.into_iter().flatten() {
            match text(block, "type").unwrap_or_default() {
                "text" if is_assistant && self.message.1.len() < LONGEST_MESSAGE => {
                    self.message.1.push_str(text(block, "text").unwrap_or_default());
                }
                "toolRequest" => {
                    let call = block.pointer("/toolCall/value").unwrap_or(&Value::Null);
                    let arguments = call.get("arguments").unwrap_or(&Value::Null);
                    let call = Call::new(text(call, "name").unwrap_or_default(), arguments);
                    let id = text(block, "id").unwrap_or_default();
                    self.launch.calls.begin(id, call, listener);
                }
                "toolResponse" => {
                    let result = block.get("toolResult").unwrap_or(&Value::Null);
                    let failed = text(result, "status") == Some("error");
                    let output = result.get(if failed { "error" } else { "value" });
                    let output = output.unwrap_or(&Value::Null);
                    let output = words(output.get("content").unwrap_or(output));
                    let returned = Returned { output: &output, exit_code: None, failed };
                    self.launch.calls.end(
                        text(block, "id").unwrap_or_default(),
                        returned,
                        listener,
                    );
                }
                _ => {}
            }
        }
    }

    fn end_message(&mut self, listener: &mut dyn Listener) {
        let (_, message) = std::mem::take(&mut self.message);
        self.launch.said(&message, listener);
    }
}

/// Whether the text for people tells a call here: `─── shell | developer ───`.
fn is_heading(line: &str) -> bool {
    line.starts_with("───") && line.contains(" | ")
}

/// The types of records.
const KINDS: [&str; 4] = ["message", "notification", "error", "complete"];

const LONGEST_MESSAGE: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
