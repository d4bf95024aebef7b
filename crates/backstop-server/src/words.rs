//! Texts that people give, bounded and without what could do harm where they are shown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use backstop_core::redact::Redactor;
use backstop_runner::secrets;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A few words on one line: a name, who it was, a command's word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line(pub(crate) String);

/// A text of several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note(pub(crate) String);

/// Labels of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(pub(crate) BTreeMap<String, String>);

impl Labels {
    /// As they may be written down.
    pub(crate) fn without_secrets(self, redactor: &Redactor) -> BTreeMap<String, String> {
        secrets::labels(redactor, self.0)
    }
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() || text.chars().count() > LONGEST_LINE {
            return Err(de::Error::custom(format_args!(
                "a text must have from 1 to {LONGEST_LINE} characters"
            )));
        }
        if text.chars().any(char::is_control) {
            return Err(de::Error::custom("a text can't have control characters in it"));
        }
        Ok(Self(text))
    }
}

impl<'de> Deserialize<'de> for Note {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().count() > LONGEST_NOTE {
            return Err(de::Error::custom(format_args!(
                "a note can have {LONGEST_NOTE} characters at most"
            )));
        }
        if text.contains('\0') {
            return Err(de::Error::custom("a note can't have a NUL character in it"));
        }
        Ok(Self(text))
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let labels = BTreeMap::<Line, Note>::deserialize(deserializer)?;
        if labels.len() > MOST_LABELS {
            return Err(de::Error::custom(format_args!("there can be {MOST_LABELS} labels")));
        }
        if let Some(key) = labels.keys().find(|key| key.0.contains('=')) {
            // Where a label is written as `KEY=VALUE` it would be taken for another one.
            return Err(de::Error::custom(format_args!(
                "the name of the label `{}` can't have a `=` in it",
                key.0
            )));
        }
        let is_long = |(_, value): &(&Line, &Note)| value.0.chars().count() > LONGEST_LINE;
        if let Some((key, _)) = labels.iter().find(is_long) {
            return Err(de::Error::custom(format_args!(
                "the label `{}` can have {LONGEST_LINE} characters at most",
                key.0
            )));
        }
        let labels = labels.into_iter().map(|(key, value)| (key.0, value.0));
        Ok(Self(labels.collect()))
    }
}

impl JsonSchema for Line {
    fn schema_name() -> Cow<'static, str> {
        "Line".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_LINE,
            "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
        })
    }
}

impl JsonSchema for Note {
    fn schema_name() -> Cow<'static, str> {
        "Note".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": LONGEST_NOTE, "pattern": "^[^\\u0000]*$" })
    }
}

impl JsonSchema for Labels {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_LINE,
                "pattern": "^[^=\\u0000-\\u001f\\u007f-\\u009f]*$",
            },
            "maxProperties": MOST_LABELS,
            "additionalProperties": {
                "type": "string", "maxLength": LONGEST_LINE, "pattern": "^[^\\u0000]*$"
            },
        })
    }
}

/// A whole number, however it is written: `7.0` is one too.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    number.as_u64().or_else(|| number.as_f64().and_then(whole_of)).ok_or_else(|| {
        de::Error::custom(format_args!("`{number}` is no whole number from 0 to {LARGEST}"))
    })
}

/// The same, or nothing.
pub(crate) fn whole_or_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Whole(#[serde(deserialize_with = "whole")] u64);
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|number| number.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "only what is whole and small enough is taken"
)]
fn whole_of(number: f64) -> Option<u64> {
    let is_one = number.fract() == 0.0 && (0.0..=LARGEST as f64).contains(&number);
    is_one.then_some(number as u64)
}

/// Who acted: the token, and whom its bearer names.
pub(crate) fn actor(caller: &crate::access::Caller, by: Option<Line>) -> String {
    match by {
        None => caller.name().to_owned(),
        Some(by) if caller.token().is_none() => by.0,
        Some(by) => format!("{} (by the token of {})", by.0, caller.name()),
    }
}

/// The largest whole number that a double holds without doubt.
const LARGEST: u64 = (1 << 53) - 1;
const LONGEST_LINE: usize = 500;
const LONGEST_NOTE: usize = 10_000;
const MOST_LABELS: usize = 64;
