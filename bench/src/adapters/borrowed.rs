//! A JSON value that borrows from its text what it can: the least that a parser has to do.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// What a line holds. Nobody looks into it; that it is made is what is measured.
#[derive(Debug)]
#[expect(dead_code, reason = "a value is made, and dropped")]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Natural(u64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Object(Vec<(Key<'a>, Self)>),
}

/// The name of a field.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
#[expect(dead_code, reason = "only that it is read matters")]
pub struct Key<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Value::Natural(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = object.next_entry()? {
            fields.push(field);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_escapes_is_borrowed() {
        let text = r#"{"plain": ["a", "b\n", -1, 1.5, null, true]}"#;
        let value: Value<'_> = serde_json::from_str(text).expect("JSON");
        let Value::Object(fields) = value else { panic!("{value:?}") };
        assert!(matches!(&fields[0].0.0, Cow::Borrowed("plain")));
        let Value::List(list) = &fields[0].1 else { panic!("{fields:?}") };
        assert!(matches!(&list[0], Value::Text(Cow::Borrowed("a"))));
        assert!(matches!(&list[1], Value::Text(Cow::Owned(text)) if text == "b\n"));
        assert_eq!(list.len(), 6);
    }
}
