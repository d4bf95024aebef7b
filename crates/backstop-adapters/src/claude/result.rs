//! The record with which a launch ends.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::own::{message, of_errors};
use super::wire::{Line, Number};
use crate::fault::{from_status, recognise};
use crate::{Fault, FaultKind, Moment};

/// What tells one result from all others, however it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace {
    uuid: Option<u64>,
    whole: u64,
    /// What every part of it has in it that is worth showing: what it says, and what it cost.
    gist: Option<u64>,
    /// What a script may leave out that picks some of it: session, turns, duration, tokens.
    details: [Option<u64>; 5],
    /// No other launch has the same session and took as long.
    is_unique: bool,
}

impl Trace {
    pub fn of(result: &Line<'_>) -> Self {
        let named = |name: &str| (!name.is_empty()).then(|| hash_of(&name));
        let bits = |figure: &Number| figure.amount().map(f64::to_bits);
        let (uuid, session) = (named(&result.uuid), named(&result.session_id));
        let cost = bits(&result.total_cost_usd);
        let (turns, duration) = (bits(&result.num_turns), bits(&result.duration_ms));
        let usage = result.usage.0.as_ref().map(|usage| hash_of(&format!("{usage:?}")));
        let of_models = result.model_usage.0.as_ref().map(|usage| hash_of(&format!("{usage:?}")));
        let figures = [turns, duration, cost, usage, of_models];
        Self {
            uuid,
            whole: hash_of(&(session, &*result.subtype, &*result.result, figures)),
            gist: cost.map(|cost| hash_of(&(&*result.result, cost))),
            details: [session, turns, duration, usage, of_models],
            is_unique: uuid.is_some() || (session.is_some() && result.duration_ms.is_known()),
        }
    }

    /// Whether another result is this one, shown once more, whole or in part. Where a launch is
    /// nothing but its result, one that names nothing of its own may be the next one's.
    pub fn is_shown_by(&self, other: &Self, is_lone: bool) -> bool {
        if self.uuid.is_some() && other.uuid.is_some() && self.uuid != other.uuid {
            return false;
        }
        let mut details = self.details.iter().zip(&other.details);
        let is_part = self.gist.is_some()
            && self.gist == other.gist
            && self.details != other.details
            && details.all(|(own, shown)| shown.is_none() || own == shown);
        is_part || self.whole == other.whole && (self.is_unique || !is_lone)
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn is_result(line: &Line<'_>) -> bool {
    !line.subtype.is_empty() || line.duration_ms.is_known() || line.total_cost_usd.is_known()
}

/// Whether a result calls itself a success. Samples of the oldest versions leave the subtype out.
pub(super) fn is_success(line: &Line<'_>) -> bool {
    matches!(&*line.subtype, "success" | "") && !line.is_error.0
}

/// Whether a result that calls itself a success says at the same time that it is none: by the status
/// that ended it, by the reason, or by an error as the answer where the service has given none.
pub(super) fn is_refuted(line: &Line<'_>, was_idle: bool, moment: &Moment) -> bool {
    line.api_status.status().is_some_and(|status| status >= 400)
        || FAILING.contains(&&*line.terminal_reason)
        || (was_idle && message(&line.result, moment).is_some())
}

/// Why a result is none.
pub(super) fn failure(line: &Line<'_>, moment: &Moment) -> Fault {
    let errors: Vec<&str> = line.errors.0.iter().map(|error| &**error).collect();
    let errors = errors.join("\n");
    let is_text = |text: &&str| !text.trim().is_empty();
    // With these, the result is at best what the agent said before it failed.
    let cut_short = line.subtype.starts_with("error_");
    let result = Some(&*line.result).filter(|_| !cut_short).filter(is_text);
    // What calls itself a success may hold the agent's own words, whatever they are about.
    let result = result.filter(|text| !is_success(line) || message(text, moment).is_some());
    // Amp says it in a field of its own.
    let own = [&*line.error.message, &*line.error.category].into_iter().find(is_text);
    let status = line.api_status.status();
    let by_number = status.map(|status| format!("the API answered with status {status}"));
    let told = result
        .or(Some(&*errors).filter(is_text))
        .or(own)
        // A result may call itself a success and give the reason why it is none.
        .or(Some(&*line.terminal_reason).filter(is_text).filter(|_| !cut_short))
        .or(by_number.as_deref().filter(|_| is_success(line)))
        .or(Some(&*line.subtype).filter(is_text))
        .unwrap_or("the launch failed");
    let by_cap = match (&*line.subtype, &*line.terminal_reason) {
        ("error_max_turns", _) | (_, "max_turns") => Some(FaultKind::TurnLimit),
        ("error_max_budget_usd", _) | (_, "budget_exhausted") => Some(FaultKind::BudgetLimit),
        (_, "prompt_too_long") => Some(FaultKind::ContextFull),
        _ => None,
    };
    if let Some(kind) = by_cap {
        return Fault::new(kind, told);
    }
    let by_status = status.and_then(|it| from_status(it, told, moment));
    by_status
        .or_else(|| match result.or(own) {
            Some(said) => recognise(said, moment),
            None => of_errors(&errors, moment),
        })
        .unwrap_or_else(|| Fault::new(FaultKind::Other, crate::excerpt(told)))
}

/// What the reason stands for where no words say more.
pub(super) fn kind_of_reason(reason: &str) -> FaultKind {
    match reason {
        "api_error" | "model_error" => FaultKind::Server,
        // The limit that blocks is the context's: a request that would not fit is not even sent.
        "blocking_limit" | "rapid_refill_breaker" => FaultKind::ContextFull,
        _ => FaultKind::Other,
    }
}

/// Reasons for which nothing is done that ends so. The others are that it is, that somebody wanted it
/// to end, or that it goes on elsewhere.
const FAILING: [&str; 14] = [
    "max_turns",
    "aborted_streaming",
    "aborted_tools",
    "blocking_limit",
    "rapid_refill_breaker",
    "prompt_too_long",
    "image_error",
    "model_error",
    "api_error",
    "malformed_tool_use_exhausted",
    "budget_exhausted",
    "structured_output_retry_exhausted",
    "tool_deferred_unavailable",
    "turn_setup_failed",
];
