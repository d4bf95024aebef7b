//! Conditions on what guards, workers, verification, reviewers and people said.

use super::budgets::raise_count;
use super::kind::Kind;
use super::measure::{Measure, Scene};
use super::words::{counted, quoted};
use crate::event::{
    Answer, Guard, GuardKind, LimitValue, ReviewOutcome, VerificationOutcome, WorkerStatus,
};
use crate::facts::{Streak, Streaks, Watch};
use crate::field::{Count, choices, record};
use crate::reason::ReasonCode;

choices! {
    GuardKind {
        "scope" => Scope,
        "protected" => Protected,
        "lockfile" => Lockfile,
        "dirty" => Dirty,
        "collision" => Collision,
    }
}

record! {
    /// A guard was violated.
    pub struct GuardViolated {
        /// Which guard; left out: any.
        optional kind: GuardKind,
    }
}

impl Kind for GuardViolated {
    const TYPE: &'static str = "guard_violated";
    const EXAMPLE: &'static str = r#"{ type = "guard_violated", kind = "lockfile" }"#;
    const PRIORITY: i32 = 95;
    const WATCHES: Watch = Watch::GUARDS;
    const STREAKS: Streaks = Streaks::of(Streak::Guards);

    fn describe(&self) -> String {
        match self.kind {
            Some(kind) => format!("when the {} guard is violated", kind.name()),
            None => "when a guard is violated".to_owned(),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(scene.facts.guards.violated(self.kind).is_some())
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        match scene.facts.guards.violated(self.kind) {
            None => "No guard is violated".to_owned(),
            Some(guard) => {
                // Who puts right what is named should not be stopped again for what is not.
                let others = scene.facts.guards.0.iter().filter(|other| other.kind != guard.kind);
                let others = others.map(|other| format!(", {}", violation(other)));
                format!("Guard {}{}", violation(guard), others.collect::<String>())
            }
        }
    }

    fn reason(&self, scene: &Scene<'_>) -> ReasonCode {
        let kind = self.kind.or_else(|| scene.facts.guards.violated(None).map(|guard| guard.kind));
        match kind {
            Some(GuardKind::Lockfile) => ReasonCode::LockfileViolation,
            Some(GuardKind::Dirty) => ReasonCode::DirtyWorktree,
            Some(GuardKind::Collision) => ReasonCode::FileCollision,
            Some(GuardKind::Scope | GuardKind::Protected) | None => ReasonCode::GuardViolation,
        }
    }
}

/// `scope violated by 'a', 'b', 'c' and 4 more`.
fn violation(guard: &Guard) -> String {
    let kind = guard.kind.name();
    if guard.files.is_empty() {
        return format!("{kind} violated");
    }
    let named: Vec<_> = guard.files.iter().take(3).map(|file| quoted(file)).collect();
    let more = match guard.files.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{kind} violated by {}{more}", named.join(", "))
}

record! {
    /// A person or a parent process asked the run to stop.
    pub struct UserSignal {}
}

impl Kind for UserSignal {
    const TYPE: &'static str = "user_signal";
    const EXAMPLE: &'static str = r#"{ type = "user_signal" }"#;
    const PRIORITY: i32 = 90;
    const WATCHES: Watch = Watch::SIGNAL;
    const STREAKS: Streaks = Streaks::of(Streak::Signal);

    fn describe(&self) -> String {
        "when a stop is asked for".to_owned()
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(scene.facts.is_stop_asked_for() || has_aborted(scene))
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        match measure.truth.is_met() {
            true if has_aborted(scene) => "A person answered with abort".to_owned(),
            true if scene.facts.is_terminated() => "The system asked the run to end".to_owned(),
            true => scene.facts.stop_in_words(),
            false => "No stop was asked for".to_owned(),
        }
    }

    fn reason(&self, scene: &Scene<'_>) -> ReasonCode {
        if has_aborted(scene) {
            ReasonCode::UserAborted
        } else if scene.facts.is_terminated() {
            ReasonCode::Terminated
        } else {
            ReasonCode::UserStopped
        }
    }
}

choices! {
    WorkerStatus {
        "blocked" => Blocked,
        "failed" => Failed,
        "timed_out" => TimedOut,
        "rate_limited" => RateLimited,
    }
}

record! {
    /// How the last iteration's worker ended.
    pub struct WorkerEnded {
        /// The status that it reported.
        required status: WorkerStatus,
        /// How many iterations in a row must have ended that way.
        default in_a_row: Count = Count(1),
    }
}

impl Kind for WorkerEnded {
    const TYPE: &'static str = "worker";
    const EXAMPLE: &'static str = r#"{ type = "worker", status = "blocked" }"#;
    const PROGRESS: &'static str = "iterations in a row / `in_a_row`";
    const PRIORITY: i32 = 88;
    const WATCHES: Watch = Watch::WORKER;
    const STREAKS: Streaks = Streaks::of(Streak::Worker);

    fn describe(&self) -> String {
        let status = match self.status {
            WorkerStatus::Blocked => "is blocked",
            WorkerStatus::Failed => "fails for good",
            WorkerStatus::TimedOut => "times out",
            WorkerStatus::RateLimited => "is rate limited",
        };
        match self.in_a_row.0 {
            1 => format!("when the worker {status}"),
            many => format!("when the worker {status} {many} times in a row"),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let worker = &scene.facts.worker;
        let in_a_row = if worker.status == Some(self.status) { worker.in_a_row } else { 0 };
        Measure::count(in_a_row, self.in_a_row.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let worker = &scene.facts.worker;
        let status = spoken(self.status.name());
        match &worker.detail {
            Some(detail) if measure.truth.is_met() => {
                format!("Worker {status}: {}", super::words::first_line(detail))
            }
            _ if measure.truth.is_met() && self.in_a_row.0 > 1 => {
                format!("Worker {status} {} times in a row", worker.in_a_row)
            }
            _ if measure.truth.is_met() => format!("Worker {status}"),
            _ => format!("Worker not {status}"),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        match self.status {
            WorkerStatus::Blocked => ReasonCode::WorkerBlocked,
            WorkerStatus::Failed => ReasonCode::WorkerFailed,
            WorkerStatus::TimedOut => ReasonCode::WorkerTimeout,
            WorkerStatus::RateLimited => ReasonCode::RateLimited,
        }
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.in_a_row, value);
    }
}

choices! {
    VerificationOutcome {
        "passed" => Passed,
        "failed" => Failed,
        "timed_out" => TimedOut,
    }
}

record! {
    /// How the last verification ended.
    pub struct VerificationEnded {
        /// The outcome that counts.
        required outcome: VerificationOutcome,
    }
}

impl Kind for VerificationEnded {
    const TYPE: &'static str = "verification";
    const EXAMPLE: &'static str = r#"{ type = "verification", outcome = "failed" }"#;
    const PRIORITY: i32 = 60;
    const WATCHES: Watch = Watch::VERIFICATION;

    fn describe(&self) -> String {
        format!("when the verification has {}", spoken(self.outcome.name()))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(scene.facts.verification == Some(self.outcome))
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        match scene.facts.verification {
            Some(outcome) => format!("Verification {}", spoken(outcome.name())),
            None => "Nothing has been verified".to_owned(),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        match self.outcome {
            VerificationOutcome::Passed => ReasonCode::ConditionMet,
            VerificationOutcome::Failed => ReasonCode::VerificationFailed,
            VerificationOutcome::TimedOut => ReasonCode::VerificationTimeout,
        }
    }
}

choices! {
    ReviewOutcome {
        "approved" => Approved,
        "changes_requested" => ChangesRequested,
        "rejected" => Rejected,
    }
}

record! {
    /// How the last review ended.
    pub struct ReviewEnded {
        /// The outcome that counts.
        required outcome: ReviewOutcome,
        /// How many reviews in a row must have asked for the same.
        optional same_rounds: Count,
    }
}

impl Kind for ReviewEnded {
    const TYPE: &'static str = "review";
    const EXAMPLE: &'static str =
        r#"{ type = "review", outcome = "changes_requested", same_rounds = 3 }"#;
    const PROGRESS: &'static str = "equal reviews in a row / `same_rounds`";
    const PRIORITY: i32 = 59;
    const WATCHES: Watch = Watch::REVIEW;
    const STREAKS: Streaks = Streaks::of(Streak::SameRounds);

    fn describe(&self) -> String {
        let outcome = spoken(self.outcome.name());
        match self.same_rounds {
            Some(Count(rounds)) => format!(
                "when {} in a row ask for the same ({outcome})",
                counted(rounds, "review", "reviews")
            ),
            None => format!("when the last review says {outcome}"),
        }
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let fits = scene.facts.reviews.outcome == Some(self.outcome);
        match self.same_rounds {
            Some(Count(rounds)) => {
                Measure::count(scene.facts.reviews.same_rounds, rounds).given(fits)
            }
            None => Measure::plain(fits),
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let reviews = &scene.facts.reviews;
        let said = match (reviews.outcome, self.same_rounds) {
            (None, _) => return "Nothing has been reviewed".to_owned(),
            (Some(_), Some(Count(rounds))) => {
                format!("{}/{rounds} reviews in a row asked for the same", reviews.same_rounds)
            }
            (Some(outcome), None) => format!("The last review says {}", spoken(outcome.name())),
        };
        if measure.truth.is_met() && !reviews.requests.is_empty() {
            return format!("{said}: {}", named(&reviews.requests));
        }
        said
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        match (self.same_rounds, self.outcome) {
            (Some(_), _) => ReasonCode::ReviewLoopDetected,
            (None, ReviewOutcome::Rejected) => ReasonCode::ReviewRejected,
            (None, ReviewOutcome::Approved | ReviewOutcome::ChangesRequested) => {
                ReasonCode::ConditionMet
            }
        }
    }

    fn raise(&mut self, value: LimitValue) {
        if let Some(rounds) = &mut self.same_rounds {
            raise_count(rounds, value);
        }
    }
}

/// The first of some requests, each in a line.
fn named(requests: &[String]) -> String {
    let in_a_line = |request: &String| {
        let words = request.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(LONGEST_REQUEST) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    };
    let mut named: Vec<String> = requests.iter().take(MOST_NAMED).map(in_a_line).collect();
    let others = requests.len() - named.len();
    if others > 0 {
        named.push(format!("{others} more"));
    }
    named.join("; ")
}

const MOST_NAMED: usize = 3;
const LONGEST_REQUEST: usize = 100;

fn has_aborted(scene: &Scene<'_>) -> bool {
    scene.facts.answer == Some(Answer::Abort)
}

/// A name from a document as it is said: `timed_out` becomes `timed out`.
fn spoken(name: &str) -> String {
    name.replace('_', " ")
}
