//! What a test runner reported: which cases passed, failed and were skipped.

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
mod pattern;
mod pytest;
mod recognise;
mod rspec;
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

use bounded::{MOST_CASES, MOST_NAME, MOST_TEXT, shortened};

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

    /// Whether everything that ran passed, and the report is whole.
    pub fn succeeded(&self) -> bool {
        self.broken.is_none() && self.counted.failed == 0
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
            self.names(status).map(str::to_owned).collect()
        };
        let mut failed = listed(Status::Failed);
        let mut counts = self.counted;
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
        let room = MOST_CASES.saturating_sub(self.cases.len());
        self.cases.extend(other.cases.into_iter().take(room));
        self.add_counts(other.counted);
        if let Some(broken) = other.broken {
            self.mark_broken(broken);
        }
    }

    fn new(format: Format) -> Self {
        Self { format, cases: Vec::new(), broken: None, counted: TestCounts::default() }
    }

    /// Takes in a case. Past a number that no test suite has, cases are only counted.
    fn push(&mut self, case: Case) {
        let counted = match case.status {
            Status::Passed => &mut self.counted.passed,
            Status::Failed => &mut self.counted.failed,
            Status::Skipped => &mut self.counted.skipped,
        };
        *counted = counted.saturating_add(1);
        if self.cases.len() < MOST_CASES {
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
        }
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
