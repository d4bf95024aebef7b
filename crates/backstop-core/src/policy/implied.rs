//! Rules that nobody wrote: those that settings imply, and the net under a loop without limits.

use super::draft::Draft;
use super::rule::Rule;
use super::{Preset, ReviewSettings, Settings, is_bounded};
use crate::condition::{Condition, GuardViolated, OnError, ReviewEnded, UserSignal, WorkerEnded};
use crate::event::{ErrorCategory, GuardKind, ReviewOutcome, WorkerStatus};
use crate::field::Count;
use crate::verdict::Verdict;

/// Said once when [`safety_net`] was added.
pub(crate) const SAFETY_NET_NOTE: &str = "no rule limits iterations or time, so preset `default`'s \
     limits were added (100 iterations, 1 day); `[limits] unlimited = true` lifts them";

/// What settings imply. A rule with the same reason replaces its like.
pub(crate) fn rules(settings: &Settings) -> Vec<Rule> {
    let guard = |kind| rule(GuardViolated { kind: Some(kind) }, Verdict::Fail);
    let worker =
        |status, in_a_row, then| rule(WorkerEnded { status, in_a_row: Count(in_a_row) }, then);
    let critical = OnError { pattern: None, category: Some(ErrorCategory::Critical) };
    let mut rules = vec![
        guard(GuardKind::Scope),
        guard(GuardKind::Protected),
        guard(GuardKind::Lockfile),
        guard(GuardKind::Dirty),
        guard(GuardKind::Collision),
        worker(WorkerStatus::Blocked, 1, Verdict::Hold),
        worker(WorkerStatus::Failed, 1, Verdict::Fail),
        worker(WorkerStatus::TimedOut, 3, Verdict::Stop),
        rule(critical, Verdict::Fail),
        rule(UserSignal {}, Verdict::Stop),
    ];
    rules.extend(settings.review.iter().flat_map(of_review));
    rules
}

/// A reviewer who rejects the work ends the run, and so do reviews that go round in circles.
fn of_review(review: &ReviewSettings) -> [Rule; 2] {
    let ended = |outcome, same_rounds| ReviewEnded { outcome, same_rounds };
    let rounds = Some(review.most_same_rounds());
    [
        rule(ended(ReviewOutcome::Rejected, None), Verdict::Fail),
        rule(ended(ReviewOutcome::ChangesRequested, rounds), Verdict::Stop),
    ]
}

/// The limits of preset `default`, for a policy that has none on iterations or time.
pub(crate) fn safety_net() -> Vec<Rule> {
    let Draft { rules, .. } = Preset::Default.draft();
    rules.into_iter().filter(|rule| is_bounded(std::slice::from_ref(rule))).collect()
}

fn rule(when: impl Into<Condition>, then: Verdict) -> Rule {
    Rule::new(when.into(), then)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::document::Syntax;
    use crate::policy::Policy;

    #[rstest]
    #[case::none("", &[])]
    #[case::implied(
        "[review]\ncommand = 'r'\n",
        &["fail review_rejected when the last review says rejected",
          "stop review_loop_detected when 3 reviews in a row ask for the same (changes requested)"]
    )]
    #[case::rounds(
        "[review]\ncommand = 'r'\nsame_rounds = 5\n\
         [[rule]]\nwhen = { type = 'review', outcome = 'rejected' }\nthen = 'ask'\n",
        &["ask review_rejected when the last review says rejected",
          "stop review_loop_detected when 5 reviews in a row ask for the same (changes requested)"]
    )]
    fn a_review_implies_rules_that_others_of_the_same_reason_replace(
        #[case] text: &str,
        #[case] expected: &[&str],
    ) {
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        let mut told: Vec<_> = crate::policy::explain(&policy)
            .into_iter()
            .filter(|rule| rule.reason.starts_with("review"))
            .map(|rule| format!("{} {} {}", rule.verdict, rule.reason, rule.when))
            .collect();
        told.sort_by_key(|told| !told.contains("rejected"));
        assert_eq!(told, expected);
    }
}
