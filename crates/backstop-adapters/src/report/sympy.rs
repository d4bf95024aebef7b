//! What SymPy's own runner prints.

use backstop_core::event::TestCounts;

use super::recognise::Found;
use super::runs::{Runs, Told};
use super::text::{leading_number, lines};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    let mut report = TestReport::new(Format::Sympy);
    let mut told = Told::default();
    let mut file = String::new();
    let mut at = 0;
    // Where the runs began that have not ended.
    let mut begun = Vec::new();
    let mut runs = Runs::default();
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        if line.text.contains(BEGIN) {
            // A long line is folded.
            let (mut summary, mut end) = (line.text.to_owned(), line.end);
            for next in lines.by_ref().take(if is_whole(&summary) { 0 } else { MOST_FOLDS }) {
                summary.push(' ');
                summary.push_str(next.text);
                end = next.end;
                if is_whole(&summary) {
                    break;
                }
            }
            if let Some(counts) = figures(&summary) {
                let begun = begun.pop().unwrap_or(line.begin);
                let mut own = std::mem::replace(&mut report, TestReport::new(Format::Sympy));
                own.settle(counts);
                if !is_whole(&summary) {
                    own.mark_broken(CUT_OFF);
                }
                runs.push_report(begun..end, &own);
                told.push(begun, own);
                file.clear();
                at = end;
            }
        } else if line.text.trim_matches(['=', ' ']) == "test process starts" {
            begun.push(line.begin);
        } else if let Some(name) = file_line(line.text) {
            file = name.to_owned();
        } else if let Some((name, status)) = case_line(line.text)
            && !file.is_empty()
        {
            report.push(Case::new(&format!("{file}:{name}"), status));
        }
    }
    Some(Found { report: told.together()?, at, runs })
}

const CUT_OFF: &str = "the summary is cut off";

/// The time stands last.
fn is_whole(summary: &str) -> bool {
    summary.contains(" seconds")
}

/// `tests finished: 3 passed, 4 failed, 3 exceptions, in 0.06 seconds`
fn figures(line: &str) -> Option<TestCounts> {
    let line = line.trim_matches(['=', ' ']);
    let figures = line.strip_prefix(BEGIN)?;
    let mut counts = TestCounts::default();
    let mut has_passed = false;
    for figure in figures.split(',') {
        let Some((count, word)) = leading_number(figure.trim()) else { continue };
        let counted = match word.trim() {
            "passed" => {
                has_passed = true;
                &mut counts.passed
            }
            "failed" | "exceptions" | "exception" => &mut counts.failed,
            "skipped" | "expected to fail" => &mut counts.skipped,
            // Nobody expected it, but it passed.
            "expected to fail but passed" => &mut counts.passed,
            _ => continue,
        };
        *counted = counted.saturating_add(count);
    }
    has_passed.then_some(counts)
}

/// The file in `sympy/core/tests/test_args.py[12]`.
fn file_line(line: &str) -> Option<&str> {
    let (file, count) = line.split_once('[')?;
    leading_number(count)?;
    (file.ends_with(".py") && !file.contains(' ')).then_some(file)
}

/// `test_args ok`, with one letter for other outcomes.
fn case_line(line: &str) -> Option<(&str, Status)> {
    let (name, outcome) = line.split_once(' ')?;
    let status = match outcome.split_whitespace().next()? {
        "ok" | "X" => Status::Passed,
        "F" | "E" => Status::Failed,
        "f" | "s" | "w" => Status::Skipped,
        _ => return None,
    };
    (name.starts_with("test") && outcome.split_whitespace().count() <= 2).then_some((name, status))
}

const BEGIN: &str = "tests finished: ";
const MOST_FOLDS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_figures_come_together() {
        let text = "\
sympy/core/tests/test_sums.py[4]
test_adds ok
test_carries F
test_divides E
test_waits f                                                              [FAIL]

======== tests finished: 1 passed, 1 failed, 1 expected to fail, 1 exceptions,
in 0.06 seconds ========
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 2, skipped: 1 });
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            [
                "sympy/core/tests/test_sums.py:test_carries",
                "sympy/core/tests/test_sums.py:test_divides"
            ]
        );
    }
}
