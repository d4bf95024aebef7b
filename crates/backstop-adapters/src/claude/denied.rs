//! Whether the agent got nowhere because nobody allowed what it wanted to do.

use std::fmt::Write as _;

use super::arguments::Arguments;
use super::wire::{Denial, Line};
use crate::excerpt;

/// What became of the calls of a launch, as far as it tells whether a person is needed.
///
/// A denied call alone says little: agents find other ways, and leave out a check that they may not
/// run. A person is needed only where nothing worked at all, or where nothing worked but to look
/// around and a change was denied: then the next launch would go the same way.
#[derive(Debug, Default)]
pub(super) struct Denied {
    /// Something came back at all.
    returned: bool,
    /// Something worked.
    worked: bool,
    /// Something worked that may have changed something.
    acted: bool,
    /// Calls that failed since the last that did any work, by their ids.
    failed: Vec<String>,
}

impl Denied {
    /// A call came back.
    pub fn returned(&mut self, tool: &str, id: &str, succeeded: bool) {
        self.returned = true;
        if !succeeded {
            if self.failed.len() < MOST_FAILED {
                self.failed.push(id.to_owned());
            }
            return;
        }
        self.worked = true;
        if !LOOKING.contains(&tool) {
            self.failed.clear();
            self.acted = true;
        }
    }

    /// What the agent needs a person for, at the result of a launch.
    pub fn needs(&self, line: &Line<'_>) -> Option<String> {
        let denials = &line.permission_denials.0;
        let stuck = if self.returned {
            let last =
                |denial: &Denial<'_>| self.failed.iter().any(|id| **id == *denial.tool_use_id);
            let change = |denial: &Denial<'_>| CHANGING.contains(&&*denial.tool_name);
            let hopeless = !self.worked || denials.iter().any(change);
            !self.acted && hopeless && denials.iter().any(last)
        } else {
            // A single result has no calls, but as many turns as calls came back, and one more.
            line.num_turns.is_known() && denials.len() as u64 + 1 >= line.num_turns.count()
        };
        (stuck && !denials.is_empty()).then(|| wanted(denials))
    }
}

/// The calls, each once.
fn wanted(denials: &[Denial<'_>]) -> String {
    let mut calls: Vec<String> = Vec::new();
    for denial in denials {
        let subject = Arguments::new(denial.tool_input).subject(&denial.tool_name);
        let mut call = denial.tool_name.to_string();
        if !subject.is_empty() {
            call = format!("{call} `{}`", excerpt(&subject));
        }
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    let more = calls.len().saturating_sub(MOST_NAMED);
    calls.truncate(MOST_NAMED);
    let mut wanted = format!("permission is needed for {}", calls.join(", "));
    if more > 0 {
        let _ = write!(wanted, " and {more} more");
    }
    wanted
}

/// Tools that change nothing, so that their success is no way round anything.
const LOOKING: [&str; 11] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "BashOutput",
    "TaskOutput",
    "ToolSearch",
];

/// Tools without which nothing can be changed, unless a command does it.
const CHANGING: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

const MOST_FAILED: usize = 256;
const MOST_NAMED: usize = 3;
