//! Sequences of 2 to 8 steps that come over and over.

use serde::{Deserialize, Serialize};

use super::reading::Cycle;
use super::ring::Ring;

/// For each period, how many steps in a row were equal to the one a period before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cycles {
    runs: [u32; LONGEST + 1],
    firsts: [u64; LONGEST + 1],
    /// Steps up to this one are not looked at.
    after: u64,
}

impl Cycles {
    /// Looks at the newest entry of the ring.
    pub fn follow(&mut self, ring: &Ring) {
        let Some(newest) = ring.ago(0) else { return };
        for period in SHORTEST..=LONGEST {
            let before = ring.ago(period).filter(|entry| entry.step > self.after);
            let run = &mut self.runs[period];
            match before {
                Some(entry) if entry.pair == newest.pair => {
                    if *run == 0 {
                        self.firsts[period] = entry.step;
                    }
                    *run = run.saturating_add(1);
                }
                _ => *run = 0,
            }
        }
    }

    /// Forgets all runs; cycles begin after this step.
    pub fn clear(&mut self, step: u64) {
        *self = Self {
            after: step,
            ..Self::default()
        };
    }

    /// The cycle with most full periods, the shortest of them, and its first step.
    pub fn best(&self, ring: &Ring) -> (Cycle, u64) {
        let mut best = (Cycle::default(), 0);
        for period in SHORTEST..=LONGEST {
            let length = period as u32;
            let periods = self.runs[period] / length + 1;
            if periods > best.0.periods.max(1) && several_kinds(ring, period) {
                best = (
                    Cycle {
                        period: length,
                        periods,
                    },
                    self.firsts[period],
                );
            }
        }
        best
    }
}

/// One step over and over is a streak, not a cycle.
fn several_kinds(ring: &Ring, period: usize) -> bool {
    let mut pairs = ring.recent(period).map(|entry| entry.pair);
    pairs
        .next()
        .is_some_and(|first| pairs.any(|pair| pair != first))
}

const SHORTEST: usize = 2;
const LONGEST: usize = 8;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::ring::Entry;
    use super::*;

    fn best(steps: &str) -> (u32, u32, u64) {
        let (mut ring, mut cycles) = (Ring::new(), Cycles::default());
        for (index, byte) in steps.bytes().enumerate() {
            let step = index as u64 + 1;
            ring.push(Entry {
                pair: byte.into(),
                step,
                ..Entry::default()
            });
            cycles.follow(&ring);
        }
        let (cycle, first) = cycles.best(&ring);
        (cycle.period, cycle.periods, first)
    }

    #[rstest]
    #[case("ab", (0, 0, 0))]
    #[case("aba", (0, 0, 0))]
    #[case("xabab", (2, 2, 2))]
    #[case("ababa", (2, 2, 1))]
    #[case("ababab", (2, 3, 1))]
    #[case("aaaaaaaa", (0, 0, 0))]
    #[case("aabaabaab", (3, 3, 1))]
    #[case("abcdefghabcdefghabcdefgh", (8, 3, 1))]
    #[case("abcdefghiabcdefghiabcdefghi", (0, 0, 0))]
    #[case("abababc", (0, 0, 0))]
    fn cycles(#[case] steps: &str, #[case] expected: (u32, u32, u64)) {
        assert_eq!(best(steps), expected);
    }
}
