//! An agent's words, calls and errors as lines for a person.

use std::collections::VecDeque;

use backstop_adapters::Shown;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::harmless::harmless;

/// Makes lines of what an agent does. A call and its outcome are one line, written when it came
/// back.
#[derive(Debug)]
pub(super) struct Readable {
    colour: bool,
    /// How long the line of a call may be.
    columns: usize,
    /// Calls that have not come back: tool and what.
    open: VecDeque<(String, String)>,
}

impl Readable {
    pub fn new(colour: bool, columns: usize) -> Self {
        Self { colour, columns, open: VecDeque::new() }
    }

    /// The terminal has so many columns now.
    pub fn resized(&mut self, columns: usize) {
        self.columns = columns;
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
            // Its end often says what to do, or when.
            Shown::Error(text) => {
                self.painted(RED, &format!("✗ {}", first_line(text, MOST_OF_ERROR)))
            }
        };
        if !text.is_empty() {
            show(format!("{text}\n").as_bytes());
        }
    }

    /// The agent has ended; what did not come back never will.
    pub fn finish(&mut self, show: &mut dyn FnMut(&[u8])) {
        for (tool, what) in std::mem::take(&mut self.open) {
            let line = self.call("…", &tool, &what, " (no result)");
            let line = self.painted(DIM, &line);
            show(format!("{line}\n").as_bytes());
        }
    }

    fn outcome(&self, tool: &str, of: &str, succeeded: bool, result: &str) -> String {
        if succeeded {
            let line = self.call("✓", tool, of, "");
            return line.replacen("✓", &self.painted(GREEN, "✓"), 1);
        }
        let result = one_line(result);
        let result = if result.is_empty() { result } else { format!(" → {result}") };
        self.painted(RED, &self.call("✗", tool, of, &result))
    }

    /// A call in one line. Where there is no room for all, its result keeps what the call leaves
    /// it, and half of the room in any case.
    fn call(&self, sign: &str, tool: &str, of: &str, result: &str) -> String {
        let lead = format!("{sign} {}", shortened(&one_line(tool), self.columns / 2));
        let of = if of.is_empty() { String::new() } else { format!(": {of}") };
        let room = self.columns.saturating_sub(lead.width());
        let result = shortened(result, room.saturating_sub(of.width()).max(room / 2));
        let of = shortened(&of, room.saturating_sub(result.width()));
        format!("{lead}{of}{result}")
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The first line of a text, cut where it grows too long for a screen.
fn one_line(text: &str) -> String {
    first_line(text, LONGEST)
}

fn first_line(text: &str, room: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    shortened(&harmless(line.as_bytes()), room)
}

/// A line with a part left out so that it has room: of a path the middle, of anything else the end.
fn shortened(line: &str, room: usize) -> String {
    if line.width() <= room {
        return line.to_owned();
    }
    let room = room.saturating_sub(1);
    let is_path = line.contains('/') && !line.trim_start_matches([':', ' ']).contains(' ');
    let behind = if is_path { room * 2 / 3 } else { 0 };
    let tail: Vec<char> = within(line.chars().rev(), behind).collect();
    let head: String = within(line.chars(), room - behind).collect();
    format!("{head}…{}", tail.into_iter().rev().collect::<String>())
}

/// As many characters as there is room for.
fn within(text: impl Iterator<Item = char>, room: usize) -> impl Iterator<Item = char> {
    text.scan(room, |left, letter| {
        *left = left.checked_sub(letter.width().unwrap_or(0))?;
        Some(letter)
    })
}

const MOST_OPEN: usize = 64;
const LONGEST: usize = 120;
const MOST_OF_ERROR: usize = 400;

const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(things: &[Shown<'_>]) -> String {
        let (mut readable, mut shown) = (Readable::new(false, 80), Vec::new());
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
    fn an_error_is_told_to_its_end() {
        let why = format!("{} try again at 2:54 AM.", "You've hit your usage limit. ".repeat(6));
        assert_eq!(lines(&[Shown::Error(&why)]), format!("✗ {why}\n"));
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
        assert!(shown.lines().all(|line| line.width() <= 80));
    }

    #[test]
    fn a_call_is_one_line_of_the_terminal_however_long_it_is() {
        let path = format!("/home/somebody/{}src/lib.rs", "a-long-name/".repeat(9));
        let command = format!("cargo test {}", "--package x ".repeat(20));
        for columns in [20, 40, 80, 200] {
            let mut readable = Readable::new(false, columns);
            let mut shown = Vec::new();
            let things = [
                (path.as_str(), true, ""),
                (command.as_str(), true, ""),
                (command.as_str(), false, "error: could not compile"),
                ("短い名前の道", false, command.as_str()),
                ("", false, command.as_str()),
            ];
            for (of, succeeded, what) in things {
                let thing = Shown::Returned { tool: "Bash", of, succeeded, what };
                readable.show(thing, &mut |text| shown.extend_from_slice(text));
            }
            readable.show(Shown::Call { tool: "Edit", what: &path }, &mut |_| {});
            readable.finish(&mut |text| shown.extend_from_slice(text));
            let shown = String::from_utf8(shown).unwrap();
            assert_eq!(shown.lines().count(), 6, "{shown}");
            assert!(shown.lines().all(|line| line.width() <= columns), "{columns}: {shown}");
            if columns == 80 {
                let lines: Vec<_> = shown.lines().collect();
                assert!(
                    lines[0].starts_with("✓ Bash: /home/") && lines[0].ends_with("/src/lib.rs")
                );
                assert!(lines[1].starts_with("✓ Bash: cargo test ") && lines[1].ends_with('…'));
                assert!(lines[2].ends_with("… → error: could not compile"), "{shown}");
                assert!(lines[5].ends_with("/src/lib.rs (no result)"), "{shown}");
            }
        }
    }
}
