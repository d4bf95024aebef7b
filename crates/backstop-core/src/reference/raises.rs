//! Limits that an operator raised, by their reason's name.

use super::history::History;
use super::reasons;
use crate::condition::Condition;
use crate::event::{EventKind, LimitValue};
use crate::field::{Count, Money, Period, Rate};
use crate::policy::Rule;
use crate::reason;
use std::collections::BTreeMap;

/// Each rule's condition with every raise worked in, the last one of each name counting.
pub(super) fn raised(rules: &[&Rule], history: &History<'_>) -> Vec<Condition> {
    let mut last: BTreeMap<&str, LimitValue> = BTreeMap::new();
    for (_, kind) in history.events() {
        if let EventKind::Raised(raised) = kind {
            last.insert(reason::limit_code(&raised.limit), raised.value);
        }
    }
    let mut conditions: Vec<Condition> = rules.iter().map(|rule| rule.when.clone()).collect();
    for (condition, rule) in conditions.iter_mut().zip(rules) {
        for (limit, value) in &last {
            match &rule.reason {
                Some(own) if reason::limit_code(own) == *limit => raise(condition, None, *value),
                Some(_) => {}
                None => raise(condition, Some(limit), *value),
            }
        }
    }
    conditions
}

/// Raises the parts of a condition whose own reason has this name; without one, all of them.
fn raise(condition: &mut Condition, limit: Option<&str>, value: LimitValue) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter_mut().for_each(|part| raise(part, limit, value));
        }
        Condition::Not(part) => raise(part, limit, value),
        leaf => {
            if limit.is_none_or(|limit| reasons::standing(leaf) == limit) {
                raise_leaf(leaf, value);
            }
        }
    }
}

fn raise_leaf(leaf: &mut Condition, value: LimitValue) {
    match leaf {
        Condition::MaxIterations(limit) => count(&mut limit.count, value),
        Condition::MaxTokens(limit) => count(&mut limit.count, value),
        Condition::MaxAttempts(limit) => count(&mut limit.count, value),
        Condition::ConsecutiveErrors(limit) => count(&mut limit.count, value),
        Condition::ConsecutiveFails(limit) => count(&mut limit.count, value),
        Condition::TestFailureStreak(limit) => count(&mut limit.count, value),
        Condition::NoProgress(limit) => count(&mut limit.iterations, value),
        Condition::JobAttempts(limit) => count(&mut limit.count, value),
        Condition::TotalAttempts(limit) => count(&mut limit.count, value),
        Condition::NoSignalChange(limit) => count(&mut limit.cycles, value),
        Condition::DiminishingReturns(limit) => count(&mut limit.cycles, value),
        Condition::Worker(limit) => count(&mut limit.in_a_row, value),
        Condition::Review(limit) => {
            if let Some(rounds) = &mut limit.same_rounds {
                count(rounds, value);
            }
        }
        Condition::Quota(limit) => rate(&mut limit.at_least, value),
        Condition::ContextUsage(limit) => rate(&mut limit.at_least, value),
        Condition::ErrorRate(limit) => rate(&mut limit.at_least, value),
        Condition::RejectRate(limit) => rate(&mut limit.above, value),
        Condition::RetryRate(limit) => rate(&mut limit.above, value),
        Condition::Health(limit) => rate(&mut limit.below, value),
        Condition::TopicDrift(limit) => rate(&mut limit.above, value),
        Condition::MaxDuration(limit) => period(&mut limit.duration, value),
        Condition::Stagnation(limit) => period(&mut limit.duration, value),
        Condition::Cooldown(limit) => period(&mut limit.duration, value),
        Condition::Unresolved(limit) => period(&mut limit.duration, value),
        Condition::MaxCost(limit) => {
            if let LimitValue::Number(number) = value
                && number > 0.0
            {
                limit.usd = Money(number);
            }
        }
        _ => {}
    }
}

fn count(count: &mut Count, value: LimitValue) {
    if let LimitValue::Number(number) = value {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "limits are not negative, and one that is too large is held at the largest"
        )]
        let whole = number as u64;
        if whole > 0 {
            *count = Count(whole);
        }
    }
}

fn rate(rate: &mut Rate, value: LimitValue) {
    if let LimitValue::Number(number) = value {
        *rate = Rate(number.clamp(0.0, 1.0));
    }
}

/// Of a bare number nobody knows the unit.
fn period(period: &mut Period, value: LimitValue) {
    if let LimitValue::Duration(duration) = value
        && !duration.is_zero()
    {
        *period = Period(duration);
    }
}
