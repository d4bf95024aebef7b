//! What the child says: shown as it comes, kept in the run's log, searched for patterns.
//!
//! One thread, the pump, owns all of it. A terminal that is slow or stopped (Ctrl-S) blocks that
//! thread, and through its pipes the child; it never blocks the one who decides.

pub mod harmless;
pub mod log;

mod directive;
mod display;
mod ear;
mod log_writer;
mod matcher;
mod outlet;
mod pump;
mod readable;
mod ring;
mod screen;
mod sieve;
mod tracker;
mod transcript;
mod unclaimed;
mod window;
mod words;
mod worker;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use backstop_adapters::{Agent, Outcome, Translator};
use backstop_core::event::EventKind;
use backstop_core::redact::Redactor;

pub use ear::Reading;
pub(crate) use ear::moment;
pub use matcher::BadPattern;
pub use pump::{Pump, StartError};
pub use screen::LiveTerminal;
pub(crate) use screen::WITHOUT_BLOCK;
pub use transcript::Transcript;

/// What the pump has to know before the first iteration.
#[derive(Debug)]
pub struct Setup {
    pub sinks: Sinks,
    pub wanted: Wanted,
    /// One file per iteration is kept here; it is made when there is something to keep.
    pub output_folder: PathBuf,
    /// What is left out of these files.
    pub redactor: Redactor,
    /// Where the live block is shown, if at all.
    pub live: Option<LiveTerminal>,
    /// Whether what is made readable may have colours.
    pub colour: bool,
}

/// What is looked for in the output.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub patterns: Vec<Pattern>,
    /// Words that mean progress, each reported once per iteration.
    pub markers: Vec<String>,
    /// Turns what the agent says into events.
    pub translator: Translator,
    /// Who reads the output.
    pub reading: Reading,
}

/// Where output goes; nothing is written to what is left out.
#[derive(Debug, Default)]
pub struct Sinks {
    /// For the child's standard output.
    pub stdout: Option<OwnedFd>,
    /// For the child's standard error.
    pub stderr: Option<OwnedFd>,
    /// For backstop's own lines.
    pub own: Option<OwnedFd>,
}

impl Sinks {
    /// The child's streams to ours, backstop's own lines to standard error.
    pub fn inherited() -> io::Result<Self> {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Ok(Self {
            stdout: Some(stdout.as_fd().try_clone_to_owned()?),
            stderr: Some(stderr.as_fd().try_clone_to_owned()?),
            own: Some(stderr.as_fd().try_clone_to_owned()?),
        })
    }

    /// Standard output is for backstop's own lines alone, for programs that read them.
    pub fn own_to_stdout() -> io::Result<Self> {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Ok(Self {
            stdout: Some(stderr.as_fd().try_clone_to_owned()?),
            stderr: Some(stderr.as_fd().try_clone_to_owned()?),
            own: Some(stdout.as_fd().try_clone_to_owned()?),
        })
    }

    /// Nobody watches.
    pub fn nowhere() -> Self {
        Self::default()
    }
}

/// Something to be looked for in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The key by which the condition knows its answer.
    pub key: String,
    pub text: String,
    pub is_regex: bool,
    /// Reported once per run; otherwise once per iteration.
    pub since_run: bool,
    /// Where an agent is recognised, only its own words count, and those who read them look there.
    pub unless_agent: bool,
}

/// What the pump has to say. For each iteration `Finished` comes last.
#[derive(Debug)]
pub enum Captured {
    Matched {
        key: String,
        pattern: String,
        stream: &'static str,
        excerpt: String,
    },
    /// A word that means progress.
    Marker {
        word: String,
    },
    /// The rest of a line that began with `::backstop `.
    Directive {
        stream: &'static str,
        json: Vec<u8>,
    },
    /// Such a line was longer than anything sensible.
    OversizedDirective,
    /// Whose output it is, told whenever that changes.
    Recognised(Agent),
    /// Who has printed a record of its own, told whenever that changes.
    Printed(Agent),
    /// What the agent's output means.
    Event(Box<EventKind>),
    /// The log can't be written; output flows on. Said once until it works again.
    LogFailed(io::Error),
    Finished(Summary),
}

/// An iteration's output in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub iteration: u64,
    /// Of both streams.
    pub bytes: u64,
    /// How many of them are not in the log.
    pub left_out: u64,
    /// Somebody held a pipe open after the main process had ended.
    pub leaked: bool,
    /// The last line with text on standard error, else on standard output.
    pub last_error_line: String,
    /// The last line with text on standard output.
    pub last_line: String,
    /// Whose output it was, and how that says it ended.
    pub agent: Option<(Agent, Outcome)>,
    /// All who spoke in it, as far as they are known, did so in records: what stands outside of those
    /// is somebody else's.
    pub only_records: bool,
    /// The last of what the agent itself said.
    pub words: String,
}

/// The names of the streams, as journals write them.
const STREAMS: [&str; 2] = ["stdout", "stderr"];
