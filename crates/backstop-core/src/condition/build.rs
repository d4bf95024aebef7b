//! Conditions made in code.

use std::time::Duration;

use super::{
    AllTestsPass, Condition, FileCreated, MaxCost, MaxDuration, MaxIterations, MaxTokens,
    NoProgress, OutputPattern, OutputSource, Since, Stagnation, TasksDone, UserSignal,
};
use crate::field::{Count, Money, Period, Text};

impl Condition {
    /// After so many iterations; 0 counts as 1.
    pub fn max_iterations(count: u64) -> Self {
        MaxIterations { count: at_least_one(count) }.into()
    }

    /// After so much active time.
    pub fn max_duration(duration: Duration) -> Self {
        MaxDuration { duration: Period(duration) }.into()
    }

    /// After so many tokens; 0 counts as 1.
    pub fn max_tokens(count: u64) -> Self {
        MaxTokens { count: at_least_one(count), cache_reads: false }.into()
    }

    /// After so many US dollars.
    pub fn max_cost(usd: f64) -> Self {
        MaxCost { usd: Money(usd) }.into()
    }

    /// After so many iterations without progress; 0 counts as 1.
    pub fn no_progress(iterations: u64) -> Self {
        NoProgress { iterations: at_least_one(iterations) }.into()
    }

    /// After so much active time without progress.
    pub fn stagnation(duration: Duration) -> Self {
        Stagnation { duration: Period(duration) }.into()
    }

    /// When a stop is asked for.
    pub fn user_signal() -> Self {
        UserSignal {}.into()
    }

    /// When all tests pass.
    pub fn all_tests_pass() -> Self {
        AllTestsPass {}.into()
    }

    /// When all tasks are done.
    pub fn tasks_done() -> Self {
        TasksDone {}.into()
    }

    /// When output contains a text.
    pub fn output_contains(pattern: impl Into<String>) -> Self {
        OutputPattern {
            pattern: Text(pattern.into()),
            is_regex: false,
            r#in: OutputSource::Any,
            since: Since::Iteration,
            key: Default::default(),
        }
        .into()
    }

    /// When a path under the working directory exists.
    pub fn file_created(path: impl Into<String>) -> Self {
        FileCreated { path: Text(path.into()), outside: false, key: Default::default() }.into()
    }

    /// Met when both are; `and` on an `all` appends.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut parts) => {
                parts.push(other);
                Self::All(parts)
            }
            one => Self::All(vec![one, other]),
        }
    }

    /// Met when either is; `or` on an `any` appends.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Any(mut parts) => {
                parts.push(other);
                Self::Any(parts)
            }
            one => Self::Any(vec![one, other]),
        }
    }
}

impl std::ops::Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

fn at_least_one(count: u64) -> Count {
    Count(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_appends_to_an_all_and_or_to_an_any() {
        let [a, b, c] = [1, 2, 3].map(Condition::max_iterations);
        let all = a.clone().and(b.clone()).and(c.clone());
        assert_eq!(all, Condition::All(vec![a.clone(), b.clone(), c.clone()]));
        let any = a.clone().or(b.clone()).or(c.clone());
        assert_eq!(any, Condition::Any(vec![a.clone(), b.clone(), c]));
        assert_eq!(
            a.clone().or(b.clone()).and(a.clone()),
            Condition::All(vec![a.clone().or(b), a.clone()])
        );
        assert_eq!(!a.clone(), Condition::Not(Box::new(a)));
    }
}
