//! Conditions on the lack of progress: iterations, time, and the agent repeating itself.

use super::budgets::{raise_count, raise_duration};
use super::kind::Kind;
use super::measure::{Measure, Scene};
use super::words::{counted, duration};
use crate::event::LimitValue;
use crate::facts::{Streak, Streaks, Watch};
use crate::field::{Count, Money, Period, Rate, choices, record};
use crate::reason::ReasonCode;
use crate::repetition::{Sensitivity, Signal, Thresholds, judge};
use crate::time::Wake;

record! {
    /// Iterations in a row without progress.
    pub struct NoProgress {
        /// How many.
        required iterations: Count,
    }
}

impl Kind for NoProgress {
    const TYPE: &'static str = "no_progress";
    const EXAMPLE: &'static str = r#"{ type = "no_progress", iterations = 3 }"#;
    const PROGRESS: &'static str = "iterations since progress / `iterations`";
    const PRIORITY: i32 = 70;
    const WATCHES: Watch = Watch::PROGRESS;
    const STREAKS: Streaks = Streaks::of(Streak::NoProgress);

    fn describe(&self) -> String {
        format!("after {} without progress", counted(self.iterations.0, "iteration", "iterations"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.progress.iterations_since, self.iterations.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let since = scene.facts.progress.iterations_since;
        if measure.truth.is_met() {
            format!("{} in a row made no progress", counted(since, "iteration", "iterations"))
        } else {
            format!("{since}/{} iterations without progress", self.iterations.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::Stalled
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.iterations, value);
    }
}

record! {
    /// Active time since the last progress, or since the start.
    pub struct Stagnation {
        /// How long.
        required duration: Period,
    }
}

impl Kind for Stagnation {
    const TYPE: &'static str = "stagnation";
    const EXAMPLE: &'static str = r#"{ type = "stagnation", duration = "30m" }"#;
    const PROGRESS: &'static str = "active time since progress / `duration`";
    const PRIORITY: i32 = 70;
    const WATCHES: Watch = Watch::PROGRESS;
    const STREAKS: Streaks = Streaks::of(Streak::Stagnation);
    const MOVES: bool = true;

    fn describe(&self) -> String {
        format!("after {} without progress", duration(self.duration.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::duration(scene.facts.progress.age(scene.now.active), self.duration.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let age = duration(scene.facts.progress.age(scene.now.active));
        if measure.truth.is_met() {
            format!("No progress for {age}, the limit is {}", duration(self.duration.0))
        } else {
            format!("{age} of {} without progress", duration(self.duration.0))
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::Stalled
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        Wake::active(scene.facts.progress.active_at_age(self.duration.0))
    }

    fn raise(&mut self, value: LimitValue) {
        raise_duration(&mut self.duration, value);
    }
}

choices! {
    Sensitivity {
        "low" => Low,
        "normal" => Normal,
        "high" => High,
    }
}

record! {
    /// The agent repeats itself: actions, results, errors, cycles of them, or talk without action.
    pub struct Repetition {
        /// How soon it is noticed; each threshold below may be set by itself.
        default sensitivity: Sensitivity = Sensitivity::Normal,
        /// The same action with the same result, so many times in a row.
        optional repeat_pair: Count,
        /// The same action, whatever its result, so many times in a row.
        optional repeat_action: Count,
        /// The same action failing, or the same error, so many times in a row.
        optional repeat_error: Count,
        /// A cycle of two to eight steps, so many times over.
        optional cycle: Count,
        /// So many messages in a row without an action.
        optional monologue: Count,
        /// So many equal messages in a row without an action.
        optional monologue_equal: Count,
        /// So many empty answers in a row.
        optional empty: Count,
        /// So many answers that say one phrase over and over, without an action between.
        optional content_chant: Count,
        /// So many compactions of the context without a successful action between.
        optional compaction: Count,
        /// Which share of the last steps must have been there before.
        optional novelty: Rate,
        /// From which score of gathered evidence on.
        optional score: Money,
        /// How long the same poll may give the same answer.
        optional max_wait: Period,
        /// What the same poll with the same answer may cost, in US dollars.
        optional max_wait_cost: Money,
    }
}

impl Repetition {
    fn thresholds(&self) -> Thresholds {
        let normal = Thresholds::for_sensitivity(self.sensitivity);
        let count = |own: Option<Count>, other: u32| {
            own.map_or(other, |count| u32::try_from(count.0).unwrap_or(u32::MAX))
        };
        Thresholds {
            repeat_pair: count(self.repeat_pair, normal.repeat_pair),
            repeat_action: count(self.repeat_action, normal.repeat_action),
            repeat_error: count(self.repeat_error, normal.repeat_error),
            cycle: count(self.cycle, normal.cycle),
            monologue: count(self.monologue, normal.monologue),
            monologue_equal: count(self.monologue_equal, normal.monologue_equal),
            empty: count(self.empty, normal.empty),
            content_chant: count(self.content_chant, normal.content_chant),
            novelty: self.novelty.map_or(normal.novelty, |share| share.0),
            compaction: count(self.compaction, normal.compaction),
            score: self.score.map_or(normal.score, |score| score.0),
            max_wait: self.max_wait.map_or(normal.max_wait, |wait| wait.0),
            max_wait_cost: self.max_wait_cost.map_or(normal.max_wait_cost, |cost| cost.0),
        }
    }

    fn signal(&self, scene: &Scene<'_>) -> Option<Signal> {
        let thresholds = self.thresholds();
        match (&scene.facts.overrides.repetition, scene.facts.repetition()) {
            (Some(given), _) => {
                (given.score >= thresholds.score).then(|| given.kind.unwrap_or(Signal::Cusum))
            }
            (None, Some(reading)) => judge(&reading, &thresholds),
            (None, None) => None,
        }
    }

    fn score(scene: &Scene<'_>) -> f64 {
        match (&scene.facts.overrides.repetition, scene.facts.repetition()) {
            (Some(given), _) => given.score,
            (None, Some(reading)) => reading.score,
            (None, None) => 0.0,
        }
    }
}

impl Kind for Repetition {
    const TYPE: &'static str = "repetition";
    const EXAMPLE: &'static str = r#"{ type = "repetition" }"#;
    const PRIORITY: i32 = 69;
    const WATCHES: Watch = Watch::REPETITION;
    const STREAKS: Streaks = Streaks::of(Streak::Repetition);

    fn describe(&self) -> String {
        match self.sensitivity {
            Sensitivity::Normal => "when the agent repeats itself".to_owned(),
            other => format!("when the agent repeats itself ({} sensitivity)", other.name()),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure {
            value: Some(Self::score(scene)),
            threshold: Some(self.thresholds().score),
            ..Measure::plain(self.signal(scene).is_some())
        }
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        let Some(signal) = self.signal(scene) else {
            return format!("No repetition (score {:.2})", Self::score(scene));
        };
        match scene.facts.repetition_evidence(signal) {
            Some(evidence) if scene.facts.overrides.repetition.is_none() => {
                format!("{evidence} ({})", signal.as_str())
            }
            _ => format!("The agent repeats itself ({})", signal.as_str()),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::Repetition
    }
}
