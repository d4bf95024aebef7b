//! A finished run, as detectors see it.

use backstop_adapters::{Heard, Moment, Voice, trajectory};
use backstop_core::event::{EventKind, UsageBasis};
use backstop_core::repetition::Chant;
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;

/// The steps of a run, and what they cost together.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub steps: Vec<Step>,
    pub cost_usd: f64,
}

/// One thing that an agent did or said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub kind: String,
    /// What the agent said as it did this.
    pub thought: String,
    pub action: String,
    pub result: Option<String>,
    /// The trajectory says that it did not work.
    pub failed: bool,
    pub at: Option<Timestamp>,
}

impl Run {
    /// The runs of a trajectory; none if it is not one.
    pub fn all_of(bytes: &[u8]) -> Vec<Self> {
        let moment = Moment {
            now: Timestamp::default(),
            is_known: true,
            is_live: false,
            zone: TimeZone::UTC,
            zone_named: |_| None,
        };
        let (mut runs, mut thought, mut at) = (Vec::<Self>::new(), String::new(), None);
        let Some(kind) = trajectory::recognise(bytes) else { return runs };
        kind.read(bytes, &moment, &mut |heard: Heard<'_>| {
            if heard == Heard::Launched {
                runs.push(Self::default());
                at = None;
            }
            let Some(run) = runs.last_mut() else { return };
            match heard {
                Heard::At(told) => at = Some(told),
                Heard::Said(Voice::Assistant, text) => {
                    thought = text.to_owned();
                    run.steps.extend(Chant::find(text).map(|action| Step {
                        kind: "chant".to_owned(),
                        action,
                        at,
                        ..Step::default()
                    }));
                }
                Heard::Event(EventKind::Action(action)) => run.steps.push(Step {
                    kind: action.kind,
                    thought: std::mem::take(&mut thought),
                    action: action.signature,
                    result: action.result_signature,
                    failed: action.failed,
                    at,
                }),
                Heard::Event(EventKind::Usage(usage)) if usage.basis == Some(UsageBasis::Final) => {
                    run.cost_usd = usage.cost_usd.unwrap_or(0.0);
                }
                _ => {}
            }
        });
        runs
    }

    /// What the steps after this one cost. All are taken to cost the same, since most trajectories
    /// tell only the sum; later ones cost more, so this says too little rather than too much.
    pub fn cost_after(&self, step: usize) -> f64 {
        let after = self.steps.len().saturating_sub(step);
        self.cost_usd * after as f64 / self.steps.len().max(1) as f64
    }
}

impl Step {
    pub fn is_message(&self) -> bool {
        self.kind == "message"
    }

    pub fn is_action(&self) -> bool {
        !matches!(self.kind.as_str(), "message" | "empty" | "chant" | "compaction" | "user")
    }

    /// Whether it failed, or its result reads like a failure: most trajectories do not say.
    pub fn looks_failed(&self) -> bool {
        if self.failed {
            return true;
        }
        let result = self.result.as_deref().unwrap_or_default().to_lowercase();
        let mut first_lines = result.lines().filter(|line| !line.trim().is_empty()).take(2);
        first_lines.any(|line| FAILURES.iter().any(|words| line.contains(words)))
    }
}

const FAILURES: [&str; 9] = [
    "error",
    "exception",
    "traceback",
    "fatal",
    "failed",
    "not found",
    "no such file",
    "cannot",
    "denied",
];
