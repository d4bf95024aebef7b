//! The targets, and whether they are reached.

use std::fmt;

/// Something promised, what was measured, and what may be measured at most.
#[derive(Debug)]
pub struct Target {
    promise: &'static str,
    /// Nothing if one of those to be compared was not there.
    figures: Option<Figures>,
}

#[derive(Clone, Copy, Debug)]
struct Figures {
    measured: f64,
    limit: f64,
    unit: &'static str,
    at_least: bool,
}

impl Target {
    pub fn at_most(
        promise: &'static str,
        measured: Option<f64>,
        limit: Option<f64>,
        unit: &'static str,
    ) -> Self {
        Self::new(promise, measured, limit, unit, false)
    }

    pub fn at_least(
        promise: &'static str,
        measured: Option<f64>,
        limit: Option<f64>,
        unit: &'static str,
    ) -> Self {
        Self::new(promise, measured, limit, unit, true)
    }

    pub fn reached(&self) -> bool {
        self.figures.is_some_and(|figures| {
            if figures.at_least {
                figures.measured >= figures.limit
            } else {
                figures.measured <= figures.limit
            }
        })
    }

    fn new(
        promise: &'static str,
        measured: Option<f64>,
        limit: Option<f64>,
        unit: &'static str,
        at_least: bool,
    ) -> Self {
        let pair = measured.zip(limit);
        let figures = pair.map(|(measured, limit)| Figures { measured, limit, unit, at_least });
        Self { promise, figures }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.reached() { "pass" } else { "FAIL" };
        write!(formatter, "{word}  {}: ", self.promise)?;
        match self.figures {
            None => formatter.write_str("not measured"),
            Some(Figures { measured, limit, unit, at_least }) => {
                let bound = if at_least { "at least" } else { "at most" };
                write!(formatter, "{measured:.1} {unit}, {bound} {limit:.1} {unit}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inclusive() {
        for (measured, at_most, at_least) in
            [(9.9, true, false), (10.0, true, true), (10.1, false, true)]
        {
            let measured = Some(measured);
            assert_eq!(Target::at_most("a", measured, Some(10.0), "ns").reached(), at_most);
            assert_eq!(Target::at_least("a", measured, Some(10.0), "ns").reached(), at_least);
        }
    }

    #[test]
    fn what_was_not_measured_is_not_reached() {
        let target = Target::at_most("quick", None, Some(1.0), "ns");
        assert!(!target.reached());
        assert_eq!(target.to_string(), "FAIL  quick: not measured");
        assert!(!Target::at_most("quick", Some(1.0), None, "ns").reached());
        assert!(!Target::at_most("quick", Some(f64::NAN), Some(1.0), "ns").reached());
    }
}
