//! Terminal sequences in text.

use std::borrow::Cow;

/// The text without escape sequences and control characters; tabs stay.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    let Some(first) = text.bytes().position(is_control) else {
        return Cow::Borrowed(text);
    };
    let mut kept = String::with_capacity(text.len());
    let (clean, mut rest) = text.split_at(first);
    kept.push_str(clean);
    while let Some(character) = rest.chars().next() {
        if character == ESCAPE {
            rest = after_escape(&rest[1..]);
            continue;
        }
        let end = rest.bytes().position(is_control).unwrap_or(rest.len());
        kept.push_str(&rest[..end]);
        rest = &rest[end..];
        if rest.bytes().next().is_some_and(|byte| byte != ESCAPE as u8) {
            rest = &rest[1..];
        }
    }
    Cow::Owned(kept)
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// What follows a sequence whose first byte was just read. A broken one ends where it breaks, so
/// that it cannot swallow text.
fn after_escape(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let end = match bytes.first() {
        Some(b'[') => {
            let parameters = 1 + count(&bytes[1..], 0x20..=0x3f);
            parameters + count(&bytes[parameters..bytes.len().min(parameters + 1)], 0x40..=0x7e)
        }
        // Commands for the terminal's own use, such as its title: up to a bell or a terminator.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let ends = |byte: &u8| matches!(*byte, BELL) || *byte == ESCAPE as u8;
            let length = bytes.iter().position(ends).unwrap_or(bytes.len());
            match &bytes[length..] {
                [BELL, ..] => length + 1,
                [_, b'\\', ..] => length + 2,
                _ => length,
            }
        }
        Some(0x20..=0x2f) => {
            let intermediates = count(bytes, 0x20..=0x2f);
            let last = bytes.get(intermediates).is_some_and(|byte| matches!(byte, 0x30..=0x7e));
            intermediates + usize::from(last)
        }
        Some(0x30..=0x7e) => 1,
        _ => 0,
    };
    // Every byte that was stepped over is ASCII, but for the strings, which end at ASCII.
    rest.get(end..).unwrap_or_default()
}

fn count(bytes: &[u8], range: std::ops::RangeInclusive<u8>) -> usize {
    bytes.iter().take_while(|byte| range.contains(byte)).count()
}

const BELL: u8 = 0x07;
const ESCAPE: char = '\x1b';

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("a\tb", "a\tb")]
    #[case::colour("\x1b[1;31mred\x1b[0m", "red")]
    #[case::title("\x1b]0;claude\x07{\"a\":1}", "{\"a\":1}")]
    #[case::terminated_string("\x1b]8;;http://x\x1b\\link", "link")]
    #[case::private_mode("\x1b[?25lhidden\x1b[?25h", "hidden")]
    #[case::character_set("\x1b(Bx", "x")]
    #[case::broken_sequence_keeps_text("\x1b[12é", "é")]
    #[case::at_the_end("x\x1b[", "x")]
    #[case::only_escape("\x1b", "")]
    #[case::bell_and_backspace("a\x07\x08b", "ab")]
    fn escapes_go(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(without_escapes(text), expected);
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(text in "[\x1b\\[\\]a-dé0-9;\x07\x08\t]{0,40}") {
            let kept = without_escapes(&text);
            prop_assert!(!kept.bytes().any(is_control));
        }
    }
}
