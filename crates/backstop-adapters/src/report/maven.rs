//! What Maven's surefire and failsafe print.

use std::collections::BTreeMap;

use backstop_core::event::TestCounts;

use super::recognise::Found;
use super::runs::Runs;
use super::text::{Line, leading_number, read_lines};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

#[derive(Default)]
struct Reading {
    /// The totals of the modules, or else of the classes.
    modules: Option<TestCounts>,
    classes: Option<TestCounts>,
    failed: BTreeMap<String, String>,
    /// Behind `Results`, where failures are listed and the module's total stands.
    is_listing: bool,
    build_failed: bool,
    error: Option<String>,
    /// Where the tests of the module began, and whether one of its classes has ended.
    begun: Option<usize>,
    in_classes: u64,
    runs: Runs,
    at: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = without_level(line.text);
        if let Some((counts, is_class)) = figures(text) {
            let totals = if is_class { &mut self.classes } else { &mut self.modules };
            let totals = totals.get_or_insert_default();
            totals.passed = totals.passed.saturating_add(counts.passed);
            totals.failed = totals.failed.saturating_add(counts.failed);
            totals.skipped = totals.skipped.saturating_add(counts.skipped);
            self.is_listing &= is_class;
            self.at = line.end;
            if is_class {
                self.in_classes = self.in_classes.saturating_add(counts.failed);
                self.begun.get_or_insert(line.begin);
            } else {
                self.in_classes = 0;
                let begun = self.begun.take().unwrap_or(line.begin);
                self.runs.push(begun..line.end, counts.failed, None);
            }
        } else if matches!(text.trim(), "Results:" | "Results :") {
            self.is_listing = true;
        } else if self.is_listing {
            if let Some((name, message)) = failure(text) {
                self.failed.insert(name.to_owned(), message.to_owned());
            }
        } else if text.trim() == "T E S T S" {
            self.begun.get_or_insert(line.begin);
        } else if text.trim() == "BUILD FAILURE" {
            self.build_failed = true;
            // A build without tests is told by the marks that only Maven sets.
            if text.len() < line.text.len() {
                self.at = line.end;
            }
            self.runs.push(line.begin..line.end, 0, Some(&self.failure()));
        } else if text.trim() == "No tests to run." && text.len() < line.text.len() {
            self.at = line.end;
        } else if text.contains("COMPILATION ERROR") {
            self.error.get_or_insert_with(|| text.trim_matches([' ', ':']).to_lowercase());
        }
    }

    fn failure(&self) -> String {
        let why = self.error.as_deref().unwrap_or("no test failed, but the build did");
        format!("the build failed: {why}")
    }

    fn finish(mut self) -> Option<Found> {
        let counts = self.modules.or(self.classes);
        if self.at == 0 {
            return None;
        }
        // A module that has not come to its total.
        if let Some(begun) = self.begun.filter(|begun| *begun < self.at) {
            self.runs.push(begun..self.at, self.in_classes, None);
        }
        let mut report = TestReport::new(Format::Maven);
        for (name, message) in &self.failed {
            report.push(Case::new(name, Status::Failed).saying(Some(message)));
        }
        report.settle(counts.unwrap_or_default());
        if self.build_failed && report.counts().failed == 0 {
            report.mark_broken(self.failure());
        }
        Some(Found { report, at: self.at, runs: self.runs })
    }
}

/// The line without `[INFO]` and the like.
fn without_level(line: &str) -> &str {
    let levels = ["[INFO] ", "[ERROR] ", "[WARNING] ", "[WARN] "];
    levels.iter().find_map(|level| line.strip_prefix(level)).unwrap_or(line)
}

/// `Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`, and whether it is for one class.
fn figures(line: &str) -> Option<(TestCounts, bool)> {
    let mut rest = line.trim_start();
    let mut counts = [0_u64; 4];
    for (place, word) in
        ["Tests run: ", ", Failures: ", ", Errors: ", ", Skipped: "].iter().enumerate()
    {
        (counts[place], rest) = leading_number(rest.strip_prefix(word)?)?;
    }
    let [run, failures, errors, skipped] = counts;
    let failed = failures.saturating_add(errors);
    let passed = run.saturating_sub(failed).saturating_sub(skipped);
    Some((TestCounts { passed, failed, skipped }, rest.contains("Time elapsed")))
}

/// `  SumTest.addsUp:12 expected:<1> but was:<2>`, below `Failures:` or `Errors:`.
fn failure(line: &str) -> Option<(&str, &str)> {
    let words = line.strip_prefix("  ")?;
    if words.starts_with(' ') {
        return None;
    }
    let (place, message) = words.split_once(' ').unwrap_or((words, ""));
    let name = place.split([':', '»']).next()?;
    (name.contains('.') && !name.ends_with('.')).then_some((name, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_modules_add_up_and_failures_are_named() {
        let text = "\
[INFO] Running com.example.SumTest
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in com.example.SumTest
[INFO] Results:
[INFO] 
[ERROR] Failures: 
[ERROR]   SumTest.addsUp:12 expected: <1> but was: <2>
[INFO] 
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
[INFO] Running com.example.DivTest
[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.01 s - in com.example.DivTest
[INFO] Results:
[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1
[INFO] BUILD FAILURE
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 3, failed: 1, skipped: 1 });
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["SumTest.addsUp"]);
        assert_eq!(report.broken, None);
    }

    #[test]
    fn a_build_that_fails_otherwise_is_broken() {
        let text =
            "[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n";
        assert!(read(text).expect("a report").report.broken.is_some());
    }

    #[test]
    fn a_module_without_tests_does_no_harm_to_others() {
        let none = "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n";
        let report = crate::report::recognise(none.as_bytes(), None).expect("a report");
        assert_eq!((report.format, report.broken.as_deref()), (Format::Maven, Some("no test ran")));
        let some = "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n";
        for text in [format!("{some}{none}"), format!("{none}{some}")] {
            let report = crate::report::recognise(text.as_bytes(), None).expect("a report");
            assert!(report.succeeded());
        }
        assert!(read("No tests to run.\n").is_none(), "prose");
    }
}
