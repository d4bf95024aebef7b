//! What a person is asked, and what they type in answer.

use std::fmt;
use std::str::FromStr;

use backstop_core::decision::Decision;
use backstop_core::facts::Facts;
use serde::{Deserialize, Serialize};

/// What a person is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// A rule wants a person's decision.
    Question,
    /// The next iteration is to start.
    Turn,
}

impl Matter {
    pub const fn choices(self) -> &'static [Choice] {
        match self {
            Self::Question => &[Choice::Fix, Choice::Continue, Choice::Abort],
            Self::Turn => &[Choice::Go, Choice::Skip, Choice::Stop],
        }
    }
}

/// What a person may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Go on, with a note for the next iteration.
    Fix,
    Continue,
    Abort,
    /// Start the iteration.
    Go,
    /// Let it pass without running it.
    Skip,
    Stop,
}

impl Choice {
    pub const ALL: [Self; 6] =
        [Self::Fix, Self::Continue, Self::Abort, Self::Go, Self::Skip, Self::Stop];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Continue => "continue",
            Self::Abort => "abort",
            Self::Go => "go",
            Self::Skip => "skip",
            Self::Stop => "stop",
        }
    }

    const fn key(self) -> u8 {
        match self {
            Self::Fix => b'f',
            Self::Continue => b'c',
            Self::Abort => b'a',
            Self::Go => b'g',
            Self::Skip => b's',
            Self::Stop => b't',
        }
    }

    /// With its key, as it is offered.
    pub const fn offer(self) -> &'static str {
        match self {
            Self::Fix => "[f]ix with a note",
            Self::Continue => "[c]ontinue",
            Self::Abort => "[a]bort",
            Self::Go => "[g]o",
            Self::Skip => "[s]kip",
            Self::Stop => "s[t]op",
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Choice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == text).ok_or(())
    }
}

/// Keys on their way to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub matter: Matter,
    pub question: String,
    /// The note that is being typed.
    note: Option<Vec<u8>>,
}

impl Prompt {
    pub fn new(matter: Matter, question: String) -> Self {
        Self { matter, question, note: None }
    }

    /// The note as far as it is typed; none while a choice is awaited.
    pub fn note(&self) -> Option<String> {
        self.note.as_ref().map(|note| String::from_utf8_lossy(note).into_owned())
    }

    /// Takes in what was typed; an answer ends the prompt.
    pub fn typed(&mut self, bytes: &[u8]) -> Option<(Choice, Option<String>)> {
        // Keys that move the cursor and the like come as a sequence and mean nothing here.
        if bytes.len() > 1 && bytes[0] == ESCAPE {
            return None;
        }
        for &byte in bytes {
            let answer = match &mut self.note {
                None => self.chosen(byte),
                Some(_) => self.noted(byte),
            };
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    fn chosen(&mut self, byte: u8) -> Option<(Choice, Option<String>)> {
        let key = byte.to_ascii_lowercase();
        let choice = *self.matter.choices().iter().find(|choice| choice.key() == key)?;
        if choice == Choice::Fix {
            self.note = Some(Vec::new());
            return None;
        }
        Some((choice, None))
    }

    fn noted(&mut self, byte: u8) -> Option<(Choice, Option<String>)> {
        let note = self.note.as_mut()?;
        match byte {
            b'\r' | b'\n' => {
                let text = String::from_utf8_lossy(note).trim().to_owned();
                // Nothing to fix was said, so nothing is answered yet.
                self.note = None;
                return (!text.is_empty()).then_some((Choice::Fix, Some(text)));
            }
            ESCAPE => self.note = None,
            BACKSPACE | DELETE => while note.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            KILL_LINE => note.clear(),
            0..0x20 => {}
            _ if note.len() < LONGEST_NOTE => note.push(byte),
            _ => {}
        }
        None
    }
}

/// What a decision wants a person to answer: what fired, and what speaks for it.
pub(crate) fn question_of(decision: &Decision, facts: &Facts) -> String {
    let mut question = decision.message.trim_end_matches('.').to_owned();
    let iteration = facts.iterations();
    if iteration > 0 {
        let s = if iteration == 1 { "" } else { "s" };
        question.push_str(&format!(" (after {iteration} iteration{s})"));
    }
    question.push('.');
    if let Some(error) = facts.last_error() {
        let error = error.lines().next().unwrap_or_default();
        let error = &error[..error.floor_char_boundary(LONGEST_EVIDENCE)];
        question.push_str(&format!(" The last error: {error}"));
    }
    question
}

const LONGEST_EVIDENCE: usize = 200;
const ESCAPE: u8 = 0x1b;
const BACKSPACE: u8 = 0x08;
const DELETE: u8 = 0x7f;
const KILL_LINE: u8 = 0x15;
const LONGEST_NOTE: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(matter: Matter, keys: &[&str]) -> Option<(Choice, Option<String>)> {
        let mut prompt = Prompt::new(matter, "why?".to_owned());
        keys.iter().find_map(|keys| prompt.typed(keys.as_bytes()))
    }

    #[test]
    fn a_key_is_an_answer() {
        for (matter, keys, choice) in [
            (Matter::Question, "c", Choice::Continue),
            (Matter::Question, "A", Choice::Abort),
            (Matter::Turn, "xg", Choice::Go),
            (Matter::Turn, "s", Choice::Skip),
            (Matter::Turn, "t", Choice::Stop),
        ] {
            assert_eq!(typed(matter, &[keys]), Some((choice, None)), "{keys}");
        }
        assert_eq!(typed(Matter::Question, &["g", "\x1b[A", "\r"]), None);
        assert_eq!(typed(Matter::Turn, &["c"]), None);
    }

    #[test]
    fn a_note_is_typed_and_mended() {
        let note = |text: &str| Some((Choice::Fix, Some(text.to_owned())));
        assert_eq!(typed(Matter::Question, &["f", "try älso\x7f\x7f\x7f\x7fit\r"]), note("try it"));
        assert_eq!(typed(Matter::Question, &["f", "wrong\x15right\n"]), note("right"));
        assert_eq!(
            typed(Matter::Question, &["f", "never mind", "\x1b", "c"]),
            Some((Choice::Continue, None))
        );
        assert_eq!(typed(Matter::Question, &["f", "  \r"]), None);
    }

    #[test]
    fn every_choice_is_found_by_its_name() {
        for choice in Choice::ALL {
            assert_eq!(choice.as_str().parse(), Ok(choice));
            let key = char::from(choice.key());
            assert!(choice.offer().contains(&format!("[{key}]")), "{choice}");
        }
    }
}
