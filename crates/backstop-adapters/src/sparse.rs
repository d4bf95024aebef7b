//! JSON of which no more is kept than fits.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// A value without those of its parts for which there was no more room: a list of many small numbers
/// takes far more memory than its text.
#[derive(Debug)]
pub(crate) struct Sparse(pub Value);

impl<'de> Deserialize<'de> for Sparse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let room = Cell::new(MOST_PARTS);
        Part { room: &room }.deserialize(deserializer).map(Self)
    }
}

/// One part of a value, as long as there is room.
#[derive(Clone, Copy)]
struct Part<'r> {
    room: &'r Cell<usize>,
}

impl Part<'_> {
    fn is_full(self) -> bool {
        self.room.get() == 0
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.is_full() {
            return IgnoredAny::deserialize(deserializer).map(|_| Value::Null);
        }
        self.room.set(self.room.get() - 1);
        deserializer.deserialize_any(self)
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
        let mut kept = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            if !self.is_full() {
                kept.push(value);
            }
        }
        Ok(kept.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let value = object.next_value_seed(self)?;
            if !self.is_full() {
                kept.insert(key, value);
            }
        }
        Ok(kept.into())
    }
}

const MOST_PARTS: usize = 1 << 20;

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
        let json = format!(r#"{{"type":"first","list":[{many}1],"last":"x"}}"#);
        let Sparse(value) = serde_json::from_str(&json).unwrap();
        assert_eq!(value["type"], "first");
        assert!(value["list"].as_array().is_none_or(|list| list.len() <= MOST_PARTS));
        let value = crate::fields::parse(json.as_bytes()).unwrap();
        assert!(value["list"].as_array().is_none_or(|list| list.len() <= MOST_PARTS));
    }
}
