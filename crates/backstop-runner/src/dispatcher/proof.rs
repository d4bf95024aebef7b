//! Completion is proven: what the agent itself can say counts only if those who judge bear it out.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::event::{Note, VerificationOutcome};
use backstop_core::verdict::Verdict;

use tokio::sync::oneshot;

use super::{Dispatcher, Order, RunError};
use crate::proof::{Proof, Refusal};
use crate::report::{Phase, Remark};
use crate::verify::{self, Course, Verified};

/// Ready when what is done beside the loop is to be given up.
pub(super) type Cancelled = Pin<Box<dyn Future<Output = ()>>>;

impl Dispatcher {
    /// Before the first iteration: a loop whose work is done already runs nothing. Nothing is
    /// verified unless somebody claims to be done.
    pub(super) async fn first_judgement(&mut self) -> Result<Decision, RunError> {
        let verdict = self.engine.decide(self.clock.now()).verdict;
        let proof = self.prove(verdict).await?;
        Ok(self.judge(proof))
    }

    /// Outside of an iteration only a claim is put to the test.
    pub(super) async fn prove(&mut self, verdict: Verdict) -> Result<Proof, RunError> {
        if verdict != Verdict::Complete {
            return Ok(Proof::default());
        }
        let verification = self.verify().await?;
        self.review_claim(Proof { verification, review: None }).await
    }

    /// Decides, and refuses claims that were not proven. The decision is journalled.
    pub(super) fn judge(&mut self, proof: Proof) -> Decision {
        let mut decision = self.engine.poll_decision(self.clock.now());
        while let Some(refusal) = self.refusal(&decision, proof) {
            let detail = format!("{}: {}", decision.message, refusal.why);
            self.note(Note::ClaimRefused, detail);
            self.engine.refuse_claim(refusal.rule);
            decision = self.engine.poll_decision(self.clock.now());
        }
        self.warn_of_silent_meters(&decision);
        if let Some(latched) = self.stronger_than(decision.verdict) {
            decision = Decision { decided_at: decision.decided_at, ..latched.clone() };
        }
        // What a person or the system wants is why it ends, whatever had fired before.
        if let (Some(cause), None) = (&self.told.ended_for, self.ordered) {
            decision.prefer(cause, self.engine.policy());
        }
        self.record(&decision);
        decision
    }

    /// The claim that must be refused.
    fn refusal(&self, decision: &Decision, proof: Proof) -> Option<Refusal> {
        let spoilt = || {
            let rule = self.spoilt(decision)?;
            Some(Refusal { rule, why: "a protected file has changed" })
        };
        let failed =
            || self.told.failed.then(|| proof.refuses_words(self.engine.policy(), decision));
        let refused = proof.refuses(self.engine.policy(), decision);
        refused.or_else(|| failed().flatten()).or_else(spoilt)
    }

    /// A limit that only a preset set and that nobody measures is worth one line, each of them.
    fn warn_of_silent_meters(&mut self, decision: &Decision) {
        let acted_on = decision.rule.as_ref().map(|rule| rule.index);
        let mut silent = Vec::new();
        for unknown in &decision.unknown {
            let is_news = Some(unknown.rule) != acted_on && !self.will_be_measured(unknown.rule);
            if is_news && self.unheld_noted.insert(unknown.rule) {
                silent.push(format!("`{}` is not held: {}", unknown.name, unknown.why));
            }
        }
        if !silent.is_empty() {
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
        let environment = self.environment();
        let mut course = Course::new(&settings);
        while let Some(tier) = course.next_tier() {
            let (tree, cwd) = (self.tree.clone(), self.launch.cwd.clone());
            let ended = self
                .hear_beside(|cancelled| async {
                    verify::run(&tier, &tree, &cwd, &environment, cancelled).await
                })
                .await?;
            self.end_leftovers(Duration::ZERO).await;
            let Some(ended) = ended else { return Ok(None) };
            if let Some(told) = course.take(ended) {
                self.remark(&Remark::Note(told));
            }
            if self.ordered >= Some(Order::Kill) {
                return Ok(None);
            }
        }
        let Verified { verification: ended, tests } = course.conclude();
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
    /// may: a stop that comes meanwhile gives it as long. A person who wants the run to end at once,
    /// or a new decision to end it hard, cancels it.
    pub(super) async fn hear_beside<T, W: Future<Output = T>>(
        &mut self,
        work: impl FnOnce(Cancelled) -> W,
    ) -> Result<T, RunError> {
        let (cancel, cancelled) = oneshot::channel::<()>();
        let work = work(Box::pin(async {
            // Who drops the sender wants nothing cancelled.
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        }));
        let haste_before = self.haste();
        let (mut cancel, mut until) = (Some(cancel), None);
        let mut work = std::pin::pin!(work);
        loop {
            let happening = tokio::select! {
                done = &mut work => return Ok(done),
                happening = self.next(None, until) => happening?,
            };
            self.see_to(happening).await;
            let haste = self.haste();
            let now = self.timers.active();
            until = match haste {
                Haste::None => None,
                Haste::Stops if haste_before >= haste => None,
                Haste::Stops => until.or(Some(now + self.times.finish_within)),
                Haste::Hard if haste_before >= haste => until,
                Haste::Hard | Haste::Ordered => Some(now),
            };
            if until.is_some_and(|until| until <= now)
                && let Some(cancel) = cancel.take()
            {
                // It may have ended by itself just now.
                let _ = cancel.send(());
            }
            // What was cancelled takes its time; nothing is to be done about it any more.
            until = until.filter(|_| cancel.is_some());
        }
    }

    /// How soon the run is to end, as it is decided now.
    fn haste(&mut self) -> Haste {
        let verdict = self.decide();
        if self.ordered >= Some(Order::Kill) {
            Haste::Ordered
        } else if matches!(verdict, Verdict::Kill | Verdict::Fail) {
            Haste::Hard
        } else if self.ordered.is_some() || verdict == Verdict::Stop {
            Haste::Stops
        } else {
            Haste::None
        }
    }
}

/// How soon a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Haste {
    None,
    /// What is under way may finish.
    Stops,
    /// A decision ends it hard.
    Hard,
    /// Somebody wants its end at once.
    Ordered,
}

fn words(outcome: VerificationOutcome) -> &'static str {
    match outcome {
        VerificationOutcome::Passed => "passed",
        VerificationOutcome::Failed => "failed",
        VerificationOutcome::TimedOut => "timed out",
    }
}
