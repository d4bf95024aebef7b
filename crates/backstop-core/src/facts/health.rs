//! The health score: how much room a run has left, as one number.

use std::time::Duration;

use super::{Facts, context_share};
use crate::time::Moment;

/// The limits that parts of the health are measured against; a part without one counts as whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HealthLimits {
    pub tokens: Option<u64>,
    pub error_rate: Option<f64>,
}

/// The four parts of the health, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    pub tokens_left: f64,
    pub context_left: f64,
    pub errors_left: f64,
    pub recent_progress: f64,
}

impl Health {
    /// Progress younger than this counts as recent.
    pub const RECENT: Duration = Duration::from_secs(600);

    pub fn score(&self) -> f64 {
        self.parts().iter().map(|part| part.weight * part.value).sum()
    }

    /// What the score is made of.
    pub fn parts(&self) -> [HealthPart; 4] {
        let part = |name, weight, value| HealthPart { name, weight, value };
        [
            part("tokens_left", 0.30, self.tokens_left),
            part("context_left", 0.25, self.context_left),
            part("errors_left", 0.25, self.errors_left),
            part("recent_progress", 0.20, self.recent_progress),
        ]
    }
}

/// One part of the health.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HealthPart {
    pub name: &'static str,
    /// Its share of the score.
    pub weight: f64,
    /// From 0 to 1.
    pub value: f64,
}

impl Facts {
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    pub fn health(&self, now: Moment, limits: HealthLimits) -> Health {
        let tokens = limits.tokens.filter(|limit| *limit > 0);
        let errors = limits.error_rate.filter(|limit| *limit > 0.0);
        let recent = self.progress.age(now.active) < Health::RECENT;
        Health {
            tokens_left: left(tokens.map(|limit| self.spent.tokens(false) as f64 / limit as f64)),
            context_left: left(self.context.as_ref().and_then(context_share)),
            errors_left: left(errors.map(|limit| self.error_rate() / limit)),
            recent_progress: if recent { 1.0 } else { 0.0 },
        }
    }

    /// The health score, or the one that was given with the facts.
    pub(crate) fn health_score(&self, now: Moment, limits: HealthLimits) -> f64 {
        self.overrides.health.unwrap_or_else(|| self.health(now, limits).score())
    }
}

fn left(used: Option<f64>) -> f64 {
    (1.0 - used.unwrap_or(0.0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::GivenFacts;

    fn facts(json: &str) -> Facts {
        GivenFacts::from_json(json.as_bytes()).unwrap().into()
    }

    fn score(json: &str, minutes: u64) -> f64 {
        let limits = HealthLimits { tokens: Some(1000), error_rate: Some(0.2) };
        let now = Moment { active: Duration::from_secs(minutes * 60), ..Moment::default() };
        facts(json).health(now, limits).score()
    }

    #[test]
    fn each_part_takes_its_share() {
        assert_eq!(score("{}", 0), 1.0);
        assert!((score(r#"{"tokens": 500}"#, 0) - 0.85).abs() < 1e-9);
        assert!((score(r#"{"tokens": 5000}"#, 0) - 0.70).abs() < 1e-9);
        assert!((score(r#"{"context": {"used": 4, "limit": 4}}"#, 0) - 0.75).abs() < 1e-9);
        assert!((score(r#"{"error_rate": 0.1}"#, 0) - 0.875).abs() < 1e-9);
    }

    #[test]
    fn the_weights_of_the_parts_make_a_whole() {
        let health = facts("{}").health(Moment::default(), HealthLimits::default());
        let whole: f64 = health.parts().iter().map(|part| part.weight).sum();
        assert!((whole - 1.0).abs() < 1e-12);
    }

    #[test]
    fn progress_is_recent_for_less_than_ten_minutes() {
        assert_eq!(score("{}", 9), 1.0);
        assert!((score("{}", 10) - 0.8).abs() < 1e-9);
    }

    #[test]
    fn a_part_without_a_limit_is_whole() {
        let health =
            facts(r#"{"tokens": 5000, "error_rate": 1.0, "context": {"used": 1, "limit": 0}}"#)
                .health(Moment::default(), HealthLimits::default());
        assert_eq!(health.score(), 1.0);
    }
}
