//! Completion is proven: what the agent itself can say counts only if the verification passes.

use std::future::Future;
use std::time::Duration;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::event::{Note, VerificationOutcome};
use backstop_core::policy::Policy;
use backstop_core::verdict::Verdict;

use tokio::sync::oneshot;

use super::{Dispatcher, Happening, Order, RunError};
use crate::report::{Phase, Remark};
use crate::verify::{self, Verified};

impl Dispatcher {
    /// Before the first iteration: a loop whose work is done already runs nothing. Nothing is
    /// verified unless somebody claims to be done.
    pub(super) async fn first_judgement(&mut self) -> Result<Decision, RunError> {
        let verdict = self.engine.decide(self.clock.now()).verdict;
        let proven = if verdict == Verdict::Complete { self.verify().await? } else { None };
        Ok(self.judge(proven))
    }

    /// Decides, and refuses claims that were not proven. The decision is journalled.
    pub(super) fn judge(&mut self, proven: Option<VerificationOutcome>) -> Decision {
        let mut decision = self.engine.poll_decision(self.clock.now());
        while let Some((rule, why)) = self.refusal(&decision, proven) {
            let detail = format!("{}: {why}", decision.message);
            self.note(Note::ClaimRefused, detail);
            self.engine.refuse_claim(rule);
            decision = self.engine.poll_decision(self.clock.now());
        }
        self.warn_of_silent_meters(&decision);
        if let Some(latched) = self.stronger_than(decision.verdict) {
            decision = Decision { decided_at: decision.decided_at, ..latched.clone() };
        }
        self.record(&decision);
        decision
    }

    /// The rule whose claim must be refused, and why.
    fn refusal(
        &self,
        decision: &Decision,
        proven: Option<VerificationOutcome>,
    ) -> Option<(usize, &'static str)> {
        let spoilt = || self.spoilt(decision).map(|rule| (rule, "a protected file has changed"));
        let unproven = unproven(self.engine.policy(), decision, proven);
        unproven.map(|rule| (rule, "the verification did not pass")).or_else(spoilt)
    }

    /// A limit that only a preset set and that nobody measures is worth one line.
    fn warn_of_silent_meters(&mut self, decision: &Decision) {
        let acted_on = decision.rule.as_ref().map(|rule| rule.index);
        let silent: Vec<String> = decision
            .unknown
            .iter()
            .filter(|unknown| Some(unknown.rule) != acted_on)
            .map(|unknown| format!("`{}` is not held: {}", unknown.name, unknown.why))
            .collect();
        if !self.meters_noted && !silent.is_empty() {
            self.meters_noted = true;
            self.remark(&Remark::Warning(silent.join("; ")));
        }
    }

    /// Runs the verification; none where there is none, or where the run is being ended at once.
    pub(super) async fn verify(&mut self) -> Result<Option<VerificationOutcome>, RunError> {
        let Some(settings) = self.engine.policy().settings.verify.clone() else { return Ok(None) };
        if self.ordered >= Some(Order::Kill) {
            return Ok(None);
        }
        self.phase = Phase::Verifying;
        let (tree, cwd) = (self.tree.clone(), self.launch.cwd.clone());
        let environment = self.environment();
        let (cancel, cancelled) = oneshot::channel::<()>();
        let verification = verify::verify(&settings, &tree, &cwd, &environment, async {
            // Who drops the sender wants nothing cancelled.
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        });
        let ended = self.hear_beside(verification, cancel).await?;
        self.end_leftovers(Duration::ZERO).await;
        let Some(Verified { verification: ended, tests }) = ended else { return Ok(None) };
        if let Some(report) = tests {
            self.tested(&report);
        }
        let outcome = ended.outcome;
        self.verification = Some(match &ended.detail {
            Some(detail) => format!("{}: {detail}", words(outcome)),
            None => words(outcome).to_owned(),
        });
        self.take(ended);
        Ok(Some(outcome))
    }

    /// Hears everything while something is done beside the loop. It may finish, as an iteration
    /// may; a person who wants the run to end at once, or a new decision to end it hard, cancels it.
    async fn hear_beside<T>(
        &mut self,
        work: impl Future<Output = T>,
        cancel: oneshot::Sender<()>,
    ) -> Result<T, RunError> {
        let is_hard = |verdict| matches!(verdict, Verdict::Kill | Verdict::Fail);
        let was_hard = is_hard(self.decide());
        let mut cancel = Some(cancel);
        let mut work = std::pin::pin!(work);
        loop {
            let happening = tokio::select! {
                done = &mut work => return Ok(done),
                happening = self.next(None, None) => happening?,
            };
            match happening {
                Happening::Asked(request) => self.answer(request).await,
                Happening::Signalled(signal) => self.signalled(signal).await,
                Happening::Answered(answers) => self.take_all(answers),
                Happening::Captured(captured) => {
                    self.heard(captured).await;
                }
                Happening::Due | Happening::Exited(_) => {}
            }
            let is_hard_now = is_hard(self.decide()) && !was_hard;
            if (is_hard_now || self.ordered >= Some(Order::Kill))
                && let Some(cancel) = cancel.take()
            {
                // It may have ended by itself just now.
                let _ = cancel.send(());
            }
        }
    }
}

/// The rule whose claim must be refused.
pub(crate) fn unproven(
    policy: &Policy,
    decision: &Decision,
    proven: Option<VerificationOutcome>,
) -> Option<usize> {
    let is_proven = proven == Some(VerificationOutcome::Passed);
    if decision.verdict != Verdict::Complete || policy.settings.verify.is_none() || is_proven {
        return None;
    }
    let index = decision.rule.as_ref()?.index;
    let rule = policy.all_rules().nth(index)?;
    can_be_said(&rule.when).then_some(index)
}

fn words(outcome: VerificationOutcome) -> &'static str {
    match outcome {
        VerificationOutcome::Passed => "passed",
        VerificationOutcome::Failed => "failed",
        VerificationOutcome::TimedOut => "timed out",
    }
}

/// Whether the agent itself can make a condition hold by saying so.
fn can_be_said(when: &Condition) -> bool {
    match when {
        Condition::CustomScript(_) | Condition::Verification(_) => false,
        Condition::All(parts) => parts.iter().all(can_be_said),
        Condition::Any(parts) => parts.iter().any(can_be_said),
        Condition::Not(part) => can_be_said(part),
        _ => true,
    }
}
