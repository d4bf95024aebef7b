//! From what somebody wrote to the reason that was meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Reason, ReasonCode, all};
use crate::diagnostic;

/// The reason with this code or alias. Case does not matter; blanks and `-` are read as `_`.
pub fn find(code: &str) -> Option<ReasonCode> {
    let wanted = normalised(code);
    ReasonCode::ALL.iter().copied().find(|candidate| {
        let reason = candidate.reason();
        reason.code == wanted || reason.aliases.contains(&wanted.as_str())
    })
}

/// The code under which a limit is raised: short names and aliases stand for their reason's code,
/// and a policy's own code for itself.
pub fn limit_code(limit: &str) -> &str {
    match limit {
        "iterations" => ReasonCode::MaxIterations.as_str(),
        "duration" => ReasonCode::Timeout.as_str(),
        "tokens" => ReasonCode::TokenLimit.as_str(),
        "cost_usd" => ReasonCode::CostLimit.as_str(),
        other => find(other).map_or(other, |code| code.as_str()),
    }
}

/// What people call a limit when they raise it.
pub fn limit_name(code: &str) -> &str {
    ["iterations", "duration", "tokens", "cost_usd"]
        .into_iter()
        .find(|name| limit_code(name) == code)
        .unwrap_or(code)
}

/// The code or alias that was most likely meant, for a message about an unknown one.
pub fn nearest(code: &str) -> Option<&'static str> {
    diagnostic::nearest(&normalised(code), all().iter().flat_map(names))
}

/// A code that is neither a built-in reason's nor an alias.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown stop reason `{code}`{}", did_you_mean(.nearest))]
pub struct UnknownReason {
    pub code: String,
    pub nearest: Option<&'static str>,
}

impl FromStr for ReasonCode {
    type Err = UnknownReason;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        find(code).ok_or_else(|| UnknownReason { code: code.to_owned(), nearest: nearest(code) })
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for ReasonCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ReasonCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A name as the registry would spell it.
pub(crate) fn normalised(name: &str) -> String {
    name.trim()
        .chars()
        .map(|letter| if letter == '-' || letter.is_whitespace() { '_' } else { letter })
        .flat_map(char::to_lowercase)
        .collect()
}

/// A reason's code and its aliases.
pub(crate) fn names(reason: &'static Reason) -> impl Iterator<Item = &'static str> {
    std::iter::once(reason.code).chain(reason.aliases.iter().copied())
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("max_iterations")]
    #[case("MAX_TICKS")]
    #[case("Max-Ticks")]
    #[case("  max iterations\n")]
    fn finds_however_it_is_spelt(#[case] spelling: &str) {
        assert_eq!(find(spelling), Some(ReasonCode::MaxIterations));
    }

    #[rstest]
    #[case("")]
    #[case("max_iteration")]
    #[case("maxiterations")]
    #[case("max__iterations")]
    fn does_not_guess(#[case] spelling: &str) {
        assert_eq!(find(spelling), None);
    }

    #[rstest]
    #[case("no_progres", Some("no_progress"))]
    #[case("STALED", Some("stalled"))]
    #[case("cost limits", Some("cost_limit"))]
    #[case("zzzzzzzzzzzzzzzz", None)]
    fn offers_the_nearest(#[case] spelling: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(spelling), expected);
    }

    #[test]
    fn every_name_round_trips_in_any_case() {
        for &code in ReasonCode::ALL {
            for name in names(code.reason()) {
                assert_eq!(find(name), Some(code));
                assert_eq!(find(&name.to_uppercase()), Some(code));
                assert_eq!(find(&name.replace('_', "-")), Some(code));
                assert_eq!(find(&name.replace('_', " ")), Some(code));
            }
            let json = serde_json::to_value(code).unwrap();
            assert_eq!(json, code.as_str());
            assert_eq!(serde_json::from_value::<ReasonCode>(json).unwrap(), code);
        }
    }

    #[test]
    fn an_unknown_code_is_named_in_the_message() {
        assert_eq!(
            "No_Progres".parse::<ReasonCode>().unwrap_err().to_string(),
            "unknown stop reason `No_Progres`; did you mean `no_progress`?"
        );
        assert_eq!(
            "zzzzzzzzzzzzzzzz".parse::<ReasonCode>().unwrap_err().to_string(),
            "unknown stop reason `zzzzzzzzzzzzzzzz`"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_looked_up_without_harm(text in ".{0,40}") {
            if let Some(code) = find(&text) {
                let spelt = normalised(&text);
                prop_assert!(names(code.reason()).any(|name| name == spelt));
            }
            let _ = nearest(&text);
        }
    }
}
