//! The plain types of fields: numbers within bounds, durations, texts and lists.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Field, Findings};
use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};

/// A whole number of at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

/// An amount above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Money(pub f64);

/// A duration above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Duration);

/// A duration that may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause(pub Duration);

/// A text that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(pub String);

/// A list in which order and repetition mean nothing: it is kept sorted, so that the hash is the
/// same however it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOf<T>(pub Vec<T>);

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

/// A command: a text for `sh -c`, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Shell(String),
    Program(Vec<String>),
}

impl Field for Count {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let error = |message: String| Diagnostic::error(message, node.span.clone());
        match node.value {
            Value::Integer(number) if number >= 1 => Some(Self(number.unsigned_abs())),
            Value::Integer(0) => {
                findings.push(
                    error(format!("`{key}` must be at least 1"))
                        .label("0 would be met before anything happens"),
                );
                None
            }
            Value::Integer(number) => {
                findings.push(
                    error(format!("`{key}` must be at least 1"))
                        .label(format!("{number} is negative")),
                );
                None
            }
            // A whole number beyond what fits counts as the largest that does.
            Value::Float(number) if number >= 9e18 && number.is_finite() => {
                Some(Self(i64::MAX.unsigned_abs()))
            }
            _ => {
                findings.wrong_type(node, key, "a whole number of at least 1");
                None
            }
        }
    }

    fn write(&self) -> Json {
        self.0.into()
    }

    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 1 })
    }
}

impl Field for Rate {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let number = number(node, key, findings)?;
        if (0.0..=1.0).contains(&number) {
            return Some(Self(number));
        }
        let error =
            Diagnostic::error(format!("`{key}` must be between 0 and 1"), node.span.clone());
        findings.push(if number > 1.0 && number <= 100.0 {
            error.label(format!("write {}% as {}", number, number / 100.0))
        } else {
            error.label("0.3 stands for 30%")
        });
        None
    }

    fn write(&self) -> Json {
        self.0.into()
    }

    fn schema() -> Json {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

impl Field for Money {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let number = number(node, key, findings)?;
        if number > 0.0 {
            return Some(Self(number));
        }
        findings.push(
            Diagnostic::error(format!("`{key}` must be more than 0"), node.span.clone())
                .label("a budget of nothing is spent before anything happens"),
        );
        None
    }

    fn write(&self) -> Json {
        self.0.into()
    }

    fn schema() -> Json {
        json!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

impl Field for f64 {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        number(node, key, findings)
    }

    fn write(&self) -> Json {
        (*self).into()
    }

    fn schema() -> Json {
        json!({ "type": "number" })
    }
}

impl Field for Period {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Pause(duration) = Pause::read(node, key, findings)?;
        if duration.is_zero() {
            findings.push(
                Diagnostic::error(format!("`{key}` must be longer than 0"), node.span.clone())
                    .label("write it like \"90s\" or \"2h 30m\""),
            );
            return None;
        }
        Some(Self(duration))
    }

    fn write(&self) -> Json {
        Pause(self.0).write()
    }

    fn schema() -> Json {
        Pause::schema()
    }
}

impl Field for Pause {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Value::String(text) = &node.value else {
            findings.wrong_type(node, key, "a duration in quotes, such as \"90s\" or \"2h 30m\"");
            return None;
        };
        match humantime::parse_duration(text) {
            Ok(duration) => Some(Self(duration)),
            Err(_) if text.trim_start().starts_with('-') => {
                findings.push(
                    Diagnostic::error(format!("`{key}` is a negative duration"), node.span.clone())
                        .label("a duration can't be less than 0"),
                );
                None
            }
            Err(_) => {
                findings.push(
                    Diagnostic::error(
                        format!("`{key}` is not a duration: `{text}`"),
                        node.span.clone(),
                    )
                    .label("write it like \"90s\" or \"2h 30m\""),
                );
                None
            }
        }
    }

    fn write(&self) -> Json {
        humantime::format_duration(self.0).to_string().into()
    }

    fn schema() -> Json {
        json!({
            "type": "string",
            "examples": ["90s", "15m", "2h 30m", "1day"],
        })
    }
}

impl Field for Text {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let text = String::read(node, key, findings)?;
        if text.is_empty() {
            findings.push(
                Diagnostic::error(format!("`{key}` must not be empty"), node.span.clone())
                    .label("nothing can be meant by this"),
            );
            return None;
        }
        Some(Self(text))
    }

    fn write(&self) -> Json {
        self.0.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

impl Field for String {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            _ => {
                findings.wrong_type(node, key, "a string");
                None
            }
        }
    }

    fn write(&self) -> Json {
        self.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string" })
    }
}

impl Field for bool {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => {
                findings.wrong_type(node, key, "true or false");
                None
            }
        }
    }

    fn write(&self) -> Json {
        (*self).into()
    }

    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

impl Field for i32 {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let whole = match node.value {
            Value::Integer(number) => Self::try_from(number).ok(),
            _ => None,
        };
        if whole.is_none() {
            findings.wrong_type(node, key, "a whole number between -2147483648 and 2147483647");
        }
        whole
    }

    fn write(&self) -> Json {
        (*self).into()
    }

    fn schema() -> Json {
        json!({ "type": "integer" })
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Value::List(items) = &node.value else {
            findings.wrong_type(node, key, "a list");
            return None;
        };
        // Collected twice so that one wrong item does not hide the next.
        let read: Vec<_> = items.iter().map(|item| T::read(item, key, findings)).collect();
        read.into_iter().collect()
    }

    fn write(&self) -> Json {
        self.iter().map(Field::write).collect()
    }

    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }
}

impl<T: Field + Ord> Field for SetOf<T> {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let mut items = Vec::<T>::read(node, key, findings)?;
        items.sort();
        items.dedup();
        Some(Self(items))
    }

    fn write(&self) -> Json {
        self.0.write()
    }

    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema(), "uniqueItems": true })
    }
}

impl<T: Field> Field for OneOrMany<T> {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        match node.value {
            Value::List(_) => Vec::read(node, key, findings).map(Self),
            _ => T::read(node, key, findings).map(|one| Self(vec![one])),
        }
    }

    fn write(&self) -> Json {
        match self.0.as_slice() {
            [one] => one.write(),
            many => many.iter().map(Field::write).collect(),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [T::schema(), Vec::<T>::schema()] })
    }
}

impl Field for Command {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        match &node.value {
            Value::String(text) if is_blank(text) => {
                findings.push(
                    Diagnostic::error(format!("`{key}` must not be empty"), node.span.clone())
                        .label("nothing would be run; write a command, or leave the key out"),
                );
                None
            }
            Value::String(_) => Text::read(node, key, findings).map(|text| Self::Shell(text.0)),
            Value::List(items) if !items.is_empty() => {
                let first = items.first().filter(|first| match &first.value {
                    Value::String(program) => is_blank(program),
                    _ => false,
                });
                if let Some(first) = first {
                    findings.push(
                        Diagnostic::error(format!("`{key}` names no program"), first.span.clone())
                            .label("the first item is the program, and it is empty"),
                    );
                    return None;
                }
                Vec::<String>::read(node, key, findings).map(Self::Program)
            }
            Value::List(_) => {
                findings.push(
                    Diagnostic::error(format!("`{key}` must not be empty"), node.span.clone())
                        .label("the first item is the program"),
                );
                None
            }
            _ => {
                findings.wrong_type(node, key, "a command: a string, or a list of strings");
                None
            }
        }
    }

    fn write(&self) -> Json {
        match self {
            Self::Shell(text) => text.as_str().into(),
            Self::Program(words) => words.write(),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] })
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

#[expect(clippy::cast_precision_loss, reason = "rates and amounts are far below 2^53")]
pub(crate) fn number(node: &Node, key: &str, findings: &mut Findings) -> Option<f64> {
    match node.value {
        Value::Integer(number) => Some(number as f64),
        Value::Float(number) if number.is_finite() => Some(number),
        Value::Float(number) => {
            findings.push(
                Diagnostic::error(format!("`{key}` must be a finite number"), node.span.clone())
                    .label(if number.is_nan() {
                        "this is not a number"
                    } else {
                        "this is infinite"
                    }),
            );
            None
        }
        _ => {
            findings.wrong_type(node, key, "a number");
            None
        }
    }
}
