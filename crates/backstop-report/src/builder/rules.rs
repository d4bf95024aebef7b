//! How far every rule came, and when.

use backstop_core::condition::Measure;
use backstop_core::engine::Engine;
use backstop_core::event::EventKind;
use backstop_core::policy::Rule;
use backstop_core::time::Timestamp;

use crate::figures::{is_limit, of_limit};
use crate::report::{Limit, Nearly};

/// The high-water marks of all rules.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    peaks: Vec<Peak>,
    /// Those whose progress is kept over time.
    drawn: Vec<usize>,
    looks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    progress: f64,
    value: Option<f64>,
    threshold: Option<f64>,
    at: Option<Timestamp>,
    met: bool,
}

impl Rules {
    pub(super) fn new(engine: &Engine) -> Self {
        let rules: Vec<_> = engine.policy().all_rules().enumerate().collect();
        let has_figures = |index: usize| engine.measure(index).threshold.is_some();
        let drawn = rules
            .iter()
            .filter(|(index, rule)| is_limit(rule) && has_figures(*index))
            .map(|(index, _)| *index)
            .take(MOST_DRAWN)
            .collect();
        Self { peaks: vec![Peak::default(); rules.len()], drawn, looks: 0 }
    }

    /// Whether another look between two points is worth its time: with many rules and events only
    /// the points themselves are.
    pub(super) fn may_look(&self) -> bool {
        self.looks.saturating_mul(self.peaks.len() as u64) < MOST_MEASURES
    }

    /// Looks at what the engine found at its last decision.
    pub(super) fn look(&mut self, engine: &Engine, at: Timestamp) {
        self.looks += 1;
        for (index, peak) in self.peaks.iter_mut().enumerate() {
            let Measure { truth, progress, value, threshold } = engine.measure(index);
            peak.met |= truth.is_met();
            if progress > peak.progress {
                *peak = Peak { progress, value, threshold, at: Some(at), met: peak.met };
            }
        }
    }

    /// How far each drawn limit is at the last decision.
    pub(super) fn drawn_progress(&self, engine: &Engine) -> Vec<f64> {
        self.drawn.iter().map(|index| engine.progress(*index)).collect()
    }

    pub(super) fn drawn_names(&self, engine: &Engine) -> Vec<String> {
        let rules: Vec<_> = engine.policy().all_rules().collect();
        self.drawn.iter().map(|index| rules[*index].name().to_owned()).collect()
    }

    /// The limits with figures, nearest first.
    pub(super) fn limits(&self, engine: &Engine) -> Vec<Limit> {
        let mut limits: Vec<_> = self
            .rules(engine)
            .filter(|(_, rule, _)| is_limit(rule))
            .filter_map(|(index, rule, peak)| {
                let measure = engine.measure(index);
                let (value, threshold) = measure.value.zip(measure.threshold)?;
                let when = engine.condition(index);
                Some(Limit {
                    rule: rule.name().to_owned(),
                    condition: when.type_name(),
                    when: when.describe(),
                    verdict: rule.then,
                    value,
                    threshold,
                    words: of_limit(when, value, threshold),
                    progress: measure.progress,
                    highest: peak.progress.max(measure.progress),
                    met: peak.met,
                })
            })
            .collect();
        limits.sort_by(|one, other| other.progress.total_cmp(&one.progress));
        limits.truncate(MOST_LIMITS);
        limits
    }

    /// Rules that came near and never fired, nearest first.
    pub(super) fn nearly(&self, engine: &Engine) -> Vec<Nearly> {
        let mut nearly: Vec<_> = self
            .rules(engine)
            .filter(|(_, _, peak)| !peak.met && peak.progress >= NEAR)
            .map(|(index, rule, peak)| {
                let when = engine.condition(index);
                let figures = peak.value.zip(peak.threshold);
                Nearly {
                    rule: rule.name().to_owned(),
                    when: when.describe(),
                    verdict: rule.then,
                    highest: peak.progress,
                    words: figures.map(|(value, threshold)| of_limit(when, value, threshold)),
                    at: peak.at,
                }
            })
            .collect();
        nearly.sort_by(|one, other| other.highest.total_cmp(&one.highest));
        nearly.truncate(MOST_LIMITS);
        nearly
    }

    fn rules<'a>(
        &'a self,
        engine: &'a Engine,
    ) -> impl Iterator<Item = (usize, &'a Rule, &'a Peak)> {
        let rules = engine.policy().all_rules().enumerate();
        rules.zip(&self.peaks).map(|((index, rule), peak)| (index, rule, peak))
    }
}

/// Whether rules may stand higher after such an event than before and after it.
pub(super) fn may_turn(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::IterationFinished(_)
            | EventKind::Decided(_)
            | EventKind::Tests(_)
            | EventKind::Unit(_)
            | EventKind::ErrorSeen(_)
            | EventKind::Context(_)
            | EventKind::Review(_)
            | EventKind::Cycle(_)
            | EventKind::Drift(_)
            | EventKind::FailureSignal(_)
            | EventKind::Quota(_)
    )
}

/// From here on a rule nearly fired.
const NEAR: f64 = 0.8;
const MOST_DRAWN: usize = 12;
const MOST_LIMITS: usize = 40;
/// Enough to look at every turn of an ordinary run, and a fraction of a second in any.
const MOST_MEASURES: u64 = 2_000_000;
