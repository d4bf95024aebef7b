//! What Codex says when something failed.

use serde_json::Value;

use crate::fault::{from_category, from_status};
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
        Some(kind) if kind != FaultKind::Other => Fault { kind, ..fault },
        _ => from_status(status, message, moment).unwrap_or(fault),
    }
}
