//! Progress that tests show: more passing or fewer failing than ever before in this run, or new
//! ones.

use backstop_core::event::{Progress, ProgressKind, TestCounts, Tests};
use xxhash_rust::xxh3::xxh3_64;

use super::seen::Seen;

/// Takes a test run in. The first one of a run is what the others are compared with.
pub(super) fn take_in(seen: &mut Seen, tests: &Tests) -> Option<Progress> {
    let counts = tests.counts.unwrap_or(TestCounts {
        passed: tests.passed.len() as u64,
        failed: tests.failed.len() as u64,
        skipped: tests.skipped.len() as u64,
    });
    let total = counts.total();
    if total == 0 {
        return None;
    }
    let records: Vec<_> = seen.all(RESULT).filter_map(Record::read).collect();
    let mut new_tests = 0_u64;
    for name in tests.passed.iter().chain(&tests.failed).chain(&tests.skipped) {
        let hash = format!("{:016x}", xxh3_64(name.as_bytes()));
        new_tests += u64::from(seen.is_new(NAME, &hash));
    }
    let now = Record { passed: counts.passed, failed: counts.failed, total };
    seen.is_new(RESULT, &now.write());
    if records.is_empty() {
        return None;
    }
    let most_passed = records.iter().map(|record| record.passed).max().unwrap_or(0);
    // Fewer fail in a part of the tests than in all of them, and that is no progress.
    let comparable = records.iter().filter(|record| record.total <= total);
    let fewest_failed = comparable.map(|record| record.failed).min();
    let is_larger_than_ever = records.iter().all(|record| record.total < total);
    let note = if now.passed > most_passed {
        format!("{} tests pass, up from {most_passed}", now.passed)
    } else if let Some(fewest) = fewest_failed.filter(|fewest| now.failed < *fewest) {
        format!("{} tests fail, down from {fewest}", now.failed)
    } else if new_tests > 0 || is_larger_than_ever {
        "there are new tests".to_owned()
    } else {
        return None;
    };
    Some(Progress { kind: ProgressKind::Tests, note: Some(note) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    passed: u64,
    failed: u64,
    total: u64,
}

impl Record {
    fn write(self) -> String {
        format!("{} {} {}", self.passed, self.failed, self.total)
    }

    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(str::parse);
        let (Some(Ok(passed)), Some(Ok(failed)), Some(Ok(total)), None) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        else {
            return None;
        };
        Some(Self { passed, failed, total })
    }
}

const RESULT: &str = "test_result";
const NAME: &str = "test_name";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::seen::tests::on_a_runtime;

    fn named(passed: &[&str], failed: &[&str]) -> Tests {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Tests { passed: owned(passed), failed: owned(failed), ..Tests::default() }
    }

    fn counted(passed: u64, failed: u64) -> Tests {
        let counts = TestCounts { passed, failed, skipped: 0 };
        Tests { counts: Some(counts), ..Tests::default() }
    }

    fn progress(runs: &[Tests]) -> Vec<Option<String>> {
        let folder = tempfile::tempdir().unwrap();
        on_a_runtime(async {
            let (mut seen, _) = Seen::load(folder.path().join("seen")).await;
            let made = |tests| take_in(&mut seen, tests).and_then(|made| made.note);
            runs.iter().map(made).collect()
        })
    }

    #[test]
    fn the_first_run_is_only_compared_with() {
        assert_eq!(progress(&[named(&["a"], &["b"])]), [None]);
        assert_eq!(progress(&[Tests::default(), counted(1, 0)]), [None, None]);
    }

    #[test]
    fn more_passing_is_progress_once() {
        let runs = [counted(3, 1), counted(4, 1), counted(3, 2), counted(4, 1)];
        let up = Some("4 tests pass, up from 3".to_owned());
        assert_eq!(progress(&runs), [None, up, None, None]);
    }

    #[test]
    fn fewer_failing_is_progress_unless_fewer_ran() {
        let skipping = Tests {
            counts: Some(TestCounts { passed: 3, failed: 1, skipped: 2 }),
            ..Tests::default()
        };
        let down = Some("1 tests fail, down from 3".to_owned());
        assert_eq!(progress(&[counted(3, 3), skipping]), [None, down]);
        assert_eq!(progress(&[counted(3, 3), counted(1, 0)]), [None, None]);
    }

    #[test]
    fn new_tests_are_progress_even_if_they_fail() {
        let runs = [named(&["a"], &[]), named(&["a"], &["b"]), named(&["a"], &["b"])];
        assert_eq!(progress(&runs), [None, Some("there are new tests".to_owned()), None]);
        let renamed = [named(&["a"], &[]), named(&["b"], &[]), named(&["a"], &[])];
        assert_eq!(progress(&renamed), [None, Some("there are new tests".to_owned()), None]);
    }
}
