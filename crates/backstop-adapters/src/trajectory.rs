//! Finished trajectories, read as if their agents ran now.
//!
//! A trajectory is the file that an agent or a benchmark leaves behind. It is recognised by what is
//! in it, never by its name or by the order of its keys, and may hold several runs: each of them is
//! [`Launched`](crate::Heard::Launched) and [`Ended`](crate::Heard::Ended).
//!
//! Two things to know when replaying one:
//!
//! - Steps are told with what was done and what came back, and never with the thoughts that led to
//!   them: an agent that words the same step differently each time still repeats it.
//! - Where a trajectory has no times, none is told. An event without a time is a step of its own to
//!   the engine, neither one of a batch nor a poll after a pause, so do not invent times for it.
//!   Where it has times, steps that came from one answer of the model have the same one.

mod calls;
mod copilot;
mod droid;
mod ending;
mod mini_swe_agent;
mod openhands;
mod openhands_sdk;
mod recognise;
mod spent;
mod swe_agent;
mod teller;
mod terminal_bench;
#[cfg(test)]
mod tests;
mod times;

pub use recognise::recognise;

use std::borrow::Cow;
use std::ops::ControlFlow;

use serde_json::Value;

use crate::closed::closed;
use crate::fields::{self, parse};
use crate::framing::encoding::decoded;
use crate::framing::stamp::after_stamp;
use crate::framing::without_escapes;
use crate::{Framer, Listener, Moment, Outcome, Record};
use teller::Teller;

/// Who wrote a trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// SWE-agent's `.traj`.
    SweAgent,
    /// mini-swe-agent's `.traj.json`, and its older bare list of messages.
    MiniSweAgent,
    /// OpenHands until 2025: an evaluation's `output.jsonl`, or a list of events.
    OpenHands,
    /// The events of OpenHands' SDK, which have a `kind`.
    OpenHandsSdk,
    /// terminal-bench's `results.json`, of one trial or of many.
    TerminalBench,
    /// The events of a session of Copilot's command line.
    Copilot,
    /// The stream of Factory's droid.
    Droid,
}

impl Kind {
    /// Its name for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::SweAgent => "swe-agent",
            Self::MiniSweAgent => "mini-swe-agent",
            Self::OpenHands | Self::OpenHandsSdk => "openhands",
            Self::TerminalBench => "terminal-bench",
            Self::Copilot => "copilot",
            Self::Droid => "droid",
        }
    }

    /// The same runs with the last one as far as it is whole, if it follows others and was cut off.
    pub fn with_last_closed(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let bytes = decoded(bytes);
        let begin = memchr::memmem::rfind(&bytes, b"\n{")? + 1;
        let last = closed(&bytes[begin..])?;
        let says_something = parse(&last)?.as_object().is_some_and(|last| !last.is_empty());
        // Half an event among events would only tell what did not happen so.
        (says_something && recognise::holds_runs(&bytes[..begin]))
            .then(|| [&bytes[..begin], &last].concat())
    }

    /// Tells everything that is in the trajectory, and answers with how its last run ended.
    ///
    /// Lines that cannot be read are left out. Where nothing can be, the run was cut off.
    pub fn read(self, bytes: &[u8], moment: &Moment, listener: &mut dyn Listener) -> Outcome {
        let mut teller = Teller::new(listener, moment);
        match self {
            Self::SweAgent => each_value(bytes, |run| swe_agent::read(run, &mut teller)),
            Self::MiniSweAgent => mini_swe_agent::read(&values(bytes), &mut teller),
            Self::OpenHands => openhands::read(bytes, &mut teller),
            Self::OpenHandsSdk => openhands_sdk::read(bytes, &mut teller),
            Self::TerminalBench => each_value(bytes, |trial| {
                terminal_bench::read(trial, &mut teller);
            }),
            Self::Copilot => copilot::read(bytes, &mut teller),
            Self::Droid => droid::read(bytes, &mut teller),
        }
        teller.outcome()
    }
}

/// Every value of a document or of those that follow one another. Of an array, every element.
fn each_value(bytes: &[u8], mut read: impl FnMut(&Value)) {
    let mut read_flat = |value: Value| match value {
        Value::Array(elements) => elements.iter().for_each(&mut read),
        value => read(&value),
    };
    let bytes = decoded(bytes);
    match document(&bytes) {
        Some(value) => read_flat(value),
        None => {
            _ = each_record(&bytes, |value| {
                read_flat(value);
                ControlFlow::<()>::Continue(())
            })
        }
    }
}

/// The one value that the text is, be it with colours in it or with a time before every line.
fn document(text: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(text) {
        return Some(value);
    }
    let is_coloured = memchr::memchr(ESCAPE, text).is_some();
    if !is_coloured && after_stamp(text).is_none() {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(after_stamp(line).unwrap_or(line));
        plain.push_str(&without_escapes(&line));
        plain.push('\n');
    }
    serde_json::from_str(&plain).ok()
}

/// Every value that stands on lines of its own, whatever is printed between them and however they
/// are laid out, until the reader has had enough.
fn each_record<T>(bytes: &[u8], mut read: impl FnMut(Value) -> ControlFlow<T>) -> Option<T> {
    let mut framer = Framer::new();
    let mut answer = None;
    let mut look = |record: Record<'_>, answer: &mut Option<T>| {
        if let (Record::Json(bytes), None) = (record, &answer)
            && let Some(value) = fields::record(bytes)
            && let ControlFlow::Break(enough) = read(value)
        {
            *answer = Some(enough);
        }
    };
    for chunk in bytes.chunks(CHUNK) {
        framer.push(chunk, &mut |record| look(record, &mut answer));
        if answer.is_some() {
            return answer;
        }
    }
    framer.finish(&mut |record| look(record, &mut answer));
    answer
}

fn values(bytes: &[u8]) -> Vec<Value> {
    let mut values = Vec::new();
    each_value(bytes, |value| values.push(value.clone()));
    values
}

/// The text of a field, if it is a text that says anything.
fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str().filter(|text| !text.trim().is_empty())
}

/// What a message says: a text, or the texts among its parts.
fn words(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(content) => Cow::Borrowed(content),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| text(part, "text")).collect();
            Cow::Owned(texts.join("\n"))
        }
        _ => Cow::Borrowed(""),
    }
}

const CHUNK: usize = 64 * 1024;
const ESCAPE: u8 = 0x1b;
