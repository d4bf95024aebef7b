//! Values while an expression is evaluated: borrowed from facts and literals wherever they can be,
//! and cheap to clone.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::fact::FactValue;
use super::node::{Kind, Literal};

#[derive(Clone)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Text<'a>),
    List(Items<'a>),
    Map(&'a BTreeMap<String, FactValue>),
}

#[derive(Clone)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Built(Rc<str>),
}

#[derive(Clone)]
pub(super) enum Items<'a> {
    Facts(&'a [FactValue]),
    Built(Rc<[Value<'a>]>),
}

impl Value<'_> {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Float(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
        }
    }
}

impl<'a> From<&'a FactValue> for Value<'a> {
    fn from(fact: &'a FactValue) -> Self {
        match fact {
            FactValue::Null => Self::Null,
            FactValue::Bool(value) => Self::Bool(*value),
            FactValue::Int(value) => Self::Int(*value),
            FactValue::Float(value) => Self::Float(*value),
            FactValue::Text(text) => Self::Text(Text::Borrowed(text)),
            FactValue::List(items) => Self::List(Items::Facts(items)),
            FactValue::Map(entries) => Self::Map(entries),
        }
    }
}

impl<'a> From<&'a Literal> for Value<'a> {
    fn from(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Float(value) => Self::Float(*value),
            Literal::Text(text) => Self::Text(Text::Borrowed(text)),
        }
    }
}

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Built(text) => text,
        }
    }
}

impl<'a> Items<'a> {
    pub fn len(&self) -> usize {
        match self {
            Self::Facts(items) => items.len(),
            Self::Built(items) => items.len(),
        }
    }

    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Facts(items) => items.get(index).map(Value::from),
            Self::Built(items) => items.get(index).cloned(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// Compares a whole number with a fraction exactly; `None` if the latter is not a number.
pub(super) fn compare_int_with_float(int: i64, float: f64) -> Option<Ordering> {
    // 2^63 is the first float above every `i64`; its negative is the least `i64`, exactly.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= LIMIT {
        Some(Ordering::Less)
    } else if float < -LIMIT {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        Some(
            int.cmp(&(whole as i64))
                .then_with(|| 0.0_f64.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal)),
        )
    }
}
