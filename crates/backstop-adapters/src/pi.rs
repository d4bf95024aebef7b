//! pi: `pi --mode json`, and its bare answer.

use backstop_core::event::{Action, Usage};
use serde_json::Value;

use crate::calls::{Call, Returned};
use crate::fields::{self, amount, count, is_nothing, known_cost, text, text_at, time, words};
use crate::launch::{Launch, fault_of};
use crate::{Adapter, Exit, Fault, FaultKind, Heard, Listener, Moment, Outcome, Record, Shown};

/// Reads what pi prints.
#[derive(Debug, Default)]
pub struct Pi {
    launch: Launch,
    /// An error that pi may still try to overcome.
    pending: Option<Fault>,
    /// The turn's message was told at its own end, so the turn's end says nothing new.
    told: bool,
}

impl Adapter for Pi {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let bytes = match record {
            Record::Json(bytes) => bytes,
            Record::Text(line) => return self.launch.plain_line(line, listener),
        };
        let Some(value) = fields::record(bytes) else { return };
        let part = |key| value.get(key).unwrap_or(&Value::Null);
        let call = text(&value, "toolCallId").unwrap_or_default();
        let Some(kind) = text(&value, "type") else {
            return self.launch.plain_json(bytes, listener);
        };
        self.launch.took_record();
        if kind != "session" {
            self.launch.touch(listener);
        }
        match kind {
            "session" => {
                self.give_up(listener);
                self.launch.start(text(&value, "id"), Outcome::CutOff, listener);
            }
            "agent_start" => {
                self.give_up(listener);
                self.launch.goes_on();
            }
            "turn_start" => self.told = false,
            "message_end" => self.message(part("message"), moment, listener),
            "turn_end" if !self.told => self.message(part("message"), moment, listener),
            "tool_execution_start" => {
                let tool = text(&value, "toolName").unwrap_or_default();
                self.launch.calls.begin(call, Call::new(tool, part("args")), listener);
            }
            "tool_execution_end" => {
                let result = part("result");
                let output = words(result.get("content").unwrap_or(result));
                let failed = part("isError").as_bool() == Some(true);
                let exit_code = result.pointer("/details/exitCode").and_then(Value::as_i64);
                self.launch.calls.end(
                    call,
                    Returned { output: &output, exit_code, failed },
                    listener,
                );
            }
            "agent_end" => self.agent_end(listener),
            "auto_retry_start" => {
                // It was no failure yet, and neither was the end that it led to.
                let fault = self.pending.take();
                self.launch.goes_on();
                if let Some(fault) = fault {
                    listener.hear(Heard::Shown(Shown::Notice(&fault.message)));
                }
            }
            "auto_retry_end" if part("success").as_bool() == Some(false) => {
                if let Some(message) = text(&value, "finalError") {
                    self.pending = Some(fault_of(message, moment));
                }
                self.give_up(listener);
            }
            "auto_compaction_end" | "compaction_end" => {
                let action = Action {
                    signature: "compaction".to_owned(),
                    kind: "compaction".to_owned(),
                    ..Action::default()
                };
                listener.hear(Heard::Event(action.into()));
                listener.hear(Heard::Shown(Shown::Notice("the context was compacted")));
            }
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
        self.give_up(listener);
        self.launch.finish(exit, Outcome::CutOff, listener)
    }
}

impl Pi {
    fn message(&mut self, message: &Value, moment: &Moment, listener: &mut dyn Listener) {
        if text(message, "role") != Some("assistant") {
            return;
        }
        self.told = true;
        let at = message.get("timestamp").and_then(time);
        if let Some(at) = at {
            listener.hear(Heard::At(at));
        }
        // One that was broken off may be followed by another all the same.
        if self.pending.is_some() {
            self.give_up(listener);
            self.launch.goes_on();
        }
        self.usage(message, listener);
        self.launch.said(&words_said(message), listener);
        self.pending = match text(message, "stopReason") {
            Some(stop @ ("error" | "aborted")) => {
                let reason = text(message, "errorMessage").unwrap_or(stop);
                Some(fault_of(reason, &moment.of(at)))
            }
            Some("length") => Some(Fault::new(
                FaultKind::OutputLimit,
                "the answer reached the limit of output tokens",
            )),
            _ => None,
        };
    }

    fn usage(&mut self, message: &Value, listener: &mut dyn Listener) {
        let Some(figures) = message.get("usage") else { return };
        let mut usage = Usage {
            input_tokens: count(figures, "input"),
            output_tokens: count(figures, "output"),
            cache_read_tokens: count(figures, "cacheRead"),
            cache_write_tokens: count(figures, "cacheWrite"),
            model: text(message, "model").map(str::to_owned),
            ..Usage::default()
        };
        // A model without a price costs 0 here.
        usage.cost_usd = known_cost(figures.pointer("/cost/total").and_then(amount), &usage);
        if !is_nothing(&usage) {
            listener.hear(Heard::Event(usage.into()));
        }
    }

    fn agent_end(&mut self, listener: &mut dyn Listener) {
        // It may have given up before its end.
        if self.pending.is_some() || self.launch.has_failed() {
            self.launch.ended(Outcome::Failed, listener);
        } else {
            self.launch.tell_step(listener);
            self.launch.result(None, listener);
            self.launch.ended(Outcome::Succeeded, listener);
        }
    }

    /// No further attempt follows, so the error stands.
    fn give_up(&mut self, listener: &mut dyn Listener) {
        if let Some(fault) = self.pending.take() {
            self.launch.failed(fault, listener);
        }
    }
}

/// The text of a message, without thoughts and calls.
fn words_said(message: &Value) -> String {
    let blocks = message.get("content").and_then(Value::as_array);
    let texts: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter(|block| text(block, "type") == Some("text"))
        .filter_map(|block| text_at(block, "/text"))
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
