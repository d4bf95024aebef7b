//! Headers of answers that say what a body does not.

/// The verdict of a decision, whatever form it has.
pub const VERDICT: &str = "backstop-verdict";

/// The code with which a command ends that asked for a decision.
pub const EXIT_CODE: &str = "backstop-exit-code";

/// How a run stands that a report has halted.
pub const HALTED: &str = "backstop-run-halted";
