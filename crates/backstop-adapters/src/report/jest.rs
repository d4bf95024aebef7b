//! What jest prints.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::{MOST_NAME, Room, shortened};
use super::paths::Paths;
use super::recognise::Found;
use super::runs::{Runs, Told};
use super::text::{Line, leading_number, read_lines};
use super::tick::{bulleted, ending, parts, ticked, timed};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

/// A call of the console.
struct Console {
    depth: usize,
    place: Range<usize>,
}

/// How many test suites ended how.
struct Suites {
    counts: TestCounts,
    /// Not only some of them ran.
    are_all: bool,
}

/// A file, as it was called where the heading stands, and the titles.
type Heading = (String, String);

#[derive(Default)]
struct Reading {
    /// What is told of the run that goes on.
    cases: Vec<Case>,
    room: Room,
    /// The file, and the blocks around the case with their indents.
    file: String,
    blocks: Vec<(usize, String)>,
    /// The files of this run.
    files: Paths,
    /// The cases of this file are told without a word for those that were skipped.
    is_unworded: bool,
    /// Headings of failures, each below its file, with the first line below each.
    errors: BTreeMap<Heading, String>,
    speaker: Option<Heading>,
    /// How far the call of the console is indented whose words are being read.
    console: Option<Console>,
    /// Below the heading for all that a file wrote to the console.
    in_console: bool,
    /// The line before was blank, or there was none.
    after_blank: bool,
    /// Files that did not load; each is told twice.
    unloaded: BTreeSet<String>,
    suites: Option<Suites>,
    /// The figures before, of a run that not all suites took part in, if nothing was told since.
    summarised: Option<TestCounts>,
    /// Another runner has ended since a file was named.
    is_behind_other: bool,
    /// The runs that are over.
    told: Told,
    /// Where the first file stands of the run that goes on.
    begun: Option<usize>,
    runs: Runs,
    at: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        let after_blank = std::mem::replace(&mut self.after_blank, text.is_empty());
        if self.is_printed(&line, after_blank) {
            return;
        }
        if !SUMMARY.iter().any(|words| text.starts_with(words)) {
            self.summarised = None;
        }
        if let Some(suites) = text.strip_prefix("Test Suites: ").and_then(figures) {
            self.suites = Some(Suites { counts: suites, are_all: !text.contains(" of ") });
        } else if let Some(tests) = text.strip_prefix("Tests: ").and_then(figures) {
            if let Some(suites) = self.suites.take() {
                self.at = line.end;
                // Who stops at the first failure says it again on leaving.
                let before = self.summarised.take();
                if before == Some(tests) {
                    return;
                }
                self.summarised = Some(tests).filter(|_| !suites.are_all);
                let begun = self.begun.take().unwrap_or(line.begin);
                let report = self.end_run(suites.counts, tests);
                self.runs.push_report(begun..line.end, &report);
                self.told.push(begun, report);
            }
        } else if let Some(status) = text.strip_prefix(NO_TESTS) {
            let mut report = TestReport::new(Format::Jest);
            report.mark_broken(if status == "0" { super::NO_TEST_RAN } else { NO_TESTS_FOUND });
            self.runs.push_report(line.begin..line.end, &report);
            self.told.push(line.begin, report);
            self.at = line.end;
        } else if ending(text).is_some_and(|format| format != Format::Jest) {
            self.cases.clear();
            self.is_behind_other = true;
        } else if let Some(command) = text.strip_prefix("::").filter(|it| is_command(it)) {
            self.command(command, &line);
        } else if let Some(file) = file_line(text) {
            self.file(file, text.starts_with("  "), &line);
        } else if let Some(heading) = bulleted(text.trim_start()) {
            self.heading(heading);
        } else if let Some((status, name)) = ticked(text.trim_start()) {
            self.case(indent(text), status, name);
        } else {
            self.words(text);
        }
    }

    fn file(&mut self, file: &str, is_unworded: bool, line: &Line<'_>) {
        if is_script(file) {
            self.begun.get_or_insert(line.begin);
        }
        // Others go on behind their figures.
        if std::mem::take(&mut self.is_behind_other) {
            self.cases.clear();
        }
        if self.room.takes(file.len()) {
            self.files.insert(file);
        }
        self.is_unworded = is_unworded;
        self.enter(file);
    }

    fn enter(&mut self, file: &str) {
        file.clone_into(&mut self.file);
        self.blocks.clear();
        self.speaker = None;
        self.in_console = false;
    }

    /// What is for GitHub, which folds it up. Failures are said in a group of their file, and
    /// before that again each below its own.
    fn command(&mut self, command: &str, line: &Line<'_>) {
        if let Some(file) = command.strip_prefix("group::Errors thrown in ") {
            self.enter(file);
        } else if let Some(file) = command.strip_prefix("group::").and_then(file_line) {
            self.file(file, true, line);
        } else if command == "endgroup::" {
            self.enter("");
        }
    }

    /// Whether a line was written to the console: indented below a line that says how. Such a line
    /// has a blank one before it, unlike the title of a block of that name.
    fn is_printed(&mut self, line: &Line<'_>, after_blank: bool) -> bool {
        let text = line.text;
        if let Some(console) = &mut self.console {
            if text.is_empty() || indent(text) > console.depth {
                console.place.end = line.end;
                return true;
            }
            self.end_console();
        }
        let begins = text.starts_with("  ")
            && (after_blank || self.in_console || self.file.is_empty())
            && text.trim_start().strip_prefix("console.").is_some_and(is_method);
        if begins {
            self.console = Some(Console { depth: indent(text), place: line.begin..line.end });
        }
        begins
    }

    /// What others say in there was printed by a test.
    fn end_console(&mut self) {
        if let Some(console) = self.console.take() {
            self.runs.push(console.place, 0, None);
        }
    }

    fn heading(&mut self, heading: &str) {
        self.speaker = None;
        self.in_console = heading == "Console";
        if heading == "Test suite failed to run" {
            self.unloaded.insert(self.file.clone());
        } else if heading != "Console" && !heading.starts_with("Cannot log after") {
            let titles = shortened(&parts(heading).join(" > "), MOST_NAME).into_owned();
            let heading = (self.file.clone(), titles);
            let size = heading.0.len() + heading.1.len();
            if self.errors.contains_key(&heading) || self.room.takes(size) {
                self.errors.entry(heading.clone()).or_default();
                self.speaker = Some(heading);
            }
        }
    }

    fn case(&mut self, indent: usize, status: Status, name: &str) {
        let (name, seconds) = timed(name);
        let name = match status {
            Status::Skipped if !self.is_unworded => {
                name.strip_prefix("skipped ").or_else(|| name.strip_prefix("todo ")).unwrap_or(name)
            }
            _ => name,
        };
        self.blocks.retain(|(depth, _)| *depth < indent);
        let titles = self.blocks.iter().map(|(_, title)| title.as_str()).chain([name]);
        let name = name_in(&self.file, titles);
        let case = Case::new(&name, status).taking(seconds);
        if self.room.takes(case.size()) {
            self.cases.push(case);
        }
    }

    fn words(&mut self, text: &str) {
        let words = text.trim();
        if words.is_empty() {
            return;
        }
        match &self.speaker {
            Some(name) => {
                if let Some(error) = self.errors.get_mut(name).filter(|error| error.is_empty()) {
                    words.clone_into(error);
                }
            }
            // A line of its own between cases is the title of a block.
            None if !self.file.is_empty() && text.starts_with("  ") && self.blocks.len() < 64 => {
                let indent = indent(text);
                self.blocks.retain(|(depth, _)| *depth < indent);
                self.blocks.push((indent, words.to_owned()));
            }
            None => self.blocks.clear(),
        }
    }

    /// What was told since the run before.
    fn end_run(&mut self, suites: TestCounts, tests: TestCounts) -> TestReport {
        let mut report = TestReport::new(Format::Jest);
        let files = std::mem::take(&mut self.files);
        let mut errors: BTreeMap<String, String> = BTreeMap::new();
        for ((file, titles), said) in std::mem::take(&mut self.errors) {
            // It was said before, below a heading with all of the path.
            let Some(file) = files.ending_with(&file) else { continue };
            let name = name_in(&file, [titles.as_str()]);
            let error = errors.entry(name).or_default();
            if error.is_empty() {
                *error = said;
            }
        }
        for case in std::mem::take(&mut self.cases) {
            // A title may hold a pointer, which a heading does not tell from those between titles.
            let heading = || parts(&case.name).join(" > ");
            let has_failed = case.status == Status::Failed;
            let said = if has_failed { errors.remove(&heading()) } else { None };
            let case = case.saying(said.as_deref());
            report.push(case);
        }
        // Without `--verbose` only those that failed have a heading, once where they ran and once
        // in the summary at the end.
        for (name, error) in &errors {
            if report.counts().failed < tests.failed {
                report.push(Case::new(name, Status::Failed).saying(Some(error)));
            }
        }
        report.settle(tests);
        // A suite that does not load has no failed test.
        let surplus = suites.failed.saturating_sub(tests.failed);
        let unloaded_files: BTreeSet<String> = std::mem::take(&mut self.unloaded)
            .iter()
            .filter_map(|file| files.ending_with(file))
            .collect();
        let count = surplus.max(unloaded_files.len() as u64);
        if count > 0 {
            report.mark_broken(unloaded(count));
        }
        self.file.clear();
        self.blocks.clear();
        self.speaker = None;
        report
    }

    fn finish(mut self) -> Option<Found> {
        self.end_console();
        Some(Found { report: self.told.together()?, at: self.at, runs: self.runs })
    }
}

/// The titles behind the file, if that is known.
fn name_in<'a>(file: &'a str, titles: impl IntoIterator<Item = &'a str>) -> String {
    let file = Some(file).filter(|file| !file.is_empty());
    let name = file.into_iter().chain(titles).collect::<Vec<_>>().join(" > ");
    shortened(&name, MOST_NAME).into_owned()
}

/// Whether the rest of a line that began with `::` is a command for GitHub.
fn is_command(rest: &str) -> bool {
    ["group::", "endgroup::", "error ", "warning "].iter().any(|name| rest.starts_with(name))
}

fn unloaded(suites: u64) -> String {
    let word = if suites == 1 { "test suite" } else { "test suites" };
    format!("{suites} {word} failed to run")
}

/// Whether a file is one that no other runner would name behind the same word.
fn is_script(file: &str) -> bool {
    let extension = file.rsplit('.').next().unwrap_or_default();
    ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"].contains(&extension)
}

/// `1 failed, 2 skipped, 22 passed, 25 total`.
fn figures(text: &str) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    let mut has_total = false;
    for figure in text.trim().split(", ") {
        let (count, word) = leading_number(figure)?;
        match word {
            " passed" => counts.passed = count,
            " failed" => counts.failed = count,
            " skipped" | " todo" | " pending" => {
                counts.skipped = counts.skipped.saturating_add(count);
            }
            " total" => has_total = true,
            _ => has_total |= word.starts_with(" of "),
        }
    }
    has_total.then_some(counts)
}

/// `PASS src/sum.test.js (5.1 s)`.
fn file_line(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL "))?.trim();
    let (file, _) = timed(rest);
    let is_file = !file.is_empty() && file.contains('.') && !file.contains(" > ");
    is_file.then_some(file)
}

/// `log`, or as older versions have it `log src/sum.js:3`.
fn is_method(text: &str) -> bool {
    let (method, place) = text.split_once(' ').unwrap_or((text, ""));
    let is_place = place.is_empty() || place.contains(':');
    is_place && !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// What the lines of a summary begin with.
const SUMMARY: [&str; 5] =
    ["Test Suites: ", "Tests: ", "Snapshots: ", "Time: ", "Ran all test suites"];

const NO_TESTS: &str = "No tests found, exiting with code ";

const NO_TESTS_FOUND: &str = "no tests were found";

#[cfg(test)]
mod tests;
