//! Measuring on a machine that is not quiet: many short batches, all contestants in every round.
//!
//! Noise comes in stretches longer than a batch. Because every round times each contestant once,
//! side by side, such a stretch hits all of them, and medians over many rounds leave it out.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Something to be measured, called many times in a batch.
pub struct Contestant<'a> {
    batch: Box<dyn FnMut(u64) + 'a>,
}

impl<'a> Contestant<'a> {
    /// Each call of `work` is one operation; the loop around it is compiled together with it.
    pub fn new<T>(mut work: impl FnMut() -> T + 'a) -> Self {
        let batch = move |count| {
            for _ in 0..count {
                black_box(work());
            }
        };
        Self { batch: Box::new(batch) }
    }

    pub fn run(&mut self, count: u64) {
        (self.batch)(count);
    }

    fn time(&mut self, count: u64) -> Duration {
        let started = Instant::now();
        self.run(count);
        started.elapsed()
    }

    /// How many calls fill a batch, found by doubling, which also warms up.
    fn calls_per_batch(&mut self) -> u64 {
        let mut count = 1;
        while self.time(count) < BATCH && count < u64::MAX / 2 {
            count *= 2;
        }
        count
    }
}

impl fmt::Debug for Contestant<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Contestant")
    }
}

/// Nanoseconds per call, per round, of each contestant.
#[derive(Debug)]
pub struct Measurements {
    columns: Vec<(&'static str, Vec<f64>)>,
}

impl Measurements {
    pub fn take(mut contestants: Vec<(&'static str, Contestant<'_>)>) -> Self {
        let counts: Vec<_> =
            contestants.iter_mut().map(|(_, contestant)| contestant.calls_per_batch()).collect();
        let mut columns: Vec<_> = contestants.iter().map(|(name, _)| (*name, Vec::new())).collect();
        let size = contestants.len();
        for round in 0..ROUNDS {
            // Each round begins with another, so that nobody always runs in the same one's wake.
            for place in (0..size).map(|offset| (round + offset) % size) {
                let elapsed = contestants[place].1.time(counts[place]);
                columns[place].1.push(elapsed.as_secs_f64() * 1e9 / counts[place] as f64);
            }
        }
        Self { columns }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|(name, _)| *name)
    }

    /// The median time of one call, in nanoseconds.
    pub fn nanoseconds(&self, name: &str) -> Option<f64> {
        median(self.rounds(name)?.to_vec())
    }

    /// How many times as long one takes as the other: the median over the rounds.
    pub fn ratio(&self, name: &str, other: &str) -> Option<f64> {
        let pairs = self.rounds(name)?.iter().zip(self.rounds(other)?);
        median(pairs.map(|(one, other)| one / other).collect())
    }

    fn rounds(&self, name: &str) -> Option<&[f64]> {
        let column = self.columns.iter().find(|(found, _)| *found == name)?;
        Some(&column.1)
    }
}

/// The middle of the values, or nothing if there are none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

/// The value that this share of all values does not exceed, or nothing if there are none.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    values.get(place.saturating_sub(1)).copied()
}

const BATCH: Duration = Duration::from_micros(200);
const ROUNDS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn quantiles() {
        let values: Vec<f64> = (1..=200).map(f64::from).rev().collect();
        assert_eq!(quantile(&values, 0.99), Some(198.0));
        assert_eq!(quantile(&values, 0.5), Some(100.0));
        assert_eq!(quantile(&values, 1.0), Some(200.0));
        assert_eq!(quantile(&[4.0], 0.01), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_ratio_is_taken_within_rounds() {
        let columns = vec![("a", vec![2.0, 20.0, 200.0]), ("b", vec![1.0, 10.0, 100.0])];
        let measurements = Measurements { columns };
        assert_eq!(measurements.ratio("a", "b"), Some(2.0));
        assert_eq!(measurements.nanoseconds("b"), Some(10.0));
        assert_eq!(measurements.ratio("a", "c"), None);
    }

    #[test]
    fn a_batch_is_filled_and_every_call_is_made() {
        let mut calls = 0u64;
        let mut contestant = Contestant::new(|| calls += 1);
        contestant.run(7);
        drop(contestant);
        assert_eq!(calls, 7);
    }
}
