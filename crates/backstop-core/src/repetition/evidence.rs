//! Why the detector speaks up, so that a person can check it at a glance.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::signal::Signal;
use crate::normalise::{Clean, is_clean};

/// What repeated, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The signal that this explains; `None` if nothing repeats.
    pub signal: Option<Signal>,
    /// One plain sentence, without a full stop.
    pub sentence: String,
    /// The step at which what repeats came first.
    pub first_step: u64,
    /// The last steps at which it came, oldest first.
    pub steps: Vec<u64>,
    /// The repeated action, message or error, at most 120 bytes of it.
    pub excerpt: String,
}

/// `step 5`, `steps 5–8`, `steps 5, 7 and 9`, or the first and the last of many
pub(super) fn step_list(first: u64, count: u32, steps: &[u64]) -> String {
    match steps {
        [] => "no steps".to_owned(),
        [only] if *only == first => format!("step {only}"),
        [.., last] if last.saturating_sub(first) == u64::from(count.saturating_sub(1)) => {
            format!("steps {first}–{last}")
        }
        [head @ .., last] if steps.first() == Some(&first) => {
            let head: Vec<String> = head.iter().map(u64::to_string).collect();
            format!("steps {} and {last}", head.join(", "))
        }
        [.., last] => format!("first at step {first}, last at step {last}"),
    }
}

/// The beginning of a text on one line, in a fixed place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Excerpt {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Excerpt {
    pub const EMPTY: Self = Self { bytes: [0; LONGEST], length: 0 };

    pub fn new(text: &[u8]) -> Self {
        let mut excerpt = Self::EMPTY;
        // Most actions are one short line of plain text, of which nothing has to be changed.
        if text.len() <= LONGEST && text.is_ascii() && !text.contains(&b'\n') && is_clean(text) {
            excerpt.bytes[..text.len()].copy_from_slice(text);
            excerpt.length = text.len();
            return excerpt;
        }
        let mut clean = Clean::new(text).map(|byte| if byte == b'\n' { b' ' } else { byte });
        for (place, byte) in excerpt.bytes.iter_mut().zip(&mut clean) {
            *place = byte;
            excerpt.length += 1;
        }
        let more = clean.next().is_some();
        if more {
            excerpt.length -= ELLIPSIS.len();
        }
        excerpt.make_utf8();
        if more {
            let end = excerpt.length + ELLIPSIS.len();
            excerpt.bytes[excerpt.length..end].copy_from_slice(ELLIPSIS.as_bytes());
            excerpt.length = end;
        } else {
            // A cut character may have been all that stood behind a blank.
            excerpt.length = excerpt.bytes[..excerpt.length].trim_ascii_end().len();
        }
        excerpt.bytes[excerpt.length..].fill(0);
        excerpt
    }

    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    /// Bytes that are no text become question marks; a character cut at the end goes.
    fn make_utf8(&mut self) {
        while let Err(error) = str::from_utf8(&self.bytes[..self.length]) {
            let valid = error.valid_up_to();
            match error.error_len() {
                Some(length) => self.bytes[valid..valid + length].fill(b'?'),
                None => self.length = valid,
            }
        }
    }
}

impl Default for Excerpt {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl std::fmt::Debug for Excerpt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(formatter)
    }
}

impl Serialize for Excerpt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Excerpt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::new(text.as_bytes()))
    }
}

const LONGEST: usize = 120;
const ELLIPSIS: &str = "…";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(5, 1, &[5], "step 5")]
    #[case(5, 4, &[5, 6, 7, 8], "steps 5–8")]
    #[case(5, 3, &[5, 7, 9], "steps 5, 7 and 9")]
    #[case(5, 40, &[37, 38, 39, 40, 41, 42, 43, 44], "steps 5–44")]
    #[case(5, 9, &[37, 38, 39, 40, 41, 42, 43, 44], "first at step 5, last at step 44")]
    fn lists_of_steps(
        #[case] first: u64,
        #[case] count: u32,
        #[case] steps: &[u64],
        #[case] expected: &str,
    ) {
        assert_eq!(step_list(first, count, steps), expected);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(Excerpt::new("x".repeat(120).as_bytes()).as_str(), "x".repeat(120));
        let cut = format!("{}…", "é".repeat(58));
        assert_eq!(Excerpt::new("é".repeat(61).as_bytes()).as_str(), cut);
        assert_eq!(Excerpt::new(b"a \x1b[1mb\n\xff").as_str(), "a b ?");
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_excerpt_that_round_trips(
            text in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let excerpt = Excerpt::new(&text);
            prop_assert!(excerpt.as_str().len() <= LONGEST);
            let json = serde_json::to_string(&excerpt).unwrap();
            prop_assert_eq!(serde_json::from_str::<Excerpt>(&json).unwrap(), excerpt);
        }
    }
}
