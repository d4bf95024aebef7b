//! Conditions on units of work, as pipelines know them.

use super::budgets::{raise_count, raise_rate};
use super::kind::Kind;
use super::measure::{Measure, Scene};
use super::words::{counted, percent};
use crate::event::LimitValue;
use crate::facts::{Streak, Streaks, Watch};
use crate::field::{Count, Rate, record};
use crate::reason::ReasonCode;

record! {
    /// Attempts over all units: a circuit breaker.
    pub struct MaxAttempts {
        /// How many attempts there may be.
        required count: Count,
    }
}

impl Kind for MaxAttempts {
    const TYPE: &'static str = "max_attempts";
    const EXAMPLE: &'static str = r#"{ type = "max_attempts", count = 50 }"#;
    const PROGRESS: &'static str = "attempts / `count`";
    const PRIORITY: i32 = 79;
    const WATCHES: Watch = Watch::UNITS;

    fn describe(&self) -> String {
        format!("after {} over all units", counted(self.count.0, "attempt", "attempts"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.units.attempts, self.count.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let attempts = scene.facts.units.attempts;
        if measure.truth.is_met() {
            format!("Circuit breaker: {attempts} attempts, the limit is {}", self.count.0)
        } else {
            format!("{attempts} of {}", counted(self.count.0, "attempt", "attempts"))
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::CircuitBreaker
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// Units in a row that ended rejected or failed.
    pub struct ConsecutiveFails {
        /// How many.
        required count: Count,
    }
}

impl Kind for ConsecutiveFails {
    const TYPE: &'static str = "consecutive_fails";
    const EXAMPLE: &'static str = r#"{ type = "consecutive_fails", count = 3 }"#;
    const PROGRESS: &'static str = "units in a row / `count`";
    const PRIORITY: i32 = 77;
    const WATCHES: Watch = Watch::UNITS;
    const STREAKS: Streaks = Streaks::of(Streak::ConsecutiveFails);

    fn describe(&self) -> String {
        format!("after {} failed in a row", counted(self.count.0, "unit", "units"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.units.consecutive_fails, self.count.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let fails = scene.facts.units.consecutive_fails;
        if measure.truth.is_met() {
            let units = match fails {
                1 => "1 unit was".to_owned(),
                many => format!("{many} units in a row were"),
            };
            format!("{units} rejected or failed, the limit is {}", self.count.0)
        } else {
            format!("{fails}/{} failures in a row", self.count.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConsecutiveFails
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// Units that ended rejected or failed, of all that finished.
    pub struct RejectRate {
        /// Beyond which rate.
        required above: Rate,
        /// How many units must have finished before the rate counts.
        default min_units: Count = Count(1),
    }
}

impl Kind for RejectRate {
    const TYPE: &'static str = "reject_rate";
    const EXAMPLE: &'static str = r#"{ type = "reject_rate", above = 0.3, min_units = 5 }"#;
    const PROGRESS: &'static str = "rate / `above`";
    const PRIORITY: i32 = 76;
    const WATCHES: Watch = Watch::UNITS;

    fn describe(&self) -> String {
        describe_rate("reject", self.above, self.min_units)
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        measure_rate(scene.facts.reject_rate(), self.above, self.min_units, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        note_rate("Reject", scene.facts.units.unsuccessful(), self.above, scene, measure)
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::RejectRate
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.above, value);
    }
}

record! {
    /// Finished units that took more than one attempt, of all that finished.
    pub struct RetryRate {
        /// Beyond which rate.
        required above: Rate,
        /// How many units must have finished before the rate counts.
        default min_units: Count = Count(1),
    }
}

impl Kind for RetryRate {
    const TYPE: &'static str = "retry_rate";
    const EXAMPLE: &'static str = r#"{ type = "retry_rate", above = 0.5, min_units = 5 }"#;
    const PROGRESS: &'static str = "rate / `above`";
    const PRIORITY: i32 = 75;
    const WATCHES: Watch = Watch::UNITS;

    fn describe(&self) -> String {
        describe_rate("retry", self.above, self.min_units)
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        measure_rate(scene.facts.retry_rate(), self.above, self.min_units, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        note_rate("Retry", scene.facts.units.retried(), self.above, scene, measure)
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::RetryRate
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.above, value);
    }
}

fn describe_rate(name: &str, above: Rate, min_units: Count) -> String {
    let from = match min_units.0 {
        1 => String::new(),
        units => format!(" over at least {units} units"),
    };
    format!("when the {name} rate exceeds {}{from}", percent(above.0))
}

fn measure_rate(rate: f64, above: Rate, min_units: Count, scene: &Scene<'_>) -> Measure {
    Measure::above(rate, above.0).given(scene.facts.units_behind(rate) >= min_units.0)
}

fn note_rate(name: &str, part: u64, above: Rate, scene: &Scene<'_>, measure: &Measure) -> String {
    let (rate, limit) = (percent(measure.value.unwrap_or(0.0)), percent(above.0));
    if measure.truth.is_met() {
        return format!("{name} rate {rate} exceeds {limit} threshold");
    }
    let finished = scene.facts.units.finished();
    format!("{name} rate {rate} of {limit} ({part} of {})", counted(finished, "unit", "units"))
}
