//! Which facts an event changed, and which ones a condition reads.

use std::ops::{BitOr, BitOrAssign};

/// A set of groups of facts. A rule is looked at again only when one of its groups changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch(u32);

impl Watch {
    pub const NONE: Self = Self(0);
    pub const ITERATIONS: Self = Self(1);
    pub const TOKENS: Self = Self(1 << 1);
    pub const COST: Self = Self(1 << 2);
    pub const CONTEXT: Self = Self(1 << 3);
    pub const QUOTA: Self = Self(1 << 4);
    pub const UNITS: Self = Self(1 << 5);
    pub const TASKS: Self = Self(1 << 6);
    pub const ERRORS: Self = Self(1 << 7);
    pub const TESTS: Self = Self(1 << 8);
    pub const PROGRESS: Self = Self(1 << 9);
    pub const CYCLES: Self = Self(1 << 10);
    pub const DRIFT: Self = Self(1 << 11);
    pub const REPETITION: Self = Self(1 << 12);
    pub const RERUN: Self = Self(1 << 13);
    pub const GUARDS: Self = Self(1 << 14);
    pub const VERIFICATION: Self = Self(1 << 15);
    pub const REVIEW: Self = Self(1 << 16);
    pub const WORKER: Self = Self(1 << 17);
    pub const SIGNAL: Self = Self(1 << 18);
    pub const EXIT: Self = Self(1 << 19);
    pub const MATCHED: Self = Self(1 << 20);
    pub const PROBES: Self = Self(1 << 21);
    /// The run's start, from which clock times are counted.
    pub const START: Self = Self(1 << 22);
    pub const RECOVERIES: Self = Self(1 << 23);
    pub const RAISES: Self = Self(1 << 24);
    pub const METERS: Self = Self(1 << 25);
    pub const ALL: Self = Self((1 << Self::GROUPS) - 1);

    /// How many groups there are.
    pub const GROUPS: usize = 26;

    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The positions of the groups in the set.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let position = rest.trailing_zeros();
            rest &= rest.checked_sub(1)?;
            Some(position as usize)
        })
    }
}

impl BitOr for Watch {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for Watch {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_groups() {
        let set = Watch::ITERATIONS | Watch::CONTEXT | Watch::METERS;
        assert_eq!(set.positions().collect::<Vec<_>>(), [0, 3, 25]);
        assert_eq!(Watch::ALL.positions().count(), Watch::GROUPS);
        assert_eq!(Watch::NONE.positions().next(), None);
    }
}
