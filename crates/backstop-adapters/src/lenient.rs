//! Values that may be of any type, and count only if they are of the expected one.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, RangeInclusive};

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Which of the types of JSON a value can be made of; the default stands for all others.
pub(crate) trait Shape<'de>: Default {
    fn text(_text: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn number(_number: f64) -> Self {
        Self::default()
    }

    fn truth(_truth: bool) -> Self {
        Self::default()
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

pub(crate) fn shaped<'de, T: Shape<'de>, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    source.deserialize_any(Shaped(PhantomData))
}

struct Shaped<T>(PhantomData<T>);

impl<'de, T: Shape<'de>> Visitor<'de> for Shaped<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text)))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<T, E> {
        Ok(T::truth(truth))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::object(map)
    }
}

/// A text; empty for anything else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text<'a>(pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Shape<'de> for Text<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// A number; none for anything else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Number(pub Option<f64>);

impl Number {
    /// As a count: what is negative, absurdly large or no number is nothing.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is too large or below zero was left out"
    )]
    pub fn count(self) -> u64 {
        self.0.filter(|number| COUNTS.contains(number)).map_or(0, |number| number as u64)
    }

    /// As an amount of money or a share.
    pub fn amount(self) -> Option<f64> {
        self.0.filter(|amount| AMOUNTS.contains(amount))
    }

    /// Whether it is either left out or a possible count.
    pub fn is_sound(&self) -> bool {
        self.0.is_none_or(|number| COUNTS.contains(&number))
    }

    /// As an HTTP status.
    pub fn status(self) -> Option<u16> {
        u16::try_from(self.count()).ok().filter(|status| *status > 0)
    }

    pub fn is_known(self) -> bool {
        self.0.is_some()
    }
}

impl Shape<'_> for Number {
    fn number(number: f64) -> Self {
        Self(Some(number))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// What is larger was never counted or paid, and would spoil every sum that it is part of.
pub(crate) const COUNTS: RangeInclusive<f64> = 0.0..=1e15;
pub(crate) const AMOUNTS: RangeInclusive<f64> = 0.0..=1e9;

/// Whether it is `true`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flag(pub bool);

impl Shape<'_> for Flag {
    fn truth(truth: bool) -> Self {
        Self(truth)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// An object; none for anything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lenient<T>(pub Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Shape<'de> for Lenient<T> {
    fn object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Self(Some(object)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("7", 7, Some(7.0))]
    #[case("-7", 0, None)]
    #[case("5e12", 5_000_000_000_000, None)]
    #[case("1e16", 0, None)]
    #[case("\"7\"", 0, None)]
    fn absurd_numbers_are_unknown(
        #[case] text: &str,
        #[case] count: u64,
        #[case] amount: Option<f64>,
    ) {
        let number: Number = serde_json::from_str(text).unwrap();
        assert_eq!((number.count(), number.amount()), (count, amount));
    }
}
