//! When the work last moved on, and what was tried since.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::{ProgressKind, RecoveryKind};

/// Progress, and the recoveries since it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgressMade {
    pub(crate) iterations_since: u64,
    /// Active time of the last progress, or from which its age counts.
    pub(crate) last_active: Duration,
    /// How old the last progress was by then already, where that was told and not seen.
    pub(crate) age_then: Duration,
    in_iteration: bool,
    pub(crate) context_recoveries: u64,
    pub(crate) stagnation_recoveries: u64,
}

impl ProgressMade {
    pub(crate) fn made(&mut self, active: Duration) {
        self.iterations_since = 0;
        self.count_age_from(active);
        self.in_iteration = true;
        self.context_recoveries = 0;
        self.stagnation_recoveries = 0;
    }

    pub(crate) fn iteration_started(&mut self) {
        self.in_iteration = false;
    }

    /// `excused`: the iteration could not work at all, so it is neither progress nor the lack of it.
    pub(crate) fn iteration_finished(&mut self, excused: bool) {
        if !self.in_iteration && !excused {
            self.iterations_since = self.iterations_since.saturating_add(1);
        }
        self.in_iteration = false;
    }

    pub(crate) fn recovered(&mut self, kind: RecoveryKind) {
        let counter = match kind {
            RecoveryKind::Context => &mut self.context_recoveries,
            RecoveryKind::Stagnation => &mut self.stagnation_recoveries,
            RecoveryKind::Error => return,
        };
        *counter = counter.saturating_add(1);
    }

    pub(crate) fn count_age_from(&mut self, active: Duration) {
        self.last_active = active;
        self.age_then = Duration::ZERO;
    }

    pub(crate) fn age(&self, active: Duration) -> Duration {
        active.saturating_sub(self.last_active).saturating_add(self.age_then)
    }

    /// The active time at which the last progress will be of this age.
    pub(crate) fn active_at_age(&self, age: Duration) -> Duration {
        self.last_active.saturating_add(age.saturating_sub(self.age_then))
    }
}

/// The kinds of progress that a policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressKinds(u8);

impl ProgressKinds {
    pub const ALL: Self = Self(u8::MAX);

    pub fn of(kinds: &[ProgressKind]) -> Self {
        Self(kinds.iter().fold(0, |set, kind| set | 1 << *kind as u8))
    }

    pub fn contains(self, kind: ProgressKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_inside_an_iteration_is_that_iterations() {
        let mut progress = ProgressMade::default();
        progress.iteration_started();
        progress.made(Duration::from_secs(5));
        progress.iteration_finished(false);
        assert_eq!(progress.iterations_since, 0);
        progress.iteration_started();
        progress.iteration_finished(false);
        assert_eq!(progress.iterations_since, 1);
        assert_eq!(progress.age(Duration::from_secs(8)), Duration::from_secs(3));
    }

    #[test]
    fn progress_found_after_an_iteration_does_not_excuse_the_next() {
        let mut progress = ProgressMade::default();
        progress.iteration_started();
        progress.iteration_finished(false);
        progress.made(Duration::ZERO);
        progress.iteration_started();
        progress.iteration_finished(false);
        assert_eq!(progress.iterations_since, 1);
    }

    #[test]
    fn only_named_kinds_count() {
        let kinds = ProgressKinds::of(&[ProgressKind::Commit, ProgressKind::Other]);
        assert!(kinds.contains(ProgressKind::Commit) && kinds.contains(ProgressKind::Other));
        assert!(!kinds.contains(ProgressKind::Tree));
        assert!(ProgressKinds::ALL.contains(ProgressKind::Marker));
    }
}
