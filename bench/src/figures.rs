//! The facts that all contestants decide on, as a hand-written loop would count them.

/// Counters of a run. Rates are left to the rules, because a loop counts and does not divide.
#[derive(Clone, Debug)]
pub struct Figures {
    pub iterations: u64,
    pub active_ms: u64,
    pub tokens: u64,
    pub cost_usd: f64,
    pub ended: u64,
    pub errored: u64,
    pub consecutive_errors: u64,
    pub progress_age_ms: u64,
    pub context_used: u64,
    pub context_limit: u64,
    pub units_finished: u64,
    pub units_rejected: u64,
    pub cycles: u64,
    pub improvement: f64,
}

impl Figures {
    /// A run in good health: no rule fires, so that every contestant looks at all ten.
    pub fn healthy() -> Self {
        Self {
            iterations: 42,
            active_ms: 3 * HOUR_MS,
            tokens: 400_000,
            cost_usd: 7.25,
            ended: 42,
            errored: 4,
            consecutive_errors: 1,
            progress_age_ms: 4 * MINUTE_MS,
            context_used: 90_000,
            context_limit: 200_000,
            units_finished: 20,
            units_rejected: 3,
            cycles: 6,
            improvement: 0.25,
        }
    }

    /// For each rule, in their order, a run in which it alone fires, at the edge.
    pub fn at_each_threshold() -> [Self; 10] {
        let healthy = Self::healthy();
        [
            Self { iterations: 100, ..healthy.clone() },
            Self { active_ms: 24 * HOUR_MS, ..healthy.clone() },
            Self { tokens: 1_000_000, ..healthy.clone() },
            Self { cost_usd: 20.0, ..healthy.clone() },
            Self { ended: 5, errored: 1, ..healthy.clone() },
            Self { consecutive_errors: 3, ..healthy.clone() },
            Self { progress_age_ms: 30 * MINUTE_MS, ..healthy.clone() },
            Self { context_used: 190_000, ..healthy.clone() },
            Self { units_rejected: 7, ..healthy.clone() },
            Self { cycles: 5, improvement: 0.09, ..healthy },
        ]
    }
}

/// The rules by their place in the policy.
pub type Rule = usize;

pub const MINUTE_MS: u64 = 60_000;
pub const HOUR_MS: u64 = 60 * MINUTE_MS;
