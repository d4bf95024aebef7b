//! Which lines of a failure say what failed.

use super::sink::Sink;

/// Reads rewritten text and notes the first lines that look like an error.
pub(super) struct ErrorLines {
    chosen: [u64; LINES],
    found: usize,
    line: u64,
    matched: bool,
    /// The last sixteen bytes of the line, in lower case, the newest one lowest.
    recent: u128,
}

impl ErrorLines {
    pub fn new() -> Self {
        Self { chosen: [0; LINES], found: 0, line: 0, matched: false, recent: 0 }
    }

    /// What lets only the noted lines through, or the first ones if none was noted. (The cleaned
    /// text has no empty lines.)
    pub fn filter<S: Sink>(mut self, sink: &mut S) -> ChosenLines<'_, S> {
        if self.found == 0 {
            self.chosen = std::array::from_fn(|index| index as u64);
            self.found = LINES;
        }
        ChosenLines { sink, lines: self, next: 0, line: 0, started: false }
    }
}

impl Sink for ErrorLines {
    fn push(&mut self, byte: u8) {
        if byte == b'\n' {
            self.line += 1;
            self.matched = false;
            self.recent = 0;
            return;
        }
        if self.matched || self.found == LINES {
            return;
        }
        self.recent = self.recent << 8 | u128::from(byte.to_ascii_lowercase());
        if ENDS[usize::from(byte)] && SHAPES.iter().any(|shape| shape.ends(self.recent)) {
            self.matched = true;
            self.chosen[self.found] = self.line;
            self.found += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.found == LINES
    }
}

pub(super) struct ChosenLines<'s, S> {
    sink: &'s mut S,
    lines: ErrorLines,
    next: usize,
    line: u64,
    started: bool,
}

impl<S: Sink> Sink for ChosenLines<'_, S> {
    fn push(&mut self, byte: u8) {
        let chosen = self.next < self.lines.found && self.lines.chosen[self.next] == self.line;
        if byte == b'\n' {
            self.line += 1;
            self.next += usize::from(chosen);
            self.started &= !chosen;
            return;
        }
        if chosen {
            if !self.started && self.next > 0 {
                self.sink.push(b'\n');
            }
            self.started = true;
            self.sink.push(byte);
        }
    }

    fn is_full(&self) -> bool {
        self.next == self.lines.found
    }
}

struct Shape {
    bytes: u128,
    mask: u128,
}

impl Shape {
    fn ends(&self, text: u128) -> bool {
        text & self.mask == self.bytes
    }
}

const fn shape(word: &[u8]) -> Shape {
    let (mut bytes, mut mask, mut index) = (0, 0, 0);
    while index < word.len() {
        bytes = bytes << 8 | word[index] as u128;
        mask = mask << 8 | 0xff;
        index += 1;
    }
    Shape { bytes, mask }
}

/// The bytes that shapes end with. Most bytes are none, and need no closer look.
const ENDS: [bool; 256] = {
    let mut ends = [false; 256];
    let mut index = 0;
    while index < SHAPES.len() {
        let last = (SHAPES[index].bytes & 0xff) as u8;
        ends[last as usize] = true;
        ends[last.to_ascii_uppercase() as usize] = true;
        index += 1;
    }
    ends
};

const LINES: usize = 5;

/// At most sixteen bytes each, in lower case.
const SHAPES: [Shape; 14] = [
    shape(b"error"),
    shape(b"exception"),
    shape(b"panic"),
    shape(b"fatal"),
    shape(b"fail"),
    shape(b"traceback"),
    shape(b"cannot"),
    shape(b"denied"),
    shape(b"not found"),
    shape(b"no such"),
    shape(b"undefined"),
    shape(b"unexpected"),
    shape(b"abort"),
    shape(b"assert"),
];
