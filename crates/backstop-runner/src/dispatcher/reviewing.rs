//! Has the work reviewed, and holds claims against what the reviewer says.

use backstop_adapters::review::Said;
use backstop_core::event::{EventKind, Note, Review, ReviewOutcome};
use backstop_core::policy::{ReviewSettings, ReviewTime};
use backstop_core::verdict::Verdict;

use super::{Dispatcher, Order, RunError};
use crate::proof::Proof;
use crate::report::{Phase, Remark};
use crate::review::{self, ReviewFile};

impl Dispatcher {
    /// What the last review asked for and was not approved since, for whoever tells the agent.
    pub fn review_requests(&self) -> &[String] {
        self.engine.facts().review_requests()
    }

    /// What a reviewer wrote before the run began is about other work.
    pub(super) fn overlook_old_review(&self) {
        if let Some(file) = self.review_settings().and_then(|settings| self.review_file(&settings))
        {
            file.overlook();
        }
    }

    /// The review after an iteration, where the policy wants one after each.
    pub(super) async fn review_iteration(&mut self) -> Result<Option<ReviewOutcome>, RunError> {
        match self.review_settings().filter(|_| self.reviews_every_iteration()) {
            Some(settings) => self.review(&settings).await,
            None => Ok(None),
        }
    }

    /// Whether a reviewer is asked after each iteration. One that had nothing to say then is not
    /// asked a second time about the same work.
    pub(super) fn reviews_every_iteration(&self) -> bool {
        let settings = self.review_settings();
        settings.is_some_and(|set| set.when.unwrap_or_default() == ReviewTime::Every)
    }

    /// The review of a claim that needs nothing but an approval, if nobody has said anything yet.
    pub(super) async fn review_claim(&mut self, proof: Proof) -> Result<Proof, RunError> {
        let Some(settings) = self.review_settings() else { return Ok(proof) };
        let decision = self.engine.poll_decision(self.clock.now());
        let approved = Proof { review: Some(ReviewOutcome::Approved), ..proof };
        let claims_by_rule = decision.verdict == Verdict::Complete
            && proof.refuses(self.engine.policy(), &decision).is_some()
            && approved.refuses(self.engine.policy(), &decision).is_none();
        let claims_by_exit = self.launch.once && self.engine.facts().exit_code() == Some(0);
        if proof.review.is_some() || !(claims_by_rule || claims_by_exit) {
            return Ok(proof);
        }
        Ok(Proof { review: self.review(&settings).await?, ..proof })
    }

    /// An approval that the supervised side reports of its own work is no review: it would end a row
    /// of reviews that ask for the same. Answers with the number of the note that says so.
    pub(super) fn refuse_own_approval(&mut self, kind: &EventKind) -> Option<u64> {
        let EventKind::Review(Review { outcome: ReviewOutcome::Approved, .. }) = kind else {
            return None;
        };
        self.review_settings()?;
        Some(self.note(Note::ClaimRefused, "the command itself says that its work is approved"))
    }

    async fn review(
        &mut self,
        settings: &ReviewSettings,
    ) -> Result<Option<ReviewOutcome>, RunError> {
        if self.ordered >= Some(Order::Kill) {
            return Ok(None);
        }
        let mut said = Vec::new();
        if let Some(command) = &settings.command {
            self.phase = Phase::Reviewing;
            let (tree, cwd) = (self.tree.clone(), self.launch.cwd.clone());
            let environment = self.environment();
            let asked = self
                .hear_beside(|cancelled| async move {
                    review::ask(command, settings, &tree, &cwd, &environment, cancelled).await
                })
                .await?;
            self.end_leftovers(std::time::Duration::ZERO).await;
            let Some(answer) = asked else { return Ok(None) };
            said.extend(self.heard_of_review("the reviewer", answer));
        }
        if let Some(answer) = self.review_file(settings).and_then(|file| file.look()) {
            let name = settings.file.as_ref().map_or("", |file| file.0.as_str());
            said.extend(self.heard_of_review(&format!("`{name}`"), answer));
        }
        let Some(said) = said.into_iter().reduce(Said::and) else { return Ok(None) };
        let outcome = said.outcome;
        self.take(Review::from(said));
        Ok(Some(outcome))
    }

    /// A reviewer who says nothing that can be understood has not reviewed anything.
    fn heard_of_review(&mut self, who: &str, answer: Result<Said, String>) -> Option<Said> {
        answer
            .map_err(|why| {
                let detail = format!("{who} gave no review: {why}");
                self.note(Note::NotReviewed, detail.clone());
                self.remark(&Remark::Warning(detail));
            })
            .ok()
    }

    fn review_settings(&self) -> Option<ReviewSettings> {
        self.engine.policy().settings.review.clone()
    }

    fn review_file(&self, settings: &ReviewSettings) -> Option<ReviewFile> {
        let path = self.launch.cwd.join(&settings.file.as_ref()?.0);
        // Where it can't be made nothing is remembered, and so nothing is believed.
        drop(self.folder.create());
        Some(ReviewFile::new(path, self.folder.path().join("review-seen")))
    }
}
