//! What counts in a row, or by age, and so can be acknowledged.

use crate::reason::{self, ReasonCode};

/// A count or an age that starts anew once a person has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streak {
    NoProgress,
    Stagnation,
    ConsecutiveErrors,
    ConsecutiveFails,
    TestFailures,
    Repetition,
    Worker,
    SameRounds,
    Signal,
    Guards,
}

impl Streak {
    pub const ALL: [Self; 10] = [
        Self::NoProgress,
        Self::Stagnation,
        Self::ConsecutiveErrors,
        Self::ConsecutiveFails,
        Self::TestFailures,
        Self::Repetition,
        Self::Worker,
        Self::SameRounds,
        Self::Signal,
        Self::Guards,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoProgress => "no_progress",
            Self::Stagnation => "stagnation",
            Self::ConsecutiveErrors => "consecutive_errors",
            Self::ConsecutiveFails => "consecutive_fails",
            Self::TestFailures => "test_failure_streak",
            Self::Repetition => "repetition",
            Self::Worker => "worker",
            Self::SameRounds => "same_rounds",
            Self::Signal => "signal",
            Self::Guards => "guards",
        }
    }
}

/// A set of streaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Streaks(u16);

impl Streaks {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u16::MAX);

    pub const fn of(streak: Streak) -> Self {
        Self(1 << streak as u16)
    }

    /// The streaks with these names; others are passed over, as old journals may hold them.
    pub fn named<S: AsRef<str>>(names: &[S]) -> Self {
        let known =
            |name: &S| Streak::ALL.into_iter().find(|streak| streak.as_str() == name.as_ref());
        names.iter().filter_map(known).fold(Self::NONE, |set, streak| set.union(Self::of(streak)))
    }

    /// The streaks that a reason stands for.
    pub fn of_reason(code: &str) -> Self {
        match reason::find(code) {
            Some(ReasonCode::Stalled) => {
                Self::of(Streak::NoProgress).union(Self::of(Streak::Stagnation))
            }
            Some(ReasonCode::Error | ReasonCode::CriticalFailure) => {
                Self::of(Streak::ConsecutiveErrors)
            }
            Some(ReasonCode::ConsecutiveFails) => Self::of(Streak::ConsecutiveFails),
            Some(ReasonCode::TestFailureStreak) => Self::of(Streak::TestFailures),
            Some(ReasonCode::Repetition) => Self::of(Streak::Repetition),
            Some(
                ReasonCode::WorkerBlocked
                | ReasonCode::WorkerFailed
                | ReasonCode::WorkerTimeout
                | ReasonCode::RateLimited,
            ) => Self::of(Streak::Worker),
            Some(ReasonCode::ReviewLoopDetected) => Self::of(Streak::SameRounds),
            Some(ReasonCode::UserStopped | ReasonCode::UserAborted | ReasonCode::Terminated) => {
                Self::of(Streak::Signal)
            }
            Some(
                ReasonCode::GuardViolation
                | ReasonCode::LockfileViolation
                | ReasonCode::DirtyWorktree
                | ReasonCode::FileCollision,
            ) => Self::of(Streak::Guards),
            _ => Self::NONE,
        }
    }

    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn contains(self, streak: Streak) -> bool {
        self.0 & (1 << streak as u16) != 0
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Streak::ALL.into_iter().filter(move |streak| self.contains(*streak)).map(Streak::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_ones_are_passed_over() {
        let set = Streaks::of(Streak::Worker).union(Streaks::of(Streak::NoProgress));
        let names: Vec<_> = set.names().collect();
        assert_eq!(names, ["no_progress", "worker"]);
        assert_eq!(Streaks::named(&names), set);
        assert_eq!(Streaks::named(&["of a later version"]), Streaks::NONE);
    }
}
