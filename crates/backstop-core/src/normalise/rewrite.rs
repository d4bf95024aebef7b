//! The second layer: noise becomes class tokens such as `<time>`.
//!
//! Whether a place is looked at depends only on the byte last *written* and on the bytes ahead. A
//! class token begins and ends with a byte that is no word character, as the places around noise
//! must; so the rewritten text offers no place that the original did not, and rewriting it again
//! changes nothing.

use super::clean::{Clean, is_clean};
use super::recognise::{self, Text, is_temporary_path_byte, is_word};
use super::sink::Sink;
use super::skim::Skim;

/// What to rewrite beyond the noise that all styles share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    mask_digits: bool,
    base_names: bool,
}

impl Rules {
    pub const TEXT: Self = Self { mask_digits: false, base_names: false };
    pub const MASKED: Self = Self { mask_digits: true, base_names: false };
    pub const ERROR: Self = Self { mask_digits: true, base_names: true };
}

/// Writes the rewritten text to the sink.
pub(super) fn rewrite<S: Sink>(text: &[u8], rules: Rules, sink: &mut S) {
    // All noise but temporary paths has a digit in it.
    let digits = text.iter().any(u8::is_ascii_digit);
    if is_clean(text) {
        rewrite_from(Whole { rest: text }, digits, rules, sink);
    } else {
        rewrite_from(Window::new(text), digits, rules, sink);
    }
}

fn rewrite_from<S: Sink>(mut window: impl Source, digits: bool, rules: Rules, sink: &mut S) {
    let skim = Skim::new(rules.mask_digits, rules.base_names);
    let mut writer =
        Writer { sink, rules, last: None, in_digits: false, authority: Authority::None };
    while let Some(first) = window.first()
        && !writer.sink.is_full()
    {
        if writer.may_skim(first) {
            let rest = window.rest();
            let length = skim.length(rest.bytes, rest.complete);
            if length > 0 {
                writer.skim(&rest.bytes[..length]);
                window.advance(length);
                continue;
            }
        }
        let ahead = window.ahead();
        if let Some(digits) = writer.port_ahead(ahead) {
            writer.copy(b":");
            writer.class(b"<port>");
            window.advance(1 + digits);
        } else if !writer.may_begin(first) {
            let length = writer.word_ahead(ahead.bytes).max(1);
            writer.copy_word(&ahead.bytes[..length]);
            window.advance(length);
        } else if let Some(prefix) = recognise::temporary_path(ahead, writer.last) {
            writer.class(b"<tmp>");
            window.advance(prefix);
            while window.first().is_some_and(is_temporary_path_byte) {
                window.advance(1);
            }
        } else if digits && let Some(found) = recognise::noise(ahead, writer.last) {
            writer.copy(&ahead.bytes[..found.keep]);
            writer.class(found.class);
            window.advance(found.length);
        } else if rules.base_names
            && let Some(folder) = recognise::folder(ahead)
        {
            window.advance(folder);
        } else {
            writer.copy(&[first]);
            let length = 1 + writer.word_ahead(&ahead.bytes[1..]);
            writer.copy_word(&ahead.bytes[1..length]);
            window.advance(length);
        }
    }
}

struct Writer<'s, S> {
    sink: &'s mut S,
    rules: Rules,
    /// The byte last written.
    last: Option<u8>,
    /// Within a run of digits that has already been masked.
    in_digits: bool,
    authority: Authority,
}

/// How much of `://host` has been written last: a colon and digits after it are a port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Authority {
    None,
    Colon,
    Slash,
    Host,
}

impl<S: Sink> Writer<'_, S> {
    fn may_begin(&self, first: u8) -> bool {
        let within_word = self.last.is_some_and(is_word);
        let within_number = self.in_digits && first.is_ascii_digit();
        !within_word && !within_number
    }

    /// Whether what follows may be skimmed: neither a word nor what may end in a port is under way.
    fn may_skim(&self, first: u8) -> bool {
        self.may_begin(first) && self.authority != Authority::Host
    }

    /// Writes text in which nothing begins.
    fn skim(&mut self, bytes: &[u8]) {
        self.in_digits = false;
        self.last = bytes.last().copied();
        // A slash after a colon is never skimmed over, so this is as much of `://` as there can be.
        self.authority = if self.last == Some(b':') { Authority::Colon } else { Authority::None };
        self.sink.extend(bytes);
    }

    /// How many digits the port has that begins here, if one does.
    fn port_ahead(&self, ahead: Text<'_>) -> Option<usize> {
        (self.authority == Authority::Host && ahead.bytes.first() == Some(&b':'))
            .then(|| recognise::port_digits(ahead, 1))
            .flatten()
    }

    /// How many bytes of the word that is being written follow; none where digits are masked, as
    /// each of them is looked at.
    fn word_ahead(&self, bytes: &[u8]) -> usize {
        let within_word = self.last.is_some_and(is_word) && !self.rules.mask_digits;
        if within_word { bytes.iter().take_while(|byte| is_word(**byte)).count() } else { 0 }
    }

    /// Copies the rest of a word at once: inside it nothing begins.
    fn copy_word(&mut self, bytes: &[u8]) {
        match bytes {
            [_, .., last] if !self.rules.mask_digits && bytes.iter().all(|byte| is_word(*byte)) => {
                self.in_digits = false;
                if self.authority != Authority::Host {
                    self.authority = Authority::None;
                }
                self.last = Some(*last);
                self.sink.extend(bytes);
            }
            few => self.copy(few),
        }
    }

    fn copy(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.rules.mask_digits && byte.is_ascii_digit() {
                if !self.in_digits {
                    self.class(b"<n>");
                    self.in_digits = true;
                }
            } else {
                self.in_digits = false;
                self.write(byte);
            }
        }
    }

    fn class(&mut self, token: &[u8]) {
        self.in_digits = false;
        for &byte in token {
            self.write(byte);
        }
    }

    fn write(&mut self, byte: u8) {
        self.authority = match (self.authority, byte) {
            (_, b':') => Authority::Colon,
            (Authority::Colon, b'/') => Authority::Slash,
            (Authority::Slash, b'/') => Authority::Host,
            (Authority::Host, b'.' | b'-' | b'<' | b'>' | b'@') => Authority::Host,
            (Authority::Host, byte) if is_word(byte) => Authority::Host,
            _ => Authority::None,
        };
        self.last = Some(byte);
        self.sink.push(byte);
    }
}

/// A few hundred cleaned bytes at a time, so that every place can be looked at with a fixed
/// look-ahead whatever escape sequences stand between its bytes.
struct Window<'a> {
    source: Clean<'a>,
    buffer: [u8; 1024],
    start: usize,
    end: usize,
    complete: bool,
}

/// Cleaned bytes, with a fixed look-ahead.
trait Source {
    fn first(&self) -> Option<u8>;
    fn ahead(&self) -> Text<'_>;
    /// All that can be seen at the moment, however much that happens to be.
    fn rest(&self) -> Text<'_>;
    fn advance(&mut self, bytes: usize);
}

/// A text that is clean as it stands, which most are.
struct Whole<'a> {
    rest: &'a [u8],
}

impl Source for Whole<'_> {
    fn first(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn ahead(&self) -> Text<'_> {
        let end = self.rest.len().min(LOOK_AHEAD);
        Text { bytes: &self.rest[..end], complete: end == self.rest.len() }
    }

    fn rest(&self) -> Text<'_> {
        Text { bytes: self.rest, complete: true }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

impl<'a> Window<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut window =
            Self { source: Clean::new(text), buffer: [0; 1024], start: 0, end: 0, complete: false };
        window.fill();
        window
    }

    fn fill(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.end += self.source.fill(&mut self.buffer[self.end..]);
        self.complete = self.end < self.buffer.len();
    }
}

impl Source for Window<'_> {
    fn first(&self) -> Option<u8> {
        (self.start < self.end).then(|| self.buffer[self.start])
    }

    /// The look-ahead has the same length wherever the buffer happens to end, so that the result
    /// does not depend on it.
    fn ahead(&self) -> Text<'_> {
        let end = self.end.min(self.start + LOOK_AHEAD);
        Text { bytes: &self.buffer[self.start..end], complete: self.complete && end == self.end }
    }

    fn rest(&self) -> Text<'_> {
        Text { bytes: &self.buffer[self.start..self.end], complete: self.complete }
    }

    fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        if !self.complete && self.end - self.start <= LOOK_AHEAD {
            self.fill();
        }
    }
}

/// Longer than the longest noise that must be seen whole (128 hexadecimal digits and what follows).
const LOOK_AHEAD: usize = 160;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows nothing that could be skimmed, so that every place is looked at.
    struct EveryPlace<S>(S);

    impl<S: Source> Source for EveryPlace<S> {
        fn first(&self) -> Option<u8> {
            self.0.first()
        }

        fn ahead(&self) -> Text<'_> {
            self.0.ahead()
        }

        fn rest(&self) -> Text<'_> {
            Text { bytes: &[], complete: false }
        }

        fn advance(&mut self, bytes: usize) {
            self.0.advance(bytes);
        }
    }

    fn looked_at(text: &str, rules: Rules) -> String {
        let mut sink = Vec::new();
        let digits = text.bytes().any(|byte| byte.is_ascii_digit());
        rewrite_from(EveryPlace(Window::new(text.as_bytes())), digits, rules, &mut sink);
        String::from_utf8_lossy(&sink).into_owned()
    }

    fn skimmed(text: &str, rules: Rules) -> String {
        let mut sink = Vec::new();
        rewrite(text.as_bytes(), rules, &mut sink);
        String::from_utf8_lossy(&sink).into_owned()
    }

    fn words() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "Mon",
            ",",
            " ",
            "Jan",
            "5",
            "15",
            "12:30:00",
            "2026",
            "pid",
            "ppid",
            "port",
            "=",
            "[",
            "localhost",
            ":",
            "8080",
            "/",
            "/tmp/",
            "/var/",
            "://",
            "http",
            "a",
            "deadbeef",
            "-",
            "abcd",
            "1",
            "e4",
            "_",
            "x",
            "part_12",
            ".",
            "%",
            "s",
            "ms",
            "hours",
            "\n",
            "  ",
            "é",
            "0x7ffe12",
            "127.0.0.1",
            "fine",
            "words",
            "(",
            "\"",
            "~",
            "@",
            "→",
            "µs",
            "μs",
            "T1230",
            "20260115",
            "0X7ffe12",
            "ab12",
            "3h",
            "Min",
        ]);
        prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn skimming_leaves_nothing_out(text in words(), shift in 0_usize..1100) {
            // Wherever the window happens to end.
            let text = format!("{}  {text}", "w ".repeat(shift / 2) + &"w".repeat(shift % 2));
            for rules in [Rules::TEXT, Rules::MASKED, Rules::ERROR] {
                prop_assert_eq!(skimmed(&text, rules), looked_at(&text, rules));
            }
        }
    }

    /// The last byte that can be seen is each of the text's own in turn.
    #[test]
    fn noise_may_begin_before_the_end_of_the_window() {
        for noise in [
            "Mon, 15 Jan 2026",
            "localhost:8080",
            "pid = 17",
            "abcdefab-cdef-abcd-abcd-abcdefabcde1",
        ] {
            for shift in 900..1040 {
                let text = format!("{}\t{noise} end", "w".repeat(shift));
                assert_eq!(skimmed(&text, Rules::TEXT), looked_at(&text, Rules::TEXT), "{shift}");
            }
        }
    }
}
