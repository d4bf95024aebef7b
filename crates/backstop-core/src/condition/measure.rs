//! What a condition finds when it looks at the facts.

use jiff::tz::TimeZone;

use crate::facts::{Facts, HealthLimits};
use crate::time::Moment;

/// What a condition looks at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    pub facts: &'a Facts,
    pub now: Moment,
    pub limits: HealthLimits,
    pub meters: SilentMeters,
    /// The zone in which clock times such as "07:00" are meant.
    pub zone: &'a TimeZone,
}

impl<'a> Scene<'a> {
    /// A look at facts before anything has happened.
    pub fn neutral(facts: &'a Facts) -> Self {
        Self {
            facts,
            now: Moment::default(),
            limits: HealthLimits::default(),
            meters: SilentMeters::Neutral,
            zone: &UTC,
        }
    }
}

static UTC: TimeZone = TimeZone::UTC;

/// What it means that nobody has reported tokens or money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilentMeters {
    /// In a run: that a limit on them can't be held.
    #[default]
    Unknown,
    /// In a question about stated facts: that none were used.
    Neutral,
}

/// Whether a condition is met, in three-valued logic. Ordered, so that `all` is the least of its
/// parts and `any` the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    No,
    Unknown,
    Yes,
}

impl Truth {
    pub const fn of(met: bool) -> Self {
        if met { Self::Yes } else { Self::No }
    }

    pub const fn is_met(self) -> bool {
        matches!(self, Self::Yes)
    }
}

/// The finding of a condition: whether it is met, how far it is, and the figures behind that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    pub truth: Truth,
    /// From 0 to 1.
    pub progress: f64,
    pub value: Option<f64>,
    pub threshold: Option<f64>,
}

impl Measure {
    /// A condition without figures: met or not.
    pub const fn plain(met: bool) -> Self {
        Self {
            truth: Truth::of(met),
            progress: if met { 1.0 } else { 0.0 },
            value: None,
            threshold: None,
        }
    }

    pub const fn unknown() -> Self {
        Self { truth: Truth::Unknown, progress: 0.0, value: None, threshold: None }
    }

    /// Met at the threshold. Whole numbers are compared as such, however large.
    #[expect(clippy::cast_precision_loss, reason = "only the figures shown lose precision")]
    pub fn count(value: u64, threshold: u64) -> Self {
        Self::figures(value >= threshold, value as f64, threshold as f64)
    }

    /// Met at the threshold.
    pub fn at_least(value: f64, threshold: f64) -> Self {
        Self::figures(value >= threshold, value, threshold)
    }

    /// Met beyond the threshold only.
    pub fn above(value: f64, threshold: f64) -> Self {
        Self::figures(value > threshold, value, threshold)
    }

    /// Met below the threshold only; it has no progress, since less is more.
    pub fn below(value: f64, threshold: f64) -> Self {
        let met = value < threshold;
        Self { value: Some(value), threshold: Some(threshold), ..Self::plain(met) }
    }

    pub fn duration(value: std::time::Duration, threshold: std::time::Duration) -> Self {
        Self::figures(value >= threshold, milliseconds(value), milliseconds(threshold))
    }

    pub fn figures(met: bool, value: f64, threshold: f64) -> Self {
        Self {
            truth: Truth::of(met),
            progress: if met { 1.0 } else { share(value, threshold) },
            value: Some(value),
            threshold: Some(threshold),
        }
    }

    /// Takes back "met" where too few samples stand behind a rate.
    #[must_use]
    pub fn given(mut self, enough: bool) -> Self {
        if !enough && self.truth == Truth::Yes {
            self.truth = Truth::No;
        }
        self
    }

    #[must_use]
    pub fn unless_silent(self, silent: bool, scene: &Scene<'_>) -> Self {
        // What was spent before is spent: a silent meter can't unmake it.
        if silent && scene.meters == SilentMeters::Unknown && self.truth == Truth::No {
            Self { truth: Truth::Unknown, ..self }
        } else {
            self
        }
    }
}

/// `value` of `threshold`, from 0 to 1 whatever they are.
pub(crate) fn share(value: f64, threshold: f64) -> f64 {
    if threshold > 0.0 {
        (value / threshold).clamp(0.0, 1.0)
    } else if value >= threshold {
        1.0
    } else {
        0.0
    }
}

pub(crate) fn milliseconds(duration: std::time::Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_finite_and_between_0_and_1() {
        for (value, threshold) in [
            (0.0, 0.0),
            (1.0, 0.0),
            (-5.0, 2.0),
            (7.0, 2.0),
            (f64::MAX, f64::MIN_POSITIVE),
            (1.0, -1.0),
        ] {
            let share = share(value, threshold);
            assert!((0.0..=1.0).contains(&share), "{value} of {threshold} is {share}");
        }
    }

    #[test]
    fn an_exclusive_threshold_is_full_but_not_met() {
        let measure = Measure::above(0.3, 0.3);
        assert_eq!((measure.truth, measure.progress), (Truth::No, 1.0));
        assert_eq!(Measure::at_least(0.3, 0.3).truth, Truth::Yes);
    }

    #[test]
    fn large_counts_are_compared_exactly() {
        assert_eq!(Measure::count(u64::MAX - 1, u64::MAX).truth, Truth::No);
        assert_eq!(Measure::count(u64::MAX, u64::MAX).truth, Truth::Yes);
    }
}
