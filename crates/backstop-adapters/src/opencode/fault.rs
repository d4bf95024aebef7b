//! What OpenCode says when something failed.

use std::time::Duration;

use backstop_core::event::ErrorCategory;
use backstop_core::time::Timestamp;
use serde_json::Value;

use crate::fault::{from_status, of_kind};
use crate::fields::text;
use crate::launch::fault_of;
use crate::{Fault, FaultKind, Moment};

pub(super) fn of_error(error: &Value, moment: &Moment) -> Fault {
    let data = error.get("data").unwrap_or(&Value::Null);
    let name = text(error, "name").unwrap_or_default();
    let message = text(data, "message")
        .or_else(|| text(error, "message"))
        .or_else(|| error.as_str())
        .unwrap_or(if name.is_empty() { "error" } else { name });
    let mut fault = fault_of(message, moment);
    if fault.kind == FaultKind::Other {
        let status = data.get("statusCode").and_then(Value::as_u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        fault = match of_name(name) {
            Some(kind) => of_kind(kind, message, moment),
            None => status.and_then(|status| from_status(status, message, moment)).unwrap_or(fault),
        };
    }
    let retryable = data.get("isRetryable").and_then(Value::as_bool) == Some(true);
    if retryable && fault.kind.category() == ErrorCategory::Recoverable {
        fault = of_kind(FaultKind::Server, message, moment);
    }
    if let Some(headers) = data.get("responseHeaders")
        && let Some(at) = retry_after(headers, moment)
    {
        fault.retry_at = Some(at);
    }
    fault
}

/// Why the model broke its answer off, where that leaves the work undone.
pub(super) fn of_reason(reason: &str) -> Option<Fault> {
    let (kind, message) = match reason {
        "length" => (FaultKind::OutputLimit, "the answer reached the limit of output tokens"),
        "content-filter" => (FaultKind::Other, "the answer was withheld by a content filter"),
        "error" => (FaultKind::Other, "the answer ended with an error"),
        _ => return None,
    };
    Some(Fault::new(kind, message))
}

fn of_name(name: &str) -> Option<FaultKind> {
    Some(match name {
        "ProviderAuthError" => FaultKind::Authentication,
        "MessageOutputLengthError" => FaultKind::OutputLimit,
        "ContextOverflowError" => FaultKind::ContextFull,
        "ProviderModelNotFoundError" => FaultKind::UnknownModel,
        _ => return None,
    })
}

/// When the provider says that it may be tried again: a distance or a date.
fn retry_after(headers: &Value, moment: &Moment) -> Option<Timestamp> {
    let header = |wanted: &str| {
        headers.as_object()?.iter().find_map(|(name, value)| {
            name.eq_ignore_ascii_case(wanted).then(|| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })?
        })
    };
    if let Some(milliseconds) = header("retry-after-ms").and_then(|text| text.trim().parse().ok()) {
        return moment.after(Duration::from_millis(milliseconds));
    }
    let after = header("retry-after")?;
    let after = after.trim();
    match after.parse::<f64>() {
        Ok(seconds) => moment.after(Duration::try_from_secs_f64(seconds).ok()?),
        Err(_) => {
            let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(after).ok()?;
            Some(Timestamp::from_jiff(date))
        }
    }
}
