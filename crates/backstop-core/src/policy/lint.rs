//! What works but will surprise.

use super::{Policy, Rule};
use crate::condition::{Condition, Scene};
use crate::diagnostic::Diagnostic;
use crate::facts::{Facts, Watch};
use crate::field::Count;
use crate::verdict::Verdict;

/// Looks at the rules that a document wrote; others are not its author's to change.
pub(super) fn check(policy: &Policy, is_dialect: bool) -> Vec<Diagnostic> {
    let is_written = |rule: &Rule| rule.span.is_some() && !rule.shadow;
    let nothing = Facts::default();
    let start = Scene { limits: policy.health_limits(), ..Scene::neutral(&nothing) };
    let mut lints = Vec::new();
    for (position, rule) in policy.rules.iter().enumerate().filter(|(_, rule)| is_written(rule)) {
        if !is_dialect {
            lints.extend(fires_on_the_first_sample(rule));
        }
        lints.extend(met_before_it_starts(rule, &start));
        lints.extend(never_wins(policy, rule, position));
        lints.extend(drift_is_not_measured(policy, rule));
    }
    lints
}

/// A drift that nobody measures is unknown for ever.
fn drift_is_not_measured(policy: &Policy, rule: &Rule) -> Option<Diagnostic> {
    if !rule.when.watches().intersects(Watch::DRIFT) || policy.settings.measures_drift() {
        return None;
    }
    let message = format!("`{}` reads a drift that is not measured", rule.name());
    let lint = Diagnostic::lint(message, rule.span.clone());
    Some(lint.label("name `requirements` in `[work]` or `command` in `[drift]`"))
}

/// One of one is a whole: a rate without a minimum fires on its first bad sample.
fn fires_on_the_first_sample(rule: &Rule) -> Option<Diagnostic> {
    let (rate, minimum, key, sample) = match &rule.when {
        Condition::RejectRate(rate) => (rate.above.0, rate.min_units, "min_units", "rejected unit"),
        Condition::RetryRate(rate) => (rate.above.0, rate.min_units, "min_units", "retried unit"),
        Condition::ErrorRate(rate) => (rate.at_least.0, rate.min_tasks, "min_tasks", "failed task"),
        _ => return None,
    };
    if minimum != Count(1) || rate >= 1.0 {
        return None;
    }
    let lint = Diagnostic::lint(
        format!("`{}` fires on the first {sample}", rule.when.type_name()),
        rule.span.clone(),
    );
    Some(lint.label(format!("1 of 1 is 100%; add `{key} = 5`")))
}

fn met_before_it_starts(rule: &Rule, start: &Scene<'_>) -> Option<Diagnostic> {
    if !rule.when.measure(start).truth.is_met() {
        return None;
    }
    let lint = Diagnostic::lint(
        format!("`{}` is met before the first iteration", rule.name()),
        rule.span.clone(),
    );
    Some(lint.label(format!("`{}` would be the verdict before anything happens", rule.then)))
}

/// Another rule is met whenever this one is, and wins.
fn never_wins(policy: &Policy, rule: &Rule, position: usize) -> Option<Diagnostic> {
    let beats = |(other_position, other): &(usize, &Rule)| {
        *other_position != position
            && !other.shadow
            && !fires_only_once(other)
            && policy.rank(other.then, other, *other_position)
                < policy.rank(rule.then, rule, position)
            && implies(&rule.when, &other.when)
    };
    let (_, winner) = policy.rules.iter().enumerate().find(beats)?;
    let lint = Diagnostic::lint(format!("`{}` can never win", rule.name()), rule.span.clone());
    let why = format!("`{}` is met whenever this is, and comes first", winner.name());
    Some(match &winner.span {
        Some(span) => lint.label("always beaten").related(span.clone(), why),
        None => lint.label(why),
    })
}

/// Stagnation is recovered from once; after that other rules have their turn.
fn fires_only_once(rule: &Rule) -> bool {
    rule.then == Verdict::Recover && matches!(rule.when, Condition::Stagnation(_))
}

/// Whether `other` is certainly met whenever `when` is: the same question with a lower threshold.
fn implies(when: &Condition, other: &Condition) -> bool {
    use Condition as C;
    match (when, other) {
        (C::MaxIterations(one), C::MaxIterations(other)) => other.count.0 <= one.count.0,
        (C::MaxDuration(one), C::MaxDuration(other)) => other.duration.0 <= one.duration.0,
        (C::MaxCost(one), C::MaxCost(other)) => other.usd.0 <= one.usd.0,
        (C::MaxTokens(one), C::MaxTokens(other)) => {
            one.cache_reads == other.cache_reads && other.count.0 <= one.count.0
        }
        (C::MaxAttempts(one), C::MaxAttempts(other)) => other.count.0 <= one.count.0,
        (C::ConsecutiveFails(one), C::ConsecutiveFails(other)) => other.count.0 <= one.count.0,
        (C::ConsecutiveErrors(one), C::ConsecutiveErrors(other)) => {
            (other.category.is_none() || one.category == other.category)
                && other.count.0 <= one.count.0
        }
        (C::NoProgress(one), C::NoProgress(other)) => other.iterations.0 <= one.iterations.0,
        (C::Stagnation(one), C::Stagnation(other)) => other.duration.0 <= one.duration.0,
        (C::TestFailureStreak(one), C::TestFailureStreak(other)) => other.count.0 <= one.count.0,
        (C::ContextUsage(one), C::ContextUsage(other)) => other.at_least.0 <= one.at_least.0,
        (C::TopicDrift(one), C::TopicDrift(other)) => other.above.0 <= one.above.0,
        (C::Health(one), C::Health(other)) => other.below.0 >= one.below.0,
        (C::All(parts), other) => parts.iter().any(|part| implies(part, other)),
        (one, C::Any(parts)) => parts.iter().any(|part| implies(one, part)),
        (C::Never, _) => false,
        (one, other) => one == other,
    }
}
