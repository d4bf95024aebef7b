//! What became of the tests between the first run of them and the last.

use std::collections::BTreeSet;

use backstop_core::event::{TestCounts, Tests};
use backstop_core::time::{Moment, millis};

use crate::bounded::Kept;
use crate::report::{TestPoint, TestsDone};
use crate::series::Series;
use crate::text::cut;

/// The first run of each source, and the last of all.
#[derive(Clone, Debug)]
pub(super) struct TestRuns {
    runs: u64,
    first: Vec<Tests>,
    last: Tests,
    points: Series<TestPoint>,
    last_point: Option<(Moment, TestPoint)>,
}

impl Default for TestRuns {
    fn default() -> Self {
        Self {
            runs: 0,
            first: Vec::new(),
            last: Tests::default(),
            points: Series::new(MOST_POINTS),
            last_point: None,
        }
    }
}

impl TestRuns {
    pub(super) fn take(&mut self, mut tests: Tests, now: Moment) {
        self.runs += 1;
        let counts = counts(&tests);
        tests.counts = Some(counts);
        for names in [&mut tests.passed, &mut tests.failed] {
            names.truncate(MOST_NAMES);
        }
        tests.skipped.clear();
        let point = TestPoint { at: Some(now.at), active_ms: millis(now.active), counts };
        if self.points.wants(now.active) {
            self.points.push(now.active, point);
        }
        self.last_point = Some((now, point));
        let is_known = self.first.iter().any(|first| first.source == tests.source);
        if !is_known && self.first.len() < MOST_SOURCES {
            self.first.push(tests.clone());
        }
        self.last = tests;
    }

    pub(super) fn finish(mut self) -> (Option<TestsDone>, Vec<TestPoint>) {
        let Some((now, point)) = self.last_point else { return (None, Vec::new()) };
        self.points.set_last(now.active, point);
        // Tests of one kind are not compared with those of another.
        let first = self.first.iter().find(|first| first.source == self.last.source);
        let first = first.or(self.first.first()).unwrap_or(&self.last);
        let (before, after) = (Names::of(first), Names::of(&self.last));
        let done = TestsDone {
            runs: self.runs,
            first: counts(first),
            last: counts(&self.last),
            fixed: some(before.failed.intersection(&after.passed)),
            broken: some(before.passed.intersection(&after.failed)),
            failing: some(after.failed.iter()),
            added: after.all().difference(&before.all()).count() as u64,
            removed: before.all().difference(&after.all()).count() as u64,
        };
        (Some(done), self.points.into_points())
    }
}

struct Names<'a> {
    passed: BTreeSet<&'a str>,
    failed: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of(tests: &'a Tests) -> Self {
        let set = |names: &'a [String]| names.iter().map(String::as_str).collect();
        Self { passed: set(&tests.passed), failed: set(&tests.failed) }
    }

    fn all(&self) -> BTreeSet<&'a str> {
        self.passed.union(&self.failed).copied().collect()
    }
}

fn some<'a>(names: impl Iterator<Item = &'a &'a str>) -> Kept<String> {
    Kept::first_of(names.map(|name| cut(name, LONGEST_NAME)).collect(), MOST_SHOWN)
}

/// How many tests ended how; where names are unknown the counts decide.
pub(super) fn counts(tests: &Tests) -> TestCounts {
    tests.counts.unwrap_or(TestCounts {
        passed: tests.passed.len() as u64,
        failed: tests.failed.len() as u64,
        skipped: tests.skipped.len() as u64,
    })
}

const MOST_POINTS: usize = 256;
const MOST_SOURCES: usize = 4;
const MOST_NAMES: usize = 20_000;
const MOST_SHOWN: usize = 50;
const LONGEST_NAME: usize = 200;
