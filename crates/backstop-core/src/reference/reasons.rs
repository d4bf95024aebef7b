//! Default reasons, as section 4 lists them.

use super::evaluate::{self, Scene};
use crate::condition::{Condition, Truth};
use crate::event::{ErrorCategory, GuardKind, ReviewOutcome, VerificationOutcome, WorkerStatus};
use crate::policy::Rule;
use crate::verdict::Verdict;

/// The reason that a rule gives now.
pub(super) fn of_rule(rule: &Rule, condition: &Condition, scene: &Scene<'_>) -> String {
    match (&rule.reason, rule.then) {
        (Some(own), _) => own.clone(),
        (None, Verdict::Complete) => "completed".to_owned(),
        (None, _) => of_condition(condition, scene).to_owned(),
    }
}

fn of_condition(condition: &Condition, scene: &Scene<'_>) -> &'static str {
    match condition {
        Condition::Any(parts) => {
            let met = parts.iter().find(|part| evaluate::find(part, scene).truth == Truth::Yes);
            met.map_or("condition_met", |part| of_condition(part, scene))
        }
        Condition::ConsecutiveErrors(_) => {
            match scene.history.errors().last().map(|error| error.category) {
                Some(ErrorCategory::Critical) => "critical_failure",
                _ => "error",
            }
        }
        Condition::GuardViolated(guard) => {
            of_guard(guard.kind.or(scene.history.guards().first().copied()))
        }
        Condition::UserSignal(_) if scene.history.has_aborted() => "user_aborted",
        leaf => standing(leaf),
    }
}

/// The reason of a condition as far as that does not depend on what has happened: by its name a
/// limit is raised.
pub(super) fn standing(condition: &Condition) -> &'static str {
    match condition {
        Condition::MaxAttempts(_) => "circuit_breaker",
        Condition::JobAttempts(_) => "max_attempts",
        Condition::TotalAttempts(_) => "max_total_reruns",
        Condition::Unresolved(_) => "wait_timeout",
        Condition::Cooldown(_) => "cooldown_active",
        Condition::FailureClass(_) => "non_retriable",
        Condition::OnError(error) => match error.category {
            Some(ErrorCategory::Critical) => "critical_failure",
            _ => "error",
        },
        Condition::ConsecutiveErrors(errors) => match errors.category {
            Some(ErrorCategory::Critical) => "critical_failure",
            _ => "error",
        },
        Condition::MaxDuration(_) => "timeout",
        Condition::MaxTokens(_) => "token_limit",
        Condition::MaxCost(_) => "cost_limit",
        Condition::Quota(_) => "rate_limited",
        Condition::ContextUsage(_) => "context_overflow",
        Condition::NoProgress(_) | Condition::Stagnation(_) => "stalled",
        Condition::Health(_) => "health_critical",
        Condition::UserSignal(_) => "user_stopped",
        Condition::GuardViolated(guard) => of_guard(guard.kind),
        Condition::Worker(worker) => match worker.status {
            WorkerStatus::Blocked => "worker_blocked",
            WorkerStatus::Failed => "worker_failed",
            WorkerStatus::TimedOut => "worker_timeout",
            WorkerStatus::RateLimited => "rate_limited",
        },
        Condition::Verification(verification) => match verification.outcome {
            VerificationOutcome::Failed => "verification_failed",
            VerificationOutcome::TimedOut => "verification_timeout",
            VerificationOutcome::Passed => "condition_met",
        },
        Condition::Review(review) => match (review.same_rounds, review.outcome) {
            (Some(_), _) => "review_loop_detected",
            (None, ReviewOutcome::Rejected) => "review_rejected",
            (None, _) => "condition_met",
        },
        // "the reason of the same name where there is one"
        Condition::MaxIterations(_) => "max_iterations",
        Condition::ConsecutiveFails(_) => "consecutive_fails",
        Condition::RejectRate(_) => "reject_rate",
        Condition::RetryRate(_) => "retry_rate",
        Condition::ErrorRate(_) => "error_rate",
        Condition::TestFailureStreak(_) => "test_failure_streak",
        Condition::Repetition(_) => "repetition",
        Condition::NoSignalChange(_) => "no_signal_change",
        Condition::DiminishingReturns(_) => "diminishing_returns",
        Condition::TopicDrift(_) => "topic_drift",
        _ => "condition_met",
    }
}

fn of_guard(kind: Option<GuardKind>) -> &'static str {
    match kind {
        Some(GuardKind::Lockfile) => "lockfile_violation",
        Some(GuardKind::Dirty) => "dirty_worktree",
        Some(GuardKind::Collision) => "file_collision",
        Some(GuardKind::Scope | GuardKind::Protected) | None => "guard_violation",
    }
}
