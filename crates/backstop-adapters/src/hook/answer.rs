//! Answers, in the form in which each event takes them.

use serde_json::{Map, Value, json};

use super::HookEvent;

/// What an agent is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub act: Act,
    /// For the agent's user, beside whatever else happens.
    pub notice: Option<String>,
}

/// What is to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Act {
    /// No opinion.
    #[default]
    Nothing,
    /// This one step is not to be taken; the agent reads why.
    Deny(String),
    /// The agent is to end now; its user reads why.
    Halt(String),
    /// The agent wanted to stop and is to go on; it reads what is missing.
    SendBack(String),
    /// Something that the agent is to know.
    Tell(String),
}

impl From<Act> for Answer {
    fn from(act: Act) -> Self {
        Self { act, notice: None }
    }
}

impl Answer {
    /// The one JSON object to print; none for no opinion.
    ///
    /// Only what both agents take is used: Codex refuses an answer with a key too many, and takes
    /// neither `continue` nor `stopReason` before a tool.
    pub fn render(&self, event: HookEvent) -> Option<String> {
        let mut object = Map::new();
        match (&self.act, event) {
            (Act::Nothing, _)
            | (Act::SendBack(_), HookEvent::Other)
            | (Act::Deny(_) | Act::SendBack(_), HookEvent::SessionEnd | HookEvent::StopFailure) => {
            }
            (Act::Deny(why) | Act::Halt(why) | Act::SendBack(why), HookEvent::PreToolUse) => {
                let decision = json!({
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": bounded(why),
                });
                object.insert("hookSpecificOutput".to_owned(), decision);
            }
            (Act::Deny(why) | Act::Halt(why), HookEvent::UserPromptSubmit)
            | (Act::SendBack(why), _) => {
                object.insert("decision".to_owned(), "block".into());
                object.insert("reason".to_owned(), bounded(why));
            }
            // A session that starts can only be told.
            (Act::Deny(why) | Act::Halt(why) | Act::Tell(why), HookEvent::SessionStart) => {
                let context = json!({
                    "hookEventName": "SessionStart",
                    "additionalContext": bounded(why),
                });
                object.insert("hookSpecificOutput".to_owned(), context);
            }
            (Act::Deny(why) | Act::Halt(why), _) => {
                object.insert("continue".to_owned(), false.into());
                object.insert("stopReason".to_owned(), bounded(why));
            }
            // Elsewhere nobody but the user listens.
            (Act::Tell(what), _) => {
                object.insert("systemMessage".to_owned(), bounded(what));
            }
        }
        if let Some(notice) = &self.notice {
            object.insert("systemMessage".to_owned(), bounded(notice));
        }
        (!object.is_empty()).then(|| Value::Object(object).to_string())
    }
}

/// Longer texts are moved to a file by the agent, where nobody reads them.
fn bounded(text: &str) -> Value {
    let text = text.trim();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

const LONGEST: usize = 9000;
