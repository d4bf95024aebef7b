//! Conditions on errors and on how iterations ended.

use super::budgets::{raise_count, raise_rate};
use super::kind::Kind;
use super::measure::{Measure, Scene};
use super::words::{counted, first_line, percent, quoted};
use crate::event::{ErrorCategory, LimitValue};
use crate::facts::{Streak, Streaks, Watch};
use crate::field::{Count, Rate, SetOf, Text, choices, record};
use crate::reason::ReasonCode;

choices! {
    ErrorCategory {
        "transient" => Transient,
        "recoverable" => Recoverable,
        "critical" => Critical,
    }
}

record! {
    /// An error in the last iteration.
    pub struct OnError {
        /// What its message contains; left out: any.
        optional pattern: Text,
        /// What it must be; left out: anything. A critical one counts until it is acknowledged.
        optional category: ErrorCategory,
    }
}

impl OnError {
    fn found<'a>(&self, scene: &Scene<'a>) -> Option<&'a str> {
        let wanted = self.pattern.as_ref().map_or("", |pattern| pattern.0.as_str());
        let errors = &scene.facts.errors;
        if self.category == Some(ErrorCategory::Critical) {
            return errors.critical.as_deref().filter(|message| message.contains(wanted));
        }
        let fits = |category| self.category.is_none_or(|wanted| wanted == category);
        let mut fitting = errors.recent.iter().filter(|(category, _)| fits(*category));
        fitting.rfind(|(_, message)| message.contains(wanted)).map(|(_, message)| message.as_str())
    }
}

impl Kind for OnError {
    const TYPE: &'static str = "on_error";
    const EXAMPLE: &'static str = r#"{ type = "on_error", pattern = "disk full" }"#;
    const PRIORITY: i32 = 100;
    const WATCHES: Watch = Watch::ERRORS;
    const STREAKS: Streaks = Streaks::of(Streak::ConsecutiveErrors);

    fn describe(&self) -> String {
        let kind = match self.category {
            Some(ErrorCategory::Transient) => "a transient error",
            Some(ErrorCategory::Recoverable) => "a recoverable error",
            Some(ErrorCategory::Critical) => "a critical error",
            None => "an error",
        };
        match &self.pattern {
            Some(pattern) => format!("when {kind} contains {}", quoted(&pattern.0)),
            None => format!("when {kind} occurs"),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(self.found(scene).is_some())
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        match self.found(scene) {
            Some("") => "The last iteration ended in error".to_owned(),
            Some(message) => format!("Error: {}", first_line(message)),
            None => "No such error in the last iteration".to_owned(),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        match self.category {
            Some(ErrorCategory::Critical) => ReasonCode::CriticalFailure,
            _ => ReasonCode::Error,
        }
    }
}

record! {
    /// Errors in a row, none of them followed by a success.
    pub struct ConsecutiveErrors {
        /// How many.
        required count: Count,
        /// What the latest of them must be; left out: anything.
        optional category: ErrorCategory,
    }
}

impl Kind for ConsecutiveErrors {
    const TYPE: &'static str = "consecutive_errors";
    const EXAMPLE: &'static str =
        r#"{ type = "consecutive_errors", count = 3, category = "recoverable" }"#;
    const PROGRESS: &'static str = "errors in a row / `count`";
    const PRIORITY: i32 = 78;
    const WATCHES: Watch = Watch::ERRORS;
    const STREAKS: Streaks = Streaks::of(Streak::ConsecutiveErrors);

    fn describe(&self) -> String {
        let errors = counted(self.count.0, "error", "errors");
        match self.category {
            Some(category) => format!("after {errors} in a row, the latest {}", category.name()),
            None => format!("after {errors} in a row"),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let errors = &scene.facts.errors;
        let latest = errors.last.as_ref().map(|error| error.category);
        let fits = self.category.is_none() || self.category == latest;
        Measure::count(errors.consecutive, self.count.0).given(fits)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let errors = &scene.facts.errors;
        match &errors.last {
            Some(last) if measure.truth.is_met() => format!(
                "{} in a row, the last one: {}",
                counted(errors.consecutive, "error", "errors"),
                first_line(&last.message)
            ),
            _ => format!("{}/{} errors in a row", errors.consecutive, self.count.0),
        }
    }

    fn reason(&self, scene: &Scene<'_>) -> ReasonCode {
        let latest = scene.facts.errors.last.as_ref().map(|error| error.category);
        match self.category.or(latest) {
            Some(ErrorCategory::Critical) => ReasonCode::CriticalFailure,
            _ => ReasonCode::Error,
        }
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// Tasks (units where they are reported, else iterations) that ended in error, of all.
    pub struct ErrorRate {
        /// From which rate on.
        required at_least: Rate,
        /// How many must have ended before the rate counts.
        default min_tasks: Count = Count(1),
    }
}

impl Kind for ErrorRate {
    const TYPE: &'static str = "error_rate";
    const EXAMPLE: &'static str = r#"{ type = "error_rate", at_least = 0.2, min_tasks = 5 }"#;
    const PROGRESS: &'static str = "rate / `at_least`";
    const PRIORITY: i32 = 73;
    const WATCHES: Watch = Watch::ERRORS.union(Watch::UNITS);

    fn describe(&self) -> String {
        format!(
            "when at least {} of {} or more end in error",
            percent(self.at_least.0),
            counted(self.min_tasks.0, "task", "tasks")
        )
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let rate = scene.facts.error_rate();
        let (ended, _) = scene.facts.ended_and_errored();
        let ended = ended.max(u64::from(rate > 0.0));
        Measure::at_least(rate, self.at_least.0).given(ended >= self.min_tasks.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let (ended, errored) = scene.facts.ended_and_errored();
        let (rate, limit) = (percent(scene.facts.error_rate()), percent(self.at_least.0));
        if measure.truth.is_met() {
            format!("Error rate {rate} has reached the {limit} threshold")
        } else {
            format!("Error rate {rate} of {limit} ({errored} of {ended} ended in error)")
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ErrorRate
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.at_least, value);
    }
}

record! {
    /// The exit code of the last iteration.
    pub struct ExitCode {
        /// The codes that count; none: the rule is off.
        required any_of: SetOf<i32>,
    }
}

impl Kind for ExitCode {
    const TYPE: &'static str = "exit_code";
    const EXAMPLE: &'static str = r#"{ type = "exit_code", any_of = [3, 4] }"#;
    const PRIORITY: i32 = 87;
    const WATCHES: Watch = Watch::EXIT;

    fn describe(&self) -> String {
        let codes: Vec<_> = self.any_of.0.iter().map(i32::to_string).collect();
        match codes.as_slice() {
            [] => "never (no exit code is named)".to_owned(),
            codes => format!("when the command exits with {}", codes.join(" or ")),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let met = scene.facts.exit_code.is_some_and(|code| self.any_of.0.contains(&code));
        Measure { value: scene.facts.exit_code.map(f64::from), ..Measure::plain(met) }
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        match scene.facts.exit_code {
            Some(code) => format!("The last iteration exited with {code}"),
            None => "No iteration has exited yet".to_owned(),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}
