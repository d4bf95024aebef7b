//! The last test run, and how many in a row had a failure.

use serde::{Deserialize, Serialize};

use crate::event::{TestCounts, Tests};

/// What the last test run said. Grows with the number of tests, which have names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TestRuns {
    pub(crate) passed: Vec<String>,
    pub(crate) failed: Vec<String>,
    pub(crate) skipped: Vec<String>,
    pub(crate) counts: TestCounts,
    pub(crate) failure_streak: u64,
}

impl TestRuns {
    /// Takes in a test run; says whether it had no failure.
    pub(crate) fn apply(&mut self, tests: &Tests) -> bool {
        self.passed.clone_from(&tests.passed);
        self.failed.clone_from(&tests.failed);
        self.skipped.clone_from(&tests.skipped);
        // `specific_tests_pass` looks names up in it.
        self.passed.sort_unstable();
        self.counts = tests.counts.unwrap_or(TestCounts {
            passed: tests.passed.len() as u64,
            failed: tests.failed.len() as u64,
            skipped: tests.skipped.len() as u64,
        });
        let clean = self.counts.failed == 0;
        self.failure_streak = if clean { 0 } else { self.failure_streak.saturating_add(1) };
        clean
    }

    pub(crate) fn has_passed(&self, name: &str) -> bool {
        self.passed.binary_search_by(|passed| passed.as_str().cmp(name)).is_ok()
            && !self.failed.iter().any(|failed| failed == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_decide_where_they_are_given() {
        let mut runs = TestRuns::default();
        let counts = TestCounts { passed: 3, failed: 1, skipped: 0 };
        assert!(!runs.apply(&Tests {
            passed: vec!["a".into()],
            counts: Some(counts),
            ..Tests::default()
        }));
        assert_eq!((runs.counts.passed, runs.failure_streak), (3, 1));
        assert!(runs.apply(&Tests { passed: vec!["b".into(), "a".into()], ..Tests::default() }));
        assert_eq!((runs.counts.passed, runs.failure_streak), (2, 0));
        assert!(runs.has_passed("a") && !runs.has_passed("c"));
    }

    #[test]
    fn a_test_that_also_failed_has_not_passed() {
        let mut runs = TestRuns::default();
        runs.apply(&Tests {
            passed: vec!["a".into()],
            failed: vec!["a".into()],
            ..Tests::default()
        });
        assert!(!runs.has_passed("a"));
    }
}
