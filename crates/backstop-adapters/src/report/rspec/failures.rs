//! What RSpec says of the examples that failed, below `Failures:`.

use std::collections::{BTreeMap, VecDeque};

use crate::report::bounded::{MOST_CASES, MOST_TEXT, append};
use crate::report::text::leading_number;

/// What was said so far, by the sentence that describes an example. Several may have the same one, and
/// are told in the order in which they ran.
#[derive(Default)]
pub(super) struct Failures {
    said: BTreeMap<String, VecDeque<String>>,
    count: usize,
    is_listing: bool,
    speaker: Option<(String, String)>,
}

impl Failures {
    pub fn line(&mut self, line: &str) {
        if line == "Failures:" {
            // Those of another run.
            self.said.clear();
            self.count = 0;
            self.is_listing = true;
        } else if !line.is_empty() && !line.starts_with(' ') {
            self.is_listing = false;
        }
        if !self.is_listing {
            self.end_speaker();
        } else if let Some(title) = numbered(line) {
            self.end_speaker();
            self.speaker = Some((title.to_owned(), String::new()));
        } else if let Some((_, said)) = &mut self.speaker {
            let words = line.trim();
            // Behind it stands where it happened.
            if words.starts_with("# ") {
                self.end_speaker();
            } else if !words.is_empty() {
                if !said.is_empty() {
                    append(said, "\n", MOST_TEXT);
                }
                append(said, words, MOST_TEXT);
            }
        }
    }

    fn end_speaker(&mut self) {
        if let Some((title, said)) = self.speaker.take()
            && self.count < MOST_CASES
        {
            self.count += 1;
            self.said.entry(title).or_default().push_back(said);
        }
    }

    /// What was said of the next one that is described so. It is told once: many copies of what is
    /// long would take more than all that was read.
    pub fn next_of(&mut self, title: &str) -> Option<String> {
        self.said.get_mut(title)?.pop_front()
    }
}

/// The title in `  1) Sum adds`.
fn numbered(line: &str) -> Option<&str> {
    let line = line.strip_prefix("  ")?;
    let (_, title) = leading_number(line.trim_start())?;
    Some(title.strip_prefix(") ")?.trim())
}
