//! What a payload's decoder asks for: the names of its fields, and the type of each value.
//!
//! A derived decoder tells whom it reads from which fields it knows, and each field asks for the
//! type that it wants. So both can be learnt by playing the input and writing down the questions.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

/// A field of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    /// What may stand there, in words.
    pub value: String,
}

impl Field {
    /// Whether its value is a JSON string, so that a bare word stands for itself.
    pub fn is_text(&self) -> bool {
        self.value == STRING || self.value == TIME || self.value.starts_with('`')
    }

    pub fn is_list(&self) -> bool {
        self.value == LIST
    }

    pub fn is_object(&self) -> bool {
        self.value.starts_with(OBJECT)
    }
}

/// The fields of a payload, in the order of their declaration.
pub(super) fn shape<T: DeserializeOwned>() -> Vec<Field> {
    let names = match T::deserialize(Question) {
        Err(Asked::Fields(names)) => names,
        _ => &[],
    };
    names.iter().map(|name| Field { name, value: value_of::<T>(name) }).collect()
}

fn value_of<T: DeserializeOwned>(name: &'static str) -> String {
    match T::deserialize(OneField(name)) {
        Err(Asked::For(value)) => value,
        Err(Asked::Fields(names)) => format!("{OBJECT} with {}", listed(names)),
        _ => "any value".to_owned(),
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What was asked for; an error, so that the decoder stops there.
#[derive(Debug)]
enum Asked {
    Fields(&'static [&'static str]),
    For(String),
    Other,
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a question, not a value")
    }
}

impl std::error::Error for Asked {}

impl serde::de::Error for Asked {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

/// Stands for a value of which only the type is asked.
struct Question;

macro_rules! answers {
    ($($method:ident => $value:expr,)*) => {
        $(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
            Err(Asked::For($value.to_owned()))
        })*
    };
}

impl<'de> Deserializer<'de> for Question {
    type Error = Asked;

    answers! {
        deserialize_any => "a number, or a duration such as `\"2h 30m\"`",
        deserialize_bool => "true or false",
        deserialize_u64 => "a whole number",
        deserialize_i32 => "a whole number, which may be negative",
        deserialize_f64 => "a number",
        deserialize_str => TIME,
        deserialize_string => STRING,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Asked> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
        Err(Asked::For(LIST.to_owned()))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Asked> {
        match visitor.visit_map(OneEntry { key: Some("name") }) {
            Err(Asked::For(value)) => Err(Asked::For(format!("{OBJECT}: {value} under each name"))),
            other => other,
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked::Fields(fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked::For(listed(variants)))
    }

    forward_to_deserialize_any! {
        i8 i16 i64 u8 u16 u32 f32 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct identifier ignored_any
    }
}

/// Stands for a payload with one field, of which only the type is asked.
struct OneField(&'static str);

impl<'de> Deserializer<'de> for OneField {
    type Error = Asked;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Asked> {
        visitor.visit_map(OneEntry { key: Some(self.0) })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct OneEntry {
    key: Option<&'static str>,
}

impl<'de> MapAccess<'de> for OneEntry {
    type Error = Asked;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Asked> {
        self.key.take().map(|key| seed.deserialize(StrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Asked> {
        seed.deserialize(Question)
    }
}

const STRING: &str = "a string";
const TIME: &str = "a time such as `\"2026-05-04T10:00:00Z\"`";
const LIST: &str = "a list of strings";
const OBJECT: &str = "an object";
