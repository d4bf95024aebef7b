//! What helps a run that has halted, where its facts tell more than its reason alone.

use super::Figures;
use crate::condition::Condition;
use crate::decision::Decision;
use crate::engine::Engine;
use crate::event::ErrorCategory;
use crate::reason::ReasonCode;

/// A sentence without a full stop; none where the reason's own words are right.
pub(super) fn of(decision: &Decision, engine: &Engine) -> Option<String> {
    let reason = decision.reason.as_deref();
    let is = |code: ReasonCode| reason == Some(code.as_str());
    if is(ReasonCode::Error) {
        of_error(engine)
    } else if is(ReasonCode::RateLimited) {
        of_rate_limit(decision, engine)
    } else if is(ReasonCode::ContextOverflow) {
        of_full_context(decision, engine)
    } else {
        None
    }
}

/// When a provider takes more again, as it follows a verb.
pub(super) fn until(decision: &Decision, engine: &Engine) -> Option<String> {
    if decision.reason.as_deref() != Some(ReasonCode::RateLimited.as_str()) {
        return None;
    }
    let at = engine.facts().retry_at()?.to_jiff().to_zoned(engine.zone().clone());
    Some(format!("at {}", at.strftime("%Y-%m-%d %H:%M:%S %Z")))
}

/// An error that counts as transient is listed as one already.
fn of_error(engine: &Engine) -> Option<String> {
    let category = engine.facts().errors.last.as_ref().map(|error| error.category);
    (category == Some(ErrorCategory::Transient)).then(|| {
        "It counts as transient, so backstop waited longer each time: resume later, give it more \
         attempts by `count` of `consecutive_errors`, or sort it otherwise under `[errors]`"
            .to_owned()
    })
}

/// Where no rule looks at a usage window, it is the wait that was too long.
fn of_rate_limit(decision: &Decision, engine: &Engine) -> Option<String> {
    let index = decision.rule.as_ref().map(|rule| rule.index);
    let rule = index.and_then(|index| engine.policy().all_rules().nth(index));
    (!rule.is_some_and(|rule| matches!(rule.when, Condition::Quota(_)))).then(|| {
        "`[wait] max_per_wait` and `max_total` set how long a loop waits for that by itself"
            .to_owned()
    })
}

fn of_full_context(decision: &Decision, engine: &Engine) -> Option<String> {
    let Some(rule) = &decision.rule else {
        return Some("The agent says so itself, and fresh starts no longer help".to_owned());
    };
    let rule = engine.policy().all_rules().nth(rule.index)?;
    let (Some(value), Some(threshold)) = (decision.value, decision.threshold) else { return None };
    if !matches!(rule.when, Condition::ContextUsage(_)) {
        return None;
    }
    let figures = Figures::of_winner(decision, engine.policy())?;
    let [value, threshold] = [value, threshold].map(|figure| figures.text(figure));
    Some(format!("The context is {value} full; `at_least` of `context_usage` is {threshold}"))
}
