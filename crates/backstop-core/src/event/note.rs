//! Notes: what people and other programs may want to know later, and no rule looks at.

use serde::{Deserialize, Serialize};

/// Something worth keeping that changes no fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    pub what: Note,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// How well the process tree is held together.
    Containment,
    /// A signal was sent to the process tree.
    Signalled,
    /// Processes were left when the main one had ended, and were ended too.
    Swept,
    /// Processes of an earlier supervisor were found and ended.
    Orphans,
    /// A process could not be ended.
    Unkillable,
    /// Output was not kept in the log.
    LeftOut,
    /// An agent exited with 0 although it had failed.
    Pretended,
    /// Somebody held the output open after the main process had ended.
    Leaked,
    /// The supervised side sent what it may not send.
    Refused,
    /// The agent said that it was done, and it was not proven.
    ClaimRefused,
    /// A reviewer was asked, and said nothing that could be understood.
    NotReviewed,
    /// Another policy was put in place.
    PolicyApplied,
    /// The state of the work was kept.
    Kept,
    /// A rule that a person has seen does not count until the next iteration has ended.
    SetAside,
    /// A person is asked before an iteration starts.
    TurnAsked,
    /// A person let an iteration start: which, and who.
    LetGo,
    /// A person let an iteration pass without running it: which, and who.
    Skipped,
    /// Whether a person is asked before each iteration was changed: `on` or `off`, and by whom.
    Attended,
    /// A question is of no interest any more.
    Withdrawn,
    /// Somebody was told of what happened.
    Notified,
    /// Somebody should have been told, and was not.
    NotNotified,
    /// A guard was lifted for this run.
    GuardLifted,
    /// Files that violated a guard were put back.
    Reverted,
    /// A guard could not be checked.
    Unguarded,
    /// What a thread of the agent has used in all: a [`ThreadTotal`].
    ThreadTotal,
}

/// What one thread of an agent has used in all, as the agent tells it. Whoever goes on with the run
/// needs it, since the next launch of the thread tells it again, with more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTotal {
    pub thread: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
}

impl ThreadTotal {
    pub fn note(&self) -> Noted {
        let detail = serde_json::to_string(self).expect("it has only string keys");
        Noted { what: Note::ThreadTotal, detail }
    }

    pub fn of(noted: &Noted) -> Option<Self> {
        let is_total = noted.what == Note::ThreadTotal;
        is_total.then(|| serde_json::from_str(&noted.detail).ok()).flatten()
    }
}
