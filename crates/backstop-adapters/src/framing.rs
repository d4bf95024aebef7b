//! From raw bytes, as they come, to the records that they hold.

mod assembly;
pub(crate) mod encoding;
mod escapes;
mod scan;
pub(crate) mod stamp;

pub use escapes::without_escapes;

use assembly::Assembly;
use encoding::Decoder;
use memchr::memchr;

use crate::Record;

/// Splits a stream into records, whatever container they come in and wherever chunks begin.
///
/// JSON lines, one JSON object, one JSON array and lines of text are told apart as they come and may
/// follow one another. A line of JSON is handed on as it is, without a copy where a chunk holds all
/// of it; whether it really is JSON is for its reader to find out.
#[derive(Debug, Default)]
pub struct Framer {
    decoder: Decoder,
    lines: Lines,
}

impl Framer {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, bytes: &[u8], emit: &mut impl FnMut(Record<'_>)) {
        self.decoder.push(bytes, &mut |text| self.lines.push(text, emit));
    }

    /// Whether a line, or a value over several lines, has begun and not ended.
    pub fn is_amid(&self) -> bool {
        self.lines.skipping || !self.lines.partial.is_empty() || self.lines.assembly.is_amid()
    }

    /// The stream has ended: what was kept back is told. A new one may follow.
    pub fn finish(&mut self, emit: &mut impl FnMut(Record<'_>)) {
        self.decoder.finish(&mut |text| self.lines.push(text, emit));
        self.lines.finish(emit);
        *self = Self::default();
    }
}

#[derive(Debug, Default)]
struct Lines {
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The line is too long: the rest of it is left out, too.
    skipping: bool,
    assembly: Assembly,
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8], emit: &mut impl FnMut(Record<'_>)) {
        if self.skipping || !self.partial.is_empty() {
            let Some(end) = memchr(b'\n', bytes) else {
                self.keep(bytes);
                return;
            };
            self.keep(&bytes[..end]);
            self.end_partial(emit);
            bytes = &bytes[end + 1..];
        }
        while let Some(end) = memchr(b'\n', bytes) {
            if end <= LONGEST_LINE {
                self.assembly.line(&bytes[..end], emit);
            }
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.partial.len() + bytes.len() > LONGEST_LINE {
            self.skipping = true;
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_partial(&mut self, emit: &mut impl FnMut(Record<'_>)) {
        if !self.skipping {
            self.assembly.line(&self.partial, emit);
        }
        self.skipping = false;
        self.partial.clear();
        // One long line must not hold its memory for the rest of a long run.
        self.partial.shrink_to(KEPT_CAPACITY);
    }

    fn finish(&mut self, emit: &mut impl FnMut(Record<'_>)) {
        if !self.partial.is_empty() {
            self.end_partial(emit);
        }
        self.assembly.finish(emit);
    }
}

/// Longer lines are left out whole, and so is a longer value over several lines.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
const KEPT_CAPACITY: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
