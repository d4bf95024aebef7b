//! What a report holds. Its JSON is what `backstop report --format json` prints: fields are added,
//! never renamed.

use std::collections::BTreeMap;

use backstop_core::event::{
    Answer, ErrorCategory, GuardKind, ProgressKind, RecoveryKind, ReviewOutcome, TestCounts,
    UnitStatus, VerificationOutcome,
};
use backstop_core::id::RunId;
use backstop_core::policy::Explained;
use backstop_core::reason::NextStep;
use backstop_core::state::Statistics;
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;
use serde::Serialize;

use crate::bounded::Kept;
use crate::standing::NextCommand;
use crate::{html, markdown};

/// A run, told from its journal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Of this form; it grows when a field changes its meaning.
    pub version: u32,
    pub run: RunId,
    /// `running`, `paused`, `held`, `stopped`, `completed`, `failed`, or `interrupted`.
    pub status: &'static str,
    /// What became of it, in one sentence.
    pub summary: String,
    pub reported_at: Timestamp,
    pub asked: Asked,
    /// Why it ended; none while it goes on.
    pub ended: Option<Ended>,
    pub figures: Figures,
    /// Every rule that can end or hold the run and has figures, nearest first.
    pub limits: Vec<Limit>,
    pub done: Done,
    pub decisions: Decisions,
    pub timeline: Kept<Moment>,
    pub series: OverTime,
    pub next: Next,
    /// What a reader should know about the report itself.
    pub notes: Vec<String>,
}

impl Report {
    pub const VERSION: u32 = 1;

    /// For people, in Markdown of 80 columns.
    pub fn to_markdown(&self) -> String {
        markdown::page(self)
    }

    /// For people, as one page that needs nothing else.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// For programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has only string keys")
    }
}

/// What was to be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Asked {
    pub command: Vec<String>,
    pub cwd: String,
    pub labels: BTreeMap<String, String>,
    pub started_at: Option<Timestamp>,
    /// Whether somebody drove it; a run of `begin` and `emit` reports by itself.
    pub supervised: bool,
    pub once: bool,
    /// The file with the requirements.
    pub requirements: Option<String>,
    pub task: Option<String>,
    /// What every iteration read.
    pub stdin: Option<String>,
    /// The command that tells whether the work is good.
    pub verify: Option<String>,
    /// Where the policy came from.
    pub policy: String,
    pub policy_hash: String,
    /// Every rule in plain words, in the order in which it would win.
    pub rules: Vec<Explained>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ended {
    pub reason: String,
    pub title: String,
    pub message: String,
    pub diagnosis: String,
    /// The type of the condition that was met.
    pub condition: Option<String>,
    pub value: Option<f64>,
    pub threshold: Option<f64>,
    pub exit_code: u8,
    pub at: Option<Timestamp>,
    pub resumable: bool,
}

/// Figures of the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    #[serde(flatten)]
    pub statistics: Statistics,
    /// From the first event to the last, holds and all.
    pub wall_ms: u64,
    pub events: u64,
    pub actions: u64,
    pub failed_actions: u64,
    /// None where nobody has tested.
    pub tests: Option<TestCounts>,
    pub health: Option<Health>,
}

/// How much room the run had left in the end, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Health {
    pub score: f64,
    pub tokens_left: f64,
    pub context_left: f64,
    pub errors_left: f64,
    pub recent_progress: f64,
}

/// A rule that ends or holds the run at a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    pub rule: String,
    /// The type of its condition.
    pub condition: &'static str,
    pub when: String,
    pub verdict: Verdict,
    pub value: f64,
    pub threshold: f64,
    /// `$4.12 of $20`.
    pub words: String,
    /// From 0 to 1, in the end.
    pub progress: f64,
    /// The highest that was seen.
    pub highest: f64,
    /// Whether it was ever met.
    pub met: bool,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Done {
    pub iterations: Iterations,
    /// How often the work moved on, by what showed it.
    pub progress: BTreeMap<ProgressKind, u64>,
    /// What the commits said.
    pub commits: Kept<Noticed>,
    /// The git refs that keep the work.
    pub kept: Kept<String>,
    pub units: Option<Units>,
    pub tests: Option<TestsDone>,
    /// Errors by their category.
    pub errors: Vec<Errors>,
    pub waits: Waits,
    pub recoveries: BTreeMap<&'static str, u64>,
    pub questions: Kept<Question>,
    pub guards: Vec<GuardSeen>,
    pub verification: Option<Verified>,
    pub reviews: Option<Reviews>,
    /// Claims that the work was done that were not proven.
    pub refused_claims: u64,
    pub raises: Kept<Noticed>,
    /// Figures of the improvement cycles.
    pub cycles: Kept<BTreeMap<String, f64>>,
}

/// Iterations: their figures, and the first and last of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Iterations {
    pub count: u64,
    /// How many did not end well.
    pub failed: u64,
    pub total_ms: u64,
    pub longest_ms: u64,
    #[serde(flatten)]
    pub list: Kept<Iteration>,
}

/// One execution of the command.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Iteration {
    pub number: u64,
    pub ended_at: Option<Timestamp>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: u64,
    pub tokens: u64,
    pub cost_usd: f64,
    /// How often the work moved on in it.
    pub progress: u64,
    pub errors: u64,
    pub tests: Option<TestCounts>,
}

impl Iteration {
    /// Whether the command ended by itself and said that all went well.
    pub fn went_well(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && self.signal.is_none()
    }
}

/// Something with a time and words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noticed {
    pub at: Option<Timestamp>,
    pub text: String,
}

/// What became of the units of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Units {
    pub total: u64,
    pub approved: u64,
    pub rejected: u64,
    pub failed: u64,
    pub remaining: u64,
    pub attempts: u64,
    /// Those that did not go well at once, most attempts first.
    pub troubled: Kept<TroubledUnit>,
}

/// A unit that was rejected, failed or took more than one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TroubledUnit {
    pub id: String,
    pub status: UnitStatus,
    pub attempts: u64,
}

/// What became of the tests between the first run of them and the last.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestsDone {
    pub runs: u64,
    pub first: TestCounts,
    pub last: TestCounts,
    /// Failed in the first run, pass in the last.
    pub fixed: Kept<String>,
    /// Passed in the first run, fail in the last.
    pub broken: Kept<String>,
    /// Fail in the last run.
    pub failing: Kept<String>,
    /// In the last run only.
    pub added: u64,
    /// In the first run only.
    pub removed: u64,
}

/// Errors of one category.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    pub category: ErrorCategory,
    pub count: u64,
    pub last_message: String,
    pub last_at: Option<Timestamp>,
}

/// Waits for limits of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    pub count: u64,
    pub total_ms: u64,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    pub at: Option<Timestamp>,
    pub question: String,
    /// None if nobody answered.
    pub answer: Option<Answer>,
    pub by: Option<String>,
    pub note: Option<String>,
}

/// A guard that was violated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GuardSeen {
    pub kind: GuardKind,
    pub count: u64,
    pub files: Kept<String>,
}

/// How verifications ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verified {
    pub passed: u64,
    pub failed: u64,
    pub timed_out: u64,
    pub last: VerificationOutcome,
    pub last_detail: Option<String>,
}

/// How reviews ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reviews {
    pub approved: u64,
    pub changes_requested: u64,
    pub rejected: u64,
    pub last: ReviewOutcome,
    /// What the last review asked for.
    pub requests: Kept<String>,
}

/// Decisions, and what came close to one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decisions {
    /// Those that did not simply let the run go on.
    pub mattered: Kept<DecisionSeen>,
    /// Rules that came near and never fired, nearest first.
    pub nearly: Vec<Nearly>,
}

/// A decision as the journal has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionSeen {
    pub at: Option<Timestamp>,
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub rule: Option<String>,
    pub message: String,
    /// How often it was made in a row.
    pub times: u64,
}

/// A rule that came near.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearly {
    pub rule: String,
    pub when: String,
    pub verdict: Verdict,
    /// How far it came, from 0 to 1.
    pub highest: f64,
    /// `2 of 3 errors`; none for a rule without figures.
    pub words: Option<String>,
    pub at: Option<Timestamp>,
}

/// An entry of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    pub at: Option<Timestamp>,
    pub active_ms: u64,
    pub mark: Mark,
    pub text: String,
    /// How often it came in a row.
    pub times: u64,
    #[serde(skip)]
    pub(crate) order: u64,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The run began, went on or halted.
    Run,
    /// The work moved on.
    Good,
    /// Something went wrong.
    Bad,
    /// A decision or something that calls for attention.
    Attention,
    /// A person did something.
    Person,
    /// Anything else.
    Plain,
}

/// Figures over time, in at most so many points that they can be drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverTime {
    /// The limits that `points` tell the progress of, by rule.
    pub limits: Vec<String>,
    pub points: Vec<Point>,
    pub tests: Vec<TestPoint>,
    /// Where the figures end, if a limit ends them.
    pub token_limit: Option<f64>,
    pub cost_limit: Option<f64>,
    pub health_limit: Option<f64>,
}

/// The figures at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub at: Timestamp,
    pub active_ms: u64,
    pub iteration: u64,
    pub tokens: u64,
    /// None where nobody has told.
    pub cost_usd: Option<f64>,
    pub health: f64,
    /// From 0 to 1, for each of `limits`.
    pub progress: Vec<f64>,
}

/// The result of one test run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestPoint {
    pub at: Option<Timestamp>,
    pub active_ms: u64,
    #[serde(flatten)]
    pub counts: TestCounts,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Next {
    /// Who has to do something before going on makes sense; none while the run goes on.
    pub step: Option<NextStep>,
    pub commands: Vec<NextCommand>,
}

/// The name of a kind of recovery, as events have it.
pub(crate) const fn recovery_name(kind: RecoveryKind) -> &'static str {
    match kind {
        RecoveryKind::Context => "context",
        RecoveryKind::Error => "error",
        RecoveryKind::Stagnation => "stagnation",
    }
}
