//! Improvement cycles and what each of them gained.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many cycles have ended, and how much better the last one left things.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cycles {
    pub(crate) count: u64,
    /// None before the second cycle, or where two cycles have no metric in common.
    pub(crate) improvement: Option<f64>,
    last: BTreeMap<String, f64>,
}

impl Cycles {
    pub(crate) fn apply(&mut self, metrics: &BTreeMap<String, f64>) {
        self.improvement = mean(metrics.iter().filter_map(|(name, now)| {
            let before = *self.last.get(name)?;
            Some(gain(before, *now))
        }));
        self.count = self.count.saturating_add(1);
        self.last =
            metrics.iter().take(MOST_METRICS).map(|(name, value)| (name.clone(), *value)).collect();
    }
}

/// How much larger a figure became, relative to what it was; from 0, any rise is a whole.
fn gain(before: f64, now: f64) -> f64 {
    if before == 0.0 {
        return if now > 0.0 { 1.0 } else { 0.0 };
    }
    ((now - before) / before.abs()).clamp(f64::MIN, f64::MAX)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut count = 0.0;
    let mut mean = 0.0;
    for value in values {
        count += 1.0;
        // Running, since a sum of large gains could overflow.
        mean += value / count - mean / count;
    }
    (count > 0.0).then_some(mean)
}

const MOST_METRICS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(cycles: &[&[(&str, f64)]]) -> Option<f64> {
        let mut folded = Cycles::default();
        for metrics in cycles {
            folded
                .apply(&metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
        }
        folded.improvement
    }

    #[test]
    fn improvement_is_the_mean_over_common_metrics() {
        assert_eq!(after(&[&[("a", 10.0)]]), None);
        assert_eq!(after(&[&[("a", 10.0)], &[("b", 10.0)]]), None);
        assert_eq!(after(&[&[("a", 10.0)], &[("a", 11.0)]]), Some(0.1));
        assert_eq!(after(&[&[("a", 10.0), ("b", 4.0)], &[("a", 5.0), ("b", 6.0)]]), Some(0.0));
        assert_eq!(after(&[&[("a", -10.0)], &[("a", -5.0)]]), Some(0.5));
    }

    #[test]
    fn from_zero_any_rise_is_a_whole() {
        assert_eq!(after(&[&[("a", 0.0)], &[("a", 0.1)]]), Some(1.0));
        assert_eq!(after(&[&[("a", 0.0)], &[("a", -3.0)]]), Some(0.0));
        assert_eq!(after(&[&[("a", 0.0)], &[("a", 0.0)]]), Some(0.0));
    }

    #[test]
    fn absurd_figures_stay_finite() {
        let improvement =
            after(&[&[("a", 1e-300), ("b", 1e-300)], &[("a", 1e308), ("b", 1e308)]]).unwrap();
        assert!(improvement.is_finite());
    }
}
