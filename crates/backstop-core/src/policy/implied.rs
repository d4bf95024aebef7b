//! Rules that nobody wrote: those that settings imply, and the net under a loop without limits.

use super::draft::Draft;
use super::rule::Rule;
use super::{Preset, is_bounded};
use crate::condition::{Condition, GuardViolated, OnError, UserSignal, WorkerEnded};
use crate::event::{ErrorCategory, GuardKind, WorkerStatus};
use crate::field::Count;
use crate::verdict::Verdict;

/// Said once when [`safety_net`] was added.
pub(crate) const SAFETY_NET_NOTE: &str = "no rule limits iterations or time, so preset `default`'s \
     limits were added (100 iterations, 1 day); `[limits] unlimited = true` lifts them";

/// What settings imply. A rule with the same reason replaces its like.
pub(crate) fn rules() -> Vec<Rule> {
    let guard = |kind| rule(GuardViolated { kind: Some(kind) }, Verdict::Fail);
    let worker =
        |status, in_a_row, then| rule(WorkerEnded { status, in_a_row: Count(in_a_row) }, then);
    let critical = OnError { pattern: None, category: Some(ErrorCategory::Critical) };
    vec![
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
