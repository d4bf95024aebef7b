//! Output that no agent has claimed, searched for what counts only as long as there is no agent.

use backstop_adapters::PrintedCommand;

use super::matcher::{Found, Matcher};
use super::window::Window;
use super::{BadPattern, Pattern, STREAMS, Wanted};

/// Searches an iteration's output until an agent is recognised in it.
#[derive(Debug)]
pub(super) struct Unclaimed {
    matcher: Matcher,
    windows: [Window; STREAMS.len()],
    /// The beginning of a line that may be an agent's record.
    held: Vec<u8>,
    at_line_start: bool,
    /// What an agent is told to say, where its command is printed before it runs.
    command: PrintedCommand,
    is_claimed: bool,
}

impl Unclaimed {
    /// None where nothing is looked for.
    pub fn new(patterns: Vec<Pattern>) -> Result<Option<Self>, BadPattern> {
        if patterns.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            matcher: Matcher::new(Wanted { patterns, ..Wanted::default() })?,
            windows: STREAMS.map(|_| Window::new()),
            held: Vec::new(),
            at_line_start: true,
            command: PrintedCommand::default(),
            is_claimed: false,
        }))
    }

    /// A new iteration.
    pub fn begin(&mut self) {
        self.matcher.begin();
        self.windows.iter_mut().for_each(Window::clear);
        self.held.clear();
        self.at_line_start = true;
        self.command = PrintedCommand::default();
        self.is_claimed = false;
    }

    /// An agent was recognised: from its first record on, others look for it in its words.
    pub fn claim(&mut self) {
        self.is_claimed = true;
        self.held = Vec::new();
    }

    pub fn is_claimed(&self) -> bool {
        self.is_claimed
    }

    /// Looks through bytes of a stream.
    pub fn hear(&mut self, source: usize, bytes: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let Self { matcher, windows, .. } = self;
        windows[source].feed(bytes, |view| matcher.look(&view, |found| report(source, found)));
    }

    /// Looks through lines of the standard output, or a part of one, that may be an agent's: what
    /// begins like a record is held back until it is released. An agent's command is left out.
    pub fn hear_lines(&mut self, lines: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let mut rest = lines;
        while !rest.is_empty() {
            let plain = self.command.length_before(rest);
            let end = match plain {
                0 => memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1),
                plain => plain,
            };
            let (piece, behind) = rest.split_at(end);
            rest = behind;
            if plain > 0 {
                self.command.pass(piece);
            } else if self.command.takes(piece) {
                self.at_line_start = piece.ends_with(b"\n");
                continue;
            }
            self.hear_or_hold(piece, report);
        }
    }

    fn hear_or_hold(&mut self, lines: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let begins = self.at_line_start && matches!(lines.first(), Some(b'{' | b'['));
        self.at_line_start = lines.ends_with(b"\n");
        if !begins && self.held.is_empty() {
            return self.hear(0, lines, report);
        }
        self.held.extend_from_slice(lines);
    }

    /// The line was read, and has told whether there is an agent.
    pub fn line_was_read(&mut self, report: &mut dyn FnMut(usize, Found)) {
        if self.at_line_start || self.held.len() > MOST_HELD {
            self.release(report);
        }
    }

    /// The streams have ended.
    pub fn end(&mut self, report: &mut dyn FnMut(usize, Found)) {
        self.release(report);
        for (source, window) in self.windows.iter_mut().enumerate() {
            self.matcher.look(&window.last_view(), |found| report(source, found));
        }
    }

    fn release(&mut self, report: &mut dyn FnMut(usize, Found)) {
        let held = std::mem::take(&mut self.held);
        self.hear(0, &held, report);
    }
}

/// A record that is longer is searched as it comes.
const MOST_HELD: usize = 1 << 20;
