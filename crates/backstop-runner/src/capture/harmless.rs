//! Output of others, made harmless for a terminal while lines and text stay as they are.
//!
//! A sequence that is complete, such as a colour, is left out. What only looks like the beginning
//! of one is shown, so that nothing can be hidden behind it.

/// A filter for bytes that come in pieces.
#[derive(Debug, Default)]
pub struct Harmless {
    /// The beginning of a character or a sequence whose rest has not come yet.
    pending: Vec<u8>,
}

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// So many bytes without control characters.
    Text(usize),
    /// So many bytes that mean nothing to a reader.
    Dropped(usize),
    Newline,
    /// A byte that a terminal might obey.
    Stray,
    /// What follows decides.
    Incomplete,
}

/// A whole text, made harmless.
pub fn harmless(bytes: &[u8]) -> String {
    let (mut filter, mut shown) = (Harmless::default(), String::with_capacity(bytes.len()));
    filter.push(bytes, &mut shown);
    filter.finish(&mut shown);
    shown
}

impl Harmless {
    /// Appends what can be shown of these bytes and those before them.
    pub fn push(&mut self, bytes: &[u8], shown: &mut String) {
        if self.pending.is_empty() {
            let taken = filter(bytes, false, shown);
            self.pending.extend_from_slice(&bytes[taken..]);
        } else {
            self.pending.extend_from_slice(bytes);
            let taken = filter(&self.pending, false, shown);
            self.pending.drain(..taken);
        }
    }

    /// Nothing will follow: appends the rest.
    pub fn finish(&mut self, shown: &mut String) {
        filter(&self.pending, true, shown);
        self.pending.clear();
    }
}

/// Answers how many bytes were dealt with.
fn filter(bytes: &[u8], ended: bool, shown: &mut String) -> usize {
    let mut place = 0;
    while place < bytes.len() {
        let rest = &bytes[place..];
        place += match token(rest, ended) {
            Token::Text(length) => {
                let is_last = length == rest.len() && !ended;
                let taken = if is_last { length - half_character(rest) } else { length };
                show(&rest[..taken], shown);
                if taken < length {
                    return place + taken;
                }
                length
            }
            Token::Dropped(length) => length,
            Token::Newline => {
                shown.push('\n');
                1
            }
            Token::Stray => {
                shown.push(char::REPLACEMENT_CHARACTER);
                1
            }
            Token::Incomplete => return place,
        };
    }
    place
}

/// What the bytes, of which there is at least one, begin with.
fn token(bytes: &[u8], ended: bool) -> Token {
    let incomplete = if ended { Token::Stray } else { Token::Incomplete };
    match bytes {
        [ESCAPE, rest @ ..] => match sequence_length(rest) {
            Sequence::Complete(length) => Token::Dropped(1 + length),
            Sequence::Incomplete => incomplete,
            Sequence::Broken => Token::Stray,
        },
        [b'\r', b'\n', ..] => Token::Dropped(1),
        [b'\r'] if !ended => Token::Incomplete,
        // It would let the rest of the line cover its beginning.
        [b'\r', ..] => Token::Newline,
        _ => match bytes.iter().position(|byte| is_control(*byte)) {
            Some(0) => Token::Stray,
            Some(length) => Token::Text(length),
            None => Token::Text(bytes.len()),
        },
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sequence {
    Complete(usize),
    Incomplete,
    Broken,
}

/// How long the sequence is that follows an ESC.
fn sequence_length(bytes: &[u8]) -> Sequence {
    match bytes.first() {
        None => Sequence::Incomplete,
        Some(b'[') => {
            let parameters = run(&bytes[1..], 0x30..=0x3f);
            let between = run(&bytes[1 + parameters..], 0x20..=0x2f);
            final_byte(bytes, 1 + parameters + between, 0x40)
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => string_length(bytes),
        Some(_) => final_byte(bytes, run(bytes, 0x20..=0x2f), 0x30),
    }
}

fn run(bytes: &[u8], range: std::ops::RangeInclusive<u8>) -> usize {
    bytes.iter().take(LONGEST_SEQUENCE).take_while(|byte| range.contains(byte)).count()
}

fn final_byte(bytes: &[u8], place: usize, lowest: u8) -> Sequence {
    match bytes.get(place) {
        None => Sequence::Incomplete,
        Some(last) if (lowest..=0x7e).contains(last) => Sequence::Complete(place + 1),
        Some(_) => Sequence::Broken,
    }
}

/// Strings end with BEL or ST, on the same line and soon, or they are none.
fn string_length(bytes: &[u8]) -> Sequence {
    let looked_at = &bytes[..bytes.len().min(LONGEST_STRING)];
    let end = looked_at.iter().position(|byte| is_control(*byte) || *byte == b'\n');
    match end.map(|end| (end, &bytes[end..])) {
        Some((end, [BELL, ..])) => Sequence::Complete(end + 1),
        Some((end, [ESCAPE, b'\\', ..])) => Sequence::Complete(end + 2),
        Some((_, [ESCAPE])) => Sequence::Incomplete,
        Some(_) => Sequence::Broken,
        None if bytes.len() < LONGEST_STRING => Sequence::Incomplete,
        None => Sequence::Broken,
    }
}

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

/// How many bytes at the end are the beginning of a character.
fn half_character(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|length| {
            let end = &bytes[bytes.len() - length..];
            end[0] >= 0xc0
                && std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none())
        })
        .unwrap_or(0)
}

fn show(text: &[u8], shown: &mut String) {
    for chunk in text.utf8_chunks() {
        shown.extend(chunk.valid().chars().map(visible));
        if !chunk.invalid().is_empty() {
            shown.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// The character, or a stand-in for one that turns the direction of text or can't be seen.
fn visible(character: char) -> char {
    match character {
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
const LONGEST_SEQUENCE: usize = 64;
const LONGEST_STRING: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut filter = Harmless::default();
        let mut shown = String::new();
        for piece in pieces {
            filter.push(piece, &mut shown);
        }
        filter.finish(&mut shown);
        shown
    }

    #[test]
    fn text_stays_and_sequences_go() {
        for (text, expected) in [
            ("größer 大 👩 \t x\n\ny", "größer 大 👩 \t x\n\ny"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
            ("\x1b7\x1b(Ba\x1bc", "a"),
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            ("10 %\r20 %\n", "10 %\n20 %\n"),
            ("a\0b\x07c\x7fd", "a\u{fffd}b\u{fffd}c\u{fffd}d"),
            ("a\u{9b}31mb\u{202e}c\u{2066}", "a\u{fffd}31mb\u{fffd}c\u{fffd}"),
        ] {
            assert_eq!(shown([text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_hides_behind_half_a_sequence() {
        let hidden = format!("\x1b]{}secret\x07", "x".repeat(LONGEST_STRING));
        assert!(shown([hidden.as_bytes()]).contains("secret"));
        assert_eq!(shown([b"\x1b]0;title\nsecret\x07".as_slice()]).lines().count(), 2);
        let long = format!("\x1b[{}m", "1".repeat(200));
        assert!(shown([long.as_bytes()]).contains("111"));
        assert_eq!(shown([b"a\x1b[31".as_slice()]), "a\u{fffd}[31");
        assert_eq!(shown([b"a\x1b".as_slice()]), "a\u{fffd}");
        assert_eq!(shown([b"a\xe5\xa4".as_slice()]), "a\u{fffd}");
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("\x1b".as_bytes().to_vec()),
            Just(b"\x1b[".to_vec()),
            Just(b"\x1b]0;".to_vec()),
            Just(b"\x1b\\".to_vec()),
            Just("大ö\u{202e}\u{9b}".as_bytes().to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"31m".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..6),
        ];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn where_it_is_cut_makes_no_difference(bytes in pieces()) {
            let whole = shown([bytes.as_slice()]);
            for at in 0..=bytes.len() {
                let (before, after) = bytes.split_at(at);
                prop_assert_eq!(&shown([before, after]), &whole, "cut at {}", at);
            }
            prop_assert_eq!(&shown(bytes.chunks(1)), &whole);
        }

        #[test]
        fn nothing_that_a_terminal_obeys_comes_through(bytes in pieces()) {
            let whole = shown([bytes.as_slice()]);
            let is_obeyed =
                |character: char| character.is_control() && !matches!(character, '\n' | '\t');
            prop_assert!(!whole.contains(is_obeyed));
        }

        #[test]
        fn text_is_read_as_usual(text in "[a-zö大 \n\t]{0,40}", bad in any::<[u8; 3]>()) {
            let mut bytes = text.into_bytes();
            bytes.extend(bad.map(|byte| byte | 0x80));
            let expected: String = String::from_utf8_lossy(&bytes).chars().map(visible).collect();
            prop_assert_eq!(shown([bytes.as_slice()]), expected);
        }
    }
}
