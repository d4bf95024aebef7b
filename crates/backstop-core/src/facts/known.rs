//! What others than rules want to know of a run.

use std::time::Duration;

use super::test_runs::TestRuns;
use super::{Facts, HandOff};
use crate::event::{
    ReviewOutcome, SignalKind, Tasks, TestCounts, ThreadTotal, VerificationOutcome, WorkerStatus,
};
use crate::time::Timestamp;

impl Facts {
    /// How many iterations have finished.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// The exit code of the last iteration.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// What a person is asked and has not answered.
    pub fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// The iteration that waits for a person to let it start, in words.
    pub fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// Whether a guard is violated that nobody has let pass.
    pub fn violates_guards(&self) -> bool {
        self.guards.violated(None).is_some()
    }

    /// Whether the system asked the run to end, as when a machine shuts down.
    pub fn is_terminated(&self) -> bool {
        matches!(self.stopped_by.as_str(), "SIGTERM" | "SIGHUP")
    }

    /// Whether somebody wants the run to end, and nobody has let it go on since.
    pub(crate) fn is_stop_asked_for(&self) -> bool {
        matches!(self.signal, Some(SignalKind::Stop | SignalKind::Kill))
    }

    /// Who wants the run to end, in one sentence.
    pub fn stop_in_words(&self) -> String {
        match self.stopped_by.as_str() {
            "" => "A stop was asked for".to_owned(),
            "SIGINT" => "Stopped by Ctrl-C".to_owned(),
            by => format!("Stopped by {by}"),
        }
    }

    /// When what is open was asked; none where nothing is.
    pub fn asked_at(&self) -> Option<Timestamp> {
        let is_open = self.question.is_some() || self.turn.is_some();
        self.asked_at.filter(|_| is_open)
    }

    /// Whether a person wants to be asked before each iteration; none where nobody changed it.
    pub fn attended(&self) -> Option<bool> {
        self.attended
    }

    /// What the next iteration should be told.
    pub fn handoff(&self) -> &HandOff {
        &self.handoff
    }

    /// What the last error said.
    pub fn last_error(&self) -> Option<&str> {
        self.errors.last.as_ref().map(|error| error.message.as_str())
    }

    /// The tests that failed in the last test run, where they have names.
    pub fn failed_tests(&self) -> &[String] {
        &self.tests.failed
    }

    /// Tokens used so far, without cache reads.
    pub fn tokens(&self) -> u64 {
        self.spent.tokens(false)
    }

    /// Money that is known to be spent so far; none where nobody has told of any.
    pub fn cost_usd(&self) -> Option<f64> {
        self.spent.cost_told.then(|| self.spent.cost_usd())
    }

    /// What agents' threads have used in all, as far as they tell it.
    pub fn thread_totals(&self) -> impl Iterator<Item = &ThreadTotal> {
        self.threads.iter()
    }

    /// Whether the last iteration used tokens of which nobody told what they cost.
    pub fn has_unpriced_tokens(&self) -> bool {
        self.spent.cost_gap.is_some()
    }

    /// How many errors came in a row.
    pub fn consecutive_errors(&self) -> u64 {
        self.errors.consecutive
    }

    /// Whether the provider took no more when the worker last spoke of it.
    pub fn is_rate_limited(&self) -> bool {
        self.worker.is_rate_limited()
    }

    /// Whether anybody has told how tests ended.
    pub fn has_test_results(&self) -> bool {
        self.tests != TestRuns::default()
    }

    /// Whether the agent said that nothing more fits into its context.
    pub fn is_context_full(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.full)
    }

    /// How often the run recovered from a full context since it last got on.
    pub fn context_recoveries(&self) -> u64 {
        self.progress.context_recoveries
    }

    /// How the last verification ended.
    pub fn verification(&self) -> Option<VerificationOutcome> {
        self.verification
    }

    /// The task list as it was last told.
    pub fn tasks(&self) -> Option<&Tasks> {
        self.tasks.as_ref()
    }

    /// How many improvement cycles there were, and what the last one gained.
    pub fn cycles(&self) -> (u64, Option<f64>) {
        (self.cycles.count, self.cycles.improvement)
    }

    /// How the last review ended.
    pub fn review_outcome(&self) -> Option<ReviewOutcome> {
        self.reviews.outcome
    }

    /// What the last review asked for, unless it approved.
    pub fn review_requests(&self) -> &[String] {
        &self.reviews.requests
    }

    /// How far the work has drifted, if anybody has measured it.
    pub fn drift(&self) -> Option<f64> {
        self.drift
    }

    /// Whether the last iteration ended in an error that trying again later may help against.
    pub fn ended_in_transient_error(&self) -> bool {
        self.errors.now_transient()
    }

    /// Whether the last iteration that ended met a limit of the provider.
    pub fn ended_rate_limited(&self) -> bool {
        self.worker.status == Some(WorkerStatus::RateLimited)
    }

    /// How long the run has waited for limits of its provider in all.
    pub fn waited(&self) -> Duration {
        self.waits.total()
    }

    /// When the provider takes more again, where it was told.
    pub fn retry_at(&self) -> Option<Timestamp> {
        let limited = self.ended_rate_limited() || !self.ended_in_transient_error();
        let of_error = || self.errors.last.as_ref().and_then(|error| error.retry_at);
        if limited { self.worker.retry_at } else { of_error() }
    }

    /// The first unit that is not finished: where a pipeline goes on.
    pub fn first_unfinished_unit(&self) -> Option<(&str, Option<u64>)> {
        self.units.first_unfinished()
    }

    /// How many tests ended how in the last test run; none before the first.
    pub fn test_counts(&self) -> Option<TestCounts> {
        (self.tests.counts != TestCounts::default()).then_some(self.tests.counts)
    }
}
