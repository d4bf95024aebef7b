//! What Codex says when something failed.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::fault::{from_category, from_status, of_kind};
use crate::fields::{count, text};
use crate::launch::fault_of;
use crate::{Fault, FaultKind, Moment};

/// The fault of a session file, which may name its kind beside the message.
pub(super) fn of_record(record: &Value, moment: &Moment) -> Fault {
    let message = text(record, "message").unwrap_or("error");
    let fault = fault_of(message, moment);
    if fault.kind != FaultKind::Other {
        return fault;
    }
    // Kinds are names, or objects of one such name that holds details.
    let (name, details) = match record.get("codex_error_info") {
        Some(Value::String(name)) => (name.as_str(), &Value::Null),
        Some(Value::Object(fields)) => match fields.iter().next() {
            Some((name, details)) => (name.as_str(), details),
            None => return fault,
        },
        _ => return fault,
    };
    let status = u16::try_from(count(details, "http_status_code")).unwrap_or(0);
    // These say more than that something was tried too often.
    if matches!(status, 401 | 403 | 429)
        && let Some(fault) = from_status(status, message, moment)
    {
        return fault;
    }
    match from_category(name) {
        Some(kind) if kind != FaultKind::Other => of_kind(kind, message, moment),
        _ => from_status(status, message, moment).unwrap_or(fault),
    }
}

/// Codex tells each of its own attempts on the same channel as what it gives up on.
pub(super) fn is_retry(message: &str) -> bool {
    static RETRY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^\s*re-?connecting\b|\bretrying \d+/\d+(?: in |$)")
            .expect("the pattern is valid")
    });
    RETRY.is_match(message)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::moment;

    #[test]
    fn a_kind_that_is_named_leaves_the_time_that_the_message_tells() {
        let record = serde_json::json!({
            "message": "Not now. Try again in 5 minutes",
            "codex_error_info": "usage_limit_exceeded",
        });
        let fault = of_record(&record, &moment());
        assert_eq!(fault.kind, FaultKind::RateLimited);
        assert_eq!(fault.retry_at, Some("2026-07-12T00:05:00Z".parse().unwrap()));
    }

    #[rstest]
    #[case("Reconnecting... 1/5", true)]
    #[case("Re-connecting... 2/5", true)]
    #[case("Reconnecting... 2/5 (stream disconnected before completion)", true)]
    #[case("stream error: stream disconnected; retrying 3/5 in 1600ms…", true)]
    #[case("stream error: idle timeout; retrying 1/5", true)]
    #[case("exceeded retry limit after retrying 5/5 times", false)]
    #[case("stream disconnected before completion: reconnecting did not help", false)]
    #[case("Reconnection failed", false)]
    fn its_own_attempts_are_no_failures(#[case] message: &str, #[case] expected: bool) {
        assert_eq!(is_retry(message), expected);
    }
}
