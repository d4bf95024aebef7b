//! JSON as sloppily as runners write it.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::text::seconds;
use crate::repair::repaired;

/// What is written as JSON, also where a parser refuses it for a few bytes of it. `sound` keeps the
/// text that is read then.
pub(super) fn record<'a, T: Deserialize<'a>>(
    json: &'a str,
    sound: &'a mut Option<String>,
) -> Option<T> {
    serde_json::from_str(json).ok().or_else(|| {
        let json = sound.insert(repaired(json)?);
        serde_json::from_str(json).ok()
    })
}

/// A number, or a string that begins with one (`"0.25s"`); anything else is nothing.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => seconds(&text),
        _ => None,
    })
}

/// A string; anything else is nothing.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// A list; anything else is an empty one.
pub(super) fn list<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => {
            items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
        }
        _ => Vec::new(),
    })
}

/// Whether it is `true`.
pub(super) fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(deserializer)? == Value::Bool(true))
}

/// An object; anything else is one with nothing in it.
pub(super) fn object<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
