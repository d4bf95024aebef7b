//! JSON of which no more is kept than fits.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// A value without those of its parts for which there was no more room: a list of many small numbers
/// takes far more memory than its text. What stands behind such a list still counts: there is some
/// room left for the fields of objects, as long as no list is around them.
#[derive(Debug)]
pub(crate) struct Sparse(pub Value);

impl<'de> Deserialize<'de> for Sparse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let room = Room { parts: Cell::new(MOST_PARTS), fields: Cell::new(MOST_LATE_FIELDS) };
        let whole = Part { room: &room, is_listed: false }.deserialize(deserializer)?;
        Ok(Self(whole.unwrap_or_default()))
    }
}

/// What there is room for.
struct Room {
    parts: Cell<usize>,
    fields: Cell<usize>,
}

/// One part of a value, as long as there is room.
#[derive(Clone, Copy)]
struct Part<'r> {
    room: &'r Room,
    /// It is in a list, or what it is in is.
    is_listed: bool,
}

impl Part<'_> {
    fn takes_room(self) -> bool {
        let takes = |room: &Cell<usize>| match room.get() {
            0 => false,
            left => {
                room.set(left - 1);
                true
            }
        };
        takes(&self.room.parts) || !self.is_listed && takes(&self.room.fields)
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        if self.takes_room() {
            return deserializer.deserialize_any(self).map(Some);
        }
        IgnoredAny::deserialize(deserializer).map(|_| None)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let element = Part { is_listed: true, ..self };
        let mut kept = Vec::new();
        while let Some(value) = list.next_element_seed(element)? {
            kept.extend(value);
        }
        Ok(kept.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if let Some(value) = object.next_value_seed(self)? {
                kept.insert(key, value);
            }
        }
        Ok(kept.into())
    }
}

const MOST_PARTS: usize = 1 << 20;
const MOST_LATE_FIELDS: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_as_it_is() {
        let json = r#"{"a":[1,-2,0.5,true,null,"x\n"],"b":{"c":{}}}"#;
        let Sparse(value) = serde_json::from_str(json).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(json).unwrap());
    }

    #[test]
    fn no_more_is_kept_than_fits() {
        let many = "1,".repeat(3 * MOST_PARTS);
        let json = format!(
            r#"{{"item":{{"type":"first","list":[{many}1],"late":[1]}},"more":{{"last":"x"}}}}"#
        );
        let Sparse(value) = serde_json::from_str(&json).unwrap();
        for value in [value, crate::fields::parse(json.as_bytes()).unwrap()] {
            assert_eq!(value["item"]["type"], "first");
            let list = value["item"]["list"].as_array().unwrap();
            assert!((MOST_PARTS - 10..MOST_PARTS).contains(&list.len()), "{}", list.len());
            assert_eq!(value["item"]["late"], serde_json::json!([]), "there is no more room");
            assert_eq!(value["more"]["last"], "x", "what stands behind counts");
        }
        let fields: String = (0..3 * MOST_LATE_FIELDS).map(|at| format!(r#","{at}":0"#)).collect();
        let json = format!(r#"{{"list":[{many}1]{fields}}}"#);
        let Sparse(value) = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().map(Map::len), Some(1 + MOST_LATE_FIELDS));
    }
}
