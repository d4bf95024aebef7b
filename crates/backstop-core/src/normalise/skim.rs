//! The quick way over text in which no noise begins, which is nearly all of it.
//!
//! A place that [`recognise`](super::recognise) must look at is told by the word that begins there
//! and by the byte after it. Everything up to the first such place is written as it is, and is
//! found with little more than one look-up for each byte.

use super::lanes::{Lanes, WIDTH};

/// Skims text in one style.
pub(super) struct Skim {
    /// Digits within words are masked, so each word with one is looked at.
    mask_digits: bool,
    /// Folders go, so names that go on after a word are looked at.
    base_names: bool,
}

impl Skim {
    pub const fn new(mask_digits: bool, base_names: bool) -> Self {
        Self { mask_digits, base_names }
    }

    /// How many bytes from here on are surely written as they are. Here, no word may be under way.
    /// The last byte is only known to end a word if the text is complete.
    pub fn length(&self, bytes: &[u8], complete: bool) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let mut until = bytes.len();
            // Where digits are masked and names shortened, there is little to leap over.
            if !self.mask_digits && !self.base_names {
                until = alarm(bytes, at);
                at = before(bytes, at, until);
            }
            while at < bytes.len() && at <= until {
                match self.step(bytes, at, complete) {
                    0 => return at,
                    step => at += step,
                }
            }
        }
        at
    }

    /// The length of the word or other byte that begins here; 0 if it must be looked at.
    fn step(&self, bytes: &[u8], at: usize, complete: bool) -> usize {
        let class = class_of(bytes[at]);
        if class & WORD == 0 {
            let dull = if self.base_names {
                class & (NAME | SLASH) == 0
            } else {
                class & SLASH == 0 || is_dull_slash(bytes, at)
            };
            return usize::from(dull);
        }
        let (mut any, mut all) = (class, class);
        let mut end = at + 1;
        while let Some(&byte) = bytes.get(end) {
            let class = class_of(byte);
            if class & WORD == 0 {
                break;
            }
            any |= class;
            all &= class;
            end += 1;
        }
        let (word, after) = (&bytes[at..end], &bytes[end..]);
        let goes_on = match after.first() {
            None => !complete,
            Some(next) => self.base_names && class_of(*next) & (NAME | SLASH) != 0,
        };
        let looked_at = if class & DIGIT != 0 {
            self.mask_digits
                || if all & DIGIT != 0 {
                    may_be_a_quantity(word.len(), after)
                } else {
                    (all & HEX != 0 && word.len() >= SHORTEST_HASH) || may_have_a_unit(word)
                }
        } else {
            (self.mask_digits && any & DIGIT != 0)
                || (all & HEX != 0 && word.len() >= SHORTEST_HASH)
                || begins_noise(word)
        };
        if goes_on || looked_at { 0 } else { end - at }
    }
}

/// The next byte without which there is neither noise nor a temporary path: a digit or a slash. One
/// in a word that it can't be noise with is none.
fn alarm(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        at = digit_or_slash(bytes, at);
        let Some(byte) = bytes.get(at) else { return at };
        let dull = match *byte {
            b'/' => is_dull_slash(bytes, at),
            _ => at > from && class_of(bytes[at - 1]) & (WORD | HEX) == WORD,
        };
        if !dull {
            return at;
        }
        at += 1;
        if *byte != b'/' {
            at += bytes[at..].iter().take_while(|byte| class_of(**byte) & WORD != 0).count();
        }
    }
}

fn digit_or_slash(bytes: &[u8], from: usize) -> usize {
    // The slash stands right before the digits.
    let is_wanted = |byte: &u8| matches!(byte, b'/'..=b'9');
    let mut at = from;
    while let Some(lanes) = Lanes::at(bytes, at) {
        let wanted = lanes.from(b'/').without(lanes.from(b'9' + 1));
        if let Some(place) = wanted.first() {
            return at + place;
        }
        at += WIDTH;
    }
    bytes[at..].iter().position(is_wanted).map_or(bytes.len(), |found| at + found)
}

/// The last place from which on the noise of an alarm can begin. Here, no word is under way.
fn before(bytes: &[u8], from: usize, alarm: usize) -> usize {
    let begin_of_word = |end: usize| {
        let letters = bytes[from..end].iter().rev().take_while(|byte| class_of(**byte) & WORD != 0);
        end - letters.count()
    };
    let word = begin_of_word(alarm);
    match bytes[from..word] {
        // Groups of a UUID may come before the first with a digit.
        [.., b'-'] => begin_of_word(word.saturating_sub(LONGEST_UUID).max(from)),
        // Before a number, a weekday, a month or what it stands for, and one more before these. At
        // the end of what can be seen, the digit may still come.
        [.., last] if is_separator(last) => {
            let mut begin = word;
            for _ in 0..2 {
                let apart = bytes[from..begin].iter().rev().take_while(|byte| is_separator(**byte));
                let end = begin - apart.count();
                let start = begin_of_word(end);
                if !begins_noise(&bytes[start..end]) {
                    break;
                }
                begin = start;
            }
            begin
        }
        _ => word,
    }
}

/// Whether the byte can stand between a number and what it stands for.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b'=' | b':' | b'#' | b'[' | b'(' | b'"' | b'\'')
}

fn class_of(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

/// Whether what follows a number of so many digits can make it a date, a time, an address, a length
/// of time or a share. What follows is unknown at the end of what can be seen.
fn may_be_a_quantity(digits: usize, after: &[u8]) -> bool {
    let may_be_a_day = digits <= 2;
    match after {
        [b' ', next, ..] => match next.to_ascii_lowercase() {
            // Units, and a percent sign.
            b'h' | b'm' | b's' | b'%' => true,
            // Months.
            b'a' | b'd' | b'f' | b'j' | b'n' | b'o' => may_be_a_day,
            _ => false,
        },
        [b':', ..] => may_be_a_day,
        [b'-' | b'/', ..] => may_be_a_day || matches!(digits, 4 | 8),
        // Sentences and entries of a list end so, too.
        [b'.', next, ..] => next.is_ascii_digit(),
        [b'%', ..] | [] | [b' ' | b'.'] => true,
        _ => false,
    }
}

/// Whether a word that begins with a digit can be a length of time, a point in time or an address:
/// what follows the digits tells. Numbers of lines stand right before their text in what agents read.
fn may_have_a_unit(word: &[u8]) -> bool {
    let after = word.iter().find(|byte| !byte.is_ascii_digit());
    // Of characters beyond ASCII, only those that stand for millionths begin a unit.
    after.is_some_and(|byte| {
        matches!(byte.to_ascii_lowercase(), b'h' | b'm' | b'n' | b's' | b't' | b'u' | b'x')
            || matches!(byte, 0xc2 | 0xce)
    })
}

/// Whether the slash can neither begin a temporary path nor stand before a host. One within a path
/// begins nothing.
fn is_dull_slash(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return false };
    let after = bytes.get(at + 1).copied().unwrap_or(b'/');
    class_of(before) & WORD != 0
        || (!matches!(before, b':' | b'/') && !matches!(after, b'/' | b't' | b'v' | b'p'))
}

/// Whether the word names a weekday, a month or what a number after it stands for.
fn begins_noise(word: &[u8]) -> bool {
    match *word {
        [a, b, c] => is_name([a, b, c].map(|byte| byte.to_ascii_lowercase())),
        [_, _, _, _] => word.eq_ignore_ascii_case(b"port") || word.eq_ignore_ascii_case(b"ppid"),
        [b'l' | b'L', ..] => word.eq_ignore_ascii_case(b"localhost"),
        _ => false,
    }
}

fn is_name(letters: [u8; 3]) -> bool {
    matches!(
        &letters,
        b"mon"
            | b"tue"
            | b"wed"
            | b"thu"
            | b"fri"
            | b"sat"
            | b"sun"
            | b"jan"
            | b"feb"
            | b"mar"
            | b"apr"
            | b"may"
            | b"jun"
            | b"jul"
            | b"aug"
            | b"sep"
            | b"oct"
            | b"nov"
            | b"dec"
            | b"pid"
    )
}

/// Classes of bytes, as bits.
const WORD: u8 = 1;
const DIGIT: u8 = 2;
const HEX: u8 = 4;
/// What belongs to the name of a file and not to a word.
const NAME: u8 = 8;
const SLASH: u8 = 16;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte: u8 = 0;
    loop {
        classes[byte as usize] = match byte {
            b'0'..=b'9' => WORD | DIGIT | HEX,
            b'a'..=b'f' | b'A'..=b'F' => WORD | HEX,
            b'g'..=b'z' | b'G'..=b'Z' | b'_' | 0x80.. => WORD,
            b'.' | b'-' | b'+' | b'@' | b'~' => NAME,
            b'/' => SLASH,
            _ => 0,
        };
        if byte == u8::MAX {
            return classes;
        }
        byte += 1;
    }
}

const LONGEST_UUID: usize = 36;
/// Of all hexadecimal words, these and longer ones can be hashes.
const SHORTEST_HASH: usize = 7;
