//! `go test -json`: one event per line, other lines between.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::bounded::{MOST_TEXT, append};
use super::go::{benchmark, case_name, did_not_finish, fail_package, is_benchmark, result_line};
use super::recognise::Found;
use super::runs::{Before, Runs};
use super::text::lines;
use super::{Case, Format, Status, TestReport, lenient};
use crate::tail::objects;

pub(super) fn read(text: &str) -> Option<Found> {
    let mut reading = Reading {
        report: TestReport::new(Format::GoJson),
        packages: BTreeMap::new(),
        open: BTreeSet::new(),
        begun: None,
        runs: Runs::default(),
        at: None,
    };
    for line in lines(text) {
        for json in objects(line.whole) {
            let mut sound = None;
            let Some(record) = lenient::record::<Record<'_>>(json, &mut sound) else { continue };
            let before = Before::of(&reading.report);
            if reading.record(&record) {
                reading.at = Some(line.end);
                reading.begun.get_or_insert((line.begin, before));
                reading.follow(&record, line.end);
            }
        }
    }
    reading.finish()
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "Action", borrow)]
    action: Cow<'a, str>,
    #[serde(rename = "Package", default, borrow)]
    package: Option<Cow<'a, str>>,
    #[serde(rename = "ImportPath", default, borrow)]
    import_path: Option<Cow<'a, str>>,
    #[serde(rename = "Test", default, borrow)]
    test: Option<Cow<'a, str>>,
    #[serde(rename = "Elapsed", default, deserialize_with = "lenient::number")]
    elapsed: Option<f64>,
    #[serde(rename = "Output", default, borrow)]
    output: Option<Cow<'a, str>>,
    #[serde(rename = "FailedBuild", default, borrow)]
    failed_build: Option<Cow<'a, str>>,
}

struct Reading {
    report: TestReport,
    packages: BTreeMap<String, Package>,
    /// The packages that have begun and not ended: they run at the same time.
    open: BTreeSet<String>,
    /// Where the first of them began.
    begun: Option<(usize, Before)>,
    runs: Runs,
    /// Where the last event stands.
    at: Option<usize>,
}

#[derive(Default)]
struct Package {
    running: BTreeMap<String, Running>,
    passed_roots: BTreeSet<String>,
    benchmarks: BTreeSet<String>,
    /// The line of a benchmark, as far as it has come: its figures are often printed later.
    half_line: String,
    failed: u64,
    /// What was printed outside of any test.
    output: String,
    build_output: String,
    note: &'static str,
    /// The first thing that panicked, whoever was running.
    panic: Option<String>,
    is_open: bool,
}

#[derive(Default)]
struct Running {
    output: String,
    /// What its own output said, for tests whose end was not told.
    seen: Option<Status>,
    /// It is a benchmark that is measured in its parts, and has no result of its own.
    has_parts: bool,
}

impl Reading {
    /// Takes in an event; says whether it was one.
    fn record(&mut self, record: &Record<'_>) -> bool {
        let action = record.action.as_ref();
        if let (Some(path), "build-output" | "build-fail") = (&record.import_path, action) {
            let name = first_word(path);
            let package = self.packages.entry(name.to_owned()).or_default();
            let output = record.output.as_deref().unwrap_or_default();
            if !output.starts_with("# ") {
                append(&mut package.build_output, output, MOST_TEXT);
            }
            if action == "build-fail" {
                package.note = "[build failed]";
                package.is_open = true;
            }
            return true;
        }
        let name = record.package.as_deref().unwrap_or_default();
        let status = match action {
            "pass" | "bench" => Some(Status::Passed),
            "fail" => Some(Status::Failed),
            "skip" => Some(Status::Skipped),
            "start" | "run" | "pause" | "cont" | "output" | "attr" | "artifacts" => None,
            _ => return false,
        };
        let package = self.packages.entry(name.to_owned()).or_default();
        match (&record.test, status) {
            (Some(test), Some(status)) if action != "bench" => {
                let run = package.running.remove(test.as_ref()).unwrap_or_default();
                package.ended(test, status);
                self.report.push(
                    Case::new(&case_name(name, test), status)
                        .saying(message(&run.output, status).as_deref())
                        .taking(record.elapsed),
                );
            }
            (Some(test), _) => {
                package.is_open = true;
                if action == "run" {
                    package.run(test);
                }
                if let Some(output) = record.output.as_deref()
                    && let Some(benchmark) = package.printed(test, output)
                {
                    self.report.push(Case::new(&case_name(name, &benchmark), Status::Passed));
                }
            }
            (None, Some(status)) => {
                if record.failed_build.is_some() {
                    package.note = "[build failed]";
                }
                package.close(&mut self.report, name, status);
            }
            (None, None) => {
                package.is_open |= action != "output" || record.package.is_some();
                if let Some(output) = record.output.as_deref() {
                    package.printed_outside(output);
                    if let Some(benchmark) = package.benchmark(output) {
                        self.report.push(Case::new(&case_name(name, &benchmark), Status::Passed));
                    }
                }
            }
        }
        true
    }

    /// Packages that run at the same time are one run.
    fn follow(&mut self, record: &Record<'_>, end: usize) {
        let path = record.package.as_deref().or(record.import_path.as_deref().map(first_word));
        let name = path.unwrap_or_default();
        if !self.packages.get(name).is_some_and(|package| package.is_open) {
            self.open.remove(name);
        } else if !self.open.contains(name) {
            self.open.insert(name.to_owned());
        }
        if self.open.is_empty()
            && let Some((begun, before)) = self.begun.take()
        {
            self.runs.push_since(begun..end, before, &self.report);
        }
    }

    fn finish(mut self) -> Option<Found> {
        let at = self.at?;
        let begun = self.begun;
        for (name, mut package) in self.packages {
            if package.is_open {
                if !package.note.is_empty() {
                    fail_package(&mut self.report, &name, package.note, &package.build_output);
                    continue;
                }
                let shown = if name.is_empty() { "the package" } else { &name };
                self.report.mark_broken(format!("cut off: {shown} has no result"));
                package.close_running(&mut self.report, &name, None);
            }
        }
        if let Some((begun, before)) = begun {
            self.runs.push_since(begun..at, before, &self.report);
        }
        Some(Found { report: self.report, at, runs: self.runs })
    }
}

/// The path in `example.org/a [example.org/a.test]`.
fn first_word(path: &str) -> &str {
    path.split_whitespace().next().unwrap_or_default()
}

impl Package {
    fn run(&mut self, test: &str) {
        if is_benchmark(test)
            && let Some((whole, _)) = test.rsplit_once('/')
            && let Some(run) = self.running.get_mut(whole)
        {
            run.has_parts = true;
        }
        self.running.insert(test.to_owned(), Running::default());
    }

    fn ended(&mut self, test: &str, status: Status) {
        match status {
            Status::Failed => self.failed += 1,
            Status::Passed if !test.contains('/') => {
                self.passed_roots.insert(test.to_owned());
            }
            _ => {}
        }
    }

    /// Takes in what a test printed; the name of a benchmark, if it was that one's first result.
    fn printed(&mut self, test: &str, output: &str) -> Option<String> {
        if output.starts_with("panic: ") {
            self.panic.get_or_insert_with(|| output.trim().to_owned());
        }
        if let Some(benchmark) = self.benchmark(output) {
            self.running.remove(&benchmark);
            return Some(benchmark);
        }
        let run = self.running.get_mut(test)?;
        match result_line(output.trim_end()) {
            Some(result) if result.name == test => run.seen = Some(result.status),
            _ if output.starts_with("=== ") => {}
            _ => append(&mut run.output, output, MOST_TEXT),
        }
        None
    }

    fn benchmark(&mut self, output: &str) -> Option<String> {
        let before = std::mem::take(&mut self.half_line);
        let line =
            if before.is_empty() { Cow::Borrowed(output) } else { Cow::Owned(before + output) };
        if line.starts_with("Benchmark") && !line.ends_with('\n') && line.len() <= MOST_TEXT {
            self.half_line = line.into_owned();
            return None;
        }
        let name = benchmark(line.trim_end())?;
        self.benchmarks.insert(name.to_owned()).then(|| name.to_owned())
    }

    fn printed_outside(&mut self, output: &str) {
        if output.contains("[build failed]") {
            self.note = "[build failed]";
        } else if output.contains("[setup failed]") {
            self.note = "[setup failed]";
        } else if !matches!(output.trim_end(), "PASS" | "FAIL") && !output.starts_with("FAIL\t") {
            append(&mut self.output, output, MOST_TEXT);
        }
    }

    /// The package has ended; a rerun may begin it anew.
    fn close(&mut self, report: &mut TestReport, name: &str, status: Status) {
        self.close_running(report, name, Some(status));
        if status == Status::Failed && self.failed == 0 {
            let panic = self.panic.as_deref().unwrap_or_default();
            let told = [&self.build_output, panic, &self.output];
            let why = told.into_iter().find(|told| !told.is_empty()).unwrap_or_default();
            fail_package(report, name, self.note, why);
        }
        *self = Self::default();
    }

    /// Tests whose end was not told ended as they said themselves, or else did not. The end of
    /// a benchmark is never told, unless it failed.
    fn close_running(&mut self, report: &mut TestReport, name: &str, whole: Option<Status>) {
        for (test, run) in std::mem::take(&mut self.running) {
            let root = test.split('/').next().unwrap_or(&test);
            // A test does not pass before all of its parts have ended, and none of them failed.
            let is_known_good = test.contains('/') && self.passed_roots.contains(root);
            if (is_known_good && run.seen.is_none()) || self.benchmarks.contains(&test) {
                continue;
            }
            let full = case_name(name, &test);
            let is_benchmark = is_benchmark(&test);
            if is_benchmark && run.has_parts && run.seen.is_none() {
                continue;
            }
            match run.seen.or(whole.filter(|it| is_benchmark && *it == Status::Passed)) {
                Some(status) => {
                    self.ended(&test, status);
                    let said = message(&run.output, status);
                    report.push(Case::new(&full, status).saying(said.as_deref()));
                }
                None => {
                    self.failed += 1;
                    report.push(did_not_finish(&full, ""));
                    report.mark_broken(format!("{full} did not finish"));
                }
            }
        }
    }
}

/// What a test printed, if it did not simply pass.
fn message(output: &str, status: Status) -> Option<String> {
    (status != Status::Passed).then(|| {
        let lines: Vec<_> = output.lines().map(str::trim).collect();
        lines.join("\n")
    })
}

#[cfg(test)]
mod tests;
