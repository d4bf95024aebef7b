//! What Gemini's exit statuses mean, which its errors name as their codes.

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
        // Of anything else, an interrupt included, the runner knows as much.
        _ => return None,
    };
    Some(Fault::new(kind, format!("gemini: {meaning} (exit status {code})")))
}

/// The exit status that goes with an error of this type.
pub(super) fn status_of(error: &str) -> Option<i32> {
    Some(match error {
        "FatalAuthenticationError" => 41,
        "FatalInputError" => 42,
        "FatalSandboxError" => 44,
        "FatalConfigError" => 52,
        "FatalTurnLimitedError" => 53,
        "FatalToolExecutionError" => 54,
        "FatalUntrustedWorkspaceError" => 55,
        "FatalCancellationError" => CANCELLED,
        _ => return None,
    })
}

/// Somebody's interrupt, which is no failure of the agent's.
pub(super) const CANCELLED: i32 = 130;
