//! Gemini's session files: one object, or since 2026 a header and a line for each message.

use std::collections::VecDeque;

use serde_json::Value;

use super::{Gemini, fault, tokens};
use crate::calls::{Call, Returned};
use crate::fields::{text, text_at, time, words};
use crate::launch::used;
use crate::totals::Total;
use crate::{Heard, Listener, Moment, Shown};

/// What is kept of a session file.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The latest messages: newer builds write one again when more of it is known.
    messages: VecDeque<(String, Message)>,
    answered: bool,
}

/// What was told of a message already.
#[derive(Debug, Default)]
struct Message {
    total: Total,
    said: bool,
    calls: usize,
}

impl Session {
    /// The latest message is an answer, and no call of a tool.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    fn message(&mut self, id: &str) -> &mut Message {
        let at = match self.messages.iter().position(|(known, _)| known == id) {
            Some(at) if !id.is_empty() => at,
            _ => {
                if self.messages.len() == REMEMBERED {
                    self.messages.pop_front();
                }
                self.messages.push_back((id.to_owned(), Message::default()));
                self.messages.len() - 1
            }
        };
        &mut self.messages[at].1
    }
}

/// Whether it is a session, its header, or a message of one.
pub(super) fn is_part(value: &Value) -> bool {
    value.get("sessionId").is_some()
        || (value.get("content").is_some() && value.get("role").is_none())
}

impl Gemini {
    pub(super) fn session(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        if let Some(session) = text(value, "sessionId") {
            self.begin(Some(session), listener);
            let messages = value.get("messages").and_then(Value::as_array);
            for message in messages.into_iter().flatten() {
                let at = message.get("timestamp").and_then(time);
                if let Some(at) = at {
                    listener.hear(Heard::At(at));
                }
                self.saved_message(message, &moment.of(at), listener);
            }
        } else {
            self.launch.touch(listener);
            self.saved_message(value, moment, listener);
        }
    }

    fn saved_message(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        let content = words(value.get("content").unwrap_or(&Value::Null));
        match text(value, "type").unwrap_or_default() {
            "gemini" => self.answer(value, &content, listener),
            "user" => self.session.answered = false,
            "error" => self.launch.failed(fault(&content, moment), listener),
            "info" | "warning" => listener.hear(Heard::Shown(Shown::Notice(&content))),
            _ => {}
        }
    }

    fn answer(&mut self, value: &Value, content: &str, listener: &mut dyn Listener) {
        // An error that was followed by an answer was overcome.
        self.launch.goes_on();
        let message = self.session.message(text(value, "id").unwrap_or_default());
        if let Some(all) = value.get("tokens") {
            let added = message.total.advance(tokens(all, "input", "output"));
            used(added, None, text(value, "model").map(str::to_owned), listener);
        }
        let calls = value.get("toolCalls").and_then(Value::as_array);
        let calls = calls.map(Vec::as_slice).unwrap_or_default();
        let says = !content.trim().is_empty() && !std::mem::replace(&mut message.said, true);
        let known = std::mem::replace(&mut message.calls, calls.len());
        self.session.answered = calls.is_empty();
        if says {
            self.launch.said(content, listener);
        }
        for call in calls.get(known..).unwrap_or_default() {
            saved_call(call, listener);
        }
    }
}

fn saved_call(call: &Value, listener: &mut dyn Listener) {
    let failed = matches!(text(call, "status"), Some("error" | "cancelled"));
    let result = call.get("result").unwrap_or(&Value::Null);
    let response = result.pointer("/0/functionResponse/response");
    let output = response
        .and_then(|response| text(response, "error").or_else(|| text(response, "output")))
        .or_else(|| text_at(call, "/resultDisplay"));
    let output = output.map_or_else(|| words(result), Into::into);
    let arguments = call.get("args").unwrap_or(&Value::Null);
    Call::new(text(call, "name").unwrap_or_default(), arguments)
        .at_once(Returned { output: &output, exit_code: None, failed }, listener);
}

const REMEMBERED: usize = 64;
