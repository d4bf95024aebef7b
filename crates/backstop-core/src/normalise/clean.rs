//! The first layer: escape sequences and control characters go, runs of white space become one.

use super::lanes::{Lanes, WIDTH};

/// The bytes of a text without terminal escapes and control characters, trimmed, each run of white
/// space as one blank, or as one line end if it holds one.
#[derive(Clone, Debug)]
pub(crate) struct Clean<'a> {
    rest: &'a [u8],
    blank: Option<u8>,
    started: bool,
}

impl<'a> Clean<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text, blank: None, started: false }
    }

    /// The next bytes, as many as there is room for: how many, and fewer than that only at the end.
    pub fn fill(&mut self, room: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < room.len() {
            let within = self.blank.is_none() && self.started;
            let next = &self.rest[..self.rest.len().min(room.len() - filled)];
            let run = if within { unchanged(next) } else { 0 };
            if run > 0 {
                room[filled..filled + run].copy_from_slice(&next[..run]);
                filled += run;
                self.rest = &self.rest[run..];
            } else if let Some(byte) = self.next() {
                room[filled] = byte;
                filled += 1;
            } else {
                break;
            }
        }
        filled
    }

    /// Steps over white space, of which most texts have long runs: indents.
    fn skip_white_space(&mut self) {
        let mut kinds = 0;
        let white = self.rest.iter().take_while(|byte| {
            let class = CLASSES[usize::from(**byte)];
            kinds |= class & (WHITE | LINE_END);
            class & WHITE != 0
        });
        let length = white.count();
        self.rest = &self.rest[length..];
        if kinds & LINE_END != 0 {
            self.blank = Some(b'\n');
        } else if length > 0 {
            self.blank = self.blank.or(Some(b' '));
        }
    }
}

impl Iterator for Clean<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            self.skip_white_space();
            let (&byte, rest) = self.rest.split_first()?;
            match byte {
                ESCAPE => self.rest = after_escape(rest),
                0..=0x1f | DELETE => self.rest = rest,
                _ => {
                    if let Some(blank) = self.blank.take()
                        && self.started
                    {
                        return Some(blank);
                    }
                    self.started = true;
                    self.rest = rest;
                    return Some(byte);
                }
            }
        }
    }
}

/// How many bytes of the text, which goes on after a byte that prints, stay as they are: those that
/// print, and single blanks between them.
fn unchanged(text: &[u8]) -> usize {
    // One way out, and not one for each word: where words end can't be foreseen.
    let changes = |pair: &[u8; 2]| {
        let [first, second] = pair.map(|byte| CLASSES[usize::from(byte)]);
        first & (second | GONE) != 0
    };
    let mut at = 0;
    while let (Some(these), Some(next)) = (Lanes::at(text, at), Lanes::at(text, at + 1)) {
        let blank = |lanes: Lanes| lanes.below(b' ' + 1).or(lanes.from(DELETE));
        let gone = blank(these).without(these.equal(b' ').or(these.equal(b'\n')));
        if let Some(place) = blank(these).and(blank(next)).or(gone).first() {
            return at + place;
        }
        at += WIDTH;
    }
    let found = text[at..].array_windows().position(changes);
    found.map_or(text.len().saturating_sub(1), |found| at + found)
}

/// Classes of bytes, as bits. What goes may stand between blanks, so it is a blank as well.
const BLANK: u8 = 1;
const GONE: u8 = 2;
const WHITE: u8 = 4;
const LINE_END: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < b' ' as usize {
        classes[byte] = BLANK | GONE;
        byte += 1;
    }
    classes[b' ' as usize] = BLANK | WHITE;
    classes[b'\n' as usize] = BLANK | WHITE | LINE_END;
    classes[b'\r' as usize] |= WHITE | LINE_END;
    classes[b'\t' as usize] |= WHITE;
    classes[VERTICAL_TAB as usize] |= WHITE;
    classes[FORM_FEED as usize] |= WHITE;
    classes[DELETE as usize] = BLANK | GONE;
    classes
};

/// Whether cleaning would leave the text as it is.
pub(crate) fn is_clean(text: &[u8]) -> bool {
    let prints = |byte: &u8| CLASSES[usize::from(*byte)] & BLANK == 0;
    text.first().is_some_and(prints)
        && text.last().is_some_and(prints)
        && unchanged(text) == text.len() - 1
}

/// What follows the escape sequence whose first byte has just been read. A broken sequence ends
/// where it breaks, so that it cannot swallow text.
fn after_escape(rest: &[u8]) -> &[u8] {
    match rest {
        [b'[', body @ ..] => {
            let parameters = count(body, |byte| matches!(byte, 0x30..=0x3f));
            let body = &body[parameters..];
            let intermediates = count(body, |byte| matches!(byte, 0x20..=0x2f));
            match &body[intermediates..] {
                [0x40..=0x7e, after @ ..] => after,
                broken => broken,
            }
        }
        // Operating-system commands and the other strings, up to a bell, the string terminator or
        // the end of the line.
        [b']' | b'P' | b'X' | b'^' | b'_', body @ ..] => {
            let length = count(body, |byte| !matches!(byte, BELL | ESCAPE | b'\n' | b'\r'));
            match &body[length..] {
                [BELL, after @ ..] | [ESCAPE, b'\\', after @ ..] => after,
                broken => broken,
            }
        }
        [0x20..=0x2f, 0x30..=0x7e, after @ ..] | [0x30..=0x7e, after @ ..] => after,
        broken => broken,
    }
}

fn count(bytes: &[u8], matches: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !matches(byte)).unwrap_or(bytes.len())
}

const BELL: u8 = 0x07;
const VERTICAL_TAB: u8 = 0x0b;
const FORM_FEED: u8 = 0x0c;
const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing("", "")]
    #[case::only_blanks(" \n\t", "")]
    #[case::line_end_wins("a \n b", "a\nb")]
    #[case::carriage_return("10%\r20%", "10%\n20%")]
    #[case::nested("\x1b\x1b[0m[0mx", "[0mx")]
    #[case::broken_sequence_keeps_text("\x1b[12é", "é")]
    #[case::character_set("\x1b(Bx", "x")]
    #[case::at_the_end("x\x1b[", "x")]
    #[case::bell_and_backspace("a\x07\x08b", "ab")]
    fn cleaned(#[case] input: &str, #[case] expected: &str) {
        let bytes: Vec<u8> = Clean::new(input.as_bytes()).collect();
        assert_eq!(is_clean(input.as_bytes()), !input.is_empty() && bytes == input.as_bytes());
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    /// The rule itself, byte by byte, for text without escape sequences.
    fn plainly(text: &[u8]) -> Vec<u8> {
        let printed: Vec<u8> = text
            .iter()
            .filter(|byte| !matches!(**byte, 0..=0x08 | 0x0e..=0x1f | DELETE))
            .map(|byte| if *byte == b'\r' { b'\n' } else { *byte })
            .collect();
        let is_white = |byte: &u8| matches!(*byte, 0x09..=0x0d | b' ');
        let runs = printed.chunk_by(|one, other| is_white(one) == is_white(other));
        let cleaned = runs.flat_map(|run| match run {
            [first, ..] if !is_white(first) => run,
            _ if run.contains(&b'\n') => b"\n",
            _ => b" ",
        });
        let cleaned: Vec<u8> = cleaned.copied().collect();
        cleaned.trim_ascii().to_vec()
    }

    proptest! {
        #[test]
        fn many_bytes_at_once_are_cleaned_like_one(
            text in "[a-c \t\n\r\x0b\x0c\x00\x07\x7fé→]{0,80}( {0,12}[a-z\n]{0,12}){0,8}",
            room in 1_usize..40,
        ) {
            let mut clean = Clean::new(text.as_bytes());
            let mut filled = Vec::new();
            let mut buffer = vec![0; room];
            loop {
                let length = clean.fill(&mut buffer);
                filled.extend_from_slice(&buffer[..length]);
                if length < room {
                    break;
                }
            }
            let expected = plainly(text.as_bytes());
            prop_assert_eq!(&filled, &expected);
            prop_assert_eq!(Clean::new(text.as_bytes()).collect::<Vec<u8>>(), expected);
        }
    }
}
