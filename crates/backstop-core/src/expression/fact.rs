//! What an expression is evaluated over.

use std::collections::BTreeMap;

/// Where an expression gets its facts.
pub trait FactSource {
    /// The value of a fact, or `None` where it cannot be told, which makes what reads it unknown.
    ///
    /// Called at most once for each name in an evaluation, and only for names that are reached.
    fn fact(&self, name: &str) -> Option<FactValue>;
}

/// The value of a fact, or of a part of one.
///
/// Times are `Text` in RFC 3339. There is one type of whole numbers, so that counts and literals
/// mix: a larger count than `i64` holds is given as the largest.
#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<FactValue>),
    Map(BTreeMap<String, FactValue>),
}

impl From<bool> for FactValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for FactValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for FactValue {
    fn from(value: i32) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<u32> for FactValue {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<u64> for FactValue {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for FactValue {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for FactValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for FactValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for FactValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<FactValue>> From<Option<T>> for FactValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<FactValue>> From<Vec<T>> for FactValue {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<FactValue>> FromIterator<T> for FactValue {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<const N: usize> From<[(&str, FactValue); N]> for FactValue {
    fn from(entries: [(&str, FactValue); N]) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}
