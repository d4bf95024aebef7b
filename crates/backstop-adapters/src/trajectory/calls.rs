//! Calls that wait for their results.

use std::borrow::Cow;
use std::collections::BTreeMap;

use backstop_core::time::Timestamp;
use serde_json::{Map, Value, json};

/// A tool is called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub tool: String,
    pub signature: String,
    /// What tells it from other calls, for a person.
    pub what: String,
    pub at: Option<Timestamp>,
}

impl Call {
    /// A call by its arguments. A command is its own signature; anything else is signed with the
    /// tool's name and those arguments that say what is done.
    pub fn new(tool: &str, arguments: &Value, at: Option<Timestamp>) -> Self {
        let telling: Map<String, Value> = arguments
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, value)| !NOISE.contains(&name.as_str()) && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let short = |name: &&str| telling.get(*name).and_then(Value::as_str);
        let what = ["command", "path", "code", "url"].iter().find_map(short).unwrap_or_default();
        let signature = match telling.get("command") {
            // Tools with a path have commands too, which are then only a part of what they do.
            Some(Value::String(command)) if !telling.contains_key("path") => command.clone(),
            _ => json!({ tool: telling }).to_string(),
        };
        let what = what.to_owned();
        Self { tool: tool.to_owned(), signature, what, at }
    }

    /// A line for the shell.
    pub fn command(tool: &str, command: &str, at: Option<Timestamp>) -> Self {
        let command = command.to_owned();
        Self { tool: tool.to_owned(), what: command.clone(), signature: command, at }
    }
}

/// The calls of one answer of the model, by the names that their results will give.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: Vec<Option<Call>>,
    places: BTreeMap<String, usize>,
    /// All before this one have their results.
    next: usize,
}

impl Calls {
    pub fn begin(&mut self, name: &str, call: Call) {
        self.places.insert(name.to_owned(), self.waiting.len());
        self.waiting.push(Some(call));
    }

    /// The call that a result belongs to: the one it names, else the first that has none.
    pub fn answered(&mut self, name: Option<&str>) -> Option<Call> {
        match name.and_then(|name| self.places.get(name)) {
            Some(&place) => self.waiting.get_mut(place)?.take(),
            None if name.is_none() => self.first(),
            None => None,
        }
    }

    /// The calls that never had a result, in their order. Nothing waits any more.
    pub fn leave(&mut self) -> Vec<Call> {
        std::mem::take(self).waiting.into_iter().flatten().collect()
    }

    fn first(&mut self) -> Option<Call> {
        while self.next < self.waiting.len() {
            let call = self.waiting[self.next].take();
            self.next += 1;
            if call.is_some() {
                return call;
            }
        }
        None
    }
}

/// The name of an event, which may be a number or a text.
pub(super) fn name(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// Arguments that change nothing about what a call does: thoughts, and how it is handled.
const NOISE: [&str; 13] = [
    "blocking",
    "confirmation_state",
    "hidden",
    "impl_source",
    "is_static",
    "keep_prompt",
    "kind",
    "security_risk",
    "summary",
    "thought",
    "timeout",
    "translated_ipython_code",
    "wait_for_response",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_no_part_of_a_signature() {
        let one = json!({"path": "/a", "command": "view", "thought": "Let me look."});
        let two = json!({"thought": "Once more.", "path": "/a", "command": "view", "end": null});
        let (one, two) = (Call::new("edit", &one, None), Call::new("edit", &two, None));
        assert_eq!(one.signature, r#"{"edit":{"path":"/a","command":"view"}}"#);
        assert_eq!(one.signature, two.signature);
    }

    #[test]
    fn a_command_is_its_own_signature() {
        let call = Call::new("run", &json!({"command": "ls -l", "thought": "?"}), None);
        assert_eq!((call.signature.as_str(), call.what.as_str()), ("ls -l", "ls -l"));
    }

    #[test]
    fn results_find_their_calls() {
        let mut calls = Calls::default();
        for name in ["a", "b", "c", "d"] {
            calls.begin(name, Call::command("bash", name, None));
        }
        let signature = |call: Option<Call>| call.map(|call| call.signature);
        assert_eq!(signature(calls.answered(Some("b"))).as_deref(), Some("b"));
        assert_eq!(signature(calls.answered(Some("b"))), None);
        assert_eq!(signature(calls.answered(Some("z"))), None);
        assert_eq!(signature(calls.answered(None)).as_deref(), Some("a"));
        assert_eq!(signature(calls.answered(None)).as_deref(), Some("c"));
        assert_eq!(calls.leave().len(), 1);
        assert!(calls.answered(None).is_none() && calls.answered(Some("d")).is_none());
    }
}
