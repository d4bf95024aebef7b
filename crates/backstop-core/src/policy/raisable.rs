//! Which limits of a policy can be raised, and by what kind of value.

use std::time::Duration;

use super::{Policy, Rule};
use crate::condition::Condition;
use crate::event::LimitValue;
use crate::reason;
use crate::verdict::Verdict;

/// A limit that an operator may change while the run lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raisable {
    /// The code of its reason: the name under which it is raised.
    pub code: String,
    pub kind: LimitKind,
}

/// What kind of value a limit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKind {
    /// A whole number of at least 1.
    Count,
    /// From 0 to 1.
    Rate,
    /// More than 0 US dollars.
    Money,
    Duration,
}

impl LimitKind {
    /// What may stand there, in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Count => "a whole number such as 100",
            Self::Rate => "a rate from 0 to 1 such as 0.5",
            Self::Money => "an amount in US dollars such as 20",
            Self::Duration => "a duration such as 2h",
        }
    }

    /// Whether a value is one of this kind that a limit can have.
    pub fn takes(self, value: LimitValue) -> bool {
        match (self, value) {
            (Self::Count, LimitValue::Number(number)) => number >= 1.0 && number.fract() == 0.0,
            (Self::Rate, LimitValue::Number(number)) => (0.0..=1.0).contains(&number),
            (Self::Money, LimitValue::Number(number)) => number > 0.0,
            (Self::Duration, LimitValue::Duration(duration)) => !duration.is_zero(),
            _ => false,
        }
    }
}

impl Policy {
    /// Every limit that a `raised` event can change, once for each kind of value.
    pub fn raisable(&self) -> Vec<Raisable> {
        let mut limits: Vec<Raisable> = Vec::new();
        let mut add = |code: &str, kind| {
            let limit = Raisable { code: code.to_owned(), kind };
            if !limits.contains(&limit) {
                limits.push(limit);
            }
        };
        for rule in self.all_rules() {
            for leaf in leaves(&rule.when) {
                let Some(kind) = kind_of(leaf) else { continue };
                match &rule.reason {
                    Some(own) => add(reason::limit_code(own), kind),
                    None => {
                        let alone = Rule::new(leaf.clone(), Verdict::Stop);
                        alone.replaces().into_iter().for_each(|code| add(code, kind));
                    }
                }
            }
        }
        limits
    }
}

fn leaves(condition: &Condition) -> Vec<&Condition> {
    match condition.parts() {
        [] => vec![condition],
        parts => parts.iter().flat_map(leaves).collect(),
    }
}

/// Found out by raising it: a value of another kind changes nothing.
fn kind_of(leaf: &Condition) -> Option<LimitKind> {
    if matches!(leaf, Condition::MaxCost(_)) {
        return Some(LimitKind::Money);
    }
    // Nobody writes these, so a condition that takes one is no longer what it was.
    let unlikely = [
        (LimitKind::Duration, LimitValue::Duration(Duration::from_millis(98_765_432_123))),
        (LimitKind::Rate, LimitValue::Number(0.438_219_876_5)),
        (LimitKind::Count, LimitValue::Number(987_654_321_123.0)),
    ];
    let changes = |value| {
        let mut raised = leaf.clone();
        raised.raise(value);
        raised != *leaf
    };
    unlikely.into_iter().find(|(_, value)| changes(*value)).map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;

    fn raisable(text: &str) -> Vec<(String, LimitKind)> {
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        policy.raisable().into_iter().map(|limit| (limit.code, limit.kind)).collect()
    }

    #[test]
    fn each_kind_of_limit_is_found_under_its_reason() {
        let limits = raisable(
            "[limits]\niterations = 5\nduration = \"1h\"\ntokens = 9\ncost_usd = 2.5\n\
             [[rule]]\nwhen = { type = \"reject_rate\", above = 0.3 }\nthen = \"stop\"\n\
             [[rule]]\nwhen = { type = \"all_tests_pass\" }\nthen = \"complete\"\n",
        );
        for expected in [
            ("max_iterations", LimitKind::Count),
            ("timeout", LimitKind::Duration),
            ("token_limit", LimitKind::Count),
            ("cost_limit", LimitKind::Money),
            ("reject_rate", LimitKind::Rate),
        ] {
            let expected = (expected.0.to_owned(), expected.1);
            assert!(limits.contains(&expected), "{expected:?} is missing in {limits:?}");
        }
        assert!(!limits.iter().any(|(code, _)| code == "completed"), "{limits:?}");
    }

    #[test]
    fn a_rule_with_its_own_reason_is_raised_by_that() {
        let limits = raisable(
            "[[rule]]\nreason = \"stalled\"\nthen = \"stop\"\nwhen = { type = \"any\", conditions = [\
             { type = \"no_progress\", iterations = 3 }, { type = \"stagnation\", duration = \"9m\" }] }\n",
        );
        assert!(limits.contains(&("stalled".to_owned(), LimitKind::Count)), "{limits:?}");
        assert!(limits.contains(&("stalled".to_owned(), LimitKind::Duration)), "{limits:?}");
    }

    #[test]
    fn values_of_another_kind_are_not_taken() {
        let hour = LimitValue::Duration(Duration::from_secs(3600));
        assert!(LimitKind::Duration.takes(hour) && !LimitKind::Count.takes(hour));
        assert!(!LimitKind::Count.takes(LimitValue::Number(0.5)));
        assert!(!LimitKind::Rate.takes(LimitValue::Number(1.5)));
        assert!(!LimitKind::Money.takes(LimitValue::Number(0.0)));
    }
}
