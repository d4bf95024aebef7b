//! The last bytes of one stream, so that searches can look across the borders of what was read.

use std::ops::Range;

/// A buffer that is read into at its end and forgets at its front.
#[derive(Debug)]
pub(super) struct Window {
    buffer: Box<[u8]>,
    filled: usize,
    /// From here on nobody has looked yet.
    fresh: usize,
}

/// What a search is shown: old bytes for context, then fresh ones.
///
/// INVARIANT: a search that begins at place 0, and looks back no further than it may, begins where
/// the stream does: of a stream that has lost its beginning there are more old bytes than that.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub bytes: &'a [u8],
    /// Where the fresh ones begin.
    pub fresh: usize,
    /// Nothing will follow.
    pub ended: bool,
}

impl Window {
    pub fn new() -> Self {
        let buffer = vec![0; OVERLAP + LARGEST_READ].into_boxed_slice();
        Self { buffer, filled: 0, fresh: 0 }
    }

    /// A new stream begins.
    pub fn clear(&mut self) {
        (self.filled, self.fresh) = (0, 0);
    }

    /// Where to read to. Everything in the window counts as seen.
    pub fn room(&mut self) -> &mut [u8] {
        if self.buffer.len() - self.filled < SMALLEST_ROOM {
            let kept = OVERLAP.min(self.filled);
            self.buffer.copy_within(self.filled - kept..self.filled, 0);
            self.filled = kept;
        }
        self.fresh = self.filled;
        &mut self.buffer[self.filled..]
    }

    /// So many bytes were read into the room.
    pub fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    pub fn fresh(&self) -> &[u8] {
        &self.buffer[self.fresh..self.filled]
    }

    pub fn view(&self) -> View<'_> {
        View { bytes: &self.buffer[..self.filled], fresh: self.fresh, ended: false }
    }

    /// The view after the last byte, without any fresh ones.
    pub fn last_view(&mut self) -> View<'_> {
        self.fresh = self.filled;
        View { ended: true, ..self.view() }
    }

    /// Takes these bytes as if they had been read, in as many steps as there must be.
    pub fn feed(&mut self, mut bytes: &[u8], mut look: impl FnMut(View<'_>)) {
        while !bytes.is_empty() {
            let room = self.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.filled(count);
            look(self.view());
        }
    }

    /// The last line that is not blank, cut; empty if there is none.
    pub fn last_line(&self) -> String {
        let bytes = self.buffer[..self.filled].trim_ascii_end();
        let from = memchr::memrchr(b'\n', bytes).map_or(0, |newline| newline + 1);
        cut(bytes, from..bytes.len())
    }
}

/// The line around a place, cut, as text.
pub(super) fn line_around(bytes: &[u8], place: Range<usize>) -> String {
    let earliest = place.start.saturating_sub(EXCERPT_BYTES / 4);
    let before = &bytes[earliest..place.start];
    let from = memchr::memrchr(b'\n', before).map_or(earliest, |newline| earliest + newline + 1);
    // What is cut inside a character begins with the next one.
    let inside = bytes[from..place.start].iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    let from = if from == earliest && from > 0 { from + inside.min(3) } else { from };
    let end = memchr::memchr(b'\n', &bytes[place.start..])
        .map_or(bytes.len(), |newline| place.start + newline);
    cut(bytes, from..end.max(place.start))
}

/// These bytes as text of at most so many characters.
fn cut(bytes: &[u8], range: Range<usize>) -> String {
    let end = range.end.min(range.start + EXCERPT_BYTES);
    let text = String::from_utf8_lossy(bytes[range.start..end].trim_ascii()).into_owned();
    match text.char_indices().nth(EXCERPT_CHARACTERS) {
        Some((place, _)) => format!("{}…", &text[..place]),
        None if end < range.end => format!("{}…", text.trim_end_matches('\u{fffd}')),
        None => text,
    }
}

/// A match that fits into this many bytes is found wherever they were cut.
pub(super) const LONGEST_MATCH: usize = 64 << 10;
/// Bytes before the place where a search begins that it may look back at: enough for the longest
/// character, which is what a word border needs.
const CONTEXT: usize = 8;
/// A match is certain if so many bytes follow it: enough for the character behind a word border.
pub(super) const CERTAINTY: usize = 4;
/// What is kept when the window slides.
const OVERLAP: usize = LONGEST_MATCH + CONTEXT + CERTAINTY;
/// The searches over it should find it in the processor's second cache.
const LARGEST_READ: usize = 256 << 10;
const SMALLEST_ROOM: usize = LARGEST_READ / 4;
const EXCERPT_CHARACTERS: usize = 200;
const EXCERPT_BYTES: usize = 4 * EXCERPT_CHARACTERS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept_however_they_came() {
        let stream: Vec<u8> = (0..3_000_000u32).map(|place| (place % 251) as u8).collect();
        for step in [1_009, 70_001, 400_000] {
            let mut window = Window::new();
            let mut seen = Vec::new();
            for chunk in stream.chunks(step) {
                window.feed(chunk, |view| {
                    seen.extend_from_slice(&view.bytes[view.fresh..]);
                    assert!(seen.ends_with(view.bytes));
                    assert!(view.fresh >= OVERLAP || view.bytes.len() == seen.len());
                });
            }
            assert!(seen == stream);
        }
    }

    #[test]
    fn an_excerpt_is_the_line_around_its_place() {
        let text = "first\nthe second ö line\nthird".as_bytes();
        assert_eq!(line_around(text, 8..9), "the second ö line");
        assert_eq!(line_around(text, 0..1), "first");
        assert_eq!(line_around(text, 5..7), "first");
        assert_eq!(line_around(text, text.len()..text.len()), "third");
        let long = "ö".repeat(5_000);
        let excerpt = line_around(long.as_bytes(), 4_000..4_002);
        assert_eq!(excerpt.chars().count(), 201);
        assert!(excerpt.trim_end_matches('…').chars().all(|character| character == 'ö'));
    }

    #[test]
    fn the_last_line_with_text() {
        let last_line = |text: &[u8]| {
            let mut window = Window::new();
            window.feed(text, |_| ());
            window.last_line()
        };
        assert_eq!(last_line(b"one\ntwo\r\n\n  \n"), "two");
        assert_eq!(last_line(b"one"), "one");
        assert_eq!(last_line(b"\n\n"), "");
        assert_eq!(last_line(b"bad \xff byte\n"), "bad \u{fffd} byte");
    }
}
