//! What bears out a claim that the work is done, and which claims need it.

use backstop_core::condition::{Condition, OutputSource};
use backstop_core::decision::Decision;
use backstop_core::event::{ReviewOutcome, VerificationOutcome};
use backstop_core::policy::Policy;
use backstop_core::verdict::Verdict;

/// What those who judge the work have said of it as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// None: nothing was verified.
    pub verification: Option<VerificationOutcome>,
    /// None: nobody said anything. Only the review that the policy names counts, never one that the
    /// command reports of itself.
    pub review: Option<ReviewOutcome>,
}

/// A claim that must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The rule that makes it.
    pub rule: usize,
    pub why: &'static str,
}

impl Proof {
    /// The claim of a decision that this does not bear out.
    pub(crate) fn refuses(self, policy: &Policy, decision: &Decision) -> Option<Refusal> {
        if decision.verdict != Verdict::Complete {
            return None;
        }
        let rule = decision.rule.as_ref()?.index;
        let when = &policy.all_rules().nth(rule)?.when;
        let why = self.lacks_verification(policy, when).or_else(|| self.lacks_review(policy, when));
        why.map(|why| Refusal { rule, why })
    }

    /// The claim of a decision that rests on the words of an agent that itself says that it failed.
    pub(crate) fn refuses_words(self, policy: &Policy, decision: &Decision) -> Option<Refusal> {
        let is_proven = self.verification == Some(VerificationOutcome::Passed);
        if decision.verdict != Verdict::Complete || is_proven {
            return None;
        }
        let rule = decision.rule.as_ref()?.index;
        let rests_on_words = rests_on_words(&policy.all_rules().nth(rule)?.when);
        rests_on_words.then_some(Refusal { rule, why: "the agent says that it failed" })
    }

    fn lacks_verification(self, policy: &Policy, when: &Condition) -> Option<&'static str> {
        let is_wanted = policy.settings.verify.is_some() && can_be_said(when, Judge::Verification);
        let is_proven = self.verification == Some(VerificationOutcome::Passed);
        (is_wanted && !is_proven).then_some("the verification did not pass")
    }

    fn lacks_review(self, policy: &Policy, when: &Condition) -> Option<&'static str> {
        if policy.settings.review.is_none() || !can_be_said(when, Judge::Review) {
            return None;
        }
        match self.review {
            Some(ReviewOutcome::Approved) => None,
            Some(ReviewOutcome::ChangesRequested) => Some("the review asks for changes"),
            Some(ReviewOutcome::Rejected) => Some("the review rejected it"),
            None => Some("no review has approved it"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judge {
    Verification,
    Review,
}

/// Whether a condition needs what the agent itself said; what stands anywhere in the output is less.
fn rests_on_words(when: &Condition) -> bool {
    match when {
        Condition::OutputPattern(pattern) => pattern.r#in != OutputSource::Any,
        Condition::All(parts) => parts.iter().any(rests_on_words),
        Condition::Any(parts) => parts.iter().all(rests_on_words),
        _ => false,
    }
}

/// Whether a condition can hold without this judge's word. A script is the user's own proof. That
/// the verification passed is none of what a reviewer looks at.
fn can_be_said(when: &Condition, judge: Judge) -> bool {
    match when {
        Condition::CustomScript(_) => false,
        Condition::Verification(_) => judge == Judge::Review,
        Condition::All(parts) => parts.iter().all(|part| can_be_said(part, judge)),
        Condition::Any(parts) => parts.iter().any(|part| can_be_said(part, judge)),
        Condition::Not(part) => can_be_said(part, judge),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;
    use backstop_core::engine::Engine;
    use backstop_core::event::Event;
    use backstop_core::time::Timestamp;

    use super::*;

    const VERIFY: &str = "[verify]\ncommand = 'v'\n";
    const REVIEW: &str = "[review]\ncommand = 'r'\n";
    const EXIT: &str = "type = 'exit_code', any_of = [0]";
    const SAYS_APPROVED: &str = "type = 'review', outcome = 'approved'";
    const VERIFIED: &str = "type = 'verification', outcome = 'passed'";

    fn refusal(settings: &str, when: &str, proof: Proof) -> Option<&'static str> {
        let text = format!("{settings}[[rule]]\nwhen = {{ {when} }}\nthen = 'complete'\n");
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        let mut engine = Engine::new(policy);
        let now = Timestamp::from_nanos(0);
        for event in [
            r#"{"type": "review", "outcome": "approved"}"#,
            r#"{"type": "verification", "outcome": "passed"}"#,
            r#"{"type": "iteration_finished", "exit_code": 0}"#,
        ] {
            engine.handle_event(&Event::from_json(event.as_bytes()).unwrap(), now);
        }
        let decision = engine.poll_decision(engine.moment(now));
        assert_eq!(decision.verdict, Verdict::Complete, "{decision:?}");
        proof.refuses(engine.policy(), &decision).map(|refusal| refusal.why)
    }

    const PASSED: Option<VerificationOutcome> = Some(VerificationOutcome::Passed);
    const APPROVED: Option<ReviewOutcome> = Some(ReviewOutcome::Approved);

    #[test]
    fn a_claim_needs_those_who_judge() {
        const UNVERIFIED: Option<&str> = Some("the verification did not pass");
        const UNREVIEWED: Option<&str> = Some("no review has approved it");
        let timed_out = Some(VerificationOutcome::TimedOut);
        let changes = Some(ReviewOutcome::ChangesRequested);
        let rejected = Some(ReviewOutcome::Rejected);
        for (settings, when, verification, review, expected) in [
            ("", EXIT, None, None, None),
            (VERIFY, EXIT, None, APPROVED, UNVERIFIED),
            (VERIFY, EXIT, timed_out, None, UNVERIFIED),
            (VERIFY, EXIT, PASSED, None, None),
            (REVIEW, EXIT, PASSED, None, UNREVIEWED),
            (REVIEW, EXIT, None, changes, Some("the review asks for changes")),
            (REVIEW, EXIT, None, rejected, Some("the review rejected it")),
            (REVIEW, EXIT, None, APPROVED, None),
            // What the agent itself reports, and what another judge says, is no approval.
            (REVIEW, SAYS_APPROVED, None, None, UNREVIEWED),
            (REVIEW, VERIFIED, PASSED, None, UNREVIEWED),
            (VERIFY, VERIFIED, None, None, None),
        ] {
            let found = refusal(settings, when, Proof { verification, review });
            assert_eq!(found, expected, "{settings} {when} {verification:?} {review:?}");
        }
    }

    #[test]
    fn both_are_needed_where_both_are_set() {
        let both = format!("{VERIFY}{REVIEW}");
        let (verification, review) = (PASSED, APPROVED);
        assert_eq!(refusal(&both, EXIT, Proof { verification, review }), None);
        assert!(refusal(&both, EXIT, Proof { verification, review: None }).is_some());
        assert!(refusal(&both, EXIT, Proof { verification: None, review }).is_some());
    }
}
