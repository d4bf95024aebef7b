//! The quick way over text in which no noise begins, which is nearly all of it.
//!
//! A place that [`recognise`](super::recognise) must look at is told by the word that begins there
//! and by the byte after it. Everything up to the first such place is written as it is, and is
//! found with little more than one look-up for each byte.

/// Which bytes may be skimmed over, in one style.
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
        while let Some(&first) = bytes.get(at) {
            let class = CLASSES[usize::from(first)];
            if class & WORD == 0 {
                if class & SLASH != 0 || (self.base_names && class & NAME != 0) {
                    return at;
                }
                at += 1;
                continue;
            }
            let mut end = at + 1;
            let (mut any, mut all) = (class, class);
            while let Some(&byte) = bytes.get(end) {
                let class = CLASSES[usize::from(byte)];
                if class & WORD == 0 {
                    break;
                }
                any |= class;
                all &= class;
                end += 1;
            }
            if end == bytes.len() && !complete {
                return at;
            }
            let word = &bytes[at..end];
            let after = &bytes[end..];
            if class & DIGIT != 0 {
                if self.mask_digits || all & DIGIT == 0 || may_be_a_quantity(after) {
                    return at;
                }
            } else if (self.mask_digits && any & DIGIT != 0)
                || (all & HEX != 0 && word.len() >= SHORTEST_HASH)
                || begins_noise(word)
            {
                return at;
            }
            if self.base_names
                && after.first().is_some_and(|byte| CLASSES[usize::from(*byte)] & (NAME | SLASH) != 0)
            {
                return at;
            }
            at = end;
        }
        at
    }
}

/// Whether what follows a number can make it a date, a time, an address, a length of time or a
/// share. What follows is unknown at the end of what can be seen.
fn may_be_a_quantity(after: &[u8]) -> bool {
    match after {
        [b' ', next, ..] => {
            // Months, units and the percent sign.
            matches!(
                next.to_ascii_lowercase(),
                b'%' | b'a' | b'd' | b'f' | b'h' | b'j' | b'm' | b'n' | b'o' | b's'
            )
        }
        [b'-' | b'/' | b':' | b'.' | b'%', ..] | [] | [b' '] => true,
        _ => false,
    }
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
        b"mon" | b"tue" | b"wed" | b"thu" | b"fri" | b"sat" | b"sun"
            | b"jan" | b"feb" | b"mar" | b"apr" | b"may" | b"jun" | b"jul" | b"aug" | b"sep"
            | b"oct" | b"nov" | b"dec" | b"pid"
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

/// Of all hexadecimal words, these and longer ones can be hashes.
const SHORTEST_HASH: usize = 7;
