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
    /// What an agent is told to say, where its command is printed before it runs: by `make` on the
    /// standard output, by a shell's `set -x` on the standard error.
    commands: [PrintedCommand; STREAMS.len()],
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
            commands: STREAMS.map(|_| PrintedCommand::default()),
            is_claimed: false,
        }))
    }

    /// A new iteration.
    pub fn begin(&mut self) {
        self.matcher.begin();
        self.windows.iter_mut().for_each(Window::clear);
        self.held.clear();
        self.at_line_start = true;
        self.commands = STREAMS.map(|_| PrintedCommand::default());
        self.is_claimed = false;
    }

    /// An agent was recognised: from its first record on, others look for it in its words.
    pub fn claim(&mut self) {
        self.is_claimed = true;
        self.held = Vec::new();
        self.commands = STREAMS.map(|_| PrintedCommand::default());
    }

    pub fn is_claimed(&self) -> bool {
        self.is_claimed
    }

    /// Looks through bytes of a stream that no agent's records are on. An agent's command is left
    /// out.
    pub fn hear(&mut self, source: usize, bytes: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let mut rest = bytes;
        while let Some((piece, is_command)) = self.next_piece(source, &mut rest) {
            match is_command {
                true => self.hear_given_back(source, report),
                false => self.look(source, piece, report),
            }
        }
    }

    /// Looks through lines of the standard output, or a part of one, that may be an agent's: what
    /// begins like a record is held back until it is released. An agent's command is left out.
    pub fn hear_lines(&mut self, lines: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let mut rest = lines;
        while let Some((piece, is_command)) = self.next_piece(0, &mut rest) {
            if is_command {
                self.at_line_start = piece.ends_with(b"\n");
                self.hear_given_back(0, report);
            } else {
                self.look_or_hold(piece, report);
            }
        }
    }

    /// Looks through what was taken for a command and is none. Its first line is left out each time,
    /// so this comes to an end.
    fn hear_given_back(&mut self, source: usize, report: &mut dyn FnMut(usize, Found)) {
        let given_back = self.commands[source].given_back();
        match source {
            _ if given_back.is_empty() => {}
            0 => {
                self.at_line_start = true;
                self.hear_lines(&given_back, report);
            }
            _ => self.hear(source, &given_back, report),
        }
    }

    /// Takes the next piece from a stream's output, and says whether it is of an agent's command.
    fn next_piece<'a>(&mut self, source: usize, rest: &mut &'a [u8]) -> Option<(&'a [u8], bool)> {
        if rest.is_empty() {
            return None;
        }
        let command = &mut self.commands[source];
        let plain = command.length_before(rest);
        let end = match plain {
            0 => memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1),
            plain => plain,
        };
        let (piece, behind) = rest.split_at(end);
        *rest = behind;
        if plain > 0 {
            command.pass(piece);
            return Some((piece, false));
        }
        Some((piece, command.takes(piece)))
    }

    fn look(&mut self, source: usize, bytes: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let Self { matcher, windows, .. } = self;
        windows[source].feed(bytes, |view| matcher.look(&view, |found| report(source, found)));
    }

    fn look_or_hold(&mut self, lines: &[u8], report: &mut dyn FnMut(usize, Found)) {
        let begins = self.at_line_start && matches!(lines.first(), Some(b'{' | b'['));
        self.at_line_start = lines.ends_with(b"\n");
        if !begins && self.held.is_empty() {
            return self.look(0, lines, report);
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
        for source in 0..STREAMS.len() {
            while self.commands[source].end() {
                self.hear_given_back(source, report);
            }
        }
        self.release(report);
        for (source, window) in self.windows.iter_mut().enumerate() {
            self.matcher.look(&window.last_view(), |found| report(source, found));
        }
    }

    fn release(&mut self, report: &mut dyn FnMut(usize, Found)) {
        let held = std::mem::take(&mut self.held);
        self.look(0, &held, report);
    }
}

/// A record that is longer is searched as it comes.
const MOST_HELD: usize = 1 << 20;
