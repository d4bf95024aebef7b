//! Hooks: what an agent says to a program that it calls at every step, and what it may be answered.
//!
//! Claude Code and Codex send one JSON object on standard input and read one back. Codex took the
//! shape from Claude Code, so both are read alike, and answered with what both understand.

mod answer;
mod call;
mod target;
mod transcript;
mod words;

pub use answer::{Act, Answer};
pub use target::{may_write_unnamed, targets};
pub use transcript::{Transcript, TranscriptReader};
pub use words::{markers, matches};

use std::fmt;

use backstop_core::event::{Action, EventKind};
use backstop_core::repetition::Chant;
use serde_json::Value;

use crate::fault::{from_category, of_kind, recognise};
use crate::fields::{parse, text};
use crate::framing::encoding::decoded;
use crate::{Fault, FaultKind, Moment, excerpt};

/// An agent that calls hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookAgent {
    ClaudeCode,
    Codex,
}

impl HookAgent {
    pub const ALL: [Self; 2] = [Self::ClaudeCode, Self::Codex];

    /// Its name on the command line and in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The moments at which backstop wants to be called.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
                "PreCompact",
                "SubagentStop",
                "Stop",
                "StopFailure",
                "SessionEnd",
            ],
            Self::Codex => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PreCompact",
                "SubagentStop",
                "Stop",
                "SessionEnd",
            ],
        }
    }
}

impl fmt::Display for HookAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What an agent said when it called.
///
/// Fields that are missing or of another type are simply not there, and unknown ones do no harm.
#[derive(Clone, Debug, PartialEq)]
pub struct HookInput {
    fields: Value,
}

/// What an agent sent can't be understood at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookInputError {
    #[error("standard input is empty; an agent sends one JSON object there")]
    Empty,
    #[error("standard input is not a JSON object")]
    NotAnObject,
    #[error("the input has no `hook_event_name`")]
    NoEvent,
}

/// The moment at which an agent called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PreCompact,
    SubagentStop,
    Stop,
    StopFailure,
    SessionEnd,
    /// Anything else: it is none of our business.
    Other,
}

impl HookEvent {
    pub fn named(name: &str) -> Self {
        match name {
            "SessionStart" => Self::SessionStart,
            "UserPromptSubmit" => Self::UserPromptSubmit,
            "PreToolUse" => Self::PreToolUse,
            "PostToolUse" => Self::PostToolUse,
            "PostToolUseFailure" => Self::PostToolUseFailure,
            "PreCompact" => Self::PreCompact,
            "SubagentStop" => Self::SubagentStop,
            "Stop" => Self::Stop,
            "StopFailure" => Self::StopFailure,
            "SessionEnd" => Self::SessionEnd,
            _ => Self::Other,
        }
    }
}

impl HookInput {
    /// Reads what came on standard input.
    ///
    /// # Errors
    /// It is no JSON object, or does not say which event it is about.
    pub fn read(bytes: &[u8]) -> Result<Self, HookInputError> {
        let bytes = &decoded(bytes)[..];
        if bytes.trim_ascii().is_empty() {
            return Err(HookInputError::Empty);
        }
        let fields = parse(bytes).filter(Value::is_object).ok_or(HookInputError::NotAnObject)?;
        let input = Self { fields };
        if input.event_name().is_empty() { Err(HookInputError::NoEvent) } else { Ok(input) }
    }

    pub fn event(&self) -> HookEvent {
        HookEvent::named(self.event_name())
    }

    pub fn event_name(&self) -> &str {
        self.text("hook_event_name")
    }

    pub fn session(&self) -> &str {
        self.text("session_id")
    }

    /// The directory that the agent works in; empty if it does not say.
    pub fn cwd(&self) -> &str {
        self.text("cwd")
    }

    /// The file that the session is written to; empty if there is none.
    pub fn transcript_path(&self) -> &str {
        self.text("transcript_path")
    }

    /// The file that a sub-agent is written to; empty if there is none.
    pub fn agent_transcript_path(&self) -> &str {
        self.text("agent_transcript_path")
    }

    /// The sub-agent that calls; empty for the agent itself.
    pub fn agent_id(&self) -> &str {
        self.text("agent_id")
    }

    /// How a session starts: `startup`, `resume` and the like.
    pub fn source(&self) -> &str {
        self.text("source")
    }

    pub fn model(&self) -> &str {
        self.text("model")
    }

    pub fn tool_name(&self) -> &str {
        self.text("tool_name")
    }

    pub fn tool_input(&self) -> &Value {
        self.fields.get("tool_input").unwrap_or(&Value::Null)
    }

    /// What the agent said last, when it stops.
    pub fn last_message(&self) -> &str {
        self.text("last_assistant_message")
    }

    /// Whether the agent goes on only because a hook sent it back.
    pub fn was_sent_back(&self) -> bool {
        self.fields.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether the agent waits for something that works in the background.
    pub fn waits_for_others(&self) -> bool {
        ["background_tasks", "session_crons"].iter().any(|key| {
            self.fields.get(*key).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        })
    }

    /// What happened, as the core knows it. What only the transcript or the disk can tell is not
    /// in it.
    pub fn events(&self, agent: HookAgent, moment: &Moment) -> Vec<EventKind> {
        match self.event() {
            HookEvent::UserPromptSubmit => self.said("person", self.text("prompt")),
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => {
                call::action(self, agent).into_iter().map(EventKind::from).collect()
            }
            HookEvent::Stop => self.answered(),
            HookEvent::PreCompact => self.said("compaction", "compaction"),
            HookEvent::StopFailure => vec![self.fault(moment).event()],
            _ => Vec::new(),
        }
    }

    /// Why a turn died.
    fn fault(&self, moment: &Moment) -> Fault {
        let name = self.text("error");
        let texts = [self.last_message(), self.text("error_details"), name];
        let message = texts.iter().find(|text| !text.trim().is_empty()).copied().unwrap_or("error");
        let [words @ .., _] = texts;
        words.iter().find_map(|text| recognise(text, moment)).unwrap_or_else(|| {
            let kind = from_category(name).or_else(|| Some(recognise(name, moment)?.kind));
            of_kind(kind.unwrap_or(FaultKind::Other), message, moment)
        })
    }

    /// What the agent says at the end of a turn: a message, or nothing at all.
    fn answered(&self) -> Vec<EventKind> {
        let words = self.last_message();
        let is_told = self.fields.get("last_assistant_message").is_some_and(Value::is_string);
        if is_told && words.trim().is_empty() {
            return vec![Action { kind: "empty".to_owned(), ..Action::default() }.into()];
        }
        let mut events = self.said("message", words);
        if let Some(signature) = Chant::find(words) {
            let kind = "chant".to_owned();
            events.push(Action { signature, kind, ..Action::default() }.into());
        }
        events
    }

    fn said(&self, kind: &str, words: &str) -> Vec<EventKind> {
        if words.trim().is_empty() {
            return Vec::new();
        }
        let signature = excerpt(words).into_owned();
        vec![Action { signature, kind: kind.to_owned(), ..Action::default() }.into()]
    }

    fn text(&self, key: &str) -> &str {
        text(&self.fields, key).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
