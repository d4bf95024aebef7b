//! Conditions of a bot that re-runs failed jobs.

use std::time::Duration;

use super::budgets::{raise_count, raise_duration};
use super::kind::Kind;
use super::measure::{Measure, Scene, milliseconds, share};
use super::output::value_span;
use super::words::{counted, duration, quoted};
use crate::event::LimitValue;
use crate::facts::Watch;
use crate::field::{Count, Period, SetOf, Text, record};
use crate::reason::ReasonCode;
use crate::time::{Timestamp, Wake};

record! {
    /// The class of the failure.
    pub struct FailureClass {
        /// Classes of which the failure's contains one; none: the rule is off.
        required any_of: SetOf<Text>,
    }
}

impl FailureClass {
    fn found(&self, scene: &Scene<'_>) -> Option<&str> {
        let class = scene.facts.reruns.failure_class.as_ref()?.trim().to_lowercase();
        let contained = |wanted: &&str| class.contains(&wanted.trim().to_lowercase());
        self.any_of.0.iter().map(|wanted| wanted.0.as_str()).find(contained)
    }
}

impl Kind for FailureClass {
    const TYPE: &'static str = "failure_class";
    const EXAMPLE: &'static str = r#"{ type = "failure_class", any_of = ["lint error"] }"#;
    const PRIORITY: i32 = 68;
    const WATCHES: Watch = Watch::RERUN;

    fn prepare(&mut self, node: &crate::document::Node, findings: &mut crate::field::Findings) {
        // A class of blanks would be contained in every other.
        if self.any_of.0.iter().any(|class| class.0.trim().is_empty()) {
            findings.push(
                crate::diagnostic::Diagnostic::error(
                    "`any_of` holds a blank class",
                    value_span(node, "any_of"),
                )
                .label("it would match every failure"),
            );
        }
    }

    fn describe(&self) -> String {
        let classes: Vec<_> = self.any_of.0.iter().map(|class| quoted(&class.0)).collect();
        match classes.as_slice() {
            [] => "never (no failure class is named)".to_owned(),
            classes => format!("when the failure's class contains {}", classes.join(" or ")),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(self.found(scene).is_some())
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        match (self.found(scene), &scene.facts.reruns.failure_class) {
            (Some(_), Some(class)) => format!("Failure class {} is non-retriable", quoted(class)),
            (None, Some(class)) => format!("Failure class {} may be retried", quoted(class)),
            (_, None) => "No failure class is known".to_owned(),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::NonRetriable
    }
}

record! {
    /// Re-runs of this job.
    pub struct JobAttempts {
        /// How many there may be.
        required count: Count,
    }
}

impl Kind for JobAttempts {
    const TYPE: &'static str = "job_attempts";
    const EXAMPLE: &'static str = r#"{ type = "job_attempts", count = 2 }"#;
    const PROGRESS: &'static str = "re-runs / `count`";
    const PRIORITY: i32 = 67;
    const WATCHES: Watch = Watch::RERUN;

    fn describe(&self) -> String {
        format!("after {} of this job", counted(self.count.0, "re-run", "re-runs"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.reruns.job_attempts, self.count.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let attempts = scene.facts.reruns.job_attempts;
        if measure.truth.is_met() {
            format!("Job has reached the maximum rerun attempts ({attempts}/{})", self.count.0)
        } else {
            format!("{attempts}/{} re-runs of this job", self.count.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::MaxAttempts
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// Re-runs of all jobs of this subject.
    pub struct TotalAttempts {
        /// How many there may be.
        required count: Count,
    }
}

impl Kind for TotalAttempts {
    const TYPE: &'static str = "total_attempts";
    const EXAMPLE: &'static str = r#"{ type = "total_attempts", count = 5 }"#;
    const PROGRESS: &'static str = "re-runs / `count`";
    const PRIORITY: i32 = 66;
    const WATCHES: Watch = Watch::RERUN;

    fn describe(&self) -> String {
        format!("after {} over all jobs", counted(self.count.0, "re-run", "re-runs"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.reruns.total_attempts, self.count.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let attempts = scene.facts.reruns.total_attempts;
        if measure.truth.is_met() {
            format!(
                "The maximum total reruns over all jobs are used up ({attempts}/{})",
                self.count.0
            )
        } else {
            format!("{attempts}/{} re-runs over all jobs", self.count.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::MaxTotalReruns
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// The last failures all looked the same.
    pub struct NoSignalChange {
        /// How many of them.
        required cycles: Count,
    }
}

impl Kind for NoSignalChange {
    const TYPE: &'static str = "no_signal_change";
    const EXAMPLE: &'static str = r#"{ type = "no_signal_change", cycles = 2 }"#;
    const PROGRESS: &'static str = "equal failures / `cycles`";
    const PRIORITY: i32 = 65;
    const WATCHES: Watch = Watch::RERUN;

    fn describe(&self) -> String {
        format!("when the last {} look the same", counted(self.cycles.0, "failure", "failures"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.reruns.equal_signals, self.cycles.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let equal = scene.facts.reruns.equal_signals;
        if measure.truth.is_met() {
            format!(
                "No signal change detected in the last {}",
                counted(equal, "failure", "failures")
            )
        } else {
            format!("{equal}/{} equal failures", self.cycles.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::NoSignalChange
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.cycles, value);
    }
}

record! {
    /// Too little time since the last change.
    pub struct Cooldown {
        /// How long to wait after a change.
        required duration: Period,
    }
}

impl Cooldown {
    fn left(&self, scene: &Scene<'_>) -> Duration {
        let ends = scene.facts.reruns.last_changed_at.map(|changed| changed.plus(self.duration.0));
        // A change that lies in the future leaves the whole time to wait, not more.
        ends.map_or(Duration::ZERO, |ends| ends.since(scene.now.at)).min(self.duration.0)
    }
}

impl Kind for Cooldown {
    const TYPE: &'static str = "cooldown";
    const EXAMPLE: &'static str = r#"{ type = "cooldown", duration = "5m" }"#;
    const PROGRESS: &'static str = "while it is met, the part left to wait";
    const PRIORITY: i32 = 64;
    const WATCHES: Watch = Watch::RERUN;
    const MOVES: bool = true;

    fn describe(&self) -> String {
        format!("for {} after a change", duration(self.duration.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let elapsed = scene.facts.reruns.last_changed_at.map(|at| scene.now.at.since(at));
        let whole = milliseconds(self.duration.0);
        Measure {
            truth: super::Truth::of(elapsed.is_some_and(|elapsed| elapsed < self.duration.0)),
            progress: elapsed.map_or(0.0, |elapsed| 1.0 - share(milliseconds(elapsed), whole)),
            value: elapsed.map(milliseconds),
            threshold: Some(whole),
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        if measure.truth.is_met() {
            let left = duration(self.left(scene));
            format!("Cooldown period active: {left} of {} left", duration(self.duration.0))
        } else {
            format!("No change in the last {}", duration(self.duration.0))
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::CooldownActive
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        due(scene.facts.reruns.last_changed_at, self.duration)
    }

    fn raise(&mut self, value: LimitValue) {
        raise_duration(&mut self.duration, value);
    }
}

record! {
    /// Too much time since the first failure.
    pub struct Unresolved {
        /// How long a failure may stay unresolved.
        required duration: Period,
    }
}

impl Kind for Unresolved {
    const TYPE: &'static str = "unresolved";
    const EXAMPLE: &'static str = r#"{ type = "unresolved", duration = "1h" }"#;
    const PROGRESS: &'static str = "time since the first failure / `duration`";
    const PRIORITY: i32 = 63;
    const WATCHES: Watch = Watch::RERUN;
    const MOVES: bool = true;

    fn describe(&self) -> String {
        format!("when a failure is unresolved for {}", duration(self.duration.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        match scene.facts.reruns.first_failure_at {
            Some(first) => Measure::duration(scene.now.at.since(first), self.duration.0),
            None => {
                Measure { threshold: Some(milliseconds(self.duration.0)), ..Measure::plain(false) }
            }
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let Some(first) = scene.facts.reruns.first_failure_at else {
            return "No failure is known".to_owned();
        };
        let (age, limit) = (duration(scene.now.at.since(first)), duration(self.duration.0));
        if measure.truth.is_met() {
            format!("Maximum wait time exceeded: unresolved for {age}, the limit is {limit}")
        } else {
            format!("Unresolved for {age} of {limit}")
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::WaitTimeout
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        due(scene.facts.reruns.first_failure_at, self.duration)
    }

    fn raise(&mut self, value: LimitValue) {
        raise_duration(&mut self.duration, value);
    }
}

fn due(from: Option<Timestamp>, period: Period) -> Wake {
    from.map_or(Wake::NEVER, |from| Wake::at(from.plus(period.0)))
}
