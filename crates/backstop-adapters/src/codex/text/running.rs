//! Calls have no names in the text: what each was begun with finds it again.

use std::collections::VecDeque;

/// Calls that have begun and not ended, the oldest first, with the words that told them.
#[derive(Debug, Default)]
pub(super) struct Running {
    open: VecDeque<(u64, String)>,
    begun: u64,
}

impl Running {
    /// A call begins. Answers what it is called from now on.
    pub fn begin(&mut self, told: &str) -> u64 {
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        let id = self.begun;
        self.begun += 1;
        self.open.push_back((id, told.to_owned()));
        id
    }

    /// The oldest call that these words tell ended.
    pub fn end(&mut self, label: &str) -> Option<u64> {
        let at = self.position(label)?;
        self.open.remove(at).map(|(id, _)| id)
    }

    /// Whether a line says that one of the calls ended, apart from how.
    pub fn is_ended_by(&self, line: &str) -> bool {
        super::ENDED.find(line).is_some_and(|end| self.position(&line[..end.start()]).is_some())
    }

    /// Whether one of the calls takes several lines, of which this is the first.
    pub fn has_first_line(&self, line: &str) -> bool {
        self.open
            .iter()
            .any(|(_, told)| told.split_once('\n').is_some_and(|(first, _)| first == line))
    }

    /// A command is begun with the folder behind it and ends without; a patch ends with whether it
    /// was approved.
    fn position(&self, label: &str) -> Option<usize> {
        let label = label.split_once("(auto_approved=").map_or(label, |(patch, _)| patch);
        self.open.iter().position(|(_, told)| match told.strip_prefix(label) {
            Some(rest) => rest.is_empty() || rest.starts_with(" in "),
            None => false,
        })
    }
}

/// More than run at once, and all that a stream of calls without ends may take.
const MOST_OPEN: usize = 64;
