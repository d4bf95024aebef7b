//! What single iterations took, so that the next one can be guessed.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::usage::Spent;

/// What the last iterations took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spending {
    recent: VecDeque<Taken>,
    /// The totals when the current iteration began.
    begun: Taken,
}

/// What one iteration took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) tokens: u64,
    pub(crate) tokens_with_cache_reads: u64,
    pub(crate) cost_usd: f64,
    pub(crate) active: Duration,
}

impl Spending {
    pub(crate) fn iteration_started(&mut self, spent: &Spent, active: Duration) {
        self.begun = totals(spent, active);
    }

    pub(crate) fn iteration_finished(&mut self, spent: &Spent, active: Duration) {
        let now = totals(spent, active);
        let begun = std::mem::replace(&mut self.begun, now);
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(Taken {
            tokens: now.tokens.saturating_sub(begun.tokens),
            tokens_with_cache_reads: now
                .tokens_with_cache_reads
                .saturating_sub(begun.tokens_with_cache_reads),
            cost_usd: (now.cost_usd - begun.cost_usd).max(0.0),
            active: now.active.saturating_sub(begun.active),
        });
    }

    /// What nine of ten iterations stay within; none while too few are known.
    pub(crate) fn likely(&self, figure: impl Fn(&Taken) -> f64) -> Option<f64> {
        if self.recent.len() < ENOUGH {
            return None;
        }
        let mut figures: Vec<f64> = self.recent.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        // Nearest rank: the smallest figure that at least 90 % of them do not exceed.
        let rank = (figures.len() * 9).div_ceil(10);
        figures.get(rank - 1).copied()
    }

    pub(crate) fn known(&self) -> usize {
        self.recent.len()
    }
}

fn totals(spent: &Spent, active: Duration) -> Taken {
    Taken {
        tokens: spent.tokens(false),
        tokens_with_cache_reads: spent.tokens(true),
        cost_usd: spent.cost_usd(),
        active,
    }
}

const REMEMBERED: usize = 20;
const ENOUGH: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;

    fn after(costs: &[f64]) -> Spending {
        let (mut spending, mut spent) = (Spending::default(), Spent::default());
        for cost in costs {
            spending.iteration_started(&spent, Duration::ZERO);
            spent.apply(&Usage { cost_usd: Some(*cost), ..Usage::default() });
            spending.iteration_finished(&spent, Duration::ZERO);
        }
        spending
    }

    #[test]
    fn four_iterations_are_too_few_to_guess_from() {
        assert_eq!(after(&[1.0; 4]).likely(|taken| taken.cost_usd), None);
        assert_eq!(after(&[1.0; 5]).likely(|taken| taken.cost_usd), Some(1.0));
    }

    #[test]
    fn the_guess_is_the_nearest_rank_of_nine_tenths() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(after(&ten).likely(|taken| taken.cost_usd), Some(9.0));
        assert_eq!(after(&ten[..5]).likely(|taken| taken.cost_usd), Some(5.0));
        let eleven: Vec<f64> = (1..=11).map(f64::from).collect();
        assert_eq!(after(&eleven).likely(|taken| taken.cost_usd), Some(10.0));
    }

    #[test]
    fn only_the_last_twenty_count() {
        let mut costs = vec![100.0; 10];
        costs.extend([1.0; 20]);
        assert_eq!(after(&costs).likely(|taken| taken.cost_usd), Some(1.0));
    }
}
