//! What a run tells those who watch it.

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::state::RunState;
use backstop_core::time::Moment;

use crate::launch::Launch;
use crate::prompt::Prompt;
use crate::tree::Containment;

/// Turns what happens into text. It never waits and never fails: what it answers is written by
/// the one who also writes the child's output, in order with it.
pub trait Reporter: Send + std::fmt::Debug {
    /// The run begins or goes on.
    fn started(&mut self, start: &Started<'_>) -> String;

    /// An event was journalled; `engine` has taken it in.
    fn event(&mut self, event: &Event, engine: &Engine) -> String;

    /// A decision that differs from the one before, or an iteration's end.
    fn decided(&mut self, decision: &Decision, engine: &Engine) -> String;

    /// Something worth a line of its own: a wait, a silent meter, a refused claim.
    fn remark(&mut self, remark: &Remark) -> String;

    /// Time has passed. Asked for about once a second if [`Reporter::wants_time`].
    fn passed(&mut self, _now: Moment, _engine: &Engine) -> String {
        String::new()
    }

    /// Whether what is told changes by time alone.
    fn wants_time(&self) -> bool {
        false
    }

    /// The lines of the live block, for a terminal of so many columns; none to show none.
    fn block(&mut self, status: &Status<'_>, columns: usize) -> Vec<String>;

    /// Whether lines may be printed that annotate a GitHub Action.
    fn annotates(&self) -> bool {
        true
    }

    /// The run has halted: the stop card.
    fn halted(&mut self, end: &Ended<'_>) -> String;
}

/// What is known when a run begins or goes on.
#[derive(Debug)]
pub struct Started<'a> {
    pub run: RunId,
    pub launch: &'a Launch,
    pub engine: &'a Engine,
    pub containment: Containment,
    /// Where the policy came from: `backstop.toml`, `preset:default`, and the flags laid over it.
    pub policy_name: &'a str,
    pub notes: &'a [String],
    /// It goes on after a halt or a crash.
    pub resumed: bool,
}

/// What the live block shows.
#[derive(Debug)]
pub struct Status<'a> {
    pub run: RunId,
    pub engine: &'a Engine,
    pub now: Moment,
    pub iteration: u64,
    pub phase: Phase,
}

/// What the run is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    Running,
    /// Nothing new starts; the iteration may finish for so long.
    Finishing {
        left: std::time::Duration,
    },
    /// The tree was told to end and has so long left.
    Ending {
        left: std::time::Duration,
    },
    Verifying,
    Reviewing,
    /// Between two iterations, for this reason, for so long.
    Waiting {
        why: String,
        left: Option<std::time::Duration>,
    },
    Paused,
    /// A person is asked something, and has so long to answer; then this happens.
    Asking {
        prompt: Prompt,
        left: Option<std::time::Duration>,
        then: &'static str,
    },
}

/// Something worth a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Information.
    Note(String),
    /// Something that the user may want to change.
    Warning(String),
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended<'a> {
    pub state: &'a RunState,
    pub decision: Option<&'a Decision>,
    pub engine: &'a Engine,
    /// The git ref that keeps the work.
    pub kept: Option<&'a str>,
    /// What the last verification said.
    pub verification: Option<&'a str>,
}
