//! Our engine's part in the comparison. Each function gives one contestant, ready to be called.
//!
//! None of them is linked to the engine yet: each gives `None`, the targets that need it count as
//! missed, and the comparison exits 1. What each has to measure stands at the function.

use crate::measure::Contestant;

/// One decision with the progress of all ten rules of `policy.toml`, on facts like
/// [`Figures::healthy`](crate::figures::Figures::healthy) that were folded before; every rule is
/// looked at in each call (ask at a time that moved on, or mark all facts as changed).
pub fn decide() -> Option<Contestant<'static>> {
    None
}

/// `handle_event` with one `usage` event of small increments at a time that moves on, then
/// `poll_decision`, under `policy.toml`; so small that no limit is reached in a whole measurement.
pub fn fold_and_decide() -> Option<Contestant<'static>> {
    None
}

/// An event that touches exactly one rule, then `poll_decision`, with this many rules in all: the
/// rules differ in the facts that they read, and the one that is touched is in the middle.
pub fn touch_one_of(rules: Rules) -> Option<Contestant<'static>> {
    match rules {
        Rules::Ten | Rules::Thousand => None,
    }
}

/// Decoding each line of a journal of some 10,000 events held in memory, and nothing else.
pub fn decode() -> Option<Contestant<'static>> {
    None
}

/// Decoding the same journal, folding each event and deciding after it.
pub fn replay() -> Option<Contestant<'static>> {
    None
}

/// How large the policy is.
#[derive(Clone, Copy, Debug)]
pub enum Rules {
    Ten,
    Thousand,
}
