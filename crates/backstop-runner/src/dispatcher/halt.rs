//! The halt: in an order in which a crash between any two steps loses nothing.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::{Halted, Held, Note, ReviewOutcome, VerificationOutcome};
use backstop_core::reason::ReasonCode;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::verdict::Verdict;

use super::iteration::Told;
use super::{Dispatcher, Order, RunError};
use crate::report::{Ended, Remark};
use crate::tree::Signal;
use crate::{final_report, keep, log_file};

/// How a run halted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub state: RunState,
    pub decision: Decision,
    pub exit_code: u8,
}

impl Dispatcher {
    /// Halts the run: nothing of it runs, the record is on disk, people are told.
    pub(super) async fn halt(&mut self, decision: Decision) -> Result<Outcome, RunError> {
        let status = match self.ordered {
            Some(_) if decision.verdict != Verdict::Complete => RunStatus::Stopped,
            _ => RunStatus::after(decision.verdict),
        };
        self.end_leftovers(self.times.grace.min(Duration::from_secs(1))).await;
        // A machine that shuts down answers nothing: it is asked when the run goes on.
        if !is_about_a_question(&decision) && !self.engine.facts().is_terminated() {
            self.withdraw_question();
        }
        let kept = self.keep_work(&decision).await?;
        let state = RunState::halted(self.run, status, &decision, &self.engine);
        if status == RunStatus::Held {
            self.take(Held { reason: decision.reason.clone(), until: None });
        }
        let halted = Halted {
            reason: decision.reason.clone(),
            status: Some(status.to_string()),
            message: Some(decision.message.clone()),
        };
        let seq = self.take_audited(halted, &decision);
        self.update(status, &state);
        self.durable(seq).await?;
        self.journal.flush().await.map_err(RunError::Store)?;
        if let Err(error) = self.folder.write_state(&state) {
            self.remark(&Remark::Warning(format!("can't write state.json: {error}")));
        }
        if let Some(text) = final_report::write(&*self.store, &self.folder, self.run).await {
            self.remark(&Remark::Warning(text));
        }
        // Nobody's work: what it takes to tell others is no time of the run's.
        self.clock.pause();
        self.tell_halt(&decision, status).await;
        self.log(&state);
        self.pump.show(Vec::new());
        let text = self.reporter.halted(&Ended {
            state: &state,
            decision: Some(&decision),
            engine: &self.engine,
            kept: kept.as_deref(),
            verification: self.verification.as_deref(),
        });
        self.pump.print(text);
        let exit_code = decision.exit_code(self.engine.policy());
        Ok(Outcome { state, decision, exit_code })
    }

    /// Nothing of what was started may be left.
    pub(super) async fn end_leftovers(&mut self, grace: Duration) {
        if !self.tree.leftovers().is_empty() {
            self.tree.sweep(grace).await;
        }
    }

    /// Keeps the work as it is, under a ref of the run's own.
    pub(super) async fn keep_work(
        &mut self,
        decision: &Decision,
    ) -> Result<Option<String>, RunError> {
        let iteration = self.engine.facts().iterations();
        // The first iteration of a run that was resumed may have worked until it was cut off.
        let may_have_worked = iteration > 0 || self.was_resumed;
        if !may_have_worked || self.ordered == Some(Order::KillNow) {
            return Ok(None);
        }
        let message = format!("{}: {}", self.run, decision.message);
        let (cwd, tree) = (self.launch.cwd.clone(), self.tree.clone());
        let keeping = keep::keep(&cwd, self.run, iteration, &message, &tree);
        let why = match self.keep_beside(keeping).await? {
            Some(Ok(kept)) => {
                if let Some(name) = &kept {
                    self.note(Note::Kept, name.clone());
                }
                return Ok(kept);
            }
            Some(Err(error)) => error.to_string(),
            None => "git did not come to its end".to_owned(),
        };
        self.remark(&Remark::Warning(format!("the state of the work was not kept: {why}")));
        Ok(None)
    }

    /// One line for those who collect logs.
    fn log(&mut self, state: &RunState) {
        let line = log_file::run_halted(state, self.clock.now().at);
        if let Some(text) = log_file::append(&self.folder, &line) {
            self.remark(&Remark::Warning(text));
        }
    }

    /// Ends everything without a record: there is no way to keep one.
    pub(super) async fn abandon(&mut self) {
        self.pump.show(Vec::new());
        self.tree.signal(Signal::SIGKILL, &[]);
        self.tree.sweep(Duration::ZERO).await;
    }
}

/// Whether an answer to the open question is what the run waits for.
fn is_about_a_question(decision: &Decision) -> bool {
    let unanswered = ReasonCode::UserUnresponsive.as_str();
    decision.verdict == Verdict::Ask || decision.reason.as_deref() == Some(unanswered)
}

/// The decision of a run that had its single iteration, when no rule ended it.
pub(super) fn once(decision: Decision, engine: &Engine, told: &Told) -> Decision {
    let facts = engine.facts();
    if facts.ended_rate_limited() {
        let until = facts.retry_at().map(|at| {
            let at = at.to_jiff().to_zoned(engine.zone().clone());
            format!(", and may go on at {}", at.strftime("%Y-%m-%d %H:%M:%S"))
        });
        let message = format!("The agent reached a limit{}", until.unwrap_or_default());
        return with_reason(decision, Verdict::Hold, ReasonCode::RateLimited, message, engine);
    }
    // Where work is verified, an exit with 0 is a claim like any other.
    let verified = match engine.policy().settings.verify {
        Some(_) => facts.verification(),
        None => Some(VerificationOutcome::Passed),
    };
    let is_approved = engine.policy().settings.review.is_none()
        || facts.review_outcome() == Some(ReviewOutcome::Approved);
    let (verdict, reason, message) = match (facts.exit_code(), verified) {
        (Some(0), Some(VerificationOutcome::Passed)) if !is_approved => (
            Verdict::Fail,
            ReasonCode::ReviewRejected,
            "The command exited with 0, but no review has approved its work".to_owned(),
        ),
        (Some(0), Some(VerificationOutcome::Passed)) => {
            (Verdict::Complete, ReasonCode::Completed, "The command did its work".to_owned())
        }
        (Some(0), Some(VerificationOutcome::TimedOut)) => (
            Verdict::Fail,
            ReasonCode::VerificationTimeout,
            "The command exited with 0, but the verification took too long".to_owned(),
        ),
        (Some(0), _) => (
            Verdict::Fail,
            ReasonCode::VerificationFailed,
            "The command exited with 0, but the verification did not pass".to_owned(),
        ),
        (Some(code), _) => {
            let told = facts.last_error().filter(|_| told.error);
            let why = told.map(|why| format!(": {why}")).unwrap_or_default();
            let message = format!("The command exited with {code}{why}");
            (Verdict::Fail, ReasonCode::WorkerFailed, message)
        }
        (None, _) if told.pretended => {
            let what = facts.last_error().unwrap_or("it did not say why");
            let message = format!("The agent exited with 0, but failed: {what}");
            (Verdict::Fail, ReasonCode::WorkerFailed, message)
        }
        (None, _) => {
            let signal = told.killed_by.and_then(|signal| Signal::try_from(signal).ok());
            let message = match signal {
                Some(signal) => {
                    format!("The command was ended by {signal}, which backstop did not send")
                }
                None => "The command did not end by itself".to_owned(),
            };
            (Verdict::Fail, ReasonCode::WorkerFailed, message)
        }
    };
    with_reason(decision, verdict, reason, message, engine)
}

/// The decision of a run that somebody wants to end although no rule says so.
pub(super) fn ordered(decision: Decision, engine: &Engine) -> Decision {
    let message = engine.facts().stop_in_words();
    with_reason(decision, Verdict::Stop, ReasonCode::UserStopped, message, engine)
}

/// The decision of a run that would have to wait for too long.
pub(super) fn too_long(decision: Decision, message: String, engine: &Engine) -> Decision {
    with_reason(decision, Verdict::Hold, ReasonCode::RateLimited, message, engine)
}

/// The decision of a run whose agent fills its context however often it starts afresh.
pub(super) fn overflown(decision: Decision, most: u64, engine: &Engine) -> Decision {
    let message = format!("The agent says that its context is full, after {most} fresh starts");
    with_reason(decision, Verdict::Stop, ReasonCode::ContextOverflow, message, engine)
}

/// The decision of a run whose question nobody answered.
pub(super) fn unanswered(decision: Decision, verdict: Verdict, engine: &Engine) -> Decision {
    let message = format!("Nobody answered: {}", decision.message);
    // The rule stays with it, so that a resumption acknowledges what was asked about. Its figures
    // do not: they say nothing of how long was waited.
    let rule = decision.rule.clone();
    let end = with_reason(decision, verdict, ReasonCode::UserUnresponsive, message, engine);
    Decision { rule, ..end }
}

/// The decision of a run whose guards can't be checked: nobody knows what it has done.
pub(super) fn unguarded(decision: Decision, why: &str, engine: &Engine) -> Decision {
    let message = format!("The guards could not be checked: {why}");
    with_reason(decision, Verdict::Hold, ReasonCode::GuardViolation, message, engine)
}

/// The decision of a run of which nothing more can be recorded.
pub(crate) fn unrecorded(decision: Decision, why: &str, engine: &Engine) -> Decision {
    let message = format!("Nothing more could be recorded: {why}");
    with_reason(decision, Verdict::Fail, ReasonCode::CriticalFailure, message, engine)
}

/// The decision of a run that had its single iteration and changed what judges it.
pub(super) fn spoilt(decision: Decision, engine: &Engine) -> Decision {
    let message = "The command exited with 0, but a protected file has changed".to_owned();
    with_reason(decision, Verdict::Fail, ReasonCode::GuardViolation, message, engine)
}

fn with_reason(
    decision: Decision,
    verdict: Verdict,
    reason: ReasonCode,
    message: String,
    engine: &Engine,
) -> Decision {
    Decision {
        verdict,
        reason: Some(reason.as_str().to_owned()),
        next_step: engine.policy().reason(reason.as_str()).next_step(),
        message,
        rule: None,
        value: None,
        threshold: None,
        ..decision
    }
}
