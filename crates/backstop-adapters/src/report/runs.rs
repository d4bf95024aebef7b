//! Where the runs of a runner stand in a text that may hold those of others, too.

use std::cmp::Reverse;
use std::ops::Range;

use super::bounded::{MOST_CASES, MOST_TEXT, shortened};
use super::{Format, TestReport};

/// The runs of one runner, in any order.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Run>);

/// One run, from the first line that nobody else would print to its last word. A runner that tells
/// no beginning has its figures alone: what stands before them may be anything's.
#[derive(Debug)]
struct Run {
    place: Range<usize>,
    failed: u64,
    broken: Option<String>,
}

/// What a report told before a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    failed: u64,
    is_broken: bool,
}

impl Before {
    pub(super) fn of(report: &TestReport) -> Self {
        Self { failed: report.counts().failed, is_broken: report.broken.is_some() }
    }
}

impl Runs {
    /// Takes in a run that has ended, or in which nothing more was heard.
    pub(super) fn push(&mut self, place: Range<usize>, failed: u64, broken: Option<&str>) {
        if self.0.len() < MOST_CASES {
            let broken = broken.map(|broken| shortened(broken, MOST_TEXT).into_owned());
            self.0.push(Run { place, failed, broken });
        }
    }

    pub(super) fn append(&mut self, mut more: Self) {
        more.0.truncate(MOST_CASES.saturating_sub(self.0.len()));
        self.0.append(&mut more.0);
    }

    /// Takes in a run of which a report tells all that it did not tell before.
    pub(super) fn push_since(&mut self, place: Range<usize>, before: Before, report: &TestReport) {
        let failed = report.counts().failed.saturating_sub(before.failed);
        let broken = report.broken.as_deref().filter(|_| !before.is_broken);
        self.push(place, failed, broken);
    }

    /// Takes in a run that a report tells of, and nothing else.
    pub(super) fn push_report(&mut self, place: Range<usize>, report: &TestReport) {
        self.push(place, report.counts_at_last().failed, report.broken.as_deref());
    }
}

/// What is told of each run that is no part of another one of the same runner, with its beginning.
#[derive(Debug, Default)]
pub(super) struct Told(Vec<(usize, TestReport)>);

impl Told {
    /// Takes in a run that has ended last. What began after it was within it.
    pub(super) fn push(&mut self, begin: usize, report: TestReport) {
        while self.0.pop_if(|(within, _)| *within > begin).is_some() {}
        self.0.push((begin, report));
    }

    /// All of them together, if there are any.
    pub(super) fn together(self) -> Option<TestReport> {
        let mut reports = self.0.into_iter().map(|(_, report)| report);
        let mut all = reports.next()?;
        reports.for_each(|report| all.merge(report));
        Some(all)
    }
}

/// What went wrong first in a run that stands apart: commands in a row, of which the status of the
/// last one alone is known. With each runner's runs comes whether its failures are told already.
///
/// A run in the midst of another one is a part of it, and it is for that one to say what a failure in
/// there means.
pub(super) fn first_gone_wrong<'a>(
    runners: impl Iterator<Item = (Format, &'a Runs, bool)>,
) -> Option<String> {
    let mut all: Vec<(Format, &Run, bool)> = runners
        .flat_map(|(format, runs, is_told)| runs.0.iter().map(move |run| (format, run, is_told)))
        .collect();
    // Whatever is around another one comes before it.
    all.sort_by_key(|(_, run, _)| (run.place.start, Reverse(run.place.end)));
    let mut reached = 0;
    let mut latest = 0..0;
    for (format, run, is_told) in all {
        // Two that read the same lines are not within each other.
        if run.place != latest {
            reached = reached.max(latest.end);
            latest = run.place.clone();
        }
        if run.place.end > reached
            && !is_told
            && let Some(told) = run.told(format)
        {
            return Some(told);
        }
    }
    None
}

impl Run {
    fn told(&self, format: Format) -> Option<String> {
        if self.failed > 0 {
            return Some(format!("{} failed in the {format} run before it", self.failed));
        }
        // One that had nothing to do does no harm to others that had.
        let broken = self.broken.as_deref().filter(|broken| *broken != super::NO_TEST_RAN)?;
        Some(format!("the {format} run before it is broken: {broken}"))
    }
}
