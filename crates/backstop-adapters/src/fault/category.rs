//! Failures that are told by a code instead of a text.

use super::unwrapped::Unwrapped;
use super::{Fault, FaultKind};
use crate::Moment;

/// The fault that an HTTP status stands for, unless the message says more precisely what is wrong.
pub fn from_status(status: u16, message: &str, moment: &Moment) -> Option<Fault> {
    let unwrapped = Unwrapped::new(message);
    let kind = unwrapped.kind(Some(status))?;
    Some(unwrapped.into_fault(kind, moment))
}

/// The kind of failure that an agent names by a word of its own: Claude Code's categories, Codex's
/// `codex_error_info`, the API's error types.
pub fn from_category(name: &str) -> Option<FaultKind> {
    Some(match name {
        "rate_limit" | "rate_limit_error" | "usage_limit_exceeded" | "usage_limit_reached" => {
            FaultKind::RateLimited
        }
        "overloaded" | "overloaded_error" | "server_overloaded" => FaultKind::Overloaded,
        "http_connection_failed"
        | "response_stream_connection_failed"
        | "response_stream_disconnected"
        | "response_too_many_failed_attempts"
        | "timeout_error" => FaultKind::Network,
        "server_error" | "api_error" | "internal_server_error" => FaultKind::Server,
        "context_window_exceeded" | "request_too_large" => FaultKind::ContextFull,
        "max_output_tokens" => FaultKind::OutputLimit,
        "session_budget_exceeded" => FaultKind::BudgetLimit,
        "invalid_request" | "invalid_request_error" | "bad_request" => FaultKind::InvalidRequest,
        "model_not_found" | "not_found_error" => FaultKind::UnknownModel,
        "authentication_failed"
        | "authentication_error"
        | "oauth_org_not_allowed"
        | "permission_error"
        | "unauthorized" => FaultKind::Authentication,
        "billing_error" | "credits_required" => FaultKind::Credits,
        _ => return None,
    })
}

pub(super) fn kind_of_status(status: u16) -> Option<FaultKind> {
    Some(match status {
        401 | 403 => FaultKind::Authentication,
        402 => FaultKind::Credits,
        404 => FaultKind::UnknownModel,
        408 => FaultKind::Network,
        413 => FaultKind::ContextFull,
        429 => FaultKind::RateLimited,
        503 | 529 => FaultKind::Overloaded,
        400..=499 => FaultKind::InvalidRequest,
        500..=599 => FaultKind::Server,
        _ => return None,
    })
}
