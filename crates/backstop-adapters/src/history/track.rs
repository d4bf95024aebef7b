//! The last results of one test.

use serde::{Deserialize, Serialize};

use crate::report::Status;

/// What is remembered of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Track {
    /// One letter for each of the last results, oldest first.
    results: String,
    failing_streak: u64,
    /// The run in which it was seen last.
    last_run: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Track {
    pub(super) fn add(&mut self, status: Status, error: Option<&str>, run: u64) {
        if self.results.len() >= MOST_RESULTS {
            self.results.remove(0);
        }
        self.results.push(letter(status));
        match status {
            Status::Failed => {
                self.failing_streak = self.failing_streak.saturating_add(1);
                if let Some(error) = error {
                    let kept = &error[..error.floor_char_boundary(MOST_ERROR)];
                    self.error = Some(kept.to_owned());
                }
            }
            Status::Passed => self.failing_streak = 0,
            // A test that does not run tells nothing.
            Status::Skipped => {}
        }
        self.last_run = run;
    }

    /// How it ended when it ran last.
    pub(super) fn last_known(&self) -> Option<Status> {
        self.known().next_back()
    }

    /// Whether it changes between passing and failing in more than a fifth of its known results.
    pub(super) fn is_flaky(&self) -> bool {
        let known: Vec<_> = self.known().collect();
        let changes = known.windows(2).filter(|pair| pair[0] != pair[1]).count();
        known.len() >= FEWEST_KNOWN && changes * 5 > known.len()
    }

    pub(super) fn failing_streak(&self) -> u64 {
        self.failing_streak
    }

    pub(super) fn last_error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    pub(super) fn last_run(&self) -> u64 {
        self.last_run
    }

    pub(super) fn was_in(&self, run: u64) -> bool {
        self.last_run == run
    }

    fn known(&self) -> impl DoubleEndedIterator<Item = Status> {
        self.results.chars().filter_map(|letter| match letter {
            'p' => Some(Status::Passed),
            'f' => Some(Status::Failed),
            _ => None,
        })
    }
}

fn letter(status: Status) -> char {
    match status {
        Status::Passed => 'p',
        Status::Failed => 'f',
        Status::Skipped => 's',
    }
}

/// Results of one test.
const MOST_RESULTS: usize = 20;

/// Fewer tell nothing of a habit.
const FEWEST_KNOWN: usize = 5;

/// Bytes of an error.
const MOST_ERROR: usize = 300;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn track(results: &str) -> Track {
        let mut track = Track::default();
        for (run, letter) in (1..).zip(results.chars()) {
            let status = match letter {
                'p' => Status::Passed,
                'f' => Status::Failed,
                _ => Status::Skipped,
            };
            track.add(status, Some("boom"), run);
        }
        track
    }

    #[rstest]
    #[case::too_few("pfpf", false)]
    #[case::just_enough("pfpfp", true)]
    #[case::one_change_of_five("ppppf", false)]
    #[case::two_changes_of_five("ppfpp", true)]
    #[case::a_fifth_exactly("pppppppfpp", false)]
    #[case::more_than_a_fifth("pppfppppfp", true)]
    #[case::skipped_are_unknown("pfssssp", false)]
    #[case::long_ago("fpfpfpfppppppppppppppppppppppp", false)]
    fn flaky_is_who_changes_often(#[case] results: &str, #[case] expected: bool) {
        assert_eq!(track(results).is_flaky(), expected);
    }

    #[test]
    fn a_skipped_run_does_not_end_a_streak() {
        assert_eq!(track("pffsf").failing_streak(), 3);
        assert_eq!(track("pffsfp").failing_streak(), 0);
    }
}
