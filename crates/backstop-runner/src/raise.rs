//! What an operator writes to raise a limit, checked against the run's policy: the engine passes
//! over what it does not know, and a misspelt limit must not pass for a raised one.

use backstop_core::diagnostic::nearest;
use backstop_core::event::LimitValue;
use backstop_core::policy::{LimitKind, Policy};
use backstop_core::reason;

/// A limit and its new value, as they go into the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Raise {
    /// The code of the limit's reason.
    pub limit: String,
    pub value: LimitValue,
}

/// Why a limit can't be raised so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RaiseError {
    #[error("`{0}` is not a limit and its value; write it like `iterations=80`")]
    Form(String),
    #[error("this run has no limit called `{name}`; {hint}")]
    Unknown { name: String, hint: String },
    #[error("`{name}` is {}, not `{value}`", kinds(expected))]
    Kind { name: String, value: String, expected: Vec<LimitKind> },
}

/// Reads `iterations=80` for a run with this policy.
pub fn read(text: &str, policy: &Policy) -> Result<Raise, RaiseError> {
    let (name, value) = text
        .split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| RaiseError::Form(text.to_owned()))?;
    let limit = reason::limit_code(&name.to_ascii_lowercase()).to_owned();
    let raisable = policy.raisable();
    let expected: Vec<LimitKind> =
        raisable.iter().filter(|known| known.code == limit).map(|known| known.kind).collect();
    if expected.is_empty() {
        return Err(unknown(name, policy));
    }
    match number_or_duration(value) {
        Some(value) if expected.iter().any(|kind| kind.takes(value)) => Ok(Raise { limit, value }),
        _ => Err(RaiseError::Kind { name: name.to_owned(), value: value.to_owned(), expected }),
    }
}

fn number_or_duration(text: &str) -> Option<LimitValue> {
    let plain = text.trim_start_matches('$').replace('_', "");
    serde_json::from_str(&plain).or_else(|_| serde_json::from_value(text.into())).ok()
}

fn unknown(name: &str, policy: &Policy) -> RaiseError {
    let raisable = policy.raisable();
    let mut names: Vec<&str> = raisable.iter().map(|limit| short(&limit.code)).collect();
    names.sort_unstable();
    names.dedup();
    let codes = raisable.iter().map(|limit| limit.code.as_str());
    let hint = match nearest(name, names.iter().copied().chain(codes)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", names.join(", ")),
    };
    RaiseError::Unknown { name: name.to_owned(), hint }
}

/// How people call the usual ones.
fn short(code: &str) -> &str {
    ["iterations", "duration", "tokens", "cost_usd"]
        .into_iter()
        .find(|name| reason::limit_code(name) == code)
        .unwrap_or(code)
}

fn kinds(expected: &[LimitKind]) -> String {
    expected.iter().map(|kind| kind.describe()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backstop_core::document::Syntax;

    use super::*;

    fn policy() -> Policy {
        let text = "[limits]\niterations = 5\nduration = \"1h\"\ncost_usd = 2.5\n\
                    [[rule]]\nwhen = { type = \"reject_rate\", above = 0.3 }\nthen = \"stop\"\n";
        Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy
    }

    #[test]
    fn limits_are_raised_by_any_of_their_names() {
        let number = |value| LimitValue::Number(value);
        for (text, limit, value) in [
            ("iterations=80", "max_iterations", number(80.0)),
            ("max_ticks = 1_000", "max_iterations", number(1000.0)),
            ("duration=2h 30m", "timeout", LimitValue::Duration(Duration::from_secs(9000))),
            ("cost_usd=$7.5", "cost_limit", number(7.5)),
            ("reject_rate=0.5", "reject_rate", number(0.5)),
        ] {
            let expected = Raise { limit: limit.to_owned(), value };
            assert_eq!(read(text, &policy()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_would_change_nothing_is_refused() {
        for (text, words) in [
            ("iteration=80", "did you mean `iterations`?"),
            ("tokens=5", "no limit called `tokens`"),
            ("completed=1", "no limit called `completed`"),
            ("iterations=2h", "is a whole number"),
            ("iterations=0", "is a whole number"),
            ("iterations=-3", "is a whole number"),
            ("duration=90", "is a duration"),
            ("duration=0s", "is a duration"),
            ("reject_rate=50", "a rate from 0 to 1"),
            ("iterations", "write it like"),
            ("=5", "write it like"),
        ] {
            let error = read(text, &policy()).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
