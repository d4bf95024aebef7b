//! JSON that a parser refuses for a few bytes of it.

use std::borrow::Cow;

/// The same JSON with what a parser can read in place of what it can't; nothing if that is not what
/// is wrong with it.
///
/// Programs that cut text by UTF-16 units print half characters as lone escapes (`\ud83d`), which are
/// no valid JSON, and a number can be too large for any type. One of them must not hide its record.
pub(crate) fn repaired(json: &str) -> Option<String> {
    let whole = without_half_characters(json);
    match with_sound_numbers(&whole) {
        Cow::Owned(sound) => Some(sound),
        Cow::Borrowed(_) => match whole {
            Cow::Owned(whole) => Some(whole),
            Cow::Borrowed(_) => None,
        },
    }
}

/// Replaces escapes of half characters that have no other half.
fn without_half_characters(json: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        let escape = at + found;
        at = match half_at(json, escape) {
            None => (escape + 2).min(json.len()),
            Some(Half::First) if half_at(json, escape + 6) == Some(Half::Second) => escape + 12,
            Some(_) => {
                repaired.push_str(&json[kept..escape]);
                repaired.push('\u{fffd}');
                kept = escape + 6;
                kept
            }
        };
        // What follows a backslash may be a character of several bytes.
        at = json.ceil_char_boundary(at);
    }
    if kept == 0 {
        return Cow::Borrowed(json);
    }
    repaired.push_str(&json[kept..]);
    Cow::Owned(repaired)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// Whether an escape of half a character begins here.
fn half_at(json: &str, at: usize) -> Option<Half> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

/// The same text of JSON with numbers that a parser can hold. One that is too large makes all of its
/// record unreadable; in its place comes one that is neither a count nor an amount.
fn with_sound_numbers(text: &str) -> Cow<'_, str> {
    let mut sound = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(start) = text[at..].find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let from = &text[at + start..];
        let end = if from.starts_with('"') { end_of_string(from) } else { end_of_number(from) };
        if from[..end].parse().is_ok_and(f64::is_infinite) {
            sound.push_str(&text[kept..at + start]);
            sound.push_str("-1");
            kept = at + start + end;
        }
        at += start + end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    sound.push_str(&text[kept..]);
    Cow::Owned(sound)
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = true;
    let closes = |byte: u8| {
        let closes = byte == b'"' && !escaped;
        // The quote that opens it does not close it either.
        escaped = byte == b'\\' && !escaped;
        closes
    };
    text.bytes().position(closes).map_or(text.len(), |at| at + 1)
}

fn end_of_number(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"a":1e999,"b":-1E+999,"c":12.5e3}"#, r#"{"a":-1,"b":-1,"c":12.5e3}"#)]
    #[case(r#"["1e999 \" 1e999 \\",1e999]"#, r#"["1e999 \" 1e999 \\",-1]"#)]
    #[case(r#"{"é":"1e999"#, r#"{"é":"1e999"#)]
    #[case("-", "-")]
    fn only_numbers_beyond_all_bounds_are_replaced(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(with_sound_numbers(text), expected);
    }

    #[rstest]
    #[case::whole_character(r#"{"a":"\ud83d\ude00"}"#, "\u{1f600}")]
    #[case::first_half(r#"{"a":"cut \ud83d"}"#, "cut \u{fffd}")]
    #[case::second_half(r#"{"a":"\ude00 cut"}"#, "\u{fffd} cut")]
    #[case::two_first_halves(r#"{"a":"\ud83d\ud83d\ude00"}"#, "\u{fffd}\u{1f600}")]
    #[case::escaped_backslash(r#"{"a":"\\ud83d \ud83d"}"#, "\\ud83d \u{fffd}")]
    fn half_characters_do_not_lose_the_record(#[case] line: &str, #[case] expected: &str) {
        let line = repaired(line).unwrap_or_else(|| line.to_owned());
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["a"], expected);
    }

    #[test]
    fn what_is_sound_is_left_alone_and_both_troubles_may_come_together() {
        assert_eq!(repaired(r#"{"a":"1e999 \ud83d\ude00","b":12}"#), None);
        let both = r#"{"a":"\ud83d","b":1e999}"#;
        assert_eq!(repaired(both).as_deref(), Some("{\"a\":\"\u{fffd}\",\"b\":-1}"));
    }

    proptest! {
        #[test]
        fn nothing_panics_and_nothing_is_repaired_twice(text in r#"[\\ud8cf{}":é 1e9+-]{0,40}"#) {
            if let Some(once) = repaired(&text) {
                prop_assert_eq!(repaired(&once), None);
            }
        }
    }
}
