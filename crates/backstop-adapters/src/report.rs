//! What a test runner reported: which cases passed, failed and were skipped.

use std::collections::HashSet;

use backstop_core::event::{TestCounts, Tests};
use serde::{Deserialize, Serialize};

mod bounded;
mod ctrf;
mod format;
mod go;
mod go_json;
mod jest;
mod jest_json;
mod junit;
mod lenient;
mod libtest;
mod libtest_json;
mod maven;
mod mocha;
mod nextest;
mod node;
mod origin;
mod paths;
mod pattern;
mod pytest;
mod recognise;
mod rspec;
mod runs;
mod source;
mod sympy;
mod tap;
mod text;
mod tick;
mod unittest;
mod vitest;

pub use format::{Format, UnknownFormat};
pub use pattern::Pattern;
pub use recognise::{first_seen, recognise};
pub use source::{Source, SourceError};

use bounded::{MOST_CASES, MOST_NAME, MOST_TEXT, Room, shortened};
use origin::Origin;

/// One test run, as its runner told it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestReport {
    pub format: Format,
    /// One entry per case, in the runner's order. A name may come more than once: parameters, or
    /// attempts. Empty where the runner printed only a summary.
    pub cases: Vec<Case>,
    /// Why the report can't be taken for a whole and sound run: it is cut off, the build failed, a
    /// plan was not kept. A broken report is never a success.
    pub broken: Option<String>,
    counted: TestCounts,
    room: Room,
}

/// One case of a test run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The same in every run.
    pub name: String,
    pub status: Status,
    /// What the runner said about it: an error, or why it was skipped.
    pub message: Option<String>,
    pub seconds: Option<f64>,
    /// How often it was tried, as far as the runner tells.
    pub attempts: u32,
    /// It failed and passed in the same run.
    pub flaky: bool,
    /// It failed, but a later attempt of the same report passed, and that one decides.
    pub overcome: bool,
    /// Of two cases of the same name only those from the same place are attempts at one test.
    origin: Origin,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    Failed,
    Skipped,
}

impl TestReport {
    /// How many cases ended how. A runner that names only some of its cases is believed about the
    /// rest; otherwise the cases are counted, because totals lie.
    pub fn counts(&self) -> TestCounts {
        self.counted
    }

    /// How many cases ended how in the end: without failures after which another attempt passed.
    pub fn counts_at_last(&self) -> TestCounts {
        let overcome = self.cases.iter().filter(|case| case.overcome).count();
        let failed = self.counted.failed.saturating_sub(overcome as u64);
        TestCounts { failed, ..self.counted }
    }

    /// Whether there was no test to run, and nothing else was wrong: a build that failed ran none
    /// either.
    pub fn is_empty(&self) -> bool {
        let nothing_else = self.broken.as_deref().is_none_or(|broken| broken == NO_TEST_RAN);
        nothing_else && self.counted == TestCounts::default()
    }

    /// Whether everything that ran passed in the end, and the report is whole.
    pub fn succeeded(&self) -> bool {
        self.broken.is_none() && self.counts_at_last().failed == 0
    }

    /// The names of the cases that ended so.
    pub fn names(&self, status: Status) -> impl Iterator<Item = &str> {
        self.cases.iter().filter(move |case| case.status == status).map(|case| case.name.as_str())
    }

    /// The first line of what the last failed case said; of what broke the report, if none did.
    pub fn last_error(&self) -> Option<&str> {
        let failed = self.cases.iter().rev().filter(|case| case.status == Status::Failed);
        let said = failed.filter_map(|case| case.message.as_deref()).next();
        said.or(self.broken.as_deref()).and_then(first_line)
    }

    /// The event that tells this run. Where there are very many cases it has counts alone.
    ///
    /// A broken report is told as one with a failure, because the core knows no other way to say
    /// that a run of the tests is no proof.
    pub fn event(&self) -> Tests {
        let listed = |status| -> Vec<String> {
            if self.cases.len() > MOST_NAMES_IN_EVENT {
                return Vec::new();
            }
            let cases = self.cases.iter().filter(|case| case.status == status && !case.overcome);
            cases.map(|case| case.name.clone()).collect()
        };
        let mut failed = listed(Status::Failed);
        let mut counts = self.counts_at_last();
        if let Some(broken) = &self.broken
            && counts.failed == 0
        {
            failed.push(shortened(&format!("the test run: {broken}"), MOST_NAME).into_owned());
            counts.failed = 1;
        }
        Tests {
            passed: listed(Status::Passed),
            failed,
            skipped: listed(Status::Skipped),
            counts: Some(counts),
            source: self.format.name().to_owned(),
        }
    }

    /// Takes in another report of the same run: another file, another suite.
    pub fn merge(&mut self, other: Self) {
        for case in other.cases {
            self.keep(case);
        }
        self.add_counts(other.counted);
        // A part without tests does no harm, as long as there are some.
        let no_tests = Some(NO_TEST_RAN);
        if self.broken.as_deref() == no_tests {
            self.broken = other.broken;
        } else if let Some(broken) = other.broken.filter(|broken| Some(broken.as_str()) != no_tests)
        {
            self.mark_broken(broken);
        }
    }

    /// Sees to what only the whole report shows: attempts, and that there is nothing in it.
    fn conclude(&mut self) {
        if self.format.names_are_unique() {
            self.match_attempts();
        }
        // A summary that was cut off counts less than was named before it.
        let named = self.cases.iter().filter(|case| case.status == Status::Failed).count();
        if named as u64 > self.counted.failed {
            self.mark_broken("more tests failed than the summary counts");
        }
        // A plan of TAP may say that there is nothing to do.
        if self.counted == TestCounts::default() && self.format != Format::Tap {
            self.mark_broken(NO_TEST_RAN);
        }
    }

    /// Of several attempts at the same case the last one decides.
    fn match_attempts(&mut self) {
        let mut passed = HashSet::new();
        let mut overcome = HashSet::new();
        for (at, case) in self.cases.iter().enumerate().rev() {
            match case.status {
                Status::Passed => _ = passed.insert(case.test()),
                Status::Failed if passed.contains(&case.test()) => _ = overcome.insert(at),
                _ => {}
            }
        }
        let tests: HashSet<Origin> = overcome.iter().map(|at| self.cases[*at].test()).collect();
        let mut told = HashSet::new();
        for (at, case) in self.cases.iter_mut().enumerate().rev() {
            case.overcome = overcome.contains(&at);
            // The last one that passed stands for all of them.
            if case.status == Status::Passed && tests.contains(&case.test()) {
                case.flaky |= told.insert(case.test());
            }
        }
    }

    fn new(format: Format) -> Self {
        let counted = TestCounts::default();
        Self { format, cases: Vec::new(), broken: None, counted, room: Room::default() }
    }

    /// Takes in a case.
    fn push(&mut self, case: Case) {
        let counted = match case.status {
            Status::Passed => &mut self.counted.passed,
            Status::Failed => &mut self.counted.failed,
            Status::Skipped => &mut self.counted.skipped,
        };
        *counted = counted.saturating_add(1);
        self.keep(case);
    }

    /// Gives all cases another name.
    fn rename(&mut self, renamed: impl Fn(&str) -> String) {
        self.room = Room::default();
        for mut case in std::mem::take(&mut self.cases) {
            case.name = renamed(&case.name);
            self.keep(case);
        }
    }

    /// Past a number and a size that no test suite has, cases are only counted.
    fn keep(&mut self, mut case: Case) {
        // A package or a file may have been put before it.
        if case.name.len() > MOST_NAME {
            case.name = shortened(&case.name, MOST_NAME).into_owned();
        }
        if self.cases.len() < MOST_CASES && self.room.takes(case.size()) {
            self.cases.push(case);
        }
    }

    /// Believes the runner's own figures, where it does not name all of its cases.
    fn settle(&mut self, counts: TestCounts) {
        self.counted = counts;
    }

    fn add_counts(&mut self, more: TestCounts) {
        self.counted.passed = self.counted.passed.saturating_add(more.passed);
        self.counted.failed = self.counted.failed.saturating_add(more.failed);
        self.counted.skipped = self.counted.skipped.saturating_add(more.skipped);
    }

    /// The first thing that broke is the one to tell: the rest follows from it.
    fn mark_broken(&mut self, why: impl Into<String>) {
        if self.broken.is_none() {
            self.broken = Some(shortened(&why.into(), MOST_TEXT).into_owned());
        }
    }
}

impl Case {
    fn new(name: &str, status: Status) -> Self {
        let name = name.trim();
        let name = if name.is_empty() { "(no name)" } else { name };
        Self {
            name: shortened(name, MOST_NAME).into_owned(),
            status,
            message: None,
            seconds: None,
            attempts: 1,
            flaky: false,
            overcome: false,
            origin: Origin::default(),
        }
    }

    fn from(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The same for all attempts at one test.
    fn test(&self) -> Origin {
        self.origin.within(&self.name)
    }

    fn saying(mut self, message: Option<&str>) -> Self {
        self.message = message
            .map(str::trim)
            .filter(|message| !message.is_empty())
            .map(|message| shortened(message, MOST_TEXT).into_owned());
        self
    }

    fn taking(mut self, seconds: Option<f64>) -> Self {
        self.seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        self
    }

    /// How many bytes its texts have.
    fn size(&self) -> usize {
        self.name.len() + self.message.as_ref().map_or(0, String::len)
    }

    /// The first line of the message.
    pub fn first_line(&self) -> Option<&str> {
        self.message.as_deref().and_then(first_line)
    }
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// An event is kept in a journal and sent to others; more names than this help nobody.
const MOST_NAMES_IN_EVENT: usize = 20_000;

const NO_TEST_RAN: &str = "no test ran";

#[cfg(test)]
mod tests {
    use super::*;

    const RETRIED: &str = "<testsuite><testcase name='a'><failure message='m'/></testcase>\
        <testcase name='a'/><testcase name='b'/></testsuite>";

    fn read(text: &str) -> TestReport {
        recognise(text.as_bytes(), None).expect("a report")
    }

    #[test]
    fn the_last_attempt_decides() {
        let report = read(RETRIED);
        assert!(report.succeeded());
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["a"]);
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 0 });
        let flaky: Vec<_> = report.cases.iter().map(|case| case.flaky).collect();
        assert_eq!(flaky, [false, true, false]);
        let event = report.event();
        assert_eq!((event.passed, event.failed.len()), (vec!["a".to_owned(), "b".to_owned()], 0));
        assert_eq!(event.counts, Some(TestCounts { passed: 2, failed: 0, skipped: 0 }));
    }

    #[test]
    fn a_case_that_fails_at_last_has_failed() {
        let text =
            "<testsuite><testcase name='a'/><testcase name='a'><error/></testcase></testsuite>";
        assert!(!read(text).succeeded());
        assert_eq!(read(text).event().failed, ["a"]);
    }

    #[test]
    fn nothing_at_all_is_no_success_unless_another_part_has_tests() {
        let mut empty = read("<testsuites></testsuites>");
        assert_eq!(empty.broken.as_deref(), Some(NO_TEST_RAN));
        assert!(!empty.succeeded());
        let mut whole = read("<testsuite><testcase name='a'/></testsuite>");
        whole.merge(empty.clone());
        assert!(whole.succeeded());
        empty.merge(whole);
        assert!(empty.succeeded());
    }
}
