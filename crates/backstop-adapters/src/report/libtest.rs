//! What `cargo test` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::{MOST_TEXT, append};
use super::recognise::Found;
use super::runs::Runs;
use super::text::{Line, leading_number, read_lines};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::new(), Reading::line).finish()
}

struct Reading {
    report: TestReport,
    /// What all finished binaries said of themselves.
    totals: TestCounts,
    /// The test binary that runs, if cargo said so.
    binary: Option<String>,
    section: Option<Section>,
    build_error: Option<String>,
    has_failed_to_build: bool,
    runs: Runs,
    at: usize,
}

/// One test binary, from `running 3 tests` to its result.
struct Section {
    announced: u64,
    /// Where that was said.
    place: Range<usize>,
    cases: Vec<Case>,
    failed: BTreeSet<String>,
    /// A test whose result comes later, because its own output stands between.
    awaited: Option<String>,
    /// What failed tests printed.
    said: BTreeMap<String, String>,
    speaker: Option<String>,
    /// Behind the heading that lists failures, where the list of names stands.
    is_listing: bool,
}

impl Reading {
    fn new() -> Self {
        Self {
            report: TestReport::new(Format::Libtest),
            totals: TestCounts::default(),
            binary: None,
            section: None,
            build_error: None,
            has_failed_to_build: false,
            runs: Runs::default(),
            at: 0,
        }
    }

    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(section) = &mut self.section {
            if let Some(result) = result_line(text) {
                if section.accepts(result) {
                    self.at = line.end;
                    section.place.end = line.end;
                    self.close(Some(result.0));
                }
                return;
            }
            if section.line(text) {
                return;
            }
        }
        let trimmed = text.trim_start();
        if let Some(announced) = announced(text) {
            self.close(None);
            self.at = line.end;
            self.section = Some(Section::new(announced, line.begin..line.end));
        } else if let Some(result) = result_line(text) {
            // The announcement may have been cut off with the beginning of the output.
            self.at = line.end;
            self.runs.push(line.begin..line.end, result.0.failed, None);
            add(&mut self.totals, result.0);
        } else if let Some(program) = trimmed.strip_prefix("Running ") {
            if let Some(binary) = binary(program) {
                self.close(None);
                self.binary = Some(binary.to_owned());
            }
        } else if let Some(name) = trimmed.strip_prefix("Doc-tests ") {
            self.close(None);
            self.binary = Some(name.trim().to_owned());
        } else if self.section.is_some() {
            // What a test prints of other builds is none of this one's.
        } else if text.starts_with("error: could not compile") {
            self.has_failed_to_build = true;
            self.at = line.end;
            let why = self.build_failure();
            self.runs.push(line.begin..line.end, 0, Some(&why));
        } else if text.starts_with("error[E") || text.starts_with("error: ") {
            self.build_error.get_or_insert_with(|| text.to_owned());
        }
    }

    /// A binary has ended, or another one begins.
    fn close(&mut self, told: Option<TestCounts>) {
        let Some(mut section) = self.section.take() else { return };
        let mut own = TestReport::new(Format::Libtest);
        for mut case in std::mem::take(&mut section.cases) {
            let said = section.said.get(&case.name).map(String::as_str);
            if case.status == Status::Failed {
                case = case.saying(said);
            }
            if let Some(binary) = &self.binary {
                case.name = format!("{binary}::{}", case.name);
            }
            own.push(case);
        }
        let counts = told.unwrap_or(own.counts());
        add(&mut self.totals, counts);
        if told.is_none() {
            let binary = self.binary.as_deref().unwrap_or("a test binary");
            own.mark_broken(format!("{binary} ended without a result"));
        }
        self.runs.push(section.place, counts.failed, own.broken.as_deref());
        self.report.merge(own);
    }

    fn build_failure(&self) -> String {
        let error = self.build_error.as_deref().unwrap_or("could not compile");
        format!("the build failed: {error}")
    }

    fn finish(mut self) -> Option<Found> {
        self.close(None);
        if self.at == 0 {
            return None;
        }
        if self.has_failed_to_build {
            let why = self.build_failure();
            self.report.mark_broken(why);
        }
        self.report.settle(self.totals);
        Some(Found { report: self.report, at: self.at, runs: self.runs })
    }
}

impl Section {
    fn new(announced: u64, place: Range<usize>) -> Self {
        Self {
            announced,
            place,
            cases: Vec::new(),
            failed: BTreeSet::new(),
            awaited: None,
            said: BTreeMap::new(),
            speaker: None,
            is_listing: false,
        }
    }

    /// Whether a result is this binary's own, and not one that a test printed.
    fn accepts(&self, result: (TestCounts, u64)) -> bool {
        let (counts, all) = result;
        all == self.announced || (counts.failed > 0 && all < self.announced)
    }

    /// Takes in a line that belongs to this binary.
    fn line(&mut self, text: &str) -> bool {
        if let Some(name) = text.strip_prefix("---- ").and_then(|text| text.strip_suffix(" ----")) {
            let name = name.strip_suffix(" stdout").or_else(|| name.strip_suffix(" stderr"));
            self.speaker = name.map(str::to_owned);
            return true;
        }
        if text == "failures:" {
            self.is_listing = true;
            self.speaker = None;
            return true;
        }
        if let Some(name) = &self.speaker {
            let said = self.said.entry(name.clone()).or_default();
            append(said, text, MOST_TEXT);
            append(said, "\n", MOST_TEXT);
            return true;
        }
        if self.is_listing {
            self.listed(text);
            return text.starts_with("    ");
        }
        if let Some((name, result)) = case_line(text) {
            match status(result) {
                Some((status, note)) => {
                    self.push(Case::new(name, status).saying(note));
                    self.awaited = None;
                }
                None => self.awaited = Some(name.to_owned()),
            }
            return true;
        }
        if let Some(name) = &self.awaited
            && let Some((status, _)) = status(text.trim())
        {
            self.push(Case::new(name, status));
            self.awaited = None;
            return true;
        }
        false
    }

    /// A name below `failures:`, which is all that quiet output has.
    fn listed(&mut self, text: &str) {
        let Some(name) = text.strip_prefix("    ").filter(|name| !name.starts_with(' ')) else {
            return;
        };
        if !self.failed.contains(name) && (self.cases.len() as u64) < self.announced {
            self.push(Case::new(name, Status::Failed));
        }
    }

    fn push(&mut self, case: Case) {
        if case.status == Status::Failed {
            self.failed.insert(case.name.clone());
        }
        self.cases.push(case);
    }
}

fn add(totals: &mut TestCounts, more: TestCounts) {
    totals.passed = totals.passed.saturating_add(more.passed);
    totals.failed = totals.failed.saturating_add(more.failed);
    totals.skipped = totals.skipped.saturating_add(more.skipped);
}

/// The number in `running 3 tests`.
fn announced(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("running ")?)?;
    matches!(rest, " test" | " tests").then_some(count)
}

/// The name and the rest of `test path::name ... ok`.
fn case_line(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ...")?;
    let name = name.trim();
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    (!name.is_empty()).then_some((name, result.trim()))
}

/// `ok`, `FAILED`, `ignored, reason`, `bench: 12 ns/iter`, each perhaps with a time.
fn status(result: &str) -> Option<(Status, Option<&str>)> {
    let word = result.split([' ', ',', ':']).next()?;
    let rest = result[word.len()..].trim_start_matches([',', ' ']);
    let is_clean = rest.is_empty() || rest.starts_with('<') || rest.starts_with('(');
    match word {
        "ok" if is_clean => Some((Status::Passed, None)),
        "FAILED" if is_clean => Some((Status::Failed, None)),
        "ignored" => Some((Status::Skipped, (!is_clean).then_some(rest))),
        // A benchmark that ran to its end.
        "bench" if rest.contains(" ns/iter") => Some((Status::Passed, None)),
        _ => None,
    }
}

/// The counts in `test result: ok. 1 passed; 0 failed; 0 ignored; …`, and how many tests that are.
fn result_line(line: &str) -> Option<(TestCounts, u64)> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let (_, figures) = rest.split_once(". ")?;
    let mut counts = TestCounts::default();
    let mut all = 0_u64;
    let mut seen = 0;
    for figure in figures.split(';') {
        let Some((count, word)) = leading_number(figure.trim()) else { continue };
        match word.trim() {
            "passed" => counts.passed = count,
            "failed" => counts.failed = count,
            "ignored" => counts.skipped = count,
            "measured" => counts.passed = counts.passed.saturating_add(count),
            _ => continue,
        }
        seen += 1;
        all = all.saturating_add(count);
    }
    (seen >= 3).then_some((counts, all))
}

/// The name of the binary in `unittests src/lib.rs (target/debug/deps/name-0123456789abcdef)`.
fn binary(program: &str) -> Option<&str> {
    let path = program.trim_matches(['`', ' ']);
    let path = path.rsplit_once('(').map_or(path, |(_, path)| path.trim_end_matches(')'));
    let path = path.split_whitespace().next()?;
    let file = path.rsplit(['/', '\\']).next()?.trim_end_matches(".exe");
    let (name, hash) = file.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> TestReport {
        read(text).expect("a report").report
    }

    #[test]
    fn every_binary_is_added_up() {
        let report = report(include_str!("../../samples/reports/cargo-two-binaries.txt"));
        assert_eq!(report.counts(), TestCounts { passed: 3, failed: 1, skipped: 1 });
        assert_eq!(
            report.names(Status::Passed).collect::<Vec<_>>(),
            [
                "ledger::tests::adds",
                "ledger::tests::carries - a long way",
                "ledger::src/lib.rs - sum (line 3)"
            ]
        );
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["limits::rejects_zero"]);
        assert_eq!(
            report.last_error(),
            Some("thread 'rejects_zero' panicked at tests/limits.rs:7:5:")
        );
        assert_eq!(report.broken, None);
    }

    #[test]
    fn a_binary_that_dies_breaks_the_report() {
        let report = report(
            "running 2 tests\ntest a ... ok\nerror: test failed, to rerun pass `--lib`\n\n\
             Caused by:\n  process didn't exit successfully: `x` (signal: 6, SIGABRT)\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 0, skipped: 0 });
        assert_eq!(report.broken.as_deref(), Some("a test binary ended without a result"));
    }

    #[test]
    fn a_build_failure_is_a_broken_report() {
        let report = report(
            "   Compiling ledger v0.1.0\nerror[E0425]: cannot find value `x` in this scope\n \
             --> src/lib.rs:1:1\n\nerror: could not compile `ledger` (lib test) due to 1 previous error\n",
        );
        assert_eq!(
            report.broken.as_deref(),
            Some("the build failed: error[E0425]: cannot find value `x` in this scope")
        );
    }

    #[test]
    fn results_that_a_test_printed_are_not_its_binary_s() {
        let report = report(
            "running 2 tests\ntest inner ... FAILED\ntest other ... ok\n\nfailures:\n\n\
             ---- inner stdout ----\nrunning 1 test\ntest deep ... ok\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n\
             failures:\n    inner\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(report.cases.len(), 2);
    }

    #[test]
    fn quiet_output_names_what_failed() {
        let report = report(
            "running 3 tests\n.F.\nfailures:\n\n---- a::b stdout ----\nboom\n\n\nfailures:\n    a::b\n\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 0 });
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["a::b"]);
        assert_eq!(report.last_error(), Some("boom"));
    }

    #[test]
    fn benchmarks_that_ran_have_passed() {
        let report = report(
            "running 3 tests\ntest a ... ignored\ntest b ... bench:         123.45 ns/iter (+/- 6.78)\n\
             test c ... bench:   1,234 ns/iter (+/- 10)\n\n\
             test result: ok. 0 passed; 0 failed; 1 ignored; 2 measured; 0 filtered out\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 0, skipped: 1 });
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn a_build_that_a_test_runs_is_not_this_one() {
        let report = report(
            "running 2 tests\nerror[E0425]: cannot find value `x`\nerror: could not compile `inner` (lib)\n\
             test a ... ok\ntest b ... ok\n\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 0, skipped: 0 });
        assert_eq!(report.broken, None);
    }

    #[test]
    fn results_may_come_after_a_test_s_own_output() {
        let report = report(
            "running 2 tests\ntest a ... hello from a\nok\ntest b - should panic ... ok\n\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["a", "b"]);
    }
}
