//! Tells whether an agent repeats itself: a fixed amount of memory, a bounded amount of work a step.
//!
//! The detector sees each step once, keeps keys of the last ones, and counts. What it has counted is
//! a [`Reading`]; [`judge`] holds that against [`Thresholds`]; [`Detector::evidence`] says in plain
//! words what repeated. The same steps always give the same state, and a state that was stored and
//! read back goes on exactly where it was.

mod array;
mod chant;
mod cycle;
mod evidence;
mod reading;
mod ring;
mod signal;
mod sketch;
mod state;
mod streak;

pub use chant::Chant;
pub use evidence::Evidence;
pub use reading::{Cycle, Polling, Reading};
pub use signal::{Sensitivity, Signal, Thresholds, UnknownName, judge};

use serde::{Deserialize, Serialize};
use state::State;

/// One thing that happened in the run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub kind: StepKind,
    /// What was done: tool and arguments, or the text of a message.
    pub action: &'a [u8],
    /// What came back, if that is known.
    pub result: Option<&'a [u8]>,
    pub failed: bool,
    pub active_ms: u64,
    /// What the run has cost so far.
    pub cost_usd: f64,
    /// The batch of parallel calls that this is one of. Without it, steps at exactly the same
    /// active time are a batch.
    pub turn: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Action,
    /// The agent said something.
    Message,
    /// The agent answered with nothing.
    Empty,
    /// An answer said one phrase over and over, which is the step's action: see [`Chant`].
    Chant,
    /// The context was condensed.
    Compaction,
    /// Something was said to the agent, by a program as likely as by a person. It changes nothing.
    User,
    /// A person spoke to the agent: what comes now is what they asked for, and all is forgotten but
    /// the number of steps.
    Person,
}

impl From<&str> for StepKind {
    fn from(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "empty" => Self::Empty,
            "chant" => Self::Chant,
            "compaction" | "condensation" => Self::Compaction,
            "user" => Self::User,
            "person" => Self::Person,
            _ => Self::Action,
        }
    }
}

/// The detector's whole state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Detector {
    state: Box<State>,
}

impl Detector {
    pub fn new() -> Self {
        Self { state: Box::new(State::new()) }
    }

    /// Takes one step into account.
    pub fn observe(&mut self, step: &Step<'_>) {
        self.state.observe(step);
    }

    /// Takes an error into account that was reported by itself, not as the result of a step.
    pub fn observe_error(&mut self, signature_or_message: &[u8]) {
        self.state.observe_error(signature_or_message);
    }

    /// The run got somewhere: counts begin anew, but what was seen stays seen.
    pub fn progress(&mut self) {
        self.state.clear_counts();
    }

    /// Another launch begins, with a prompt of its own: to answer that is no monologue, unless it is
    /// always the same answer.
    pub fn launched(&mut self) {
        self.state.launched();
    }

    pub fn reading(&self) -> Reading {
        self.state.reading()
    }

    /// What repeats, if anything does: the signal at its normal threshold, else the one at its
    /// warning threshold.
    pub fn evidence(&self) -> Evidence {
        let reading = self.reading();
        let warned = || judge(&reading, &Thresholds::for_sensitivity(Sensitivity::High));
        match reading.kind.or_else(warned) {
            Some(signal) => self.evidence_for(signal),
            None => Evidence { sentence: "nothing repeats".to_owned(), ..Evidence::default() },
        }
    }

    /// What speaks for this signal, whether or not it is at a threshold.
    pub fn evidence_for(&self, signal: Signal) -> Evidence {
        self.state.evidence_for(signal)
    }
}

impl Default for Detector {
    fn default() -> Self {
        Self::new()
    }
}
