//! Gemini CLI: `--output-format json` and `stream-json`, its session files, and its bare answer.

mod exit;
mod report;
mod session;
mod stream;

use serde_json::Value;

use crate::fault::from_status;
use crate::fields::{self, count, text, time};
use crate::launch::{Launch, fault_of};
use crate::totals::Tokens;
use crate::{Adapter, Exit, Fault, FaultKind, Heard, Listener, Moment, Outcome, Record, Shown};
use session::Session;

/// Reads what Gemini CLI prints or keeps.
#[derive(Debug, Default)]
pub struct Gemini {
    launch: Launch,
    /// The parts of a message that comes in parts.
    message: String,
    session: Session,
    /// It gave up, whatever its result says.
    gave_up: bool,
    /// The last result of a stream.
    result: Option<Value>,
}

impl Adapter for Gemini {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let bytes = match record {
            Record::Json(bytes) => bytes,
            Record::Text(line) => return self.launch.plain_line(line, listener),
        };
        let Some(value) = fields::record(bytes) else { return };
        let at = value.get("timestamp").and_then(time);
        if let Some(at) = at {
            listener.hear(Heard::At(at));
        }
        // Reset times count from the record that tells of the limit.
        let moment = &moment.of(at);
        let kind = text(&value, "type").filter(|kind| stream::KINDS.contains(kind));
        if session::is_part(&value) {
            self.launch.took_record();
            self.session(&value, moment, listener);
        } else if let Some(kind) = kind {
            self.launch.took_record();
            self.stream(kind, &value, moment, listener);
        } else if report::is_report(&value) {
            self.launch.took_record();
            self.report(&value, moment, listener);
        } else {
            self.launch.plain_json(bytes, listener);
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
        let silent = self.silent_outcome();
        let outcome = self.launch.finish(exit, silent, listener);
        if !self.launch.has_failed()
            && let Some(fault) = exit.and_then(|exit| exit::fault(exit.code?))
        {
            self.launch.failed(fault, listener);
        }
        outcome
    }
}

impl Gemini {
    fn begin(&mut self, session: Option<&str>, listener: &mut dyn Listener) {
        self.end_message(listener);
        if self.launch.start(session, self.silent_outcome(), listener) {
            self.gave_up = false;
            self.session = Session::default();
        }
    }

    /// Session files have no terminal record that could be missing.
    fn silent_outcome(&self) -> Outcome {
        if self.session.is_answered() { Outcome::Succeeded } else { Outcome::CutOff }
    }

    fn end_message(&mut self, listener: &mut dyn Listener) {
        let message = std::mem::take(&mut self.message);
        self.launch.said(&message, listener);
    }

    /// An error object: its type or its code says more than its message, if it is one of Gemini's
    /// own. Otherwise the code is the service's answer.
    fn error(&mut self, error: &Value, moment: &Moment, listener: &mut dyn Listener) {
        let Some(message) = text(error, "message") else { return };
        let code = i32::try_from(count(error, "code")).ok();
        let status = text(error, "type").and_then(exit::status_of).or(code);
        if status == Some(exit::CANCELLED) {
            self.gave_up = true;
            listener.hear(Heard::Shown(Shown::Notice(message)));
            return;
        }
        let own = status.and_then(exit::fault).map(|fault| fault.kind);
        let fault = match own.filter(|kind| *kind != FaultKind::Other) {
            Some(kind) => Fault::new(kind, message),
            None => {
                let told = fault(message, moment);
                let answer = code.and_then(|code| u16::try_from(code).ok());
                let answered = answer.and_then(|code| from_status(code, message, moment));
                if told.kind == FaultKind::Other { answered.unwrap_or(told) } else { told }
            }
        };
        self.failed(fault, listener);
    }

    fn failed(&mut self, fault: Fault, listener: &mut dyn Listener) {
        self.gave_up = true;
        self.launch.failed(fault, listener);
    }
}

/// The tokens of one message or model. Cached tokens are part of the prompt. Thoughts are billed
/// as output but are no part of it, and so are tool prompts beside the prompt: all four make up the
/// total.
fn tokens(tokens: &Value, prompt: &str, output: &str) -> Tokens {
    let cache_read = count(tokens, "cached");
    Tokens {
        input: count(tokens, prompt)
            .saturating_sub(cache_read)
            .saturating_add(count(tokens, "tool")),
        output: count(tokens, output).saturating_add(count(tokens, "thoughts")),
        cache_read,
        cache_write: 0,
    }
}

/// What Gemini says before it gives up, and then calls a success.
fn giving_up(message: &str) -> Option<FaultKind> {
    let message = message.to_ascii_lowercase();
    if message.contains("loop detected") {
        Some(FaultKind::Loop)
    } else if message.contains("session turns") && message.contains("max") {
        Some(FaultKind::TurnLimit)
    } else {
        None
    }
}

/// The fault of an error object or message.
fn fault(message: &str, moment: &Moment) -> Fault {
    match giving_up(message) {
        Some(kind) => Fault::new(kind, message),
        None => fault_of(message, moment),
    }
}

#[cfg(test)]
mod tests;
