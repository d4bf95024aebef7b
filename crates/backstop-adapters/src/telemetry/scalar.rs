//! A single value of any type.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer};

use crate::lenient::{COUNTS, Shape, shaped};

/// A text, a number or a truth; nothing for anything else.
///
/// Whole numbers of 64 bits are texts in this format, and some write all figures so.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Scalar {
    #[default]
    Nothing,
    Text(String),
    Number(f64),
    Truth(bool),
}

impl Scalar {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// As an amount that can be added: neither negative nor without end.
    pub fn amount(&self) -> Option<f64> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.trim().parse().ok()?,
            Self::Nothing | Self::Truth(_) => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    /// As a point in time: nanoseconds since 1970. Zero stands for unknown.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an amount is not negative, and the cast holds what is too large at the border"
    )]
    pub fn nanoseconds(&self) -> u64 {
        match self {
            Self::Text(text) => text.trim().parse().unwrap_or(0),
            other => other.amount().map_or(0, |number| number as u64),
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }

    /// The first of these that is anything.
    pub fn first<'a>(candidates: impl IntoIterator<Item = &'a Self>) -> &'a Self {
        candidates.into_iter().find(|scalar| !scalar.is_nothing()).unwrap_or(&Self::Nothing)
    }
}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Nothing => 0_u8.hash(state),
            Self::Text(text) => (1_u8, text).hash(state),
            Self::Number(number) => (2_u8, number.to_bits()).hash(state),
            Self::Truth(truth) => (3_u8, truth).hash(state),
        }
    }
}

impl<'de> Shape<'de> for Scalar {
    fn text(text: Cow<'de, str>) -> Self {
        Self::Text(text.into_owned())
    }

    fn number(number: f64) -> Self {
        Self::Number(number)
    }

    fn truth(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// Tokens as a count. Fractions are cut off; what is beyond all reason is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
pub(super) fn count(amount: f64) -> u64 {
    if COUNTS.contains(&amount) { amount as u64 } else { 0 }
}
