//! An answer as those who asked read it.

use backstop_core::decision::Decision;
use backstop_core::reason::{self, ReasonCode};
use serde_json::{Map, Value as Json};

use super::protocol::decision_line;

/// A line that came back: a decision, or another object.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    fields: Map<String, Json>,
}

impl Answer {
    /// Reads a line; none if it is not an object.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok().map(|fields| Self { fields })
    }

    /// A decision, with the number of the event after which it was made.
    pub fn decided(decision: &Decision, exit_code: u8, seq: u64) -> Self {
        Self::read(&decision_line(decision, exit_code, Some(seq))).expect("a decision is an object")
    }

    /// A decision that was stored.
    pub fn of_decision(body: &str, exit_code: u8) -> Option<Self> {
        let mut answer = Self::read(body)?;
        answer.fields.insert("exit_code".to_owned(), exit_code.into());
        Some(answer)
    }

    /// What was wrong, if the request was refused.
    pub fn error(&self) -> Option<&str> {
        self.text("error")
    }

    /// The verdict's name; none if this is no decision.
    pub fn verdict(&self) -> Option<&str> {
        self.text("verdict")
    }

    pub fn reason(&self) -> Option<&str> {
        self.text("reason")
    }

    pub fn message(&self) -> &str {
        self.text("message").unwrap_or_default()
    }

    /// With which code a command ends that got this decision. Where the answer does not say, the
    /// reason does: an end must never pass for going on.
    pub fn exit_code(&self) -> u8 {
        let told = self.fields.get("exit_code").and_then(Json::as_u64);
        match (told.and_then(|code| u8::try_from(code).ok()), self.verdict()) {
            (Some(code), _) => code,
            (None, None | Some("continue" | "warn" | "complete")) => 0,
            (None, Some(_)) => {
                let known = self.reason().and_then(reason::find);
                known.unwrap_or(ReasonCode::ConditionMet).reason().exit_code
            }
        }
    }

    /// The event's number in the journal.
    pub fn seq(&self) -> Option<u64> {
        self.fields.get("seq").and_then(Json::as_u64)
    }

    /// Any field of it.
    pub fn get(&self, field: &str) -> Option<&Json> {
        self.fields.get(field)
    }

    /// The whole answer as one line of JSON.
    pub fn to_line(&self) -> String {
        Json::Object(self.fields.clone()).to_string()
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Json::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_never_taken_for_going_on() {
        for (line, code) in [
            (r#"{"verdict":"stop","reason":"own","exit_code":61}"#, 61),
            (r#"{"verdict":"stop","reason":"consecutive_fails"}"#, 41),
            (r#"{"verdict":"kill","reason":"of a policy"}"#, 60),
            (r#"{"verdict":"warn","reason":"repetition"}"#, 0),
            (r#"{"verdict":"complete","reason":"completed"}"#, 0),
            (r#"{"done":true}"#, 0),
        ] {
            assert_eq!(Answer::read(line).unwrap().exit_code(), code, "{line}");
        }
    }
}
