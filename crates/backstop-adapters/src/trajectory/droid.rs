//! What Factory's droid prints as `stream-json`, kept in a file.

use std::borrow::Cow;

use serde_json::Value;

use super::calls::{Call, Calls};
use super::teller::Teller;
use super::{each_value, text};
use crate::Outcome;
use crate::launch::fault_of;

pub(super) fn read(bytes: &[u8], teller: &mut Teller<'_>) {
    let mut reader = Reader::default();
    each_value(bytes, |record| reader.read(record, teller));
    reader.end(teller);
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    session: Option<String>,
    launched: bool,
    /// The agent has said or done something.
    begun: bool,
    outcome: Option<Outcome>,
}

impl Reader {
    fn read(&mut self, record: &Value, teller: &mut Teller<'_>) {
        let session = text(record, "session_id");
        let another = session.is_some() && session != self.session.as_deref();
        if !self.launched || another {
            self.end(teller);
            let session = session.map(str::to_owned);
            *self = Self { session, launched: true, ..Self::default() };
            teller.launched();
        }
        let at = teller.time(record.get("timestamp"));
        match text(record, "type").unwrap_or_default() {
            "message" => {
                teller.at(at);
                let words = text(record, "text").unwrap_or_default();
                match text(record, "role") {
                    Some("assistant") => {
                        self.begun = true;
                        teller.said(words);
                    }
                    Some("user") if self.begun => teller.user(words),
                    _ => {}
                }
            }
            "tool_call" => {
                self.begun = true;
                let tool = text(record, "toolName").unwrap_or_default();
                let arguments = record.get("parameters").unwrap_or(&Value::Null);
                let name = text(record, "toolCallId").unwrap_or_default();
                self.calls.begin(name, Call::new(tool, arguments, at));
            }
            "tool_result" => {
                if let Some(call) = self.calls.answered(text(record, "toolCallId")) {
                    let (result, succeeded) = returned(record);
                    teller.step(&call, Some(&result), succeeded);
                }
            }
            "error" => {
                let message = text(record, "message").unwrap_or("error");
                let fault = fault_of(message, &teller.moment().of(at));
                teller.fault(fault);
                self.outcome = Some(Outcome::Failed);
            }
            "completion" => {
                teller.at(at);
                if let Some(words) = text(record, "finalText") {
                    teller.result(words);
                }
                self.outcome = Some(Outcome::Succeeded);
            }
            _ => {}
        }
    }

    /// The launch is over.
    fn end(&mut self, teller: &mut Teller<'_>) {
        if !self.launched {
            return;
        }
        for call in self.calls.leave() {
            teller.step(&call, None, None);
        }
        teller.ended(self.outcome.unwrap_or(Outcome::CutOff));
    }
}

/// What came back, and whether it was a success, if either is said.
fn returned(record: &Value) -> (Cow<'_, str>, Option<bool>) {
    let value = record.get("value").unwrap_or(&Value::Null);
    let result = match value {
        Value::String(text) => Cow::Borrowed(&**text),
        other => match text(other, "stdout") {
            Some(output) => Cow::Borrowed(output),
            None => Cow::Owned(other.to_string()),
        },
    };
    let failed = record.get("isError").and_then(Value::as_bool);
    let code = value.get("exitCode").and_then(Value::as_i64);
    (result, failed.map(|failed| !failed).or(code.map(|code| code == 0)))
}
