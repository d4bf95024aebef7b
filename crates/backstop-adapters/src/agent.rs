//! The agents that backstop knows, and how it tells which one it has.

mod auto;
mod command;
mod glued;
mod model;
mod printed;
mod sniff;

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use backstop_core::diagnostic::nearest;

pub use auto::Auto;
pub(crate) use command::is_missing_agent;
use glued::Unglued;
pub use printed::PrintedCommand;

use crate::aider::Aider;
use crate::claude::Claude;
use crate::codex::Codex;
use crate::cursor::Cursor;
use crate::gemini::Gemini;
use crate::generic::Generic;
use crate::goose::Goose;
use crate::jsonl::{Jsonl, JsonlMapping};
use crate::opencode::OpenCode;
use crate::pi::Pi;
use crate::{Adapter, Record};

/// Whose output it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Claude Code, and Amp, which prints the same.
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Aider,
    Cursor,
    Goose,
    Pi,
    /// Any program: only its exit status counts.
    Generic,
    /// JSON lines with a mapping of one's own.
    Jsonl,
}

/// There is no such agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent `{name}`")]
pub struct UnknownAgent {
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<&'static str>,
}

impl Agent {
    pub const ALL: [Self; 10] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Aider,
        Self::Cursor,
        Self::Goose,
        Self::Pi,
        Self::Generic,
        Self::Jsonl,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Aider => "aider",
            Self::Cursor => "cursor",
            Self::Goose => "goose",
            Self::Pi => "pi",
            Self::Generic => "generic",
            Self::Jsonl => "jsonl",
        }
    }

    /// The agent that a command starts, also through `env`, `npx`, `timeout`, a shell and the like.
    pub fn of_command(command: &[impl AsRef<OsStr>]) -> Option<Self> {
        command::agent(command)
    }

    /// Whether the agent that a command starts is Amp, which prints what Claude prints but its cost.
    pub fn is_amp(command: &[impl AsRef<OsStr>]) -> bool {
        command::is_amp(command)
    }

    /// Whether a command is nothing but an agent's own: no shell, which may start several.
    pub fn is_alone_in(command: &[impl AsRef<OsStr>]) -> bool {
        command::is_agents(command)
    }

    /// Whether a command asks its agent for records, so that what looks like one is its own.
    pub fn is_asked_for_records(command: &[impl AsRef<OsStr>]) -> bool {
        command::asks_for_records(command)
    }

    /// The model that a command asks its agent for.
    pub fn model_of_command(command: &[impl AsRef<OsStr>]) -> Option<String> {
        model::of_command(command)
    }

    /// The agent that prints such a record, if no other does.
    pub fn of_first_record(record: &Record<'_>) -> Option<Self> {
        sniff::agent(record)
    }

    /// Whether a stream that begins with this record may be another agent's than the one that is named
    /// for it: only a later record tells.
    pub fn is_doubtful(record: &Record<'_>) -> bool {
        matches!(record, Record::Json(bytes) if sniff::opens_like_another(bytes))
    }

    /// The other agent whose stream it is, once a record of a doubtful one tells that for certain.
    pub fn in_truth(self, record: &Record<'_>) -> Option<Self> {
        sniff::agent(record).filter(|other| *other != self && sniff::are_alike(*other, self))
    }

    /// Where in the output of some program an agent's may begin: there is the first sign of it.
    pub fn sign_of_beginning(output: &[u8]) -> Option<usize> {
        sniff::sign_of_beginning(output)
    }

    /// Whether it is this agent's record, as far as its keys tell. With a mapping of one's own, all
    /// JSON is.
    pub fn prints(self, record: &Record<'_>) -> bool {
        let is_json = matches!(record, Record::Json(_));
        let is_its = || sniff::agent(record).is_some_and(|by| sniff::are_alike(by, self));
        is_json && (self == Self::Jsonl || is_its())
    }

    /// A reader for one launch. [`Jsonl`](Self::Jsonl) reads nothing without a mapping: with one,
    /// use [`crate::Jsonl::new`].
    pub fn adapter(self) -> Box<dyn Adapter> {
        match self {
            Self::Claude => Box::new(Unglued::new(self, Claude::new())),
            Self::Codex => Box::new(Unglued::new(self, Codex::default())),
            Self::Gemini => Box::new(Unglued::new(self, Gemini::default())),
            Self::OpenCode => Box::new(Unglued::new(self, OpenCode::default())),
            Self::Aider => Box::new(Aider::default()),
            Self::Cursor => Box::new(Unglued::new(self, Cursor::default())),
            Self::Goose => Box::new(Unglued::new(self, Goose::default())),
            Self::Pi => Box::new(Unglued::new(self, Pi::default())),
            Self::Generic => Box::new(Generic::default()),
            Self::Jsonl => Box::new(Jsonl::new(JsonlMapping::default())),
        }
    }

    /// The signal after which the agent still reports what it used, where the usual one is too much.
    pub fn stop_signal(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("SIGINT"),
            _ => None,
        }
    }

    /// Whether its figures are totals, from which a later launch goes on.
    fn tells_totals(self) -> bool {
        self == Self::Codex
    }

    /// Whether it can print JSON, so that people had better see what is in it.
    pub fn prints_json(self) -> bool {
        !matches!(self, Self::Aider | Self::Generic)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Self, UnknownAgent> {
        Self::ALL.into_iter().find(|agent| agent.name() == name).ok_or_else(|| UnknownAgent {
            name: name.to_owned(),
            nearest: nearest(name, Self::ALL.map(Self::name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for agent in Agent::ALL {
            assert_eq!(agent.to_string().parse(), Ok(agent));
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let error = "cluade".parse::<Agent>().unwrap_err();
        assert_eq!(error.to_string(), "unknown agent `cluade`");
        assert_eq!(error.nearest, Some("claude"));
        assert_eq!("".parse::<Agent>().unwrap_err().nearest, None);
    }
}
