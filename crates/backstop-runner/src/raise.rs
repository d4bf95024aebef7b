//! What an operator writes to raise a limit, checked against the run's policy: the engine passes
//! over what it does not know, and a misspelt limit must not pass for a raised one.

use backstop_core::diagnostic::nearest;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, LimitValue, Raised};
use backstop_core::policy::{LimitKind, Policy};
use backstop_core::reason;
use backstop_core::time::in_words;
use serde_json::Value as Json;

use crate::clock::wall_time;

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
    #[error(
        "`{name}` is {now} now, and a limit is raised, never lowered\n\n\
         hint: `backstop policy apply` puts another policy in place"
    )]
    Lower { name: String, now: String },
}

/// Reads `iterations=80` for a run that stands like this.
pub fn read(text: &str, engine: &Engine) -> Result<Raise, RaiseError> {
    let policy = engine.policy();
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
    let value = match number_or_duration(value) {
        Some(value) if expected.iter().any(|kind| kind.takes(value)) => value,
        _ => {
            let (name, value) = (name.to_owned(), value.to_owned());
            return Err(RaiseError::Kind { name, value, expected });
        }
    };
    let raise = Raise { limit, value };
    check(&raise, name, engine)?;
    Ok(raise)
}

/// Refuses what would leave the run less room than it has. Found out by trying.
pub fn check(raise: &Raise, name: &str, engine: &Engine) -> Result<(), RaiseError> {
    let mut tried = Engine::with_facts(engine.policy().clone(), engine.facts().clone());
    let Raise { limit, value } = raise.clone();
    let raised = Raised { limit, value, by: String::new(), why: String::new() };
    let at = wall_time();
    tried.handle_event(&Event::new(raised).at(at), at);
    let rules = engine.policy().all_rules().count();
    let now = (0..rules).find_map(|rule| {
        lowered("", &engine.condition(rule).to_json(), &tried.condition(rule).to_json())
    });
    match now {
        Some(now) => Err(RaiseError::Lower { name: name.to_owned(), now: shown(now) }),
        None => Ok(()),
    }
}

/// The first value in a condition that leaves less room than before.
fn lowered(key: &str, before: &Json, after: &Json) -> Option<LimitValue> {
    match (before, after) {
        (Json::Object(before), Json::Object(after)) => {
            before.iter().find_map(|(key, value)| lowered(key, value, after.get(key)?))
        }
        (Json::Array(before), Json::Array(after)) => {
            before.iter().zip(after).find_map(|(before, after)| lowered(key, before, after))
        }
        (before, after) if before == after => None,
        (before, after) => {
            let read = |value: &Json| serde_json::from_value::<LimitValue>(value.clone()).ok();
            let (now, then) = (read(before)?, read(after)?);
            // What must not fall below a value has more room below a smaller one.
            let (less, more) = if key == "below" { (now, then) } else { (then, now) };
            let is_less = match (less, more) {
                (LimitValue::Number(less), LimitValue::Number(more)) => less < more,
                (LimitValue::Duration(less), LimitValue::Duration(more)) => less < more,
                _ => false,
            };
            is_less.then_some(now)
        }
    }
}

fn shown(value: LimitValue) -> String {
    match value {
        LimitValue::Number(number) => number.to_string(),
        LimitValue::Duration(duration) => in_words(duration),
    }
}

fn number_or_duration(text: &str) -> Option<LimitValue> {
    let plain = text.trim_start_matches('$').replace('_', "");
    serde_json::from_str(&plain).or_else(|_| serde_json::from_value(text.into())).ok()
}

fn unknown(name: &str, policy: &Policy) -> RaiseError {
    let raisable = policy.raisable();
    let mut names: Vec<&str> =
        raisable.iter().map(|limit| reason::limit_name(&limit.code)).collect();
    names.sort_unstable();
    names.dedup();
    let codes = raisable.iter().map(|limit| limit.code.as_str());
    let hint = match nearest(name, names.iter().copied().chain(codes)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", names.join(", ")),
    };
    RaiseError::Unknown { name: name.to_owned(), hint }
}

fn kinds(expected: &[LimitKind]) -> String {
    expected.iter().map(|kind| kind.describe()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backstop_core::document::Syntax;
    use backstop_core::facts::Facts;

    use super::*;

    fn engine() -> Engine {
        let text = "[limits]\niterations = 5\nduration = \"1h\"\ncost_usd = 2.5\n\
                    [[rule]]\nwhen = { type = \"reject_rate\", above = 0.3 }\nthen = \"stop\"\n\
                    [[rule]]\nwhen = { type = \"health\", below = 0.2 }\nthen = \"stop\"\n";
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        Engine::with_facts(policy, Facts::default())
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
            ("health_critical=0.1", "health_critical", number(0.1)),
            ("iterations=5", "max_iterations", number(5.0)),
        ] {
            let expected = Raise { limit: limit.to_owned(), value };
            assert_eq!(read(text, &engine()), Ok(expected), "{text}");
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
            let error = read(text, &engine()).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_limit_is_not_lowered_not_even_to_less_than_it_was_raised_to() {
        let mut engine = engine();
        let by = || "ann".to_owned();
        let value = LimitValue::Number(50.0);
        let raised =
            Raised { limit: "max_iterations".to_owned(), value, by: by(), why: String::new() };
        engine.handle_event(&Event::new(raised), wall_time());
        for (text, words) in [
            ("iterations=49", "`iterations` is 50 now"),
            ("duration=59m", "`duration` is 1h now"),
            ("cost_usd=2", "`cost_usd` is 2.5 now"),
            ("reject_rate=0.2", "`reject_rate` is 0.3 now"),
            ("health_critical=0.3", "`health_critical` is 0.2 now"),
        ] {
            let error = read(text, &engine).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(read("iterations=51", &engine).is_ok());
    }
}
