//! Lists that stay short, however long what they tell of becomes.

use std::collections::VecDeque;

use serde::Serialize;

/// The first and the last of many things.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<T> {
    first: Vec<T>,
    last: VecDeque<T>,
    most_first: usize,
    most_last: usize,
    left_out: u64,
}

/// What was kept of a list: in order, and how many are missing in its middle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kept<T> {
    pub entries: Vec<T>,
    /// How many are not listed.
    pub left_out: u64,
    /// Behind how many of the entries they are missing.
    #[serde(skip)]
    pub gap_after: usize,
}

impl<T> Bounded<T> {
    pub(crate) fn new(most_first: usize, most_last: usize) -> Self {
        Self { first: Vec::new(), last: VecDeque::new(), most_first, most_last, left_out: 0 }
    }

    pub(crate) fn push(&mut self, entry: T) {
        if self.first.len() < self.most_first {
            self.first.push(entry);
            return;
        }
        if self.last.len() == self.most_last {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back(entry);
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.last.back_mut().or(self.first.last_mut())
    }

    pub(crate) fn into_kept(self) -> Kept<T> {
        let gap_after = self.first.len();
        let mut entries = self.first;
        entries.extend(self.last);
        Kept { entries, left_out: self.left_out, gap_after }
    }
}

impl<T> Kept<T> {
    /// The first so many of a list.
    pub(crate) fn first_of(mut entries: Vec<T>, most: usize) -> Self {
        let left_out = entries.len().saturating_sub(most) as u64;
        entries.truncate(most);
        Self { gap_after: entries.len(), entries, left_out }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many there were in all.
    pub fn count(&self) -> u64 {
        self.entries.len() as u64 + self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(count: u64) -> Kept<u64> {
        let mut list = Bounded::new(2, 3);
        (1..=count).for_each(|entry| list.push(entry));
        list.into_kept()
    }

    #[test]
    fn the_first_and_the_last_are_kept() {
        assert_eq!(kept(1), Kept { entries: vec![1], left_out: 0, gap_after: 1 });
        assert_eq!(kept(5), Kept { entries: vec![1, 2, 3, 4, 5], left_out: 0, gap_after: 2 });
        assert_eq!(kept(9), Kept { entries: vec![1, 2, 7, 8, 9], left_out: 4, gap_after: 2 });
        assert_eq!(kept(9).count(), 9);
    }

    #[test]
    fn a_long_list_says_how_much_is_missing() {
        let some = Kept::first_of(vec!['a', 'b', 'c'], 2);
        assert_eq!((some.entries.as_slice(), some.left_out), (&['a', 'b'][..], 1));
    }
}
