//! The name of a run: 13 characters of Crockford base 32, time first, so that names sort by age.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a run. Minted outside: the core knows neither the time nor chance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId([u8; RunId::LENGTH]);

impl RunId {
    pub const LENGTH: usize = 13;

    /// A name from the time in milliseconds since 1970 and 20 bits of chance.
    pub fn new(milliseconds: u64, chance: u32) -> Self {
        let mut characters = [b'0'; Self::LENGTH];
        let (time, tail) = characters.split_at_mut(TIME_CHARACTERS);
        write_digits(milliseconds, time);
        write_digits(u64::from(chance), tail);
        Self(characters)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a run's name is made of ASCII characters")
    }

    /// What a person typed as the beginning of a name, in the spelling of names: upper case, with
    /// the letters that look like digits read as those. None if no name begins like this.
    pub fn prefix(text: &str) -> Option<String> {
        if text.is_empty() || text.len() > Self::LENGTH {
            return None;
        }
        text.bytes().map(|byte| canonical(byte).map(char::from)).collect()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        Self::prefix(text)
            .and_then(|whole| whole.into_bytes().try_into().ok())
            .map(Self)
            .ok_or_else(|| RunIdError { text: text.to_owned() })
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that is not the name of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not the name of a run; names have 13 letters and digits, like `4K7Q2M9X1BD3F`"
)]
pub struct RunIdError {
    text: String,
}

fn write_digits(mut value: u64, into: &mut [u8]) {
    for place in into.iter_mut().rev() {
        *place = DIGITS[usize::try_from(value % 32).unwrap_or(0)];
        value /= 32;
    }
}

fn canonical(byte: u8) -> Option<u8> {
    let upper = match byte.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    };
    DIGITS.contains(&upper).then_some(upper)
}

/// Enough for the milliseconds until the year 3084.
const TIME_CHARACTERS: usize = 9;

/// Crockford's alphabet: without I, L, O and U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_read_back() {
        let earlier = RunId::new(1_780_000_000_000, u32::MAX);
        let later = RunId::new(1_780_000_000_001, 0);
        assert!(earlier < later);
        assert_eq!(earlier.as_str().len(), RunId::LENGTH);
        assert_eq!(earlier.to_string().to_lowercase().parse(), Ok(earlier));
    }

    #[test]
    fn letters_that_look_like_digits_are_read_as_those() {
        assert_eq!(RunId::prefix("oil"), Some("011".to_owned()));
        assert_eq!(RunId::prefix("4k7"), Some("4K7".to_owned()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "4K7Q", "4K7Q2M9X1BD3FX", "4K7Q2M9X1BD3U", "../../etc/pass"] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
        assert_eq!(RunId::prefix("u"), None);
        assert_eq!(RunId::prefix("4K7Q2M9X1BD3FX"), None);
    }
}
