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
    /// What may stand there.
    pub value: Shape,
    /// `null` may stand there as well, and means that there is nothing.
    pub is_nullable: bool,
}

/// What may stand in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Flag,
    Count,
    /// It may be negative.
    Integer,
    Number,
    Text,
    Time,
    Texts,
    OneOf(&'static [&'static str]),
    /// A number or a duration.
    Limit,
    Object(Vec<Field>),
    /// An object with names that its writer chooses.
    ByName(Box<Shape>),
    Anything,
}

impl Shape {
    /// Whether it is a JSON string, so that a bare word stands for itself.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Time | Self::OneOf(_))
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_) | Self::ByName(_))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Flag => "true or false",
            Self::Count => "a whole number",
            Self::Integer => "a whole number, which may be negative",
            Self::Number => "a number",
            Self::Text => "a string",
            Self::Time => "a time such as `\"2026-05-04T10:00:00Z\"`",
            Self::Texts => "a list of strings",
            Self::OneOf(choices) => return write_names(formatter, choices.iter().copied()),
            Self::Limit => "a number, or a duration such as `\"2h 30m\"`",
            Self::Object(fields) => {
                formatter.write_str("an object with ")?;
                return write_names(formatter, fields.iter().map(|field| field.name));
            }
            Self::ByName(shape) => return write!(formatter, "an object: {shape} under each name"),
            Self::Anything => "any value",
        })
    }
}

fn write_names(
    formatter: &mut fmt::Formatter<'_>,
    names: impl Iterator<Item = &'static str>,
) -> fmt::Result {
    for (name, place) in names.zip(0..) {
        let comma = if place == 0 { "" } else { ", " };
        write!(formatter, "{comma}`{name}`")?;
    }
    Ok(())
}

/// The fields of a payload, in the order of their declaration.
pub(super) fn shape<T: DeserializeOwned>() -> Vec<Field> {
    fields_at::<T>(&[])
}

/// The fields of the object to which a path leads.
fn fields_at<T: DeserializeOwned>(path: &[&'static str]) -> Vec<Field> {
    let (Some(Asked::Fields(names)), _) = asked_at::<T>(path) else { return Vec::new() };
    names.iter().map(|name| field_at::<T>(&[path, &[*name]].concat())).collect()
}

fn field_at<T: DeserializeOwned>(path: &[&'static str]) -> Field {
    let (asked, is_nullable) = asked_at::<T>(path);
    let value = match asked {
        Some(Asked::For(shape)) => shape,
        Some(Asked::Fields(_)) => Shape::Object(fields_at::<T>(path)),
        _ => Shape::Anything,
    };
    Field { name: path.last().copied().unwrap_or_default(), value, is_nullable }
}

/// What is asked for where a path leads, and whether `null` would do.
fn asked_at<T: DeserializeOwned>(path: &[&'static str]) -> (Option<Asked>, bool) {
    match T::deserialize(Question { path }).err() {
        Some(Asked::Optional(asked)) => (Some(*asked), true),
        asked => (asked, false),
    }
}

/// What was asked for; an error, so that the decoder stops there.
#[derive(Debug)]
enum Asked {
    Fields(&'static [&'static str]),
    For(Shape),
    Optional(Box<Asked>),
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

/// Stands for a value of which only the type is asked, or that of what a path within it leads to.
struct Question<'p> {
    path: &'p [&'static str],
}

macro_rules! answers {
    ($($method:ident => $shape:expr,)*) => {
        $(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
            Err(Asked::For($shape))
        })*
    };
}

impl<'de> Deserializer<'de> for Question<'_> {
    type Error = Asked;

    answers! {
        deserialize_any => Shape::Limit,
        deserialize_bool => Shape::Flag,
        deserialize_u64 => Shape::Count,
        deserialize_i32 => Shape::Integer,
        deserialize_i64 => Shape::Integer,
        deserialize_f64 => Shape::Number,
        deserialize_str => Shape::Time,
        deserialize_string => Shape::Text,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Asked> {
        let is_asked = self.path.is_empty();
        visitor.visit_some(self).map_err(|asked| match is_asked {
            true => Asked::Optional(Box::new(asked)),
            false => asked,
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
        Err(Asked::For(Shape::Texts))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Asked> {
        match visitor.visit_map(OneEntry { key: Some("name"), path: &[] }) {
            Err(Asked::For(shape)) => Err(Asked::For(Shape::ByName(Box::new(shape)))),
            other => other,
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Asked> {
        match self.path {
            [] => Err(Asked::Fields(fields)),
            [first, path @ ..] => visitor.visit_map(OneEntry { key: Some(first), path }),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked::For(Shape::OneOf(variants)))
    }

    forward_to_deserialize_any! {
        i8 i16 u8 u16 u32 f32 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct identifier ignored_any
    }
}

struct OneEntry<'p> {
    key: Option<&'static str>,
    path: &'p [&'static str],
}

impl<'de> MapAccess<'de> for OneEntry<'_> {
    type Error = Asked;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Asked> {
        self.key.take().map(|key| seed.deserialize(StrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Asked> {
        seed.deserialize(Question { path: self.path })
    }
}
