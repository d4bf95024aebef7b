//! The contestant that nothing beats: ten conditions written out by hand.

use crate::figures::{Figures, HOUR_MS, MINUTE_MS, Rule};

/// The first rule that fires.
#[inline(never)]
pub fn decide(figures: &Figures) -> Option<Rule> {
    if figures.iterations >= 100 {
        return Some(0);
    }
    if figures.active_ms >= 24 * HOUR_MS {
        return Some(1);
    }
    if figures.tokens >= 1_000_000 {
        return Some(2);
    }
    if figures.cost_usd >= 20.0 {
        return Some(3);
    }
    if figures.ended >= 5 && rate(figures.errored, figures.ended) >= 0.2 {
        return Some(4);
    }
    if figures.consecutive_errors >= 3 {
        return Some(5);
    }
    if figures.progress_age_ms >= 30 * MINUTE_MS {
        return Some(6);
    }
    if figures.context_limit > 0 && rate(figures.context_used, figures.context_limit) >= 0.95 {
        return Some(7);
    }
    if figures.units_finished >= 1 && rate(figures.units_rejected, figures.units_finished) > 0.3 {
        return Some(8);
    }
    if figures.cycles >= 5 && figures.improvement < 0.10 {
        return Some(9);
    }
    None
}

fn rate(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_fires_at_its_threshold() {
        assert_eq!(decide(&Figures::healthy()), None);
        for (rule, figures) in Figures::at_each_threshold().iter().enumerate() {
            assert_eq!(decide(figures), Some(rule));
        }
    }
}
