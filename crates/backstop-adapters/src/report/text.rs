//! Bytes of a report as text: decoded, without terminal sequences, line by line.

use std::borrow::Cow;

use crate::framing::stamp::after_stamp;

/// The text of a report, whatever it was written in. Never fails: what can't be read becomes `�`.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return String::from_utf8_lossy(rest);
    }
    match Encoding::of(bytes) {
        Encoding::Utf8 => String::from_utf8_lossy(bytes),
        Encoding::Utf16(order) => Cow::Owned(utf16(bytes, order)),
        Encoding::Latin1 => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// The text as a terminal would show it, but for colours and cursor movements.
pub(super) fn plain(text: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(ESCAPE, text.as_bytes()).is_none() {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = memchr::memchr(ESCAPE, rest.as_bytes()) {
        kept.push_str(&rest[..at]);
        rest = after_sequence(&rest[at + 1..]);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The text without the time that a CI service put before its lines, if it did.
pub(super) fn unstamped(text: Cow<'_, str>) -> Cow<'_, str> {
    let first = text.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT);
    let (mut stamped, mut all) = (0, 0);
    for line in first {
        all += 1;
        stamped += usize::from(after_stamp(line.as_bytes()).is_some());
    }
    // Programs write such lines themselves, between others.
    if stamped * 2 <= all {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let end = line.trim_end_matches(['\n', '\r']);
        let rest = after_stamp(end.as_bytes()).map_or(end.len(), <[u8]>::len);
        // A time is ASCII, so the rest begins at a character.
        kept.push_str(line.get(end.len() - rest..).unwrap_or(line));
    }
    Cow::Owned(kept)
}

/// One line, where it begins, and where the text goes on behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Without the line break and without white space at its end, and never very long: what
    /// matters in a report stands at the beginning of a line.
    pub(super) text: &'a str,
    /// All of it.
    pub(super) whole: &'a str,
    pub(super) begin: usize,
    pub(super) end: usize,
}

/// The lines. A carriage return alone ends one too: progress bars write over what they wrote.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        if next >= text.len() {
            return None;
        }
        let begin = next;
        let rest = &text[begin..];
        let length = memchr::memchr2(b'\n', b'\r', rest.as_bytes());
        let line = &rest[..length.unwrap_or(rest.len())];
        next += match length {
            Some(length) if rest[length..].starts_with("\r\n") => length + 2,
            Some(length) => length + 1,
            None => rest.len(),
        };
        let text = &line[..line.floor_char_boundary(MOST_LINE)];
        Some(Line { text: text.trim_end(), whole: line, begin, end: next })
    })
}

/// Has somebody read all lines of a text.
pub(super) fn read_lines<R>(text: &str, mut reader: R, read: impl Fn(&mut R, Line<'_>)) -> R {
    lines(text).for_each(|line| read(&mut reader, line));
    reader
}

/// `12` and what follows it, from `12 passed`.
pub(super) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// Seconds as runners write them: with a unit, with thousands separators, or nothing.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches(['(', ')']);
    let digits = text.find(|character: char| {
        !matches!(character, '0'..='9' | '.' | ',' | 'e' | 'E' | '-' | '+')
    });
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let number: f64 = without_separators(number).parse().ok()?;
    let factor = match unit.trim() {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" | "μs" => 1e-6,
        "ns" => 1e-9,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Some(number * factor)
}

/// `1,234.5` is a thousand and more, but `0,5` is a half: the last separator before one or two
/// groups decides.
fn without_separators(number: &str) -> String {
    match (number.find('.'), number.rfind(',')) {
        (None, Some(comma)) if number.len() - comma != 4 => number.replacen(',', ".", 1),
        _ => number.replace(',', ""),
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Utf16(Order),
    Latin1,
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Encoding {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, 0xfe, ..] => return Self::Utf16(Order::Little),
            [0xfe, 0xff, ..] => return Self::Utf16(Order::Big),
            _ => {}
        }
        // Without a mark, every second byte of mostly Latin text is zero.
        let head = &bytes[..bytes.len().min(512)];
        let zeros =
            |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
        if head.len() >= 8 {
            let most = head.len() / 2 * 3 / 4;
            if zeros(1) >= most && zeros(0) == 0 {
                return Self::Utf16(Order::Little);
            }
            if zeros(0) >= most && zeros(1) == 0 {
                return Self::Utf16(Order::Big);
            }
        }
        let declared = String::from_utf8_lossy(head).to_ascii_lowercase();
        let latin = ["iso-8859-1", "iso-8859-15", "latin1", "windows-1252", "us-ascii"];
        let declares_latin = declared.starts_with("<?xml")
            && declared.split_once("?>").is_some_and(|(declaration, _)| {
                latin.iter().any(|name| declaration.contains(name))
            });
        if declares_latin && std::str::from_utf8(bytes).is_err() {
            return Self::Latin1;
        }
        Self::Utf8
    }
}

fn utf16(bytes: &[u8], order: Order) -> String {
    let units = bytes.chunks_exact(2).map(|pair| match order {
        Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
        Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
    });
    char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .filter(|character| *character != '\u{feff}')
        .collect()
}

/// What follows a terminal sequence whose escape character has been read.
fn after_sequence(text: &str) -> &str {
    let end = match text.bytes().next() {
        // Colours and movements end with a letter; what has no end is no sequence.
        Some(b'[') => text
            .bytes()
            .take(MOST_SEQUENCE)
            .skip(1)
            .position(|byte| (0x40..=0x7e).contains(&byte))
            .map(|at| at + 2),
        // Titles, links and what services tell themselves end with a bell or a string terminator.
        Some(b']' | b'_' | b'P' | b'^') => text
            .bytes()
            .take(MOST_SEQUENCE)
            .position(|byte| byte == 0x07 || byte == ESCAPE)
            .map(|at| if text[at..].starts_with("\u{1b}\\") { at + 2 } else { at + 1 }),
        Some(b'(' | b')') => Some(2),
        Some(0x20..=0x7e) => Some(1),
        _ => Some(0),
    };
    match end {
        Some(end) if text.is_char_boundary(end.min(text.len())) => &text[end.min(text.len())..],
        _ => text,
    }
}

const ESCAPE: u8 = 0x1b;

/// Longer sequences are no sequences.
const MOST_SEQUENCE: usize = 4096;

/// So many lines tell whether there is a time before all of them.
const LINES_LOOKED_AT: usize = 50;

/// What is looked at of a line.
const MOST_LINE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::utf8(b"gr\xc3\xb6\xc3\x9fe", "größe")]
    #[case::utf8_mark(b"\xef\xbb\xbfok", "ok")]
    #[case::little(b"\xff\xfeo\0k\0", "ok")]
    #[case::big(b"\xfe\xff\0o\0k", "ok")]
    #[case::no_mark(b"5\0 \0p\0a\0s\0s\0e\0d\0", "5 passed")]
    #[case::latin1(
        b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>",
        "<?xml version='1.0' encoding='ISO-8859-1'?><a>ä</a>"
    )]
    fn any_encoding_is_read(#[case] bytes: &[u8], #[case] expected: &str) {
        assert_eq!(decoded(bytes), expected);
    }

    #[rstest]
    #[case("\x1b[31mred\x1b[0m!", "red!")]
    #[case("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link")]
    #[case("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link")]
    #[case("\x1b_bk;t=1714557600000\x07ok 1", "ok 1")]
    #[case("cut \x1b[", "cut [")]
    #[case("\x1bé", "é")]
    fn terminal_sequences_are_dropped(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(plain(Cow::Borrowed(text)), expected);
    }

    #[rstest]
    #[case("0.25", Some(0.25))]
    #[case("1,234.5", Some(1234.5))]
    #[case("0,5", Some(0.5))]
    #[case("2 ms", Some(0.002))]
    #[case("(3s)", Some(3.0))]
    #[case("", None)]
    #[case("soon", None)]
    fn seconds_are_read_as_runners_write_them(#[case] text: &str, #[case] expected: Option<f64>) {
        assert_eq!(seconds(text), expected);
    }

    #[test]
    fn lines_end_where_the_text_goes_on() {
        let found: Vec<_> = lines("a \r\nb\rc").map(|line| (line.text, line.end)).collect();
        assert_eq!(found, [("a", 4), ("b", 6), ("c", 7)]);
    }
}
