//! An error message, taken out of the JSON that it may be wrapped in.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// What an error message says, in words for people and in words to compare.
#[derive(Debug)]
pub(super) struct Unwrapped<'a> {
    pub message: Cow<'a, str>,
    /// Message, type and code, in lower case and with plain punctuation.
    pub clues: String,
    pub status: Option<u16>,
    pub reset: Option<Reset>,
    /// All of the text, where a time to try again may stand anywhere.
    pub whole: Cow<'a, str>,
}

/// When a limit is lifted, as a field says it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reset {
    /// Seconds since 1970.
    At(i64),
    /// Seconds from now.
    In(f64),
}

impl<'a> Unwrapped<'a> {
    pub fn new(text: &'a str) -> Self {
        let text = text.trim();
        let whole = crate::excerpt(text);
        let mut message = whole.clone();
        let mut clues = String::new();
        let (mut status, mut reset) = (None, None);
        // A message in a message in a message has been seen; more would be play.
        for _ in 0..3 {
            let Some((prefix, body)) = wrapped(&message) else { break };
            for word in body.words {
                clues.push_str(&word);
                clues.push('\n');
            }
            status = status.or(body.status);
            reset = reset.or(body.reset);
            message = Cow::Owned(format!("{prefix}{}", body.message));
        }
        status = status.or_else(|| status_in(&message));
        clues.push_str(&message);
        Self { clues: plain(&clues), status, reset, message, whole }
    }
}

struct Body {
    message: String,
    words: Vec<String>,
    status: Option<u16>,
    reset: Option<Reset>,
}

/// The first JSON object in the text, if it tells of an error, and what stands before it.
fn wrapped(text: &str) -> Option<(&str, Body)> {
    let at = text.find('{')?;
    let mut parser = serde_json::Deserializer::from_str(&text[at..]);
    let outer = Value::deserialize(&mut parser).ok()?;
    let inner = match outer.get("error") {
        Some(error @ Value::Object(_)) => error,
        _ => &outer,
    };
    let message = ["message", "detail", "error"]
        .iter()
        .find_map(|key| inner.get(key).or_else(|| outer.get(key))?.as_str())?;
    let mut words = Vec::new();
    let mut status = None;
    for value in [inner, &outer] {
        for key in ["type", "code", "status", "statusCode", "status_code"] {
            match value.get(key) {
                Some(Value::String(word)) => words.push(word.clone()),
                Some(Value::Number(number)) => {
                    status = status.or_else(|| number.as_u64()?.try_into().ok());
                }
                _ => {}
            }
        }
    }
    let reset = [inner, &outer].into_iter().find_map(reset_in);
    Some((&text[..at], Body { message: message.to_owned(), words, status, reset }))
}

/// A point in time is the same whenever it is read, so it goes before a distance.
fn reset_in(value: &Value) -> Option<Reset> {
    let at = value.get("resets_at").and_then(Value::as_i64).filter(|at| *at > 0).map(Reset::At);
    at.or_else(|| value.get("resets_in_seconds").and_then(Value::as_f64).map(Reset::In))
}

/// An HTTP status in a text that speaks of an error: `API Error: 500 …`, `(status 429)`,
/// `failed: [503] …`.
fn status_in(text: &str) -> Option<u16> {
    let speaks = plain(text);
    let known = |number: &str| number.parse().ok().filter(|status| STATUSES.contains(status));
    // Elsewhere in a line like this, numbers count anything.
    let bracketed = speaks.split_once("failed: [").and_then(|(_, rest)| rest.split_once(']'));
    if let Some(status) = bracketed.and_then(|(number, _)| known(number)) {
        return Some(status);
    }
    if !["error", "status", "rejected", "http"].iter().any(|word| speaks.contains(word)) {
        return None;
    }
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | ',' | '_' | '-'));
    words
        .map(|word| word.trim_end_matches(['.', ',']))
        .filter(|word| word.len() == 3)
        .find_map(known)
}

/// Lower case, and one form of the marks that come in several.
fn plain(text: &str) -> String {
    let marks = |character| match character {
        '∙' | '•' | '‧' | '⋅' => '·',
        '’' | '‘' => '\'',
        '\u{a0}' | '\u{202f}' => ' ',
        other => other,
    };
    text.chars().map(marks).flat_map(char::to_lowercase).collect()
}

const STATUSES: [u16; 15] =
    [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529];
