//! OpenCode: `opencode run --format json`, and its bare answer.

mod fault;

use backstop_core::event::Usage;
use serde_json::Value;

use crate::calls::{Call, Returned};
use crate::fields::{self, amount, count, known_cost, text, time, words};
use crate::launch::Launch;
use crate::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record};

/// Reads what OpenCode prints.
#[derive(Debug, Default)]
pub struct OpenCode {
    launch: Launch,
    session: Option<String>,
    step: Step,
    price: Price,
}

/// Whether its model has a price. One without costs 0, and so does a step that is given away.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    is_known: bool,
    /// A step cost 0 while nobody knew.
    is_owed: bool,
}

/// How far the latest step has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// It has begun, or none has.
    #[default]
    Open,
    /// It has called a tool, so another step will follow.
    Calling,
    /// It was the last one, as far as it says.
    Last,
}

impl Adapter for OpenCode {
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
        let at = value.get("timestamp").and_then(time);
        if let Some(at) = at {
            listener.hear(Heard::At(at));
        }
        // There is no opening record. Whatever names another session belongs to another launch. A
        // step of the same one behind the last need not: so it goes on once it has summed up.
        if let Some(session) = text(&value, "sessionID")
            && self.session.as_deref() != Some(session)
        {
            let silent = self.silent_outcome(false);
            if self.session.replace(session.to_owned()).is_some() && silent == Outcome::Succeeded {
                self.launch.result(None, listener);
            }
            self.launch.begin_anew(Some(session), silent, listener);
            self.step = Step::Open;
            self.price = Price::default();
        }
        let part = value.get("part").unwrap_or(&Value::Null);
        match kind {
            "step_start" => {
                self.launch.goes_on();
                self.step = Step::Open;
            }
            "step_finish" => self.step_finish(part, listener),
            "text" => self.launch.said(text(part, "text").unwrap_or_default(), listener),
            "tool_use" => {
                self.step = Step::Calling;
                tool_use(part, listener);
            }
            "error" => {
                // Without one it is somebody else's, such as a log's.
                let Some(error) = value.get("error") else { return };
                self.launch.failed(fault::of_error(error, &moment.of(at)), listener);
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
        let silent = self.silent_outcome(exit.is_some_and(Exit::succeeded));
        if silent == Outcome::Succeeded {
            self.launch.result(None, listener);
        }
        self.launch.finish(exit, silent, listener)
    }
}

impl OpenCode {
    /// No record says that it is over: the process just exits. Where its status is not known, the
    /// last step has to tell.
    fn silent_outcome(&self, exited: bool) -> Outcome {
        let complete = !self.launch.has_failed()
            && ((exited && self.launch.has_said_anything()) || self.step == Step::Last);
        if complete { Outcome::Succeeded } else { Outcome::CutOff }
    }

    fn step_finish(&mut self, part: &Value, listener: &mut dyn Listener) {
        let tokens = part.get("tokens").unwrap_or(&Value::Null);
        let cache = tokens.get("cache").unwrap_or(&Value::Null);
        let mut usage = Usage {
            input_tokens: count(tokens, "input"),
            // Reasoning stands beside the output and costs as much.
            output_tokens: count(tokens, "output").saturating_add(count(tokens, "reasoning")),
            cache_read_tokens: count(cache, "read"),
            cache_write_tokens: count(cache, "write"),
            ..Usage::default()
        };
        let cost = part.get("cost").and_then(amount);
        self.price.is_known |= cost.is_some_and(|cost| cost > 0.0);
        usage.cost_usd = if self.price.is_known { cost } else { known_cost(cost, &usage) };
        self.price.is_owed |= cost.is_some() && usage.cost_usd.is_none();
        if !fields::is_nothing(&usage) {
            listener.hear(Heard::Event(usage.into()));
        }
        if self.price.is_known && std::mem::take(&mut self.price.is_owed) {
            let free = Usage { cost_usd: Some(0.0), ..Usage::default() };
            listener.hear(Heard::Event(free.into()));
        }
        let reason = text(part, "reason");
        if let Some(fault) = reason.and_then(fault::of_reason) {
            self.launch.failed(fault, listener);
        }
        let is_last = match reason {
            Some(reason) => reason == "stop",
            None => self.step != Step::Calling,
        };
        self.step = if is_last { Step::Last } else { Step::Calling };
    }
}

fn tool_use(part: &Value, listener: &mut dyn Listener) {
    let state = part.get("state").unwrap_or(&Value::Null);
    let failed = text(state, "status") == Some("error");
    let output = words(state.get(if failed { "error" } else { "output" }).unwrap_or(&Value::Null));
    let metadata = state.get("metadata").unwrap_or(&Value::Null);
    let exit_code = ["exit", "exitCode"].iter().find_map(|key| metadata.get(key)?.as_i64());
    let input = state.get("input").unwrap_or(&Value::Null);
    Call::new(text(part, "tool").unwrap_or_default(), input)
        .at_once(Returned { output: &output, exit_code, failed }, listener);
}

/// The types of records.
const KINDS: [&str; 6] = ["step_start", "step_finish", "text", "reasoning", "tool_use", "error"];

#[cfg(test)]
mod tests;
