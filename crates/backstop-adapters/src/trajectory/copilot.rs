//! The session file of Copilot's command line: an event a line, with its payload in `data`.

use serde_json::Value;

use super::calls::{Call, Calls};
use super::spent::Spent;
use super::teller::Teller;
use super::{each_value, text, words};
use crate::Outcome;
use crate::fault::from_status;
use crate::fields::{count, whole};
use crate::launch::fault_of;

pub(super) fn read(bytes: &[u8], teller: &mut Teller<'_>) {
    let mut reader = Reader::default();
    each_value(bytes, |event| reader.read(event, teller));
    reader.end(teller);
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    launched: bool,
    /// Something was said or done in this launch.
    begun: bool,
    /// What the agent said last.
    words: String,
    outcome: Option<Outcome>,
}

impl Reader {
    fn read(&mut self, event: &Value, teller: &mut Teller<'_>) {
        let kind = text(event, "type").unwrap_or_default();
        // A session that is resumed is another process.
        if !self.launched || kind == "session.resume" {
            self.end(teller);
            *self = Self { launched: true, ..Self::default() };
            teller.launched();
        }
        let at = teller.time(event.get("timestamp"));
        let data = event.get("data").unwrap_or(&Value::Null);
        match kind {
            "assistant.message" => {
                teller.at(at);
                self.message(data, teller);
            }
            "tool.execution_start" => {
                self.begun = true;
                let tool = text(data, "toolName").unwrap_or_default();
                let arguments = data.get("arguments").unwrap_or(&Value::Null);
                let name = text(data, "toolCallId").unwrap_or_default();
                self.calls.begin(name, Call::new(tool, arguments, at));
            }
            "tool.execution_complete" => {
                if let Some(call) = self.calls.answered(text(data, "toolCallId")) {
                    let result = words(data.pointer("/result/content").unwrap_or(&Value::Null));
                    teller.step(&call, Some(&result), data.get("success").and_then(Value::as_bool));
                }
            }
            "user.message" if self.begun => {
                teller.at(at);
                teller.user(text(data, "content").unwrap_or_default());
            }
            "session.error" => {
                teller.at(at);
                let message = text(data, "message").unwrap_or("error");
                let status = u16::try_from(count(data, "statusCode")).unwrap_or(0);
                let known = from_status(status, message, &teller.moment().of(at));
                let fault = known.unwrap_or_else(|| fault_of(message, &teller.moment().of(at)));
                teller.fault(fault);
            }
            "session.compaction_complete" => teller.compaction(),
            "abort" => self.outcome = Some(Outcome::CutOff),
            "session.shutdown" => self.shutdown(data, teller),
            _ => {}
        }
    }

    fn message(&mut self, data: &Value, teller: &mut Teller<'_>) {
        self.begun = true;
        let content = text(data, "content").unwrap_or_default();
        let requests = data.get("toolRequests").and_then(Value::as_array);
        let acts = requests.is_some_and(|requests| !requests.is_empty());
        match (acts, content.is_empty()) {
            (true, true) => {}
            (true, false) => teller.said(content),
            (false, true) => teller.empty(),
            (false, false) => teller.message(content),
        }
        if !content.is_empty() {
            content.clone_into(&mut self.words);
        }
    }

    fn shutdown(&mut self, data: &Value, teller: &mut Teller<'_>) {
        let figure = |kind: &str| {
            let figures = data.get("tokenDetails").and_then(|details| details.get(kind));
            figures.and_then(|figures| whole(figures.get("tokenCount")?)).unwrap_or(0)
        };
        teller.used_in_all(Spent {
            input: figure("input"),
            output: figure("output"),
            cache_read: figure("cache_read"),
            cache_write: figure("cache_write"),
            ..Spent::default()
        });
        let routine = text(data, "shutdownType") == Some("routine");
        self.outcome = Some(if routine { Outcome::Succeeded } else { Outcome::Failed });
    }

    /// The launch is over.
    fn end(&mut self, teller: &mut Teller<'_>) {
        if !self.launched {
            return;
        }
        for call in self.calls.leave() {
            teller.step(&call, None, None);
        }
        let outcome = self.outcome.unwrap_or(Outcome::CutOff);
        if outcome == Outcome::Succeeded && !self.words.is_empty() {
            teller.result(&self.words);
        }
        teller.ended(outcome);
    }
}
