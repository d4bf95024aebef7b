//! Follows what a terminal is told, only as far as the live block has to know.

/// Where the terminal is in the bytes that were written to it.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    place: Place,
    /// The beginning of the sequence that we are in.
    sequence: Vec<u8>,
    /// Bytes that are missing in the last character.
    missing: u8,
    /// The child has saved the cursor and will want it back.
    has_saved: bool,
    hides_cursor: bool,
    damage: Damage,
}

/// What the child has done to the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Damage {
    /// All rows scroll again, or others.
    pub region: bool,
    /// It was wiped away.
    pub text: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Text,
    /// After ESC, with or without intermediate bytes.
    Escape,
    /// In a control sequence: parameters up to a final byte.
    Control,
    /// In a string that only BEL or ST ends, such as a title.
    String,
    /// In such a string, after an ESC that may be the first half of ST.
    StringEscape,
}

impl Tracker {
    pub fn follow(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            if self.place == Place::Text {
                let (text, rest) = match memchr::memchr(ESCAPE, bytes) {
                    Some(at) => (&bytes[..at], &bytes[at + 1..]),
                    None => (bytes, &[][..]),
                };
                self.end_of_text(text);
                if text.len() < bytes.len() {
                    (self.place, self.missing) = (Place::Escape, 0);
                    self.sequence.clear();
                }
                bytes = rest;
            } else {
                self.in_sequence(first);
                bytes = rest;
            }
        }
    }

    /// Whether sequences of our own can be written here without breaking the child's.
    pub fn is_clear(&self) -> bool {
        self.place == Place::Text && self.missing == 0 && !self.has_saved
    }

    /// Whether the child has hidden the cursor and not shown it again.
    pub fn hides_cursor(&self) -> bool {
        self.hides_cursor
    }

    /// What was done since the last time that somebody asked.
    pub fn take_damage(&mut self) -> Damage {
        std::mem::take(&mut self.damage)
    }

    fn in_sequence(&mut self, byte: u8) {
        match (self.place, byte) {
            // Both end whatever sequence there is.
            (_, CANCEL | SUBSTITUTE) => self.place = Place::Text,
            (Place::String, ESCAPE) => self.place = Place::StringEscape,
            (Place::String, BELL) | (Place::StringEscape, b'\\') => self.place = Place::Text,
            (Place::String, _) => {}
            (_, ESCAPE) => {
                self.place = Place::Escape;
                self.sequence.clear();
            }
            (Place::StringEscape, _) => {
                self.place = Place::Escape;
                self.in_sequence(byte);
            }
            (Place::Escape, b'[') if self.sequence.is_empty() => self.place = Place::Control,
            (Place::Escape, b']' | b'P' | b'X' | b'^' | b'_') if self.sequence.is_empty() => {
                self.place = Place::String;
            }
            (Place::Escape, 0x20..=0x2f) => self.remember(byte),
            (Place::Escape, 0x30..=0x7e) => {
                self.place = Place::Text;
                match (self.sequence.as_slice(), byte) {
                    ([], b'7') => self.has_saved = true,
                    ([], b'8') => self.has_saved = false,
                    ([], b'c') => {
                        self.damage = Damage { region: true, text: true };
                        (self.has_saved, self.hides_cursor) = (false, false);
                    }
                    _ => {}
                }
            }
            (Place::Control, 0x20..=0x3f) => self.remember(byte),
            (Place::Control, 0x40..=0x7e) => {
                self.place = Place::Text;
                self.control(byte);
            }
            // A terminal obeys other control characters in the midst of a sequence.
            (Place::Escape | Place::Control | Place::Text, _) => {}
        }
    }

    fn control(&mut self, last: u8) {
        let parameters = self.sequence.as_slice();
        match (parameters, last) {
            ([], b's') => self.has_saved = true,
            ([], b'u') => self.has_saved = false,
            ([] | [b'0' | b'2'], b'J') => self.damage.text = true,
            ([b'0'..=b'9' | b';', ..] | [], b'r') => self.damage.region = true,
            // A soft reset.
            ([b'!'], b'p') => {
                (self.damage.region, self.has_saved, self.hides_cursor) = (true, false, false);
            }
            ([b'?', modes @ ..], b'h' | b'l') => {
                let switches_screen = |mode: &[u8]| matches!(mode, b"47" | b"1047" | b"1049");
                if modes.split(|byte| *byte == b';').any(switches_screen) {
                    // The other screen is empty; on the way back the block is still there.
                    self.damage = Damage { region: true, text: last == b'h' };
                }
                if modes.split(|byte| *byte == b';').any(|mode| mode == CURSOR) {
                    self.hides_cursor = last == b'l';
                }
            }
            _ => {}
        }
    }

    fn remember(&mut self, byte: u8) {
        if self.sequence.len() < LONGEST_SEQUENCE {
            self.sequence.push(byte);
        }
    }

    fn end_of_text(&mut self, text: &[u8]) {
        let tail = &text[text.len().saturating_sub(4)..];
        for &byte in tail {
            self.missing = match byte {
                0x80..=0xbf => self.missing.saturating_sub(1),
                0xc2..=0xdf => 1,
                0xe0..=0xef => 2,
                0xf0..=0xf4 => 3,
                _ => 0,
            };
        }
    }
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
/// The mode in which the cursor is shown.
const CURSOR: &[u8] = b"25";
const LONGEST_SEQUENCE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_clear_between_sequences_and_characters_only() {
        for (text, clear) in [
            ("plain", true),
            ("\x1b", false),
            ("\x1b[31", false),
            ("\x1b[31m", true),
            ("\x1b]0;title", false),
            ("\x1b]0;title\x07", true),
            ("\x1b]0;title\x1b", false),
            ("\x1b]0;title\x1b\\", true),
            ("\x1b(", false),
            ("\x1b(B", true),
            ("\x1b7", false),
            ("\x1b7 text \x1b8", true),
            ("\x1b[s", false),
            ("\x1b[31\x18", true),
        ] {
            let mut whole = Tracker::default();
            whole.follow(text.as_bytes());
            assert_eq!(whole.is_clear(), clear, "{text:?}");
            let mut parts = Tracker::default();
            text.as_bytes().chunks(1).for_each(|byte| parts.follow(byte));
            assert_eq!(parts.is_clear(), clear, "{text:?} byte by byte");
        }
        let mut tracker = Tracker::default();
        for (byte, clear) in "a大b".bytes().zip([true, false, false, true, true]) {
            tracker.follow(&[byte]);
            assert_eq!(tracker.is_clear(), clear);
        }
    }

    #[test]
    fn what_the_block_suffers_is_seen() {
        for (text, region, erased) in [
            ("\x1bc", true, true),
            ("\x1b[r", true, false),
            ("\x1b[2;9r", true, false),
            ("\x1b[J", false, true),
            ("\x1b[2J", false, true),
            ("\x1b[1J", false, false),
            ("\x1b[?1049h", true, true),
            ("\x1b[?25;1049l", true, false),
            ("\x1b[!p", true, false),
            ("\x1b[?25l", false, false),
            ("\x1b[31mred", false, false),
            ("\x1b]0;[r\x07", false, false),
        ] {
            let mut tracker = Tracker::default();
            text.as_bytes().chunks(1).for_each(|byte| tracker.follow(byte));
            assert_eq!(tracker.take_damage(), Damage { region, text: erased }, "{text:?}");
            assert_eq!(tracker.take_damage(), Damage::default());
        }
    }
}
