//! What must never be written down.

use serde_json::{Value as Json, json};

use super::notify::VariableName;
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::field::{Field, Findings, SetOf, Text, record};
use crate::redact::pattern_problem;

record! {
    /// What must never be written down.
    #[derive(Default)]
    pub struct SecretSettings {
        /// Environment variables whose values are secrets, beside those that are called like it.
        optional env: SetOf<VariableName>,
        /// Regular expressions of what is a secret, beside those that are known.
        optional patterns: SetOf<SecretPattern>,
    }
}

/// A regular expression that finds secrets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretPattern(pub String);

impl Field for SecretPattern {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::read(node, key, findings)?;
        let Some(problem) = pattern_problem(&text) else { return Some(Self(text)) };
        // Its last line says what is wrong; those before draw where.
        let problem = problem.lines().last().unwrap_or_default().to_owned();
        let message = format!("`{key}` holds a regular expression that can't be used");
        findings.push(Diagnostic::error(message, node.span.clone()).label(problem));
        None
    }

    fn write(&self) -> Json {
        self.0.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "format": "regex", "minLength": 1 })
    }
}
