//! Conditions on scores: health, tasks, improvement, drift.

use super::budgets::{raise_count, raise_rate};
use super::kind::Kind;
use super::measure::{Measure, Scene, share};
use super::words::{counted, percent};
use crate::event::{LimitValue, Phase, Tasks};
use crate::facts::{Health, Watch};
use crate::field::{Count, Rate, record};
use crate::reason::ReasonCode;
use crate::time::Wake;

record! {
    /// The health score: how much room the run has left.
    pub struct HealthBelow {
        /// Below which score.
        required below: Rate,
    }
}

impl Kind for HealthBelow {
    const TYPE: &'static str = "health";
    const EXAMPLE: &'static str = r#"{ type = "health", below = 0.2 }"#;
    const PRIORITY: i32 = 62;
    const WATCHES: Watch = Watch::TOKENS
        .union(Watch::CONTEXT)
        .union(Watch::ERRORS)
        .union(Watch::UNITS)
        .union(Watch::PROGRESS);
    const MOVES: bool = true;

    fn describe(&self) -> String {
        format!("when the health score is below {}", percent(self.below.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::below(scene.facts.health_score(scene.now, scene.limits), self.below.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let score = percent(measure.value.unwrap_or(1.0));
        if !measure.truth.is_met() {
            return format!("Health {score}, the limit is {}", percent(self.below.0));
        }
        let health = scene.facts.health(scene.now, scene.limits);
        format!(
            "Health {score} is below {} (left: tokens {}, context {}, errors {}, recent progress {})",
            percent(self.below.0),
            percent(health.tokens_left),
            percent(health.context_left),
            percent(health.errors_left),
            if health.recent_progress > 0.0 { "yes" } else { "no" },
        )
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::HealthCritical
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        Wake::active(scene.facts.progress.active_at_age(Health::RECENT))
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.below, value);
    }
}

record! {
    /// All known tasks are done.
    pub struct TasksDone {}
}

impl Kind for TasksDone {
    const TYPE: &'static str = "tasks_done";
    const EXAMPLE: &'static str = r#"{ type = "tasks_done" }"#;
    const PROGRESS: &'static str = "done / total";
    const PRIORITY: i32 = 58;
    const WATCHES: Watch = Watch::TASKS;

    fn describe(&self) -> String {
        "when all tasks are done".to_owned()
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 tasks")]
    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let Some(tasks) = &scene.facts.tasks else { return Measure::plain(false) };
        let open_improvements = tasks.improvements.unwrap_or(0) > 0;
        let met = primary_done(tasks) && !(open_improvements && tasks.phase == Phase::Improvement);
        Measure {
            progress: if met || tasks.total > 0 {
                share(tasks.done as f64, tasks.total as f64)
            } else {
                0.0
            },
            value: Some(tasks.done as f64),
            threshold: Some(tasks.total as f64),
            ..Measure::plain(met)
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        match &scene.facts.tasks {
            None => "No tasks are known".to_owned(),
            Some(tasks) if measure.truth.is_met() => {
                format!("All {} are done", counted(tasks.total, "task", "tasks"))
            }
            Some(tasks) => {
                format!("{}/{} tasks done, {} queued", tasks.done, tasks.total, tasks.queued)
            }
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}

record! {
    /// Improvement cycles that no longer improve anything.
    pub struct DiminishingReturns {
        /// How many cycles there must have been.
        default cycles: Count = Count(5),
        /// Below which improvement of the last one.
        default below: Rate = Rate(0.10),
    }
}

impl Kind for DiminishingReturns {
    const TYPE: &'static str = "diminishing_returns";
    const EXAMPLE: &'static str = r#"{ type = "diminishing_returns", cycles = 5, below = 0.1 }"#;
    const PROGRESS: &'static str = "cycles / `cycles`";
    const PRIORITY: i32 = 57;
    const WATCHES: Watch = Watch::CYCLES.union(Watch::TASKS);

    fn describe(&self) -> String {
        let cycles = counted(self.cycles.0, "cycle", "cycles");
        format!("after {cycles}, when the last one improved less than {}", percent(self.below.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let cycles = &scene.facts.cycles;
        let only_improvements_left = scene.facts.tasks.as_ref().is_some_and(|tasks| {
            primary_done(tasks)
                && tasks.phase == Phase::Improvement
                && tasks.improvements.unwrap_or(0) > 0
        });
        let small = cycles.improvement.is_some_and(|improvement| improvement < self.below.0);
        let met = small && (cycles.count >= self.cycles.0 || only_improvements_left);
        Measure {
            progress: if met { 1.0 } else { Measure::count(cycles.count, self.cycles.0).progress },
            value: cycles.improvement,
            threshold: Some(self.below.0),
            ..Measure::plain(met)
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let cycles = &scene.facts.cycles;
        match cycles.improvement {
            Some(improvement) if measure.truth.is_met() => format!(
                "The last cycle improved {}, less than {} (cycle {})",
                percent(improvement),
                percent(self.below.0),
                cycles.count
            ),
            Some(improvement) => {
                format!(
                    "Cycle {}/{}, improvement {}",
                    cycles.count,
                    self.cycles.0,
                    percent(improvement)
                )
            }
            None => format!("Cycle {}/{}", cycles.count, self.cycles.0),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::DiminishingReturns
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.cycles, value);
    }
}

record! {
    /// Distance of the work from what was asked for.
    pub struct TopicDrift {
        /// Beyond which score.
        required above: Rate,
    }
}

impl Kind for TopicDrift {
    const TYPE: &'static str = "topic_drift";
    const EXAMPLE: &'static str = r#"{ type = "topic_drift", above = 0.5 }"#;
    const PROGRESS: &'static str = "score / `above`";
    const PRIORITY: i32 = 55;
    const WATCHES: Watch = Watch::DRIFT.union(Watch::ITERATIONS);

    fn describe(&self) -> String {
        format!("when the work drifts more than {} from what was asked", percent(self.above.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        match scene.facts.drift {
            Some(score) => Measure::above(score, self.above.0),
            // Work that nobody has compared with anything has not been found to be close to it.
            None => Measure { value: None, ..Measure::above(0.0, self.above.0) }
                .unless_silent(scene.facts.iterations > 0, scene),
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        if scene.facts.drift.is_none() && !measure.truth.is_known() {
            return "The drift has not been measured".to_owned();
        }
        let (drift, limit) = (percent(measure.value.unwrap_or(0.0)), percent(self.above.0));
        if measure.truth.is_met() {
            format!("Drift {drift} exceeds {limit} threshold")
        } else {
            format!("Drift {drift} of {limit}")
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::TopicDrift
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.above, value);
    }
}

/// At least one task is known, none is queued, and all primary ones are done.
fn primary_done(tasks: &Tasks) -> bool {
    tasks.total > 0 && tasks.queued == 0 && tasks.done >= tasks.total
}

#[cfg(test)]
mod tests {
    use crate::document::Syntax;
    use crate::engine::Engine;
    use crate::event::Event;
    use crate::policy::Policy;
    use crate::time::Timestamp;
    use crate::verdict::Verdict;

    #[test]
    fn a_drift_that_nobody_measures_is_unknown_and_never_0() {
        let text = b"[[rule]]\nwhen = { type = 'topic_drift', above = 0.5 }\nthen = 'stop'\n";
        let mut engine = Engine::new(Policy::load(text, Syntax::Toml).unwrap().policy);
        let now = Timestamp::from_nanos(0);
        let mut after = |event: &str| {
            engine.handle_event(&Event::from_json(event.as_bytes()).unwrap(), now);
            let decision = engine.poll_decision(engine.moment(now));
            let unknown = decision.unknown.into_iter().next().map(|unknown| unknown.why);
            (decision.verdict, unknown)
        };
        let start = after(r#"{"type": "iteration_started"}"#);
        assert_eq!(start, (Verdict::Continue, None), "it may still be measured");
        let ended = after(r#"{"type": "iteration_finished", "exit_code": 0}"#);
        let why = "The drift has not been measured".to_owned();
        assert_eq!(ended, (Verdict::Continue, Some(why)), "it does not hold the run");
        assert_eq!(after(r#"{"type": "drift", "score": 0.5}"#), (Verdict::Continue, None));
        assert_eq!(after(r#"{"type": "drift", "score": 0.6}"#), (Verdict::Stop, None));
    }
}
