//! RSpec's documentation: groups, and the examples in them, each on a line and further indented.

use backstop_core::event::TestCounts;

use crate::report::bounded::{MOST_CASES, MOST_NAME, Room, shortened};
use crate::report::tick::{ending, ticked};
use crate::report::{Case, Status};

/// The lines so far that may be groups and examples.
#[derive(Default)]
pub(super) struct Documentation {
    /// Titles of the groups around the next line, from the outermost on.
    groups: Vec<String>,
    /// The latest line: an example, unless what follows stands deeper.
    latest: Option<(usize, String)>,
    examples: Vec<(Status, String)>,
    room: Room,
    /// Behind the examples, or there are none.
    is_over: bool,
}

impl Documentation {
    pub fn line(&mut self, line: &str) {
        if self.is_over {
            return;
        }
        let title = line.trim_start();
        let indent = line.len() - title.len();
        if matches!(title, "Failures:")
            || ["Pending: ", "Finished in "].iter().any(|it| line.starts_with(it))
        {
            self.end_latest(0);
            self.is_over = true;
            return;
        }
        if title.is_empty() {
            return;
        }
        // Others put a mark before their cases.
        if ending(line).is_some() {
            *self = Self::default();
            return;
        }
        if ticked(title).is_some() {
            self.groups.clear();
            self.latest = None;
            return;
        }
        let depth = indent / STEP;
        self.end_latest(depth);
        if !indent.is_multiple_of(STEP) || depth > self.groups.len() {
            return;
        }
        self.groups.truncate(depth);
        self.latest = Some((depth, title.to_owned()));
    }

    /// The line before this one is a group if this one stands deeper, and else an example; at the
    /// very left it is neither.
    fn end_latest(&mut self, depth: usize) {
        let Some((latest, title)) = self.latest.take() else { return };
        if depth > latest {
            self.groups.push(title);
        } else if latest > 0 && self.examples.len() < MOST_CASES {
            let (status, title) = ended(&title);
            let titles = self.groups.iter().map(String::as_str).chain([title]);
            let name = described(titles);
            if self.room.takes(name.len()) {
                self.examples.push((status, name));
            }
        }
    }

    /// The examples, if what was read is as many of each kind as the figures say.
    pub fn examples(&mut self, counts: TestCounts) -> Vec<Case> {
        let examples = std::mem::take(self).examples;
        let count = |wanted| examples.iter().filter(|(status, _)| *status == wanted).count() as u64;
        let is_whole = count(Status::Passed) == counts.passed
            && count(Status::Failed) == counts.failed
            && count(Status::Skipped) == counts.skipped;
        let examples = examples.into_iter().filter(|_| is_whole);
        examples.map(|(status, name)| Case::new(&name, status)).collect()
    }
}

/// How an example ended: `divides (FAILED - 1)`, `waits (PENDING: later)`, or else it passed.
fn ended(title: &str) -> (Status, &str) {
    if let Some((title, number)) = title.rsplit_once(" (FAILED - ")
        && number.ends_with(')')
    {
        (Status::Failed, title)
    } else if let Some((title, reason)) = title.split_once(" (PENDING: ")
        && reason.ends_with(')')
    {
        (Status::Skipped, title)
    } else {
        (Status::Passed, title)
    }
}

/// The titles as one sentence, in which a method stands directly behind its class.
fn described<'a>(titles: impl Iterator<Item = &'a str>) -> String {
    let mut sentence = String::new();
    for title in titles {
        // No more than a name is kept of it.
        if sentence.len() > MOST_NAME {
            break;
        }
        if !sentence.is_empty() && !title.starts_with(['#', '.']) {
            sentence.push(' ');
        }
        sentence.push_str(title);
    }
    shortened(&sentence, MOST_NAME).into_owned()
}

const STEP: usize = 2;
