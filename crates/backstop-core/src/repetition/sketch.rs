//! How often a key came in the long run: a count-min sketch that forgets.

use serde::{Deserialize, Serialize};

use super::array;

/// Counts of keys that are never too low but for forgetting, and rarely too high.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sketch {
    #[serde(with = "array")]
    counts: [u16; ROWS * COLUMNS],
    added: u32,
}

impl Sketch {
    pub fn new() -> Self {
        Self {
            counts: [0; ROWS * COLUMNS],
            added: 0,
        }
    }

    pub fn count(&self, key: u64) -> u16 {
        places(key)
            .map(|place| self.counts[place])
            .into_iter()
            .min()
            .unwrap_or(0)
    }

    /// Counts the key once more. Only the lowest of its counters grow (conservative update), which
    /// keeps keys that share some of them apart. All counters are halved now and then.
    pub fn add(&mut self, key: u64) {
        if self.added >= HALF_LIFE {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.added = 0;
        }
        self.added += 1;
        let raised = self.count(key).saturating_add(1);
        for place in places(key) {
            self.counts[place] = self.counts[place].max(raised);
        }
    }
}

/// One counter in each row. The key is a good hash: its bytes will do as independent ones.
fn places(key: u64) -> [usize; ROWS] {
    let bytes = key.to_le_bytes();
    std::array::from_fn(|row| row * COLUMNS + usize::from(bytes[row]))
}

const ROWS: usize = 4;
const COLUMNS: usize = 256;
/// With so many additions between two halvings a counter holds one key on average.
const HALF_LIFE: u32 = 128;

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn key(number: u64) -> u64 {
        xxh3_64(&number.to_le_bytes())
    }

    #[test]
    fn a_key_that_returns_is_counted_among_others() {
        let mut sketch = Sketch::new();
        for number in 0..2000 {
            sketch.add(key(if number % 40 == 0 { 1_000_000 } else { number }));
        }
        assert!(
            sketch.count(key(1_000_000)) >= 3,
            "{}",
            sketch.count(key(1_000_000))
        );
    }

    #[test]
    fn new_keys_are_hardly_ever_taken_for_old_ones() {
        let mut sketch = Sketch::new();
        let mistaken = (0..100_000)
            .filter(|&number| {
                sketch.add(key(number));
                sketch.count(key(number + 1)) >= 3
            })
            .count();
        assert!(mistaken < 20, "{mistaken}");
    }

    #[test]
    fn what_does_not_return_is_forgotten() {
        let mut sketch = Sketch::new();
        (0..10).for_each(|_| sketch.add(key(1)));
        assert_eq!(sketch.count(key(1)), 10);
        (0..2000).for_each(|number| sketch.add(key(number + 10)));
        assert!(sketch.count(key(1)) < 3);
    }
}
