//! Things that came in a row, and the steps at which they did.

use serde::{Deserialize, Serialize};

/// How many in a row, where the row began, and its last steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Streak {
    pub count: u32,
    pub first: u64,
    recent: [u64; RECENT],
}

impl Streak {
    /// One more at this step.
    pub fn extend(&mut self, step: u64) {
        if self.count == 0 {
            self.first = step;
        }
        self.count = self.count.saturating_add(1);
        self.recent.rotate_left(1);
        self.recent[RECENT - 1] = step;
    }

    /// A new row that begins at this step.
    pub fn restart(&mut self, step: u64) {
        *self = Self::default();
        self.extend(step);
    }

    /// One more if it is the same, else a new row.
    pub fn follow(&mut self, same: bool, step: u64) {
        if same {
            self.extend(step);
        } else {
            self.restart(step);
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The last steps, oldest first.
    pub fn steps(&self) -> &[u64] {
        &self.recent[RECENT - RECENT.min(self.count as usize)..]
    }
}

/// How many step numbers an explanation shows at most.
pub(super) const RECENT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_first_and_last_steps() {
        let mut streak = Streak::default();
        assert!(streak.steps().is_empty());
        for step in 3..=12 {
            streak.extend(step);
        }
        assert_eq!((streak.count, streak.first), (10, 3));
        assert_eq!(streak.steps(), [5, 6, 7, 8, 9, 10, 11, 12]);
        streak.follow(false, 13);
        assert_eq!(
            (streak.count, streak.first, streak.steps()),
            (1, 13, &[13][..])
        );
    }
}
