//! What RSpec says of the examples that failed, below `Failures:`.

use std::collections::BTreeMap;

use crate::report::bounded::{MOST_CASES, MOST_TEXT, append};
use crate::report::text::leading_number;

/// What was said so far, by the sentence that describes an example.
#[derive(Default)]
pub(super) struct Failures {
    said: BTreeMap<String, String>,
    is_listing: bool,
    speaker: Option<String>,
}

impl Failures {
    pub fn line(&mut self, line: &str) {
        if line == "Failures:" {
            self.is_listing = true;
        } else if !line.is_empty() && !line.starts_with(' ') {
            self.is_listing = false;
        }
        if !self.is_listing {
            self.speaker = None;
        } else if let Some(title) = numbered(line) {
            self.speaker = Some(title.to_owned()).filter(|_| self.said.len() < MOST_CASES);
        } else if let Some(title) = &self.speaker {
            let words = line.trim();
            // Behind it stands where it happened.
            if words.starts_with("# ") {
                self.speaker = None;
            } else if !words.is_empty() {
                let said = self.said.entry(title.clone()).or_default();
                if !said.is_empty() {
                    append(said, "\n", MOST_TEXT);
                }
                append(said, words, MOST_TEXT);
            }
        }
    }

    pub fn of(&self, title: &str) -> Option<&str> {
        self.said.get(title).map(String::as_str)
    }
}

/// The title in `  1) Sum adds`.
fn numbered(line: &str) -> Option<&str> {
    let line = line.strip_prefix("  ")?;
    let (_, title) = leading_number(line.trim_start())?;
    Some(title.strip_prefix(") ")?.trim())
}
