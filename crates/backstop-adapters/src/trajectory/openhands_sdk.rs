//! The events of OpenHands' SDK: one a line, each with a `kind`.

use std::borrow::Cow;

use backstop_core::time::Timestamp;
use serde_json::Value;

use super::calls::{Call, Calls};
use super::ending::fault;
use super::spent::Spent;
use super::teller::Teller;
use super::{each_value, text, words};
use crate::fields::whole;
use crate::{Fault, FaultKind, Outcome};

pub(super) fn read(bytes: &[u8], teller: &mut Teller<'_>) {
    teller.launched();
    let mut reader = Reader::default();
    each_value(bytes, |event| reader.read(event, teller));
    reader.finish(teller);
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    /// The model's answer that the last calls came from, and when it did.
    answer: Option<String>,
    answered_at: Option<Timestamp>,
    begun: bool,
    total: Spent,
    outcome: Option<Outcome>,
}

impl Reader {
    fn read(&mut self, event: &Value, teller: &mut Teller<'_>) {
        let at = teller.time(event.get("timestamp"));
        match text(event, "kind").unwrap_or_default() {
            "ActionEvent" => self.action(event, at, teller),
            "ObservationEvent" => {
                let nothing = Value::Null;
                let observation = event.get("observation").unwrap_or(&nothing);
                let failed = observation.get("is_error").and_then(Value::as_bool);
                let code = observation.get("exit_code").and_then(Value::as_i64);
                let mut result = words(observation.get("content").unwrap_or(observation));
                if let Some(code) = code.filter(|code| *code != 0) {
                    result = Cow::Owned(format!("{result}\n[exit code {code}]"));
                }
                let succeeded = match (failed, code) {
                    (Some(true), _) => Some(false),
                    (_, Some(code)) => Some(code == 0),
                    (failed, None) => failed.map(|failed| !failed),
                };
                self.result(event, &result, succeeded, teller);
            }
            "AgentErrorEvent" => {
                self.result(event, text(event, "error").unwrap_or_default(), Some(false), teller);
            }
            "UserRejectObservation" => {
                let reason = text(event, "rejection_reason").unwrap_or_default();
                self.result(event, reason, Some(false), teller);
            }
            "MessageEvent" => self.message(event, at, teller),
            "Condensation" => {
                self.leave_calls(teller);
                teller.at(at);
                teller.compaction();
            }
            "ConversationErrorEvent" => {
                let (code, detail) = (text(event, "code"), text(event, "detail"));
                let parts: Vec<_> = code.into_iter().chain(detail).collect();
                teller.at(at);
                teller.fault(fault(&parts.join(": ")));
                self.outcome = Some(Outcome::Failed);
            }
            "ConversationStateUpdateEvent" => self.state(event, at, teller),
            _ => {}
        }
    }

    fn action(&mut self, event: &Value, at: Option<Timestamp>, teller: &mut Teller<'_>) {
        self.begun = true;
        let answer = text(event, "llm_response_id");
        if answer.is_none() || answer != self.answer.as_deref() {
            self.leave_calls(teller);
            self.answer = answer.map(str::to_owned);
            self.answered_at = at;
        }
        let at = self.answered_at;
        let tool = text(event, "tool_name").unwrap_or_default();
        let nothing = Value::Null;
        let action = event.get("action").filter(|action| action.is_object()).unwrap_or(&nothing);
        let thought = words(event.get("thought").unwrap_or(&nothing));
        match text(action, "kind").unwrap_or_default() {
            "FinishAction" => {
                teller.at(at);
                if let Some(message) = text(action, "message") {
                    teller.result(message);
                }
                self.outcome = Some(Outcome::Succeeded);
                return;
            }
            "ThinkAction" => {
                teller.at(at);
                if let Some(thought) = text(action, "thought") {
                    teller.message(thought);
                }
                return;
            }
            _ => {}
        }
        if !thought.trim().is_empty() {
            teller.at(at);
            teller.said(&thought);
        }
        let call = if action.is_null() {
            // A call that cannot be made is kept as the model wrote it.
            let written = event.pointer("/tool_call/arguments").and_then(Value::as_str);
            let arguments = written.and_then(|written| serde_json::from_str(written).ok());
            Call::new(tool, &arguments.unwrap_or(Value::Null), at)
        } else {
            Call::new(tool, action, at)
        };
        let name = text(event, "tool_call_id").or_else(|| text(event, "id")).unwrap_or_default();
        self.calls.begin(name, call);
    }

    fn result(
        &mut self,
        event: &Value,
        result: &str,
        succeeded: Option<bool>,
        teller: &mut Teller<'_>,
    ) {
        let name = text(event, "tool_call_id").or_else(|| text(event, "action_id"));
        if let Some(call) = self.calls.answered(name) {
            return teller.step(&call, Some(result), succeeded);
        }
        // Logs are cut at their beginning: the command may still be told by its result.
        let tool = text(event, "tool_name").unwrap_or_default();
        let command = event.get("observation").and_then(|observation| text(observation, "command"));
        let at = teller.time(event.get("timestamp"));
        match command {
            Some(command) => {
                teller.step(&Call::command(tool, command, at), Some(result), succeeded);
            }
            None if succeeded == Some(false) => {
                let call = Call::command(tool, "an invalid call", at);
                teller.step(&call, Some(result), succeeded);
            }
            None => {}
        }
    }

    fn message(&mut self, event: &Value, at: Option<Timestamp>, teller: &mut Teller<'_>) {
        let words = words(event.pointer("/llm_message/content").unwrap_or(&Value::Null));
        match text(event, "source") {
            Some("agent") => {
                self.begun = true;
                self.leave_calls(teller);
                teller.at(at);
                if words.trim().is_empty() { teller.empty() } else { teller.message(&words) }
            }
            Some("user") if self.begun => {
                teller.at(at);
                teller.user(&words);
            }
            _ => {}
        }
    }

    /// The conversation's own state: what it has used, and whether it goes on.
    fn state(&mut self, event: &Value, at: Option<Timestamp>, teller: &mut Teller<'_>) {
        let nothing = Value::Null;
        let value = event.get("value").unwrap_or(&nothing);
        let (statistics, status) = match text(event, "key") {
            Some("stats") => (Some(value), None),
            Some("execution_status") => (None, value.as_str()),
            Some("full_state") => (value.get("stats"), text(value, "execution_status")),
            _ => (None, None),
        };
        if let Some(users) = statistics.and_then(|it| it.get("usage_to_metrics")?.as_object()) {
            teller.at(at);
            self.total = users.values().map(Spent::accumulated).fold(Spent::default(), Spent::plus);
            teller.used_until_now(self.total);
            for user in users.values().take(1) {
                let window = |name| whole(user.get("accumulated_token_usage")?.get(name)?);
                teller.context(window("per_turn_token"), window("context_window"));
            }
        }
        match status {
            Some("finished") => self.outcome = Some(Outcome::Succeeded),
            Some("error") => self.outcome = Some(Outcome::Failed),
            Some("stuck") => {
                teller.at(at);
                teller.fault(Fault::new(FaultKind::Loop, "stuck"));
                self.outcome = Some(Outcome::Failed);
            }
            // It was told to go on after it had ended.
            Some("running") => self.outcome = None,
            _ => {}
        }
    }

    fn finish(mut self, teller: &mut Teller<'_>) {
        self.leave_calls(teller);
        teller.used_in_all(self.total);
        teller.ended(self.outcome.unwrap_or(Outcome::CutOff));
    }

    fn leave_calls(&mut self, teller: &mut Teller<'_>) {
        for call in self.calls.leave() {
            teller.step(&call, None, None);
        }
    }
}
