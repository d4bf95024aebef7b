//! Units of work: how many ended how, after how many attempts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::{Unit, UnitStatus};

/// What is known of the units of a run. Grows with the number of units, which have names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Units {
    pub(crate) total: Option<u64>,
    pub(crate) attempted: u64,
    pub(crate) approved: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    /// Finished units that took more than one attempt.
    retried: u64,
    pub(crate) attempts: u64,
    pub(crate) consecutive_fails: u64,
    /// Counts the streaks of failed units, so that each unit counts once in each.
    streak: u64,
    records: BTreeMap<String, Record>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    index: Option<u64>,
    status: UnitStatus,
    attempts: u64,
    counted_in_streak: u64,
}

impl Units {
    /// Takes in a change; says whether the unit has just been approved.
    pub(crate) fn apply(&mut self, unit: &Unit) -> bool {
        let before = self.records.get(&unit.id).cloned();
        let begun = u64::from(unit.status != UnitStatus::Pending);
        let known = before.as_ref().map_or(0, |record| record.attempts);
        let mut record = Record {
            index: unit.index.or(before.as_ref().and_then(|record| record.index)),
            status: unit.status,
            attempts: unit.attempts.unwrap_or(begun).max(known),
            counted_in_streak: before.as_ref().map_or(0, |record| record.counted_in_streak),
        };
        let ended = before.as_ref().is_none_or(|before| before.status != unit.status);
        match unit.status {
            UnitStatus::Approved if ended => {
                self.consecutive_fails = 0;
                self.streak += 1;
            }
            UnitStatus::Rejected | UnitStatus::Failed
                if record.counted_in_streak != self.streak + 1 =>
            {
                record.counted_in_streak = self.streak + 1;
                self.consecutive_fails += 1;
            }
            _ => {}
        }
        if let Some(before) = &before {
            self.count(before, false);
        }
        self.count(&record, true);
        self.records.insert(unit.id.clone(), record);
        unit.status == UnitStatus::Approved && ended
    }

    /// An acknowledged streak starts anew.
    pub(crate) fn forget_streak(&mut self) {
        self.consecutive_fails = 0;
        self.streak += 1;
    }

    pub(crate) fn finished(&self) -> u64 {
        self.approved.saturating_add(self.unsuccessful())
    }

    pub(crate) fn unsuccessful(&self) -> u64 {
        self.rejected.saturating_add(self.failed)
    }

    pub(crate) fn retried(&self) -> u64 {
        self.retried
    }

    /// Whether units are known, from events or as stated figures.
    pub(crate) fn reported(&self) -> bool {
        !self.records.is_empty() || self.finished() > 0
    }

    /// The first unit that is not finished, by index where units have one, else by name.
    pub(crate) fn first_unfinished(&self) -> Option<(&str, Option<u64>)> {
        self.records
            .iter()
            .filter(|(_, record)| !record.is_finished())
            .min_by_key(|(_, record)| record.index.unwrap_or(u64::MAX))
            .map(|(id, record)| (id.as_str(), record.index))
    }

    /// The first place in the order of units of which nobody has said that it is finished; none
    /// where units have no order, or where all of them are finished.
    pub(crate) fn first_open_index(&self) -> Option<u64> {
        let finished: BTreeSet<u64> = self
            .records
            .values()
            .filter(|record| record.is_finished())
            .filter_map(|record| record.index)
            .collect();
        let first = finished.first()?;
        let start = (*first).min(1);
        let open = (start..).zip(finished.iter().skip_while(|index| **index < start));
        let gap = open.clone().find(|(expected, index)| expected != *index);
        let next = gap.map_or_else(|| start + open.count() as u64, |(expected, _)| expected);
        let beyond = self.total.is_some_and(|total| next >= start.saturating_add(total));
        (!beyond).then_some(next)
    }

    fn count(&mut self, record: &Record, add: bool) {
        let step = |counter: &mut u64, by: u64| {
            *counter = if add { counter.saturating_add(by) } else { counter.saturating_sub(by) };
        };
        step(&mut self.attempts, record.attempts);
        step(&mut self.attempted, u64::from(record.attempts > 0));
        step(&mut self.retried, u64::from(record.is_finished() && record.attempts > 1));
        match record.status {
            UnitStatus::Approved => step(&mut self.approved, 1),
            UnitStatus::Rejected => step(&mut self.rejected, 1),
            UnitStatus::Failed => step(&mut self.failed, 1),
            UnitStatus::Pending | UnitStatus::InProgress => {}
        }
    }
}

impl Record {
    fn is_finished(&self) -> bool {
        matches!(self.status, UnitStatus::Approved | UnitStatus::Rejected | UnitStatus::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UnitStatus::{Approved, Failed, InProgress, Pending, Rejected};

    fn fold(changes: &[(&str, UnitStatus, u64)]) -> Units {
        let mut units = Units::default();
        for (id, status, attempts) in changes {
            let unit =
                Unit { id: (*id).into(), index: None, status: *status, attempts: Some(*attempts) };
            units.apply(&unit);
        }
        units
    }

    #[test]
    fn a_unit_counts_once_whatever_happens_to_it() {
        let units = fold(&[
            ("a", Pending, 0),
            ("a", InProgress, 1),
            ("a", Rejected, 1),
            ("a", Approved, 2),
        ]);
        assert_eq!((units.attempted, units.approved, units.rejected), (1, 1, 0));
        assert_eq!((units.attempts, units.retried(), units.finished()), (2, 1, 1));
    }

    #[test]
    fn fails_in_a_row_are_different_units() {
        assert_eq!(
            fold(&[("a", Rejected, 1), ("a", InProgress, 2), ("a", Failed, 2)]).consecutive_fails,
            1
        );
        assert_eq!(fold(&[("a", Rejected, 1), ("b", Failed, 1)]).consecutive_fails, 2);
        assert_eq!(
            fold(&[("a", Rejected, 1), ("b", Approved, 1), ("a", Rejected, 2)]).consecutive_fails,
            1
        );
        assert_eq!(fold(&[("a", Rejected, 1), ("b", Pending, 0)]).consecutive_fails, 1);
    }

    #[test]
    fn attempts_never_shrink_and_saturate() {
        let units = fold(&[("a", InProgress, 5), ("a", InProgress, 2), ("b", Failed, u64::MAX)]);
        assert_eq!(units.attempts, u64::MAX);
        assert_eq!(fold(&[("a", InProgress, 5), ("a", InProgress, 2)]).attempts, 5);
    }

    #[test]
    fn the_resume_point_is_the_first_unfinished_index() {
        let mut units = fold(&[("z", Approved, 1)]);
        for (id, index, status) in [("b", 2, InProgress), ("a", 1, Failed), ("c", 1, Pending)] {
            units.apply(&Unit { id: id.into(), index: Some(index), status, attempts: None });
        }
        assert_eq!(units.first_unfinished(), Some(("c", Some(1))));
    }

    #[test]
    fn units_nobody_has_begun_are_open_too() {
        let finished = |indices: &[u64]| {
            let mut units = Units { total: Some(4), ..Units::default() };
            for index in indices {
                let id = format!("u{index}");
                units.apply(&Unit { id, index: Some(*index), status: Rejected, attempts: None });
            }
            units.first_open_index()
        };
        assert_eq!(finished(&[]), None);
        assert_eq!(finished(&[0, 1]), Some(2));
        assert_eq!(finished(&[0, 2, 3]), Some(1));
        assert_eq!(finished(&[1, 2]), Some(3), "the first unit may be called 1");
        assert_eq!(finished(&[2, 3]), Some(1));
        assert_eq!(finished(&[0, 1, 2, 3]), None);
        assert_eq!(finished(&[1, 2, 3, 4]), None);
    }
}
