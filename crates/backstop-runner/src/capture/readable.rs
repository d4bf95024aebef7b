//! An agent's words, calls and errors as lines for a person.

use std::collections::VecDeque;
use std::fmt::Write as _;

use backstop_adapters::Shown;

use super::harmless::harmless;

/// Makes lines of what an agent does. A call and its outcome are one line, written when it came
/// back.
#[derive(Debug)]
pub(super) struct Readable {
    colour: bool,
    /// Calls that have not come back: tool and what.
    open: VecDeque<(String, String)>,
}

impl Readable {
    pub fn new(colour: bool) -> Self {
        Self { colour, open: VecDeque::new() }
    }

    /// Shows a line that is no JSON as it is.
    pub fn pass(&mut self, line: &str, show: &mut dyn FnMut(&[u8])) {
        show(format!("{}\n", harmless(line.as_bytes())).as_bytes());
    }

    pub fn show(&mut self, thing: Shown<'_>, show: &mut dyn FnMut(&[u8])) {
        let text = match thing {
            Shown::Text(text) => harmless(text.trim_end().as_bytes()),
            Shown::Call { tool, what } => {
                if self.open.len() == MOST_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back((tool.to_owned(), one_line(what)));
                return;
            }
            Shown::Returned { tool, of, succeeded, what } => {
                let of = one_line(of);
                let is_it = |call: &(String, String)| call.0 == tool && call.1 == of;
                if let Some(place) = self.open.iter().position(is_it) {
                    self.open.remove(place);
                }
                self.outcome(tool, &of, succeeded, what)
            }
            Shown::Notice(text) => self.painted(DIM, &format!("· {}", one_line(text))),
            Shown::Error(text) => self.painted(RED, &format!("✗ {}", one_line(text))),
        };
        if !text.is_empty() {
            show(format!("{text}\n").as_bytes());
        }
    }

    /// The agent has ended; what did not come back never will.
    pub fn finish(&mut self, show: &mut dyn FnMut(&[u8])) {
        for (tool, what) in std::mem::take(&mut self.open) {
            let line = self.painted(DIM, &format!("… {tool}: {what} (no result)"));
            show(format!("{line}\n").as_bytes());
        }
    }

    fn outcome(&self, tool: &str, of: &str, succeeded: bool, result: &str) -> String {
        let mut line = one_line(tool);
        if !of.is_empty() {
            let _ = write!(line, ": {of}");
        }
        if succeeded {
            return format!("{} {line}", self.painted(GREEN, "✓"));
        }
        let result = one_line(result);
        if !result.is_empty() {
            let _ = write!(line, " → {result}");
        }
        self.painted(RED, &format!("✗ {line}"))
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The first line of a text, cut where it grows too long for a screen.
fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let line = harmless(line.as_bytes());
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

const MOST_OPEN: usize = 64;
const LONGEST: usize = 120;

const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(things: &[Shown<'_>]) -> String {
        let (mut readable, mut shown) = (Readable::new(false), Vec::new());
        for thing in things {
            readable.show(*thing, &mut |text| shown.extend_from_slice(text));
        }
        readable.finish(&mut |text| shown.extend_from_slice(text));
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn a_call_and_its_outcome_are_one_line() {
        let shown = lines(&[
            Shown::Text("I look at it.\n"),
            Shown::Call { tool: "Bash", what: "cargo test\n--all" },
            Shown::Call { tool: "Bash", what: "cargo doc" },
            Shown::Call { tool: "Read", what: "src/lib.rs" },
            Shown::Returned { tool: "Read", of: "src/lib.rs", succeeded: true, what: "fn main" },
            Shown::Returned { tool: "Bash", of: "cargo doc", succeeded: true, what: "" },
            Shown::Returned {
                tool: "Bash",
                of: "cargo test\n--all",
                succeeded: false,
                what: "Exit code 101",
            },
            Shown::Call { tool: "Edit", what: "src/lib.rs" },
            Shown::Error("rate limit"),
        ]);
        assert_eq!(
            shown,
            "I look at it.\n✓ Read: src/lib.rs\n✓ Bash: cargo doc\n✗ Bash: cargo test → Exit code 101\n\
             ✗ rate limit\n… Edit: src/lib.rs (no result)\n"
        );
    }

    #[test]
    fn nothing_of_the_agent_reaches_the_terminal_unfiltered() {
        let hostile = "\x1b[31mx".repeat(200);
        let shown = lines(&[
            Shown::Text("\x1b]0;title\x07a\x1b[2Jb"),
            Shown::Call { tool: "Bash", what: &hostile },
            Shown::Returned { tool: "Bash", of: &hostile, succeeded: true, what: "" },
        ]);
        assert!(!shown.contains('\x1b'), "{shown:?}");
        assert!(shown.lines().all(|line| line.chars().count() < 130));
    }
}
