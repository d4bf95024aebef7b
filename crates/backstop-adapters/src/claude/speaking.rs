//! What the main loop says, turn by turn.

use super::action;
use crate::{Heard, Listener, Shown, Voice, excerpt};

/// The turn that is under way. One answer of the model comes as several records, so only its
/// successor shows whether it did anything.
#[derive(Debug, Default)]
pub(super) struct Speaking {
    turn: Option<Turn>,
    /// Something was said since the last result.
    spoke: bool,
}

#[derive(Debug, Default)]
struct Turn {
    message: String,
    said: String,
    acted: bool,
    /// There was more in it than words and thoughts.
    other: bool,
}

impl Speaking {
    /// A record of this message comes. Answers the message before it, if this is another.
    pub fn begin_turn(&mut self, message: &str, listener: &mut dyn Listener) -> Option<String> {
        let same = |turn: &Turn| !message.is_empty() && turn.message == message;
        if self.turn.as_ref().is_some_and(same) {
            return None;
        }
        let previous = self.complete_turn(listener);
        self.turn = Some(Turn { message: message.to_owned(), ..Turn::default() });
        previous
    }

    pub fn say(&mut self, text: &str, listener: &mut dyn Listener) {
        if text.trim().is_empty() || text == NO_CONTENT {
            return;
        }
        self.spoke = true;
        if let Some(turn) = &mut self.turn {
            turn.said = excerpt(text).into_owned();
        }
        listener.hear(Heard::Said(Voice::Assistant, text));
        listener.hear(Heard::Shown(Shown::Text(text)));
    }

    /// The turn calls a tool.
    pub fn act(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.acted = true;
        }
    }

    /// The turn holds something that is neither words nor a call of a tool.
    pub fn hold(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.other = true;
        }
    }

    /// The turn is over, and nothing is missing of it. One that neither spoke nor acted is an empty
    /// answer; records without an id may be parts of another.
    pub fn complete_turn(&mut self, listener: &mut dyn Listener) -> Option<String> {
        let is_empty = |turn: &Turn| {
            !turn.message.is_empty() && !turn.acted && !turn.other && turn.said.is_empty()
        };
        if self.turn.as_ref().is_some_and(is_empty) {
            listener.hear(Heard::Event(action("empty", "").into()));
        }
        self.end_turn(listener)
    }

    /// The turn is over. One that only spoke is a step of its own.
    pub fn end_turn(&mut self, listener: &mut dyn Listener) -> Option<String> {
        let turn = self.turn.take()?;
        if !turn.acted && !turn.said.is_empty() {
            listener.hear(Heard::Event(action("message", &turn.said).into()));
        }
        Some(turn.message)
    }

    /// The launch says what came of it.
    pub fn conclude(&mut self, result: &str, listener: &mut dyn Listener) {
        if !result.trim().is_empty() {
            listener.hear(Heard::Said(Voice::Result, result));
            // Mostly the last message once more.
            if !self.spoke {
                listener.hear(Heard::Shown(Shown::Text(result)));
            }
        }
        self.forget();
    }

    pub fn forget(&mut self) {
        self.spoke = false;
    }
}

/// What Claude Code writes where an answer had nothing in it.
const NO_CONTENT: &str = "(no content)";
