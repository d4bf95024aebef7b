//! What aider says when something failed.

use std::sync::LazyLock;

use regex::Regex;

use crate::launch::fault_of;
use crate::{Fault, FaultKind, Moment};

/// The fault that a line of aider's own tells.
pub(super) fn of_line(line: &str, moment: &Moment) -> Option<Fault> {
    if line.ends_with("has hit a token limit!") {
        return Some(Fault::new(FaultKind::ContextFull, line));
    }
    if !CLASS.is_match(line) {
        return None;
    }
    let mut fault = fault_of(line, moment);
    // Whatever has no class of its own is an `APIError`, also what no further attempt will mend.
    if fault.kind == FaultKind::Server && REFUSAL.is_match(line) {
        fault.kind = FaultKind::InvalidRequest;
    }
    Some(fault)
}

static CLASS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:Unexpected error: )?litellm\.(?:exceptions\.)?\w+:")
        .expect("the pattern is valid")
});

static REFUSAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"Error code: 4\d\d\b").expect("the pattern is valid"));
