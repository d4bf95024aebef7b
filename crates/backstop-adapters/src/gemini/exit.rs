//! What Gemini's exit statuses mean.

use crate::{Fault, FaultKind};

/// The failure that only the exit status admits.
pub(super) fn fault(code: i32) -> Option<Fault> {
    let (kind, meaning) = match code {
        41 => (FaultKind::Authentication, "not logged in"),
        42 => (FaultKind::InvalidRequest, "the input was refused"),
        44 => (FaultKind::Other, "the sandbox failed"),
        52 => (FaultKind::Other, "the configuration is wrong"),
        53 => (FaultKind::TurnLimit, "the limit of turns was reached"),
        54 => (FaultKind::Other, "a tool could not be run"),
        55 => (FaultKind::Other, "the folder is not trusted"),
        // 130 is somebody's interrupt; of anything else the runner knows as much.
        _ => return None,
    };
    Some(Fault::new(kind, format!("gemini: {meaning} (exit status {code})")))
}
