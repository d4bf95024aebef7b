//! What the detector has counted so far.

use serde::{Deserialize, Serialize};

use super::signal::Signal;

/// All counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The sum of the evidence (CUSUM).
    pub score: f64,
    /// The signal that is at its normal threshold.
    pub kind: Option<Signal>,
    /// For how many steps the score has been at 2.0 or above.
    pub nudged_steps: u32,
    /// Equal actions with equal results in a row.
    pub pair_streak: u32,
    /// Equal actions in a row.
    pub action_streak: u32,
    /// Equal actions that failed, or equal errors, in a row.
    pub error_streak: u32,
    /// The cycle that has gone on for most periods.
    pub cycle: Cycle,
    /// Messages since the last action.
    pub messages: u32,
    /// Equal messages since the last action.
    pub equal_messages: u32,
    /// Empty answers in a row.
    pub empties: u32,
    /// Answers since the last action that said one phrase over and over.
    #[serde(default)]
    pub chants: u32,
    /// Condensations since the last successful action.
    pub compactions: u32,
    /// The share of the last 8 steps that had been there before.
    pub repeated_share: f64,
    pub polling: Polling,
    /// All steps so far.
    pub steps: u64,
}

/// A sequence of steps that repeats; all zero if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// How many steps it has, 2 to 8.
    pub period: u32,
    /// How often it has been gone through, in full.
    pub periods: u32,
}

/// A wait: the same action with the same result, with pauses between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Polling {
    pub count: u32,
    pub elapsed_ms: u64,
    pub cost_usd: f64,
}
