//! Reads JSON that others wrote: what is missing or of another type is simply not there.

use std::borrow::Cow;

use backstop_core::event::Usage;
use backstop_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lenient::{AMOUNTS, COUNTS};
use crate::repair::repaired;
use crate::shallow::shallow;
use crate::sparse::Sparse;
use crate::tail::object_behind_a_cut_one;

/// The value of a record, or nothing if it is no JSON. One that was cut off may have another behind it,
/// of a program that went on in its place.
pub(crate) fn record(bytes: &[u8]) -> Option<Value> {
    parse(bytes).or_else(|| {
        let text = String::from_utf8_lossy(bytes);
        parse(object_behind_a_cut_one(&text)?.as_bytes())
    })
}

/// The value of what is written as JSON, or nothing. Of a very large one no more is kept than fits.
pub(crate) fn parse(bytes: &[u8]) -> Option<Value> {
    if bytes.len() <= LARGE {
        return parse_as(bytes).ok();
    }
    parse_as(bytes).ok().map(|Sparse(value)| value)
}

/// Whatever is in so few bytes fits.
const LARGE: usize = 1 << 20;

/// What is written as JSON.
///
/// What a few bytes or too deep a part of it make unreadable is repaired rather than losing the whole
/// record.
pub(crate) fn parse_as<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| {
        let mut text = String::from_utf8_lossy(bytes);
        if let Some(repaired) = repaired(&text) {
            text = Cow::Owned(repaired);
        }
        match (shallow(text.as_bytes()), text) {
            (Some(shallow), _) => serde_json::from_slice(&shallow),
            (None, Cow::Owned(text)) => serde_json::from_str(&text),
            (None, Cow::Borrowed(_)) => Err(error),
        }
    })
}

/// The text under a key.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// The text under a path such as `/error/message`.
pub(crate) fn text_at<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    value.pointer(path)?.as_str()
}

/// A whole number that is not negative. Fractions are cut off, anything else counts as nothing.
pub(crate) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(whole).unwrap_or(0)
}

/// A whole number that is not negative, wherever it stands.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| COUNTS.contains(number))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked, and the fraction is to be cut off"
    )]
    Some(number as u64)
}

/// A sum of money.
pub(crate) fn amount(value: &Value) -> Option<f64> {
    value.as_f64().filter(|amount| AMOUNTS.contains(amount))
}

/// A cost that an agent gives as zero where it does not know the price.
pub(crate) fn known_cost(cost: Option<f64>, usage: &Usage) -> Option<f64> {
    let spent = usage.input_tokens > 0
        || usage.output_tokens > 0
        || usage.cache_read_tokens > 0
        || usage.cache_write_tokens > 0;
    cost.filter(|cost| *cost > 0.0 || !spent)
}

/// Whether there is anything in it that counts.
pub(crate) fn is_nothing(usage: &Usage) -> bool {
    usage.input_tokens == 0
        && usage.output_tokens == 0
        && usage.cache_read_tokens == 0
        && usage.cache_write_tokens == 0
        && usage.cost_usd.is_none_or(|cost| cost == 0.0)
}

/// A point in time, as RFC 3339 or in milliseconds since 1970.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(_) => milliseconds(value.as_i64()?),
        _ => None,
    }
}

/// A point in time in seconds since 1970.
pub(crate) fn seconds(seconds: i64) -> Option<Timestamp> {
    milliseconds(seconds.checked_mul(1000)?)
}

fn milliseconds(milliseconds: i64) -> Option<Timestamp> {
    let plausible = milliseconds > 0;
    plausible.then(|| Timestamp::from_nanos(milliseconds.saturating_mul(1_000_000)))
}

/// What a value says: text as it is, a list of text blocks as their text, anything else as JSON.
pub(crate) fn words(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(blocks) if blocks.iter().any(|block| text(block, "text").is_some()) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| text(block, "text")).collect();
            Cow::Owned(texts.join("\n"))
        }
        Value::Object(_) => match text(value, "text") {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(value.to_string()),
        },
        other => Cow::Owned(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_that_are_no_text_do_not_lose_the_record() {
        assert_eq!(parse(b"{\"a\":\"x\xff\"}"), Some(json!({"a": "x\u{fffd}"})));
        assert_eq!(parse(b"not json"), None);
    }

    #[test]
    fn what_is_nested_too_deep_does_not_lose_the_record() {
        let deep = format!(
            r#"{{"a":{}"[]"{},"b":1,"c":"\ud83d"}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        let value = parse(deep.as_bytes()).unwrap();
        assert_eq!((count(&value, "b"), text(&value, "c")), (1, Some("\u{fffd}")));
        assert_eq!(parse("[".repeat(10_000).as_bytes()), None);
    }

    #[rstest]
    #[case(json!(7), Some(7))]
    #[case(json!(7.9), Some(7))]
    #[case(json!(-1), None)]
    #[case(json!(1e300), None)]
    #[case(json!(u64::MAX), None)]
    #[case(json!(1_000_000_000_000_000_u64), Some(1_000_000_000_000_000))]
    #[case(json!("7"), None)]
    fn a_count_is_never_negative(#[case] value: Value, #[case] expected: Option<u64>) {
        assert_eq!(whole(&value), expected);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in r#"[\\ud8cf{}":é ]{0,40}"#) {
            let _ = parse(text.as_bytes());
        }
    }
}
