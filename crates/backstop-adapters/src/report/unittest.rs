//! What Python's own runner prints, and Django's.

use std::collections::{BTreeMap, BTreeSet};

use backstop_core::event::TestCounts;

use super::bounded::shortened;
use super::recognise::Found;
use super::runs::Runs;
use super::text::{Line, leading_number, read_lines, seconds};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::new(), Reading::line).finish()
}

struct Reading {
    report: TestReport,
    totals: TestCounts,
    cases: Vec<Case>,
    /// A test whose result comes later, because its own output stands between.
    awaited: Option<String>,
    /// The test whose traceback is being read, and the last line of it so far.
    speaker: Option<String>,
    errors: BTreeMap<String, String>,
    /// How many failures are told, and how many of those are a test's.
    told: u64,
    told_of_tests: u64,
    /// The tests of which a part was skipped.
    skipped_in: Vec<String>,
    /// Whose traceback it was in which the latest figures stand.
    quoter: Option<String>,
    /// The name of a test whose description and result stand on the next line.
    described: Option<String>,
    /// How many tests ran, until the verdict comes, and how many lines of others came since.
    ran: Option<(u64, u32)>,
    /// Where the first line stands that tells a test, or else how many there were.
    begun: Option<usize>,
    runs: Runs,
    at: usize,
}

impl Reading {
    fn new() -> Self {
        Self {
            report: TestReport::new(Format::Unittest),
            totals: TestCounts::default(),
            cases: Vec::new(),
            awaited: None,
            speaker: None,
            errors: BTreeMap::new(),
            told: 0,
            told_of_tests: 0,
            skipped_in: Vec::new(),
            quoter: None,
            described: None,
            ran: None,
            begun: None,
            runs: Runs::default(),
            at: 0,
        }
    }

    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(ran) = ran(text) {
            self.ran = Some((ran, 0));
            self.begun.get_or_insert(line.begin);
            self.quoter = self.speaker.take();
            return;
        }
        if let Some((ran, others)) = self.ran {
            if let Some(counts) = verdict(text) {
                // No run has fewer failures than it tells: a test shows the figures of another one.
                if self.quoter.is_some() && counts.failed < self.told_of_tests {
                    self.ran = None;
                    self.speaker = self.quoter.take();
                    return;
                }
                self.at = line.end;
                self.ran = None;
                let begun = self.begun.take().unwrap_or(line.begin);
                self.runs.push(begun..line.end, counts.failed, None);
                self.close(counts, ran);
                return;
            }
            if text.is_empty() {
                return;
            }
            // The verdict is written to the standard error, and the standard output may come
            // between.
            self.ran = (others < MOST_BETWEEN).then_some((ran, others + 1));
            self.begun = self.begun.filter(|_| self.ran.is_some());
        }
        let described = self.described.take();
        if let Some(name) = failed(text) {
            self.speaker = Some(name.to_owned());
            self.told += 1;
            self.told_of_tests += u64::from(is_bare_name(test_of(name)));
            self.errors.entry(name.to_owned()).or_default();
        } else if let Some(name) = text.strip_prefix("UNEXPECTED SUCCESS: ") {
            self.speaker = None;
            self.told += 1;
            self.errors.insert(name.to_owned(), "unexpected success".to_owned());
        } else if let Some(name) = &self.speaker {
            let is_rule = text.starts_with("-----") || text.starts_with("=====");
            if !is_rule && !text.trim().is_empty() {
                self.errors.insert(name.clone(), shortened(text.trim(), 1024).into_owned());
            }
        } else if let Some(name) = skipped_part(text) {
            self.skipped_in.push(name.to_owned());
        } else if let Some((name, result)) = case_line(text) {
            self.awaited = None;
            if is_bare_name(name) {
                self.begun.get_or_insert(line.begin);
            }
            match status(result) {
                Some((status, note)) => self.cases.push(Case::new(name, status).saying(note)),
                None => self.awaited = Some(name.to_owned()),
            }
        } else if let Some(name) = described
            && let Some((_, result)) = text.rsplit_once(" ... ")
            && let Some((status, note)) = status(result)
        {
            self.cases.push(Case::new(&name, status).saying(note));
        } else if is_bare_name(text) {
            self.described = Some(text.to_owned());
        } else if let Some(name) = &self.awaited
            && let Some((status, note)) = status(text.trim())
        {
            self.cases.push(Case::new(name, status).saying(note));
            self.awaited = None;
        }
    }

    fn close(&mut self, mut counts: TestCounts, ran: u64) {
        counts.passed = self.passed(counts, ran);
        let mut named: Vec<&str> = Vec::new();
        for case in self.cases.drain(..) {
            let error = self.errors.get_key_value(&case.name);
            named.extend(error.iter().map(|(name, _)| name.as_str()));
            let said = error.map(|(_, said)| said.as_str()).or(case.message.as_deref());
            let case = case.clone().saying(said);
            self.report.push(case);
        }
        // Without `-v` only those that failed are named.
        named.sort_unstable();
        for (name, said) in &self.errors {
            if named.binary_search(&name.as_str()).is_err() {
                self.report.push(Case::new(name, Status::Failed).saying(Some(said)));
            }
        }
        self.errors.clear();
        self.told = 0;
        self.told_of_tests = 0;
        self.skipped_in.clear();
        self.awaited = None;
        self.totals.passed = self.totals.passed.saturating_add(counts.passed);
        self.totals.failed = self.totals.failed.saturating_add(counts.failed);
        self.totals.skipped = self.totals.skipped.saturating_add(counts.skipped);
    }

    /// How many tests passed. Each part of a test that fails or is skipped is told as one of its
    /// own but was run as one test; what fails around a class or a module was run as none.
    fn passed(&self, counts: TestCounts, ran: u64) -> u64 {
        let tests: BTreeSet<&str> =
            self.errors.keys().map(|name| test_of(name)).filter(|name| !is_around(name)).collect();
        let beside = self.told.saturating_sub(tests.len() as u64);
        let failed = counts.failed.saturating_sub(beside);
        let partly: BTreeSet<&str> = self.skipped_in.iter().map(String::as_str).collect();
        let beside = self.skipped_in.len() - partly.difference(&tests).count();
        let skipped = counts.skipped.saturating_sub(beside as u64);
        let named = self.cases.iter().filter(|case| case.status == Status::Passed).count();
        ran.saturating_sub(failed).saturating_sub(skipped).max(named as u64)
    }

    fn finish(mut self) -> Option<Found> {
        if self.at == 0 {
            return None;
        }
        self.report.settle(self.totals);
        if self.totals == TestCounts::default() {
            self.report.mark_broken(super::NO_TEST_RAN);
        }
        Some(Found { report: self.report, at: self.at, runs: self.runs })
    }
}

/// The test in `FAIL: test_x (t.T)`, or with the time that writers of XML add,
/// `FAIL [0.001s]: test_x (t.T)`.
fn failed(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("FAIL").or_else(|| line.strip_prefix("ERROR"))?;
    let timed = rest.strip_prefix(" [").and_then(|rest| rest.split_once("s]"));
    let rest = timed.filter(|(time, _)| seconds(time).is_some()).map_or(rest, |(_, rest)| rest);
    rest.strip_prefix(": ")
}

/// The number in `Ran 8 tests in 0.007s`.
fn ran(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("Ran ")?)?;
    let time = rest.strip_prefix(" tests in ").or_else(|| rest.strip_prefix(" test in "))?;
    seconds(time).map(|_| count)
}

/// What failed and was skipped in `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=2)`.
fn verdict(line: &str) -> Option<TestCounts> {
    let rest = line
        .strip_prefix("OK")
        .or_else(|| line.strip_prefix("FAILED"))
        .or_else(|| line.strip_prefix("NO TESTS RAN"))?;
    let rest = rest.trim();
    let is_bracketed = rest.starts_with('(') && rest.ends_with(')');
    if !rest.is_empty() && !is_bracketed {
        return None;
    }
    let mut counts = TestCounts::default();
    for figure in rest.trim_matches(['(', ')']).split(", ") {
        let Some((word, count)) = figure.split_once('=') else { continue };
        let Ok(count) = count.parse::<u64>() else { continue };
        match word {
            "failures" | "errors" | "unexpected successes" => {
                counts.failed = counts.failed.saturating_add(count);
            }
            "skipped" | "expected failures" => {
                counts.skipped = counts.skipped.saturating_add(count);
            }
            _ => {}
        }
    }
    // What failed always says how much of it did, unless it was cut off.
    if line.starts_with("FAILED") && counts.failed == 0 {
        counts.failed = 1;
    }
    Some(counts)
}

/// The test in `test_even (tests.SumTest.test_even) (i=1)`.
fn test_of(name: &str) -> &str {
    name.find(')').map_or(name, |end| &name[..=end])
}

/// Whether it is what prepares for tests, or clears up after them.
fn is_around(name: &str) -> bool {
    ["setUpClass (", "tearDownClass (", "setUpModule (", "tearDownModule ("]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether a line is `test_adds (ledger.tests.SumTest)` and nothing else.
fn is_bare_name(line: &str) -> bool {
    let is_word = |text: &str| {
        !text.is_empty() && text.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '.'))
    };
    line.strip_suffix(')')
        .and_then(|line| line.split_once(" ("))
        .is_some_and(|(name, path)| is_word(name) && is_word(path))
}

/// The name and the rest of `test_adds (ledger.tests.SumTest) ... ok`.
fn case_line(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.split_once(" ...")?;
    let is_name = name.ends_with(')') && name.contains(" (") && !name.starts_with(' ');
    is_name.then_some((name, result.trim()))
}

/// The test of `  test_even (tests.T.test_even) (i=2) ... skipped 'why'`.
fn skipped_part(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("  ")?.split_once(" ... ")?;
    let test = test_of(name);
    (result.starts_with("skipped ") && is_bare_name(test)).then_some(test)
}

fn status(result: &str) -> Option<(Status, Option<&str>)> {
    Some(match result {
        "ok" => (Status::Passed, None),
        "FAIL" | "ERROR" | "unexpected success" => (Status::Failed, None),
        "expected failure" => (Status::Skipped, Some("expected failure")),
        _ => {
            let reason = result.strip_prefix("skipped")?.trim();
            (Status::Skipped, Some(reason.trim_matches(['\'', '"'])))
        }
    })
}

const MOST_BETWEEN: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_figures_and_tracebacks_come_together() {
        let text = "\
test_adds (ledger.tests.SumTest.test_adds) ... ok
test_talks (ledger.tests.SumTest.test_talks) ... hello
ok
test_zero (ledger.tests.SumTest.test_zero) ... FAIL
test_late (ledger.tests.SumTest.test_late) ... skipped 'too late'

======================================================================
FAIL: test_zero (ledger.tests.SumTest.test_zero)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"ledger/tests.py\", line 9, in test_zero
AssertionError: 0 != 1

----------------------------------------------------------------------
Ran 4 tests in 0.002s

FAILED (failures=1, skipped=1)
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 1 });
        assert_eq!(report.cases.len(), 4);
        assert_eq!(report.last_error(), Some("AssertionError: 0 != 1"));
    }

    #[test]
    fn quiet_output_names_what_failed() {
        let text = "F.\n======\nERROR: test_zero (tests.T)\n------\nTraceback\nKeyError: 'x'\n\n\
                    ------\nRan 2 tests in 0.1s\n\nFAILED (errors=1)\n";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["test_zero (tests.T)"]);
    }

    #[test]
    fn parts_of_a_test_are_failures_of_one_test() {
        let text = "\
test_even (tests.T.test_even) ...\u{20}
  test_even (tests.T.test_even) (i=1) ... FAIL
  test_even (tests.T.test_even) (i=3) ... FAIL
test_told (tests.T.test_told)
It has words of its own. ... ok
test_ok (tests.T.test_ok) ... ok
test_odd (tests.T.test_odd) ... unexpected success

======================================================================
ERROR: setUpClass (tests.Other)
----------------------------------------------------------------------
OSError: no database

======================================================================
FAIL: test_even (tests.T.test_even) (i=1)
----------------------------------------------------------------------
AssertionError: 1 != 0

======================================================================
FAIL: test_even (tests.T.test_even) (i=3)
----------------------------------------------------------------------
AssertionError: 1 != 0

======================================================================
UNEXPECTED SUCCESS: test_odd (tests.T.test_odd)
----------------------------------------------------------------------
Ran 4 tests in 0.001s

FAILED (failures=2, errors=1, unexpected successes=1)
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 4, skipped: 0 });
        assert_eq!(
            report.names(Status::Passed).collect::<Vec<_>>(),
            ["test_told (tests.T.test_told)", "test_ok (tests.T.test_ok)"]
        );
        let odd = report.cases.iter().find(|case| case.name.starts_with("test_odd"));
        assert_eq!(odd.and_then(Case::first_line), Some("unexpected success"));
        // Without names it is the same.
        let quiet = text.split_once("\n\n").map(|(_, rest)| rest).unwrap_or_default();
        let report = read(quiet).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 4, skipped: 0 });
    }

    #[test]
    fn figures_that_a_test_shows_are_not_those_of_the_run() {
        let text = "\
FE
======================================================================
ERROR: test_runner (t.T)
----------------------------------------------------------------------
AssertionError: subprocess failed:
.....
----------------------------------------------------------------------
Ran 5 tests in 0.001s

OK

======================================================================
FAIL: test_x (t.T)
----------------------------------------------------------------------
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 2 tests in 0.010s

FAILED (failures=1, errors=1)
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 0, failed: 2, skipped: 0 });
        let names: Vec<_> = report.names(Status::Failed).collect();
        assert_eq!(names, ["test_runner (t.T)", "test_x (t.T)"]);
        // Whatever is logged as an error is no failure of a test.
        let logged = "ERROR: no route\n......\nRan 6 tests in 0.1s\n\nOK\n";
        let counts = read(logged).expect("a report").report.counts();
        assert_eq!(counts, TestCounts { passed: 6, failed: 0, skipped: 0 });
    }

    #[test]
    fn skipped_parts_are_of_one_test() {
        let text = "\
test_ok (t.T.test_ok) ... ok
test_sub (t.T.test_sub) ...\u{20}
  test_sub (t.T.test_sub) (i=1) ... FAIL
  test_sub (t.T.test_sub) (i=2) ... skipped 'no'
test_some (t.T.test_some) ...\u{20}
  test_some (t.T.test_some) (i=1) ... skipped 'no'
  test_some (t.T.test_some) (i=2) ... skipped 'no'
.
======================================================================
FAIL: test_sub (t.T.test_sub) (i=1)
----------------------------------------------------------------------
AssertionError: 1 != 0

----------------------------------------------------------------------
Ran 4 tests in 0.001s

FAILED (failures=1, skipped=3)
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 3 });
    }

    #[test]
    fn prose_is_no_report() {
        assert!(read("Ran 8 tests in 0.007s\nand they were fine\n").is_none());
        assert!(read("OK\n").is_none());
    }

    #[test]
    fn a_failure_may_tell_its_time() {
        let text = "Running tests...\n------\n.FE\n======\nFAIL [0.001s]: test_x (t.T.test_x)\n------\n\
                    Traceback (most recent call last):\nAssertionError: 1 != 2\n\n======\n\
                    ERROR [0.000s]: test_y (t.T.test_y)\n------\nTraceback\nKeyError: 'y'\n\n------\n\
                    Ran 3 tests in 0.003s\n\nFAILED (failures=1, errors=1)\n\nGenerating XML reports...\n";
        let report = crate::report::recognise(text.as_bytes(), None).expect("a report");
        let told: Vec<_> =
            report.cases.iter().map(|case| (&*case.name, case.message.as_deref())).collect();
        assert_eq!(
            told,
            [
                ("test_x (t.T.test_x)", Some("AssertionError: 1 != 2")),
                ("test_y (t.T.test_y)", Some("KeyError: 'y'")),
            ]
        );
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 2, skipped: 0 });
        assert_eq!((report.format, report.broken), (Format::Unittest, None));
    }
}
