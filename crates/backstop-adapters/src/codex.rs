//! Codex: the streams of `codex exec --json`, its session files, and its text of 2025.

mod exec;
mod fault;
mod limits;
mod old;
mod rollout;
mod text;

use backstop_core::time::Timestamp;
use serde_json::Value;

use crate::adapter::unseen;
use crate::fields::{self, count, text};
use crate::launch::Launch;
use crate::totals::{Tokens, Totals};
use crate::{Adapter, Exit, Listener, Moment, Outcome, Record};
use text::Transcript;

/// Reads what Codex prints or keeps: its stream, its session files, its text with a banner, or, where
/// everything else goes to the standard error, the bare answer.
#[derive(Debug)]
pub struct Codex {
    launch: Launch,
    /// Both the stream and the session files tell the thread's total so far.
    total: Totals,
    transcript: Transcript,
    /// What newer builds tell on the standard error.
    beside: Transcript,
    /// Text without JSON. There the JSON that a tool returns is text, too.
    prints_text: bool,
    /// Turns are told, so their ends are, too.
    has_turns: bool,
    /// Nothing came after the agent's latest words.
    spoke_last: bool,
    /// When all windows of the plan are open again, where one of them is used up.
    full_until: Option<Timestamp>,
}

impl Default for Codex {
    fn default() -> Self {
        Self {
            launch: Launch::default(),
            total: Totals::default(),
            transcript: Transcript::default(),
            beside: Transcript::beside(),
            prints_text: false,
            has_turns: false,
            spoke_last: false,
            full_until: None,
        }
    }
}

impl Adapter for Codex {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        match record {
            Record::Json(bytes) if !self.prints_text => {
                let Some(value) = fields::record(bytes) else { return };
                if is_record(&value) {
                    self.launch.took_record();
                    self.value(&value, moment, listener);
                } else {
                    self.launch.plain_json(bytes, listener);
                }
            }
            Record::Json(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                for line in text.lines() {
                    self.transcript.line(line, &mut self.launch, moment, listener);
                }
            }
            Record::Text(line) if !self.has_turns => {
                self.prints_text |= text::is_banner(line);
                if !self.prints_text {
                    // Newer builds tell all else on the standard error.
                    self.launch.plain_line(line, listener);
                }
                self.transcript.line(line, &mut self.launch, moment, listener);
            }
            Record::Text(_) => {}
        }
    }

    fn error_line(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) {
        // With text, the standard error may hold all that the tools print. Only Codex's own
        // complaints count.
        if line.to_ascii_lowercase().starts_with("error") {
            self.launch.suspect(line, moment);
        }
        if !self.has_turns {
            // The standard error is shown as it is.
            self.beside.line(line, &mut self.launch, moment, &mut unseen(listener));
        }
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        _moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.transcript.finish(exit, &mut self.launch, listener);
        self.beside.finish(exit, &mut self.launch, listener);
        let silent = self.silent_outcome();
        if silent == Outcome::Succeeded && !self.launch.has_failed() {
            self.launch.result(None, listener);
        }
        self.launch.finish(exit, silent, listener)
    }

    fn is_amid(&self) -> bool {
        self.prints_text && self.transcript.is_amid()
    }

    fn totals(&mut self) -> Option<Totals> {
        Some(std::mem::take(&mut self.total))
    }

    fn go_on_from(&mut self, totals: Totals) {
        self.total = totals;
    }
}

impl Codex {
    /// A thread begins, or goes on in another process: then its total does, too.
    fn begin(&mut self, thread: Option<&str>, listener: &mut dyn Listener) {
        self.total.turn_to(thread);
        if self.launch.start(thread, self.silent_outcome(), listener) {
            self.has_turns = false;
            self.spoke_last = false;
        }
    }

    /// Neither text nor the first session files have a terminal record that could be missing.
    fn silent_outcome(&self) -> Outcome {
        if self.prints_text || (self.spoke_last && !self.has_turns) {
            Outcome::Succeeded
        } else {
            Outcome::CutOff
        }
    }

    fn value(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        if value.get("payload").is_some() {
            self.rollout(value, moment, listener);
        } else if old::is_record(value) {
            self.old(value, moment, listener);
        } else {
            self.exec(value, moment, listener);
        }
    }
}

/// Whether it is Codex that says this, and not the JSON that it was asked for.
fn is_record(value: &Value) -> bool {
    let kinds = ["thread.", "turn.", "item.", "error"];
    value.get("payload").is_some()
        || old::is_record(value)
        || text(value, "type").is_some_and(|kind| kinds.iter().any(|start| kind.starts_with(start)))
}

/// The tokens of a usage object. Cached input is part of the input there, and written cache too.
fn tokens(usage: &Value) -> Tokens {
    let cache_read = count(usage, "cached_input_tokens");
    let cache_write = count(usage, "cache_write_input_tokens");
    Tokens {
        input: count(usage, "input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        output: count(usage, "output_tokens"),
        cache_read,
        cache_write,
    }
}

#[cfg(test)]
mod tests;
