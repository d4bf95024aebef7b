//! OpenHands until 2025: events with an `action` or an `observation`.

use std::borrow::Cow;

use backstop_core::time::Timestamp;
use serde_json::Value;

use super::calls::{Call, Calls, name};
use super::ending::fault;
use super::spent::Spent;
use super::teller::Teller;
use super::{each_value, text};
use crate::Outcome;
use crate::fields::whole;

/// Reads runs, one a line, or the events of one.
pub(super) fn read(bytes: &[u8], teller: &mut Teller<'_>) {
    let mut events: Option<Reader> = None;
    each_value(bytes, |value| match value.get("history").and_then(Value::as_array) {
        Some(history) => {
            teller.launched();
            let mut reader = Reader::default();
            history.iter().for_each(|event| reader.read(event, teller));
            reader.finish(value, teller);
        }
        None => {
            let reader = events.get_or_insert_with(|| {
                teller.launched();
                Reader::default()
            });
            reader.read(value, teller);
        }
    });
    if let Some(reader) = events {
        reader.finish(&Value::Null, teller);
    }
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    /// The model's answer that the last calls came from, and when it did.
    answer: Option<String>,
    answered_at: Option<Timestamp>,
    begun: bool,
    outcome: Option<Outcome>,
}

impl Reader {
    fn read(&mut self, event: &Value, teller: &mut Teller<'_>) {
        // The oldest files have pairs of an action and its observation.
        if let Some(pair) = event.as_array() {
            return pair.iter().filter(|event| !event.is_array()).for_each(|event| {
                self.read(event, teller);
            });
        }
        if let Some(metrics) = event.get("llm_metrics") {
            teller.at(teller.time(event.get("timestamp")));
            teller.used_until_now(Spent::accumulated(metrics));
            let window = |name| whole(metrics.get("accumulated_token_usage")?.get(name)?);
            teller.context(window("per_turn_token"), window("context_window"));
        }
        if let Some(action) = text(event, "action") {
            self.action(action, event, teller);
        } else if let Some(observation) = text(event, "observation") {
            self.observation(observation, event, teller);
        }
    }

    fn action(&mut self, action: &str, event: &Value, teller: &mut Teller<'_>) {
        let nothing = Value::Null;
        let arguments = event.get("args").unwrap_or(&nothing);
        let words = || text(arguments, "content").or_else(|| text(event, "message"));
        let by_agent = text(event, "source").is_none_or(|source| source == "agent");
        let at = self.time(event, teller);
        match action {
            "message" if !by_agent => {
                if let Some(words) = words().filter(|_| self.begun) {
                    teller.at(at);
                    teller.user(words);
                }
            }
            "system" | "recall" | "null" | "change_agent_state" | "condensation_request" => {}
            _ if !by_agent => {}
            "message" => {
                self.begin_answer(at, teller);
                match words() {
                    Some(words) => teller.message(words),
                    None => teller.empty(),
                }
            }
            "think" => {
                self.begin_answer(at, teller);
                if let Some(thought) = text(arguments, "thought") {
                    teller.message(thought);
                }
            }
            "condensation" => {
                self.begin_answer(at, teller);
                teller.compaction();
            }
            "finish" | "reject" => {
                self.begin_answer(at, teller);
                let last = ["final_thought", "thought"];
                let last = last.into_iter().find_map(|name| text(arguments, name));
                if let Some(words) = last.or_else(|| text(event, "message")) {
                    teller.result(words);
                }
                // Some versions let the agent say that it did not manage. Who did a part has ended
                // well: how much is done is not for the agent to judge.
                let done = arguments.get("task_completed").and_then(Value::as_str);
                let done = done.is_none_or(|done| !done.eq_ignore_ascii_case("false"));
                let succeeded = action == "finish" && done;
                self.outcome = Some(if succeeded { Outcome::Succeeded } else { Outcome::Failed });
            }
            tool => {
                self.begun = true;
                if let Some(thought) = text(arguments, "thought") {
                    teller.said(thought);
                }
                let id = event.get("id").and_then(name).unwrap_or(Cow::Borrowed(""));
                self.calls.begin(&id, Call::new(tool, arguments, at));
            }
        }
    }

    fn observation(&mut self, observation: &str, event: &Value, teller: &mut Teller<'_>) {
        if observation == "agent_state_changed" {
            let state = event.pointer("/extras/agent_state").and_then(Value::as_str);
            if state == Some("error") {
                self.outcome = Some(Outcome::Failed);
            }
            return;
        }
        let content = text(event, "content").unwrap_or_default();
        let failed = observation == "error";
        let cause = event.get("cause").and_then(name);
        if failed && cause.is_none() {
            // The model called something that cannot be called so; nothing else tells of it.
            let call = Call::command("error", "an invalid call", self.time(event, teller));
            return teller.step(&call, Some(content), Some(false));
        }
        let Some(call) = self.calls.answered(cause.as_deref()) else { return };
        let code = event.pointer("/extras/metadata/exit_code").and_then(Value::as_i64);
        let code = code.or_else(|| event.pointer("/extras/exit_code").and_then(Value::as_i64));
        match code {
            Some(code) if code != 0 => {
                let result = format!("{content}\n[exit code {code}]");
                teller.step(&call, Some(&result), Some(false));
            }
            Some(_) => teller.step(&call, Some(content), Some(!failed)),
            None => {
                let succeeded = event.get("success").and_then(Value::as_bool);
                let succeeded = if failed { Some(false) } else { succeeded };
                teller.step(&call, Some(content), succeeded);
            }
        }
    }

    fn finish(mut self, run: &Value, teller: &mut Teller<'_>) {
        self.leave_calls(teller);
        let nothing = Value::Null;
        let metrics = run.get("metrics").unwrap_or(&nothing);
        teller.used_in_all(Spent::accumulated(metrics).or(summed(metrics)));
        if let Some(error) = text(run, "error") {
            teller.fault(fault(error));
            self.outcome = Some(Outcome::Failed);
        }
        teller.ended(self.outcome.unwrap_or(Outcome::CutOff));
    }

    /// When the model gave the answer that an event is part of: one time for all of its calls.
    fn time(&mut self, event: &Value, teller: &mut Teller<'_>) -> Option<Timestamp> {
        let answer = event.pointer("/tool_call_metadata/model_response/id").and_then(Value::as_str);
        if answer.is_none() || answer != self.answer.as_deref() {
            if event.get("action").is_some() {
                self.leave_calls(teller);
            }
            self.answer = answer.map(str::to_owned);
            self.answered_at = teller.time(event.get("timestamp"));
        }
        self.answered_at
    }

    fn begin_answer(&mut self, at: Option<Timestamp>, teller: &mut Teller<'_>) {
        self.begun = true;
        self.leave_calls(teller);
        teller.at(at);
    }

    fn leave_calls(&mut self, teller: &mut Teller<'_>) {
        for call in self.calls.leave() {
            teller.step(&call, None, None);
        }
    }
}

/// The totals of versions that kept only what each answer used.
fn summed(metrics: &Value) -> Spent {
    let list = |name| metrics.get(name).and_then(Value::as_array).into_iter().flatten();
    let tokens = list("token_usages").map(Spent::tokens).fold(Spent::default(), Spent::plus);
    tokens.at(Some(list("costs").filter_map(|cost| cost.get("cost")?.as_f64()).sum()))
}
