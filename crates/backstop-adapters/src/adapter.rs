//! What every adapter takes and gives.

use std::time::Duration;

use backstop_core::event::EventKind;
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;

use crate::{Fault, Totals};

/// Understands one agent's output. A new one is made for every iteration.
///
/// An adapter cannot fail: what it does not understand it leaves alone.
pub trait Adapter: Send {
    /// Reads one record of the standard output.
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener);

    /// Reads one line of the standard error. Most agents say nothing there that counts.
    fn error_line(&mut self, _line: &str, _moment: &Moment, _listener: &mut dyn Listener) {}

    /// The agent has ended, or its output has. `exit` is unknown where a capture is read.
    ///
    /// Tells what only the end shows: figures of a launch that gave no result, a failure that only
    /// the exit status admits.
    fn finish(
        &mut self,
        exit: Option<Exit>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome;

    /// The command asks for records, so none that looks like one is only shown.
    fn expect_records(&mut self) {}

    /// Whether it seems to be in the middle of what it prints for people, so that the records of
    /// another agent are probably only shown by it.
    fn is_amid(&self) -> bool {
        false
    }

    /// Whether its words are in the middle of a block of code, if it looks at that.
    fn is_in_code(&self) -> Option<bool> {
        None
    }

    /// The totals that a later launch goes on from, where the agent tells totals. They are taken.
    fn totals(&mut self) -> Option<Totals> {
        None
    }

    /// What earlier launches have told already.
    fn go_on_from(&mut self, _totals: Totals) {}
}

/// One thing that an agent printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// One JSON value, not yet parsed: it may still turn out to be no JSON at all.
    Json(&'a [u8]),
    /// One line of anything else, decoded and without terminal sequences.
    Text(&'a str),
}

/// Hears what an adapter makes of the output.
pub trait Listener {
    fn hear(&mut self, heard: Heard<'_>);
}

impl<F: FnMut(Heard<'_>)> Listener for F {
    fn hear(&mut self, heard: Heard<'_>) {
        self(heard);
    }
}

/// Hears all but what people have seen already.
pub(crate) fn unseen(listener: &mut dyn Listener) -> impl FnMut(Heard<'_>) {
    |heard| {
        if !matches!(heard, Heard::Shown(_)) {
            listener.hear(heard);
        }
    }
}

/// What an adapter makes of the output.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard<'a> {
    /// Usage, context, action, quota, tasks: whatever the core has an event for, failures aside.
    Event(EventKind),
    /// Something failed. [`Fault::event`] says what that is to the core.
    Fault(Fault),
    /// The agent's own words, never a tool's output or a file's contents: one whole message.
    Said(Voice, &'a str),
    /// Something that a person who watches would want to see.
    Shown(Shown<'a>),
    /// The record belongs to a new launch of the agent. Only captures hold more than one: whoever
    /// replays them counts iterations by this.
    Launched,
    /// The launch has told how it ended. A later record may still belong to it.
    Ended(Outcome),
    /// When the record was written, if it says so.
    At(Timestamp),
}

/// Which of the agent's words these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Voice {
    /// Anything that the agent says while it works.
    Assistant,
    /// What it says at the end, as its result.
    Result,
}

/// One line or paragraph for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    /// What the agent says.
    Text(&'a str),
    /// A tool is called: its name, and what tells this call from others (a command, a path).
    Call { tool: &'a str, what: &'a str },
    /// A call came back. `of` is what its call was told with, since calls side by side come back in
    /// any order; `what` is the first thing worth reading: an exit status, an error.
    Returned { tool: &'a str, of: &'a str, succeeded: bool, what: &'a str },
    /// Something about the session: a compaction, a retry, a model.
    Notice(&'a str),
    /// Something failed.
    Error(&'a str),
}

/// How one launch of the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Succeeded,
    Failed,
    /// There was no terminal record where the agent always writes one.
    CutOff,
}

/// How the agent's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub fn succeeded(self) -> bool {
        self.code == Some(0)
    }
}

/// When and where the agent speaks: clock times in its messages mean this zone.
#[derive(Clone, Debug)]
pub struct Moment {
    pub now: Timestamp,
    /// Whether that is when it was said. Where it is only when a file is read, what counts from then,
    /// as distances and clock times do, names no time.
    pub is_known: bool,
    /// The agent speaks now, whatever its records say of their time.
    pub is_live: bool,
    pub zone: TimeZone,
    /// Zones that a message may name, looked up outside.
    pub zone_named: fn(&str) -> Option<TimeZone>,
}

impl Moment {
    /// The moment of a record that may tell its own time.
    pub(crate) fn of(&self, at: Option<Timestamp>) -> Self {
        match at.filter(|_| !self.is_live) {
            Some(at) => Self { now: at, is_known: true, ..self.clone() },
            None => self.clone(),
        }
    }

    /// A time so long from now, if it is known when now is.
    pub(crate) fn after(&self, wait: Duration) -> Option<Timestamp> {
        self.is_known.then(|| self.now.plus(wait))
    }
}
