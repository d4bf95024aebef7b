//! What `go test` prints.

use std::collections::{BTreeMap, BTreeSet};

use super::bounded::{MOST_TEXT, append};
use super::recognise::Found;
use super::runs::{Before, Runs};
use super::text::{Line, read_lines, seconds};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::new(), Reading::line).finish()
}

struct Reading {
    report: TestReport,
    /// Cases of the package that is being read: its name comes last.
    cases: Vec<Case>,
    /// Which of them a test's lines belong to.
    speaker: Option<String>,
    said: BTreeMap<String, String>,
    running: BTreeSet<String>,
    /// All that was told to run, with `-v`.
    begun: BTreeSet<String>,
    benchmarks: BTreeSet<String>,
    /// What went wrong outside of any test.
    outside: String,
    build_errors: BTreeMap<String, String>,
    building: Option<String>,
    is_verbose: bool,
    is_empty: bool,
    has_verdict: bool,
    /// Where the first line of the package stands.
    begin: Option<usize>,
    runs: Runs,
    at: usize,
}

impl Reading {
    fn new() -> Self {
        Self {
            report: TestReport::new(Format::Go),
            cases: Vec::new(),
            speaker: None,
            said: BTreeMap::new(),
            running: BTreeSet::new(),
            begun: BTreeSet::new(),
            benchmarks: BTreeSet::new(),
            outside: String::new(),
            build_errors: BTreeMap::new(),
            building: None,
            is_verbose: false,
            is_empty: false,
            has_verdict: false,
            begin: None,
            runs: Runs::default(),
            at: 0,
        }
    }

    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(package) = package_line(text) {
            self.at = line.end;
            let before = Before::of(&self.report);
            self.package(&package);
            let begun = self.begin.take().unwrap_or(line.begin);
            self.runs.push_since(begun..line.end, before, &self.report);
        } else if self.repeats(text) {
            self.at = line.end;
        } else if let Some(result) = self.result(text) {
            self.at = line.end;
            self.begin.get_or_insert(line.begin);
            self.running.remove(result.name);
            self.speaker = Some(result.name.to_owned());
            self.cases.push(Case::new(result.name, result.status).taking(result.seconds));
        } else if let Some(name) = benchmark(text) {
            if self.benchmarks.insert(name.to_owned()) {
                self.cases.push(Case::new(name, Status::Passed));
            }
        } else if let Some(told) = text.strip_prefix("=== ") {
            self.told(told);
            if self.is_verbose {
                self.begin.get_or_insert(line.begin);
            }
        } else if let Some((_, name)) = text.rsplit_once("=== RUN   ")
            && self.is_verbose
            && !name.contains(' ')
        {
            // What the test before printed had no line end.
            self.told(&format!("RUN {name}"));
        } else if let Some(package) = text.strip_prefix("# ") {
            self.building = package.split_whitespace().next().map(str::to_owned);
        } else {
            match text {
                "PASS" | "FAIL" => self.has_verdict = true,
                "testing: warning: no tests to run" => self.is_empty = true,
                _ => self.words(text),
            }
        }
    }

    /// How a test ended, if a line says so and no test has printed it.
    fn result<'a>(&self, text: &'a str) -> Option<ResultLine<'a>> {
        let Some(result) = result_line(text) else {
            // What the test itself printed had no line end.
            let result = text.rfind("--- ").and_then(|at| result_line(&text[at..]))?;
            return self.running.contains(result.name).then_some(result);
        };
        let is_real = !self.is_verbose || self.begun.contains(result.name);
        is_real.then_some(result)
    }

    /// Whether a line tells inside of a fuzz test, by the same name, which input makes it fail.
    fn repeats(&self, text: &str) -> bool {
        let inner = result_line(text).filter(|_| text.starts_with([' ', '\t']));
        inner.is_some_and(|inner| self.cases.last().is_some_and(|case| case.name == inner.name))
    }

    /// `RUN   TestX`, `CONT  TestX`, `NAME  TestX`, `PAUSE TestX`.
    fn told(&mut self, told: &str) {
        let mut words = told.split_whitespace();
        let (Some(verb), name) = (words.next(), words.next()) else { return };
        if verb == "RUN"
            && let Some(name) = name
        {
            self.is_verbose = true;
            self.has_verdict = false;
            self.running.insert(name.to_owned());
            self.begun.insert(name.to_owned());
        }
        self.building = None;
        self.speaker = name.map(str::to_owned);
    }

    fn words(&mut self, text: &str) {
        let kept = match (&self.building, &self.speaker) {
            (Some(package), _) => self.build_errors.entry(package.clone()).or_default(),
            (None, Some(name)) if text.starts_with([' ', '\t']) => {
                self.said.entry(name.clone()).or_default()
            }
            _ => &mut self.outside,
        };
        append(kept, text.trim(), MOST_TEXT);
        append(kept, "\n", MOST_TEXT);
    }

    fn package(&mut self, package: &PackageLine<'_>) {
        let name = package.name;
        let mut failed = 0;
        let passed = package.verdict == Verdict::Passed;
        for mut case in self.cases.drain(..) {
            // A package does not pass with a failed test in it: a test has printed that.
            if passed && case.status == Status::Failed {
                continue;
            }
            let said = self.said.remove(&case.name);
            failed += usize::from(case.status == Status::Failed);
            case = case.saying(said.as_deref());
            case.name = case_name(name, &case.name);
            self.report.push(case);
        }
        if package.verdict == Verdict::Failed {
            for unfinished in std::mem::take(&mut self.running) {
                let said = self.said.remove(&unfinished).unwrap_or_default();
                failed += 1;
                self.report.push(did_not_finish(&case_name(name, &unfinished), &said));
                self.report.mark_broken(format!("{name}: {unfinished} did not finish"));
            }
            if failed == 0 {
                let why = self.build_errors.get(name).unwrap_or(&self.outside);
                fail_package(&mut self.report, name, package.note, why);
            }
        } else if !self.is_verbose && !self.is_empty && passed {
            // Without `-v` the tests have no names; the package is what passed.
            if self.benchmarks.is_empty() {
                self.report.push(Case::new(name, Status::Passed).taking(package.seconds));
            }
        }
        self.running.clear();
        self.begun.clear();
        self.said.clear();
        self.benchmarks.clear();
        self.outside.clear();
        self.speaker = None;
        self.building = None;
        self.is_verbose = false;
        self.is_empty = false;
        self.has_verdict = false;
    }

    fn finish(mut self) -> Option<Found> {
        let is_open = !self.cases.is_empty() || !self.running.is_empty();
        if self.at == 0 || (is_open && !self.is_verbose && self.report.cases.is_empty()) {
            return None;
        }
        if is_open {
            let before = Before::of(&self.report);
            // A test binary that is run by itself names no package, but says how it ended.
            if !self.has_verdict {
                self.report.mark_broken("cut off before the package's result");
            }
            for mut case in std::mem::take(&mut self.cases) {
                let said = self.said.remove(&case.name);
                case = case.saying(said.as_deref());
                self.report.push(case);
            }
            for name in std::mem::take(&mut self.running) {
                self.report.push(did_not_finish(&name, ""));
            }
            let begun = self.begin.unwrap_or(self.at).min(self.at);
            self.runs.push_since(begun..self.at, before, &self.report);
        }
        Some(Found { report: self.report, at: self.at, runs: self.runs })
    }
}

/// A case that began and never ended.
pub(super) fn did_not_finish(name: &str, said: &str) -> Case {
    let said = said.trim();
    let message = if said.is_empty() { "did not finish" } else { said };
    Case::new(name, Status::Failed).saying(Some(message))
}

/// A package that failed without a failed test: it did not build, or it panicked, or its `TestMain`
/// gave up. That is a failure of its own.
pub(super) fn fail_package(report: &mut TestReport, package: &str, note: &str, why: &str) {
    let note = if note.is_empty() { "[package failed]" } else { note };
    let case = Case::new(&format!("{package} {note}"), Status::Failed).saying(Some(why));
    let reason = case.first_line().unwrap_or("no test failed, but the package did").to_owned();
    report.push(case);
    let note = note.trim_matches(['[', ']']);
    report.mark_broken(format!("{package}: {note}: {reason}"));
}

/// The name of a test in all packages.
pub(super) fn case_name(package: &str, test: &str) -> String {
    if package.is_empty() { test.to_owned() } else { format!("{package}.{test}") }
}

/// `--- FAIL: TestX/sub (0.15s)`, at any depth.
pub(super) struct ResultLine<'a> {
    pub(super) status: Status,
    pub(super) name: &'a str,
    pub(super) seconds: Option<f64>,
}

pub(super) fn result_line(line: &str) -> Option<ResultLine<'_>> {
    let rest = line.trim_start().strip_prefix("--- ")?;
    let (word, rest) = rest.split_once(": ")?;
    let status = match word {
        "PASS" => Status::Passed,
        "FAIL" => Status::Failed,
        "SKIP" => Status::Skipped,
        _ => return None,
    };
    let (name, time) = match rest.rsplit_once(" (") {
        Some((name, time)) => (name, seconds(time.trim_end_matches(')'))),
        None => (rest, None),
    };
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then_some(ResultLine { status, name, seconds: time })
}

/// Whether a test has the name of a benchmark, as Go takes it.
pub(super) fn is_benchmark(test: &str) -> bool {
    let rest = test.strip_prefix("Benchmark");
    rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// The name in `BenchmarkX-8   1000   12.3 ns/op`, without the number of processors.
pub(super) fn benchmark(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| line.starts_with("Benchmark") && name.len() > 9)?;
    words.next()?.parse::<u64>().ok()?;
    words.next()?.parse::<f64>().ok()?;
    words.next().filter(|unit| unit.contains("/op"))?;
    Some(match name.rsplit_once('-') {
        Some((plain, processors)) if processors.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    })
}

struct PackageLine<'a> {
    verdict: Verdict,
    name: &'a str,
    /// `[build failed]`.
    note: &'a str,
    seconds: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// It has no tests.
    Nothing,
}

/// `ok  pkg 0.1s`, `FAIL pkg [build failed]`, `?  pkg [no test files]`.
fn package_line(line: &str) -> Option<PackageLine<'_>> {
    let mut words = line.split_whitespace();
    let verdict = match words.next()? {
        "ok" => Verdict::Passed,
        "FAIL" => Verdict::Failed,
        "?" => Verdict::Nothing,
        _ => return None,
    };
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let name = words.next()?;
    let third = words.next()?;
    let time = third.strip_suffix('s').and_then(|time| time.parse::<f64>().ok());
    let note = line.find('[').map_or("", |at| &line[at..]);
    let is_noted = note.starts_with("[no test") || note.ends_with("failed]");
    if time.is_none() && third != "(cached)" && !(third.starts_with('[') && is_noted) {
        return None;
    }
    let verdict = if note.starts_with("[no test") { Verdict::Nothing } else { verdict };
    Some(PackageLine { verdict, name, note, seconds: time })
}

#[cfg(test)]
mod tests {
    use backstop_core::event::TestCounts;
    use rstest::rstest;

    use super::*;

    fn report(text: &str) -> TestReport {
        read(text).expect("a report").report
    }

    #[test]
    fn without_names_the_packages_count() {
        let report = report(
            "ok  \texample.org/a\t0.1s\n--- FAIL: TestDivide (0.00s)\n    b_test.go:7: got 1, want 2\n\
             FAIL\nFAIL\texample.org/b\t0.2s\n?   \texample.org/c\t[no test files]\nFAIL\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["example.org/a"]);
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["example.org/b.TestDivide"]);
        assert_eq!(report.last_error(), Some("b_test.go:7: got 1, want 2"));
    }

    #[test]
    fn a_build_failure_is_a_failure_and_breaks_the_report() {
        let report = report(
            "# example.org/a [example.org/a.test]\n./a_test.go:4:6: undefined: x\n\
             FAIL\texample.org/a [build failed]\nFAIL\n",
        );
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["example.org/a [build failed]"]
        );
        assert_eq!(
            report.broken.as_deref(),
            Some("example.org/a: build failed: ./a_test.go:4:6: undefined: x")
        );
    }

    #[test]
    fn a_test_that_never_ended_has_failed() {
        let report = report(
            "=== RUN   TestSlow\npanic: test timed out after 1s\n\ngoroutine 7 [running]:\n\
             FAIL\texample.org/a\t1.0s\n",
        );
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["example.org/a.TestSlow"]);
        assert!(report.broken.is_some());
    }

    #[rstest]
    #[case::a_line_that_a_test_did_not_end(
        "=== RUN   TestA\nhello--- PASS: TestA (0.00s)\nmore=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\n\
         ok  \tm\t0.1s\n",
        &["m.TestA", "m.TestB"], &[]
    )]
    #[case::what_a_test_printed(
        "=== RUN   TestRun\n    a_test.go:5: got:\n        --- FAIL: TestInner (0.00s)\n--- FAIL: TestOuter (0.00s)\n\
         see --- FAIL: TestOther (0.00s)\n--- PASS: TestRun (0.00s)\nPASS\nok  \tm\t0.1s\n",
        &["m.TestRun"], &[]
    )]
    #[case::what_a_test_printed_without_names(
        "    --- FAIL: TestInner (0.00s)\nok  \tm\t0.1s\n", &["m"], &[]
    )]
    #[case::fuzzing(
        "--- FAIL: FuzzA (0.02s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:20: no\nFAIL\nexit status 1\nFAIL\tm\t0.1s\n",
        &[], &["m.FuzzA"]
    )]
    #[case::run_twice(
        "--- FAIL: TestA (0.02s)\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tm\t0.1s\n",
        &[], &["m.TestA", "m.TestA"]
    )]
    #[case::inside_of_others(
        "=== RUN   TestA\n=== RUN   TestA/x\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\nFAIL\nFAIL\tm\t0.1s\n",
        &[], &["m.TestA", "m.TestA/x"]
    )]
    fn only_what_ran_has_a_result(
        #[case] text: &str,
        #[case] passed: &[&str],
        #[case] failed: &[&str],
    ) {
        let report = report(text);
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), passed);
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), failed);
        assert_eq!(report.broken, None);
    }

    #[test]
    fn a_fuzz_test_says_why_it_failed() {
        let report = report(
            "--- FAIL: FuzzA (0.02s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:20: no\nFAIL\nFAIL\tm\t0.1s\n",
        );
        assert_eq!(report.last_error(), Some("a_test.go:20: no"));
    }

    #[test]
    fn other_tools_lines_are_none() {
        assert!(read("ok 1 - it works\nnot ok 2 - it fails\n1..2\n").is_none());
        assert!(read("FAIL src/sum.test.js\nPASS src/other.test.js\n").is_none());
        assert!(read("ok then, let us go\n").is_none());
    }
}
