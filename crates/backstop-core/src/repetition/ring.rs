//! The last steps, as keys.

use serde::{Deserialize, Serialize};

use super::array;

/// What is remembered of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Action and result together; a result that is not known is equal to none that is.
    pub pair: u64,
    pub action: u64,
    /// `None` if the result is not known, or too short to say anything.
    pub result: Option<u64>,
    pub error: Option<u64>,
    pub result_known: bool,
    pub step: u64,
    /// Which batch of parallel calls the step belongs to.
    pub batch: u64,
}

/// The last [`CAPACITY`] entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ring {
    #[serde(with = "array")]
    entries: [Entry; CAPACITY],
    pushed: u64,
}

impl Ring {
    pub fn new() -> Self {
        Self { entries: [Entry::default(); CAPACITY], pushed: 0 }
    }

    pub fn push(&mut self, entry: Entry) {
        self.entries[(self.pushed % CAPACITY as u64) as usize] = entry;
        self.pushed = self.pushed.saturating_add(1);
    }

    /// The newest entry is 0 steps ago.
    pub fn ago(&self, steps: usize) -> Option<&Entry> {
        let steps = steps as u64;
        if steps >= self.pushed.min(CAPACITY as u64) {
            return None;
        }
        Some(&self.entries[((self.pushed - 1 - steps) % CAPACITY as u64) as usize])
    }

    /// The newest entries first.
    pub fn recent(&self, count: usize) -> impl Iterator<Item = &Entry> {
        let (newer, older) = self.entries.split_at((self.pushed % CAPACITY as u64) as usize);
        let known = usize::try_from(self.pushed).unwrap_or(CAPACITY);
        newer.iter().rev().chain(older.iter().rev()).take(count.min(known))
    }
}

pub(super) const CAPACITY: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest() {
        let mut ring = Ring::new();
        assert_eq!(ring.ago(0), None);
        for pair in 1..=100 {
            ring.push(Entry { pair, ..Entry::default() });
        }
        let pairs: Vec<u64> = ring.recent(1000).map(|entry| entry.pair).collect();
        assert_eq!(pairs, (37..=100).rev().collect::<Vec<_>>());
    }
}
