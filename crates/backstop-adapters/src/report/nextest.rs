//! What `cargo nextest run` prints.

use std::collections::BTreeMap;

use backstop_core::event::TestCounts;

use super::bounded::{MOST_CASES, MOST_TEXT, append};
use super::recognise::Found;
use super::runs::Runs;
use super::text::{leading_number, lines, seconds};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    let mut report = TestReport::new(Format::Nextest);
    // Attempts at the same test change its case, and do not make another one.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut cases: Vec<Case> = Vec::new();
    let mut summary: Option<Summary> = None;
    // Of runs that were over when the next one began.
    let mut earlier = Summary::default();
    let mut said = Said::default();
    let mut has_begun = false;
    // Where the run that goes on began.
    let mut begun: Option<usize> = None;
    let mut runs = Runs::default();
    let mut at = 0;
    for line in lines(text) {
        said.line(line.text);
        if let Some(found) = summary_line(line.text) {
            let place = begun.take().unwrap_or(line.begin)..line.end;
            runs.push(place, found.counts.failed, found.is_partial.then_some(PARTIAL));
            summary = Some(found);
            at = line.end;
        } else if begins(line.text) {
            has_begun = true;
            if let Some(cut) = begun.replace(line.begin) {
                runs.push(cut..line.begin, 0, Some(CUT_OFF));
            }
            if let Some(over) = summary.take() {
                earlier = earlier.plus(&over);
                places.clear();
            }
        } else if summary.is_none()
            && let Some(found) = case_line(line.text)
        {
            if !has_begun {
                at = line.end;
                begun.get_or_insert(line.begin);
            }
            said.speaker = Some(found.name.clone());
            match places.get(&found.name).and_then(|place| cases.get_mut(*place)) {
                Some(case) => case.try_again(&found),
                None => {
                    places.insert(found.name.clone(), cases.len());
                    cases.push(found);
                }
            }
        }
    }
    let is_nextest = summary.is_some() || has_begun || cases.len() >= TELLING_CASES;
    if !is_nextest {
        return None;
    }
    for case in cases {
        let words = said.words.get(&case.name).filter(|_| case.status == Status::Failed);
        report.push(case.saying(words.map(String::as_str)));
    }
    match summary {
        Some(last) => {
            let summary = earlier.plus(&last);
            report.settle(summary.counts);
            if summary.is_partial && summary.counts.failed == 0 {
                report.mark_broken(PARTIAL);
            }
        }
        None => {
            report.mark_broken(CUT_OFF);
            runs.push(begun.unwrap_or(at)..at, report.counts().failed, Some(CUT_OFF));
            // What other runners say after its beginning is what its tests print.
            if has_begun {
                at = text.len();
            }
        }
    }
    Some(Found { report, at, runs })
}

/// What failed tests wrote to their standard error, where Rust says how they failed.
#[derive(Default)]
struct Said {
    speaker: Option<String>,
    is_listening: bool,
    words: BTreeMap<String, String>,
}

impl Said {
    fn line(&mut self, line: &str) {
        // `──── STDERR: crate::binary test`, or below the line of the test `stderr ───`.
        let rule = line.trim_matches(['─', '-', ' ']);
        let is_rule = rule.len() < line.trim().len();
        if is_rule && rule == "stderr" {
            self.is_listening = true;
        } else if is_rule && let Some((_, test)) = rule.split_once("STDERR:") {
            self.is_listening = true;
            self.speaker = test
                .trim()
                .split_once(char::is_whitespace)
                .map(|(binary, test)| format!("{binary}::{}", test.trim()));
        } else if (is_rule && (rule.is_empty() || rule.starts_with("std") || rule.contains("STD")))
            || case_line(line).is_some()
        {
            self.is_listening = false;
        } else if self.is_listening
            && self.words.len() < MOST_CASES
            && let Some(test) = &self.speaker
        {
            let words = self.words.entry(test.clone()).or_default();
            append(words, line.trim(), MOST_TEXT);
            append(words, "\n", MOST_TEXT);
        }
    }
}

impl Case {
    /// Another attempt has ended.
    pub(super) fn try_again(&mut self, next: &Self) {
        self.attempts = self.attempts.saturating_add(1);
        self.flaky = next.status == Status::Passed;
        self.status = next.status;
        self.seconds = next.seconds;
    }
}

/// `Starting 4 tests across 2 binaries (1 test skipped)`.
fn begins(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("Starting ") else { return false };
    leading_number(rest)
        .is_some_and(|(_, rest)| rest.starts_with(" test") && rest.contains(" across "))
}

#[derive(Default)]
struct Summary {
    counts: TestCounts,
    is_partial: bool,
}

impl Summary {
    fn plus(&self, other: &Self) -> Self {
        let (one, two) = (self.counts, other.counts);
        Self {
            counts: TestCounts {
                passed: one.passed.saturating_add(two.passed),
                failed: one.failed.saturating_add(two.failed),
                skipped: one.skipped.saturating_add(two.skipped),
            },
            is_partial: self.is_partial || other.is_partial,
        }
    }
}

/// `Summary [   0.01s] 12 tests run: 11 passed (1 slow), 1 failed, 2 skipped`.
fn summary_line(line: &str) -> Option<Summary> {
    let rest = line.trim_start().strip_prefix("Summary [")?;
    let (time, rest) = rest.split_once("] ")?;
    seconds(time)?;
    let (run, figures) = rest.split_once(" run: ")?;
    let is_partial = run.split_once('/').is_some_and(|(run, all)| {
        leading_number(run).map(|(run, _)| run) < leading_number(all).map(|(all, _)| all)
    });
    let mut counts = TestCounts::default();
    for figure in without_remarks(figures).split(',') {
        let Some((count, word)) = leading_number(figure.trim()) else { continue };
        match word.trim() {
            "passed" => counts.passed = count,
            "skipped" => counts.skipped = count,
            "failed" | "timed out" | "exec failed" => {
                counts.failed = counts.failed.saturating_add(count);
            }
            _ => {}
        }
    }
    Some(Summary { counts, is_partial })
}

/// The text without what stands in parentheses.
fn without_remarks(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|character| {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

/// `PASS [   0.005s] (1/5) crate::binary module::test`, or an attempt at it.
fn case_line(line: &str) -> Option<Case> {
    let (words, rest) = line.trim_start().split_once('[')?;
    // Others put a colon behind the time.
    let (time, rest) = rest.split_once("] ")?;
    let seconds = seconds(time)?;
    let mut words = words.split_whitespace();
    let mut word = words.next()?;
    if word == "TRY" {
        words.next()?.parse::<u32>().ok()?;
        word = words.next()?;
    }
    let status = match word {
        "PASS" | "LEAK" | "FLAKY" => Status::Passed,
        "FAIL" | "TIMEOUT" | "TMT" | "ABORT" | "XFAIL" | "LEAK-FAIL" | "FLFAIL" => Status::Failed,
        signal if signal.starts_with("SIG") && signal.len() > 3 => Status::Failed,
        _ => return None,
    };
    let mut rest = rest.trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')')?.1.trim_start();
    }
    let (binary, test) = rest.split_once(char::is_whitespace)?;
    Some(Case::new(&format!("{binary}::{}", test.trim()), status).taking(Some(seconds)))
}

const PARTIAL: &str = "not all tests were run";

const CUT_OFF: &str = "there is no summary: the run was cut off";

/// So many cases tell nextest, where neither its first nor its last line is there.
const TELLING_CASES: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_and_the_repeated_list_are_counted_once() {
        let text = "\
    Starting 4 tests across 2 binaries (1 test skipped)
        PASS [   0.005s] (1/4) ledger sums::adds
  TRY 1 FAIL [   0.004s] (─/4) ledger::limits rejects_zero
  TRY 2 PASS [   0.003s] (2/4) ledger::limits rejects_zero
        FAIL [   0.004s] (3/4) ledger::limits rejects_all
     SIGABRT [   0.100s] (4/4) ledger::limits overflows
────────────
     Summary [   0.110s] 4 tests run: 2 passed (1 flaky), 2 failed, 1 skipped
   FLAKY 2/2 [   0.003s] (2/4) ledger::limits rejects_zero
        FAIL [   0.004s] (3/4) ledger::limits rejects_all
     SIGABRT [   0.100s] (4/4) ledger::limits overflows
error: test run failed
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 2, skipped: 1 });
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["ledger::limits::rejects_all", "ledger::limits::overflows"]
        );
        let flaky: Vec<_> = report.cases.iter().filter(|case| case.flaky).collect();
        assert_eq!((flaky.len(), flaky[0].attempts), (1, 2));
        assert_eq!(report.broken, None);
    }

    #[test]
    fn a_run_without_a_summary_is_broken_and_counts_what_was_seen() {
        let begun = "    Starting 3 tests across 1 binary\n";
        let cases = "        PASS [   0.005s] (1/3) a b\n        FAIL [   0.004s] (2/3) a c\n\
                     ──── STDOUT: a c\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        for text in [format!("{begun}{cases}"), cases.to_owned()] {
            let found = read(&text).expect("a report");
            assert_eq!(found.report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
            assert!(found.report.broken.is_some());
        }
        assert_eq!(read(begun).expect("a report").report.counts(), TestCounts::default());
        let whole =
            format!("{begun}{cases}  Summary [ 0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped\n");
        let twice = read(&whole.repeat(2)).expect("a report").report;
        assert_eq!(twice.counts(), TestCounts { passed: 4, failed: 2, skipped: 0 });
        assert_eq!(twice.broken, None);
        assert!(read(&format!("{whole}{begun}")).expect("a report").report.broken.is_some());
        assert!(read("        PASS [   0.005s] (1/3) a b\n").is_none());
        assert!(read(&"FAIL [0.001s]: test_x (t.T)\n".repeat(2)).is_none());
    }

    #[test]
    fn a_test_that_failed_says_why() {
        for printed in [
            "──── STDOUT:             a b\n\nrunning 1 test\ntest b ... FAILED\n\n\
             ──── STDERR:             a b\n\nthread 'b' panicked at src/lib.rs:1:1:\nboom\n\n",
            "  stdout ───\n\n    running 1 test\n    test b ... FAILED\n\n  stderr ───\n\n    \
             thread 'b' panicked at src/lib.rs:1:1:\n    boom\n\n",
        ] {
            let text = format!(
                "    Starting 2 tests across 1 binary\n        FAIL [   0.004s] (1/2) a b\n{printed}        \
                 PASS [   0.004s] (2/2) a c\n     Summary [ 0.1s] 2 tests run: 1 passed, 1 failed, 0 skipped\n"
            );
            let report = read(&text).expect("a report").report;
            assert_eq!(
                report.cases[0].message.as_deref(),
                Some("thread 'b' panicked at src/lib.rs:1:1:\nboom")
            );
            assert_eq!(report.cases[1].message, None);
        }
    }

    #[test]
    fn an_interrupted_run_is_no_success() {
        let text = "     Summary [   1.0s] 3/9 tests run: 3 passed, 0 skipped\n";
        assert!(!read(text).expect("a report").report.succeeded());
    }
}
