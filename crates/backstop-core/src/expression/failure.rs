//! What there is where a part of an expression has no value.

use super::names;
use super::node::Node;
use super::value::Value;

/// Why a part has no value.
pub(super) enum Failure {
    /// This part has no value; `&&`, `||`, `all` and `exists` may do without it.
    Unknown(String),
    /// It asks about a fact that there is none of yet. That is no answer, and no error either: what
    /// nothing has been heard of is not met.
    Absent,
    /// The whole evaluation ends.
    Exhausted,
}

pub(super) type Evaluated<T> = Result<T, Failure>;

impl Failure {
    /// What is left of two parts of which neither has an answer. Where all must hold, one that is
    /// absent settles it; where one is enough, the unknown one may hold.
    pub fn beside(self, other: Self, decisive: bool) -> Self {
        let settles = |failure: &Self| matches!(failure, Self::Absent) != decisive;
        if !settles(&self) && settles(&other) { other } else { self }
    }
}

pub(super) fn unknown(why: impl Into<String>) -> Failure {
    Failure::Unknown(why.into())
}

/// Whether this is what a fact gives of which nothing has been heard; a `null` that was written is
/// a value.
pub(super) fn is_absent(node: &Node, value: &Value<'_>) -> bool {
    matches!(value, Value::Null) && !matches!(node, Node::Literal(_))
}

/// What is left of values of which at least one is null. A probe that was asked and could not be
/// answered is unknown, and none that nothing has been heard of.
pub(super) fn no_value<const N: usize>(parts: [(&Node, &Value<'_>); N]) -> Failure {
    let is_unanswered = |(node, value): &&(&Node, &Value<'_>)| {
        let of = match node {
            Node::Field(of, _) => &**of,
            Node::Index(parts) => &parts[0],
            _ => return false,
        };
        is_absent(node, value) && matches!(of, Node::Fact { name, .. } if *name == "probes")
    };
    match parts.iter().find(is_unanswered) {
        Some((node, _)) => unknown(match node.path() {
            Some(path) => format!("`{path}` could not be answered"),
            None => "a probe could not be answered".to_owned(),
        }),
        None => Failure::Absent,
    }
}

/// A condition on something absent is one that is not met.
pub(super) fn met(condition: Evaluated<bool>) -> Evaluated<bool> {
    match condition {
        Err(Failure::Absent) => Ok(false),
        other => other,
    }
}

/// What a map gives for a key that it does not have. Of the facts that get their keys as they are
/// reported, each entry is a fact of its own.
pub(super) fn without(node: &Node, of: &Node, key: &str) -> Failure {
    match of {
        Node::Fact { name, .. } if names::fields(name).is_none() => Failure::Absent,
        _ => missing(node, key),
    }
}

pub(super) fn missing(node: &Node, key: &str) -> Failure {
    unknown(match node.path() {
        Some(path) => format!("`{path}` is missing"),
        None => format!("`{key}` is missing"),
    })
}

/// A value in a message: never its content, which may be long, secret or of several lines.
pub(super) fn described(node: &Node, value: &Value<'_>) -> String {
    let kind = match value {
        Value::Float(number) if number.is_nan() => "not a number",
        other => other.kind().words(),
    };
    match node.path() {
        Some(path) => format!("`{path}` ({kind})"),
        None => kind.to_owned(),
    }
}
