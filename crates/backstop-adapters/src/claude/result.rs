//! The record with which a launch ends.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::own::of_errors;
use super::wire::Line;
use crate::fault::{from_status, recognise};
use crate::{Fault, FaultKind, Moment};

/// What tells one result from all others, however it is written.
pub(super) fn trace_of(result: &Line<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&*result.session_id, &*result.subtype, &*result.result).hash(&mut hasher);
    let figures = [&result.num_turns, &result.duration_ms, &result.total_cost_usd];
    figures.map(|figure| figure.amount().map(f64::to_bits)).hash(&mut hasher);
    format!("{:?} {:?}", result.usage, result.model_usage).hash(&mut hasher);
    hasher.finish()
}

pub(super) fn is_result(line: &Line<'_>) -> bool {
    !line.subtype.is_empty() || line.duration_ms.is_known() || line.total_cost_usd.is_known()
}

/// Why a result is none.
pub(super) fn failure(line: &Line<'_>, moment: &Moment) -> Fault {
    let errors: Vec<&str> = line.errors.0.iter().map(|error| &**error).collect();
    let errors = errors.join("\n");
    let is_text = |text: &&str| !text.trim().is_empty();
    // With these, the result is at best what the agent said before it failed.
    let cut_short = line.subtype.starts_with("error_");
    let result = Some(&*line.result).filter(|_| !cut_short).filter(is_text);
    // Amp says it in a field of its own.
    let own = [&*line.error.message, &*line.error.category].into_iter().find(is_text);
    let message = result
        .or(Some(&*errors).filter(is_text))
        .or(own)
        .or(Some(&*line.subtype).filter(is_text))
        .unwrap_or("the launch failed");
    let by_cap = match (&*line.subtype, &*line.terminal_reason) {
        ("error_max_turns", _) | (_, "max_turns") => Some(FaultKind::TurnLimit),
        ("error_max_budget_usd", _) | (_, "budget_exhausted") => Some(FaultKind::BudgetLimit),
        (_, "prompt_too_long") => Some(FaultKind::ContextFull),
        _ => None,
    };
    if let Some(kind) = by_cap {
        return Fault::new(kind, message);
    }
    let by_status = line.api_status.status().and_then(|it| from_status(it, message, moment));
    by_status
        .or_else(|| match result.or(own) {
            Some(said) => recognise(said, moment),
            None => of_errors(&errors, moment),
        })
        .unwrap_or_else(|| {
            let kind = match &*line.terminal_reason {
                "api_error" | "model_error" => FaultKind::Server,
                "blocking_limit" => FaultKind::RateLimited,
                "rapid_refill_breaker" => FaultKind::ContextFull,
                _ => FaultKind::Other,
            };
            Fault::new(kind, crate::excerpt(message))
        })
}
