//! Figures over time, in a fixed number of points.

use std::time::Duration;

/// Points at least a stride apart. When there are too many the stride grows and points are dropped,
/// so that they stay spread over the whole time, however long it becomes.
#[derive(Clone, Debug)]
pub(crate) struct Series<T> {
    points: Vec<(Duration, T)>,
    stride: Duration,
    most: usize,
}

impl<T> Series<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { points: Vec::new(), stride: Duration::ZERO, most: most.max(4) }
    }

    /// Whether a point at this time would be kept. Asked first, a point that would not be costs
    /// nothing.
    pub(crate) fn wants(&self, at: Duration) -> bool {
        self.points.last().is_none_or(|(last, _)| at >= last.saturating_add(self.stride))
    }

    /// Adds a point; times never go back.
    pub(crate) fn push(&mut self, at: Duration, point: T) {
        if self.points.len() >= self.most {
            self.thin();
        }
        self.points.push((at, point));
    }

    /// The last one stands for what the figures are in the end.
    pub(crate) fn set_last(&mut self, at: Duration, point: T) {
        if self.points.last().is_some_and(|(last, _)| *last >= at) {
            self.points.pop();
        }
        self.push(at, point);
    }

    pub(crate) fn into_points(self) -> Vec<T> {
        self.points.into_iter().map(|(_, point)| point).collect()
    }

    fn thin(&mut self) {
        let first = self.points.first().map_or(Duration::ZERO, |(at, _)| *at);
        let last = self.points.last().map_or(Duration::ZERO, |(at, _)| *at);
        let even = last.saturating_sub(first) / u32::try_from(self.most / 2).unwrap_or(u32::MAX);
        self.stride = even.max(self.stride.saturating_mul(2)).max(SHORTEST);
        let (stride, mut kept) = (self.stride, None::<Duration>);
        self.points.retain(|(at, _)| {
            let keeps = kept.is_none_or(|before| *at >= before.saturating_add(stride));
            if keeps {
                kept = Some(*at);
            }
            keeps
        });
    }
}

const SHORTEST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(points: &[u64], most: usize) -> Vec<u64> {
        let mut series = Series::new(most);
        for second in points {
            let at = Duration::from_secs(*second);
            if series.wants(at) {
                series.push(at, *second);
            }
        }
        series.into_points()
    }

    #[test]
    fn few_points_are_all_kept() {
        assert_eq!(seconds(&[0, 0, 1, 7], 4), [0, 0, 1, 7]);
    }

    #[test]
    fn many_points_stay_spread_over_the_whole_time() {
        let all: Vec<u64> = (0..1_000_000).collect();
        let kept = seconds(&all, 64);
        assert!((16..=64).contains(&kept.len()), "{}", kept.len());
        let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert!(most <= &(2 * least), "{least} to {most}");
        assert!(kept.last().unwrap() > &900_000);
    }

    #[test]
    fn points_of_one_instant_are_not_too_many_either() {
        assert!(seconds(&[5; 10_000], 8).len() <= 8);
    }

    proptest! {
        #[test]
        fn the_bound_holds_and_the_first_stays(mut times in prop::collection::vec(0_u64..100_000, 1..400), most in 4_usize..40) {
            times.sort_unstable();
            let kept = seconds(&times, most);
            prop_assert!(kept.len() <= most);
            prop_assert_eq!(kept[0], times[0]);
        }
    }
}
