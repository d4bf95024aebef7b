//! What became of every test, over the last runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::report::{Status, TestReport};

mod track;

use track::Track;

/// What is remembered of the test runs so far. Bounded: the last results of each test, and not more
/// tests than any project has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestHistory {
    /// How many runs have been added.
    runs: u64,
    tests: BTreeMap<String, Track>,
    change: Change,
}

/// What a run changed. Names are sorted, and each comes once in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// They fail now, and did not in the run before that told of them.
    pub newly_failing: Vec<String>,
    /// They pass now, and failed before.
    pub fixed: Vec<String>,
    pub still_failing: Vec<String>,
    /// Seen for the first time.
    pub new_tests: Vec<String>,
    /// They were in the last run, and are not in this one.
    pub removed: Vec<String>,
    /// Tests of this run that pass and fail by turns, or did both in this very run.
    pub flaky: Vec<String>,
}

impl TestHistory {
    /// Adds a run, and says what it changed.
    pub fn add(&mut self, report: &TestReport) -> Change {
        self.runs += 1;
        let outcomes = outcomes(report);
        self.make_room(&outcomes);
        let mut change = Change::default();
        for (name, outcome) in &outcomes {
            let known = self.tests.get(*name);
            let (was, is_new) = (known.and_then(Track::last_known), known.is_none());
            if is_new && self.tests.len() >= MOST_TESTS {
                continue;
            }
            let track = self.tests.entry((*name).to_owned()).or_default();
            track.add(outcome.status, outcome.error, self.runs);
            let list = match (outcome.status, was) {
                (Status::Failed, Some(Status::Failed)) => Some(&mut change.still_failing),
                (Status::Failed, _) => Some(&mut change.newly_failing),
                (Status::Passed, Some(Status::Failed)) => Some(&mut change.fixed),
                _ => None,
            };
            if let Some(list) = list {
                list.push((*name).to_owned());
            }
            if outcome.is_flaky || track.is_flaky() {
                change.flaky.push((*name).to_owned());
            }
            if is_new {
                change.new_tests.push((*name).to_owned());
            }
        }
        // Who names nothing, or not everything, has removed nothing.
        if report.broken.is_none() && names_all(report) {
            let was_there = self.tests.iter().filter(|(_, track)| track.was_in(self.runs - 1));
            change.removed.extend(was_there.map(|(name, _)| name.clone()));
        }
        self.change = change.clone();
        change
    }

    /// What the last run changed.
    pub fn last_change(&self) -> &Change {
        &self.change
    }

    /// How many runs have been added.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many times in a row a test has failed, up to now.
    pub fn failing_streak(&self, name: &str) -> u64 {
        self.tests.get(name).map_or(0, Track::failing_streak)
    }

    /// The first line of what a test said when it failed last.
    pub fn last_error(&self, name: &str) -> Option<&str> {
        self.tests.get(name).and_then(Track::last_error)
    }

    /// Whether a test passes and fails by turns.
    pub fn is_flaky(&self, name: &str) -> bool {
        self.tests.get(name).is_some_and(Track::is_flaky)
    }

    /// The tests that fail, with the number of times in a row, longest first.
    pub fn failing(&self) -> Vec<(&str, u64)> {
        let mut failing: Vec<_> = self
            .tests
            .iter()
            .map(|(name, track)| (name.as_str(), track.failing_streak()))
            .filter(|(_, streak)| *streak > 0)
            .collect();
        failing.sort_by_key(|(_, streak)| std::cmp::Reverse(*streak));
        failing
    }

    /// Forgets tests that have not run for the longest time, where new ones need their place.
    fn make_room(&mut self, outcomes: &BTreeMap<&str, Outcome<'_>>) {
        let unknown = outcomes.keys().filter(|name| !self.tests.contains_key(**name)).count();
        let surplus = (self.tests.len() + unknown).saturating_sub(MOST_TESTS);
        if surplus == 0 {
            return;
        }
        let mut idle: Vec<_> = self
            .tests
            .iter()
            .filter(|(name, _)| !outcomes.contains_key(name.as_str()))
            .map(|(name, track)| (track.last_run(), name.clone()))
            .collect();
        idle.sort_unstable();
        let forgotten: BTreeSet<_> = idle.into_iter().take(surplus).map(|(_, name)| name).collect();
        self.tests.retain(|name, _| !forgotten.contains(name));
    }
}

/// How a test ended in one run, whatever the number of its attempts.
struct Outcome<'a> {
    status: Status,
    error: Option<&'a str>,
    is_flaky: bool,
    /// It failed in a place where no later attempt passed.
    has_failed: bool,
}

/// Of several cases with the same name the last decides, unless the runner says that it is flaky.
/// Where a name is that of one test alone, it may stand in several suites, and has to pass in each
/// of them.
fn outcomes(report: &TestReport) -> BTreeMap<&str, Outcome<'_>> {
    let is_unique = report.format.names_are_unique();
    let mut outcomes: BTreeMap<&str, Outcome<'_>> = BTreeMap::new();
    for case in &report.cases {
        let outcome = outcomes.entry(&case.name).or_insert(Outcome {
            status: case.status,
            error: None,
            is_flaky: false,
            has_failed: false,
        });
        let is_failed = case.status == Status::Failed;
        outcome.is_flaky |= case.flaky;
        outcome.has_failed |= is_unique && is_failed && !case.overcome;
        outcome.status = match outcome {
            Outcome { has_failed: true, .. } => Status::Failed,
            Outcome { is_flaky: true, .. } => Status::Passed,
            _ => case.status,
        };
        if is_failed {
            outcome.error = case.first_line();
        }
    }
    outcomes
}

/// Whether every case of the run has a name.
fn names_all(report: &TestReport) -> bool {
    !report.cases.is_empty() && report.cases.len() as u64 >= report.counts().total()
}

/// More tests than any project has; a generator of names must not fill the memory.
const MOST_TESTS: usize = 50_000;

#[cfg(test)]
mod tests {
    use crate::report::{Format, recognise};

    use super::*;

    /// A run as TAP: names with `+` passed, with `-` failed, with `?` were skipped.
    fn run(words: &str) -> TestReport {
        let points: Vec<_> = words.split_whitespace().collect();
        let mut text = format!("TAP version 14\n1..{}\n", points.len());
        for point in points {
            let (mark, name) = point.split_at(1);
            text.push_str(&match mark {
                "+" => format!("ok - {name}\n"),
                "-" => format!("not ok - {name}\n  ---\n  message: {name} broke\n  ...\n"),
                _ => format!("ok - {name} # SKIP\n"),
            });
        }
        recognise(text.as_bytes(), Some(Format::Tap)).expect("a report")
    }

    fn after(runs: &[&str]) -> (TestHistory, Change) {
        let mut history = TestHistory::default();
        let mut change = Change::default();
        for words in runs {
            change = history.add(&run(words));
        }
        (history, change)
    }

    #[test]
    fn every_change_is_told() {
        let (history, change) = after(&["+a -b -c +d ?e", "-a +b -c ?e +f"]);
        assert_eq!(change.newly_failing, ["a"]);
        assert_eq!(change.fixed, ["b"]);
        assert_eq!(change.still_failing, ["c"]);
        assert_eq!(change.new_tests, ["f"]);
        assert_eq!(change.removed, ["d"]);
        assert_eq!((history.failing_streak("c"), history.failing_streak("b")), (2, 0));
        assert_eq!(history.last_error("b"), Some("b broke"));
        assert_eq!(history.failing(), [("c", 2), ("a", 1)]);
    }

    #[test]
    fn a_broken_report_removes_nothing() {
        let mut history = TestHistory::default();
        history.add(&run("+a -b"));
        let cut = recognise(b"TAP version 14\nok - a\n", None).expect("a report");
        assert_eq!(history.add(&cut).removed, Vec::<String>::new());
    }

    #[test]
    fn a_test_that_passes_and_fails_by_turns_is_flaky() {
        let (history, change) = after(&["+a", "-a", "+a", "-a", "+a"]);
        assert_eq!(change.flaky, ["a"]);
        assert!(history.is_flaky("a"));
    }

    #[test]
    fn the_last_case_of_a_name_decides() {
        let (history, _) = after(&["-a +a -b"]);
        assert_eq!((history.failing_streak("a"), history.failing_streak("b")), (0, 1));
    }

    #[test]
    fn a_test_has_to_pass_in_every_suite_that_has_it() {
        let suite = |browser: &str, cases: &str| {
            format!("<testsuite name='s' hostname='{browser}'>{cases}</testsuite>")
        };
        let (passed, failed) = (
            "<testcase classname='C' name='works'/>",
            "<testcase classname='C' name='works'><failure message='m'/></testcase>",
        );
        let mut history = TestHistory::default();
        for (chromium, is_failing) in [
            (failed.to_owned(), true),
            (format!("{failed}{failed}"), true),
            (format!("{failed}{passed}"), false),
        ] {
            let suites = [suite("chromium", &chromium), suite("firefox", passed)].concat();
            let text = format!("<testsuites>{suites}</testsuites>");
            let report = recognise(text.as_bytes(), None).expect("a report");
            assert_eq!(report.succeeded(), !is_failing, "{text}");
            let change = history.add(&report);
            assert_eq!(!history.failing().is_empty(), is_failing, "{text}");
            assert_eq!(change.fixed.is_empty(), is_failing, "{text}");
        }
    }

    #[test]
    fn it_survives_being_written_and_read() {
        let (history, _) = after(&["+a -b ?c", "+a +b ?c"]);
        let text = serde_json::to_string(&history).expect("written");
        assert_eq!(serde_json::from_str::<TestHistory>(&text).expect("read"), history);
    }

    #[test]
    fn tests_that_no_longer_run_are_forgotten_first() {
        let names = |from: usize, to: usize| -> String {
            (from..to).map(|number| format!("+t{number:06} ")).collect()
        };
        let mut history = TestHistory::default();
        history.add(&run(&names(0, 30_000)));
        history.add(&run(&names(20_000, 60_000)));
        assert_eq!(history.tests.len(), 50_000);
        assert!(history.tests.contains_key("t020000") && history.tests.contains_key("t059999"));
        let change = history.add(&run(&names(0, 70_000)));
        assert_eq!(history.tests.len(), MOST_TESTS);
        assert!(change.new_tests.len() <= MOST_TESTS);
    }
}
