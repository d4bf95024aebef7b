//! The fields of each event type, one struct each, in the order of the specification.
//!
//! What the specification marks as optional is an `Option`; increments and flags that a reporter
//! has nothing to say about may be left out and then count as nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::decode::number;
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// A run began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunStarted {
    pub run: String,
    pub policy_hash: String,
    pub command: Vec<String>,
    pub cwd: String,
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "number::optional_count", skip_serializing_if = "Option::is_none")]
    pub total_units: Option<u64>,
}

/// The supervised command was started once more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IterationStarted {
    #[serde(deserialize_with = "number::optional_count", skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
}

/// The supervised command ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IterationFinished {
    #[serde(deserialize_with = "number::optional_count", skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    #[serde(deserialize_with = "number::optional_code", skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of the signal that ended it.
    #[serde(deserialize_with = "number::optional_code", skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub timed_out: bool,
    #[serde(deserialize_with = "number::count")]
    pub duration_ms: u64,
}

/// An output pattern matched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matched {
    /// Hash of the canonical JSON of the condition that asked for it.
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub pattern: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stream: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
}

/// A unit of work changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    pub id: String,
    #[serde(
        default,
        deserialize_with = "number::optional_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub index: Option<u64>,
    pub status: UnitStatus,
    /// Attempts of this unit so far; left out: at least one once it has begun.
    #[serde(
        default,
        deserialize_with = "number::optional_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub attempts: Option<u64>,
}

/// Where a unit of work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitStatus {
    Pending,
    InProgress,
    Approved,
    Rejected,
    Failed,
}

/// The result of one test run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tests {
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
    /// Where names are unknown; then these decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TestCounts {
    #[serde(deserialize_with = "number::count")]
    pub passed: u64,
    #[serde(deserialize_with = "number::count")]
    pub failed: u64,
    #[serde(deserialize_with = "number::count")]
    pub skipped: u64,
}

impl TestCounts {
    pub fn total(self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}

/// Tokens and money spent since the last such event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    #[serde(deserialize_with = "number::count")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "number::count")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "number::count")]
    pub cache_read_tokens: u64,
    #[serde(deserialize_with = "number::count")]
    pub cache_write_tokens: u64,
    /// Left out where the reporter does not know the price.
    #[serde(deserialize_with = "number::optional_amount", skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How sure the figures are; left out: they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<UsageBasis>,
}

/// How sure the figures of an agent are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBasis {
    /// Read while the agent works. It counts until its iteration's final figures come.
    Live,
    /// What the agent says at its end, in the place of all live figures of the iteration.
    Final,
}

/// How full the context window is, in tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    #[serde(deserialize_with = "number::count")]
    pub used: u64,
    #[serde(deserialize_with = "number::count")]
    pub limit: u64,
    /// Nothing more fits in, whatever the figures say: the agent itself said so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
}

impl Context {
    pub fn of(used: u64, limit: u64) -> Self {
        Self { used, limit, full: false }
    }
}

/// Something failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSeen {
    pub category: ErrorCategory,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Before that it is of no use to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// What can be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// Trying again later may help.
    Transient,
    /// The agent may repair it.
    Recoverable,
    /// Only a person can.
    Critical,
}

/// The work moved on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    pub kind: ProgressKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What shows that the work moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgressKind {
    Task,
    PullRequest,
    Issue,
    Commit,
    Tree,
    Tests,
    Marker,
    Other,
}

/// The task list as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    #[serde(deserialize_with = "number::count")]
    pub total: u64,
    #[serde(deserialize_with = "number::count")]
    pub done: u64,
    #[serde(default, deserialize_with = "number::count")]
    pub queued: u64,
    #[serde(default)]
    pub phase: Phase,
    /// Improvements still open.
    #[serde(
        default,
        deserialize_with = "number::optional_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub improvements: Option<u64>,
}

/// What the loop works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Primary,
    Improvement,
}

/// An improvement cycle ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    pub metrics: BTreeMap<String, f64>,
}

/// One thing that the agent did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    pub signature: String,
    #[serde(default)]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_signature: Option<String>,
    /// What was tried did not work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// The answer of a file or script probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Hash of the canonical JSON of the condition that asked for it.
    pub key: String,
    /// `null` where it could not be found out.
    #[serde(default)]
    pub met: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What one failing cycle looked like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureSignal {
    pub hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// A guard was violated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    pub kind: GuardKind,
    #[serde(default)]
    pub files: Vec<String>,
}

/// What a guard watches over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    Scope,
    Protected,
    Lockfile,
    Dirty,
    Collision,
}

/// The verification ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    pub outcome: VerificationOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// How a verification ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationOutcome {
    Passed,
    Failed,
    TimedOut,
}

/// A review ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    pub outcome: ReviewOutcome,
    /// What was asked for, as a hash: equal hashes are the same requests.
    #[serde(default)]
    pub hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<String>>,
}

/// How a review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOutcome {
    Approved,
    ChangesRequested,
    Rejected,
}

/// The worker could not go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    pub status: WorkerStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// Why the worker could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    Blocked,
    Failed,
    TimedOut,
    RateLimited,
}

/// How full a provider's usage window is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    pub window: String,
    #[serde(deserialize_with = "number::share")]
    pub used: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

/// An operator changed a limit of this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raised {
    /// Name of the limit's reason, or one of its short names.
    pub limit: String,
    pub value: LimitValue,
    #[serde(default)]
    pub by: String,
    #[serde(default)]
    pub why: String,
}

/// The new value of a limit: a count, a rate, a sum of money or a duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LimitValue {
    Number(f64),
    Duration(Duration),
}

/// The machine slept, or the process was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspended {
    #[serde(deserialize_with = "number::count")]
    pub ms: u64,
}

/// How far the work is from the original requirements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    #[serde(deserialize_with = "number::share")]
    pub score: f64,
}

/// A person or a parent process asked for something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    pub kind: SignalKind,
    #[serde(default)]
    pub by: String,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    Stop,
    Kill,
    Pause,
    Resume,
}

/// A question went out to a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Asked {
    pub question: String,
    /// There was nobody to ask, so nobody is waited for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
}

/// A person answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    #[serde(default)]
    pub question: String,
    pub answer: Answer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Fix,
    Continue,
    Abort,
}

/// The loop goes on afresh after a recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovered {
    pub kind: RecoveryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// What was recovered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryKind {
    Context,
    Error,
    Stagnation,
}

/// The engine decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    pub verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Name of the rule that won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The streaks and ages that the rules which fired read: what an acknowledgement sets back.
    /// Left out: those that the reason stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaks: Option<Vec<String>>,
}

/// The run waits until it is let go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Held {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// A held run was let go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Released {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The run ended or was suspended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Halted {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A halted run goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resumed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
