//! What vitest prints.

use std::collections::BTreeMap;
use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::Room;
use super::recognise::Found;
use super::runs::{Runs, Told};
use super::text::{Line, leading_number, read_lines};
use super::tick::{ending, parts, retried, ticked, timed};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

/// A run that has begun, and how many cases there were before it.
struct Open {
    place: Range<usize>,
    before: usize,
}

/// A run that has come to its figures, of which more may be told.
struct Ended {
    place: Range<usize>,
    cases: Vec<Case>,
    errors: BTreeMap<String, String>,
    files: TestCounts,
    tests: TestCounts,
    unhandled: Option<String>,
}

#[derive(Default)]
struct Reading {
    cases: Vec<Case>,
    room: Room,
    /// The file whose cases follow, indented.
    file: Option<String>,
    /// Titles of the blocks around a case, with their indents, where output is a tree.
    blocks: Vec<(usize, String)>,
    /// The latest case, with its indent and title, if its line could be that of a block.
    maybe_block: Option<(usize, String)>,
    /// Headings of failures, with the first line below each.
    errors: BTreeMap<String, String>,
    speaker: Option<String>,
    /// Where the runs began that have not ended, the outermost first.
    open: Vec<Open>,
    /// The latest run, until it is certain that nothing more is told of it.
    ended: Option<Ended>,
    told: Told,
    runs: Runs,
    at: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text.trim_start();
        if let Some(files) = text.strip_prefix("Test Files ").and_then(figures) {
            self.figures(files, &line);
        } else if let Some(tests) = text.strip_prefix("Tests ").and_then(figures) {
            if let Some(ended) = &mut self.ended {
                ended.tests = tests;
                ended.place.end = line.end;
                self.at = line.end;
            }
        } else if let Some(errors) = text.strip_prefix("Errors ").map(str::trim) {
            if let Some(ended) = &mut self.ended
                && errors.contains("error")
            {
                ended.unhandled = Some(errors.to_owned());
            }
        } else if ending(line.text).is_some_and(|format| format != Format::Vitest) {
            self.take_run(self.open.last().map_or(0, |begun| begun.before));
        } else if begins(text) {
            self.begin(&line);
        } else if let Some(status) = text.strip_prefix(NO_FILES) {
            self.nothing_to_do(status, &line);
        } else if let Some(name) = text.strip_prefix("FAIL ").map(str::trim) {
            // Several failures may share one message.
            self.errors.entry(name.to_owned()).or_default();
            self.speaker = Some(name.to_owned());
        } else if let Some(file) = file_line(text) {
            self.file = Some(file.to_owned());
            self.blocks.clear();
            self.maybe_block = None;
        } else if let Some((status, name)) = ticked(text) {
            self.case(line.text, status, name);
        } else if !text.is_empty()
            && let Some(name) = self.speaker.take()
        {
            self.errors.insert(name, text.to_owned());
        }
    }

    fn begin(&mut self, line: &Line<'_>) {
        self.end_run();
        // Marks before the first run are not its own.
        if self.open.is_empty() {
            self.take_run(0);
        }
        if self.open.len() < MOST_OPEN {
            self.open.push(Open { place: line.begin..line.end, before: self.cases.len() });
        }
    }

    fn figures(&mut self, files: TestCounts, line: &Line<'_>) {
        self.end_run();
        let begun = self.open.pop();
        let begin = begun.as_ref().map_or(line.begin, |begun| begun.place.start);
        let (cases, errors) = self.take_run(begun.map_or(0, |begun| begun.before));
        let tests = TestCounts::default();
        let place = begin..line.end;
        self.ended = Some(Ended { place, cases, errors, files, tests, unhandled: None });
        self.at = line.end;
    }

    /// Without a file there are no figures. What then counts is what it was asked to exit with.
    fn nothing_to_do(&mut self, status: &str, line: &Line<'_>) {
        self.end_run();
        let begun = self.open.pop();
        let begin = begun.as_ref().map_or(line.begin, |begun| begun.place.start);
        self.take_run(begun.map_or(0, |begun| begun.before));
        let mut report = TestReport::new(Format::Vitest);
        report.mark_broken(if status == "0" { super::NO_TEST_RAN } else { NO_FILES_FOUND });
        self.runs.push_report(begin..line.end, &report);
        self.told.push(begin, report);
        self.at = line.end;
    }

    /// What was told since there were so many cases.
    fn take_run(&mut self, before: usize) -> (Vec<Case>, BTreeMap<String, String>) {
        self.file = None;
        self.blocks.clear();
        self.maybe_block = None;
        self.speaker = None;
        (self.cases.split_off(before.min(self.cases.len())), std::mem::take(&mut self.errors))
    }

    fn case(&mut self, line: &str, status: Status, name: &str) {
        let (name, retries) = retried(name);
        let (name, seconds) = timed(name);
        let indent = line.len() - line.trim_start().len();
        // What stands deeper belongs to the block above, which is no case then.
        if let Some(block) = self.maybe_block.take_if(|(depth, _)| *depth < indent) {
            self.cases.pop();
            self.blocks.push(block);
        }
        self.blocks.retain(|(depth, _)| *depth < indent);
        let mut titles: Vec<&str> = self.blocks.iter().map(|(_, title)| title.as_str()).collect();
        titles.extend(parts(name));
        let is_full = titles.len() > 1 && titles[0].contains('.');
        if let Some(file) = self.file.as_deref().filter(|_| !is_full && line.starts_with("  ")) {
            titles.insert(0, file);
        }
        let case = Case {
            attempts: retries.saturating_add(1),
            flaky: status == Status::Passed && retries > 0,
            ..Case::new(&titles.join(" > "), status).taking(seconds)
        };
        if self.room.takes(case.size()) {
            self.cases.push(case);
            self.maybe_block = counted_title(name)
                .filter(|_| self.blocks.len() < 64)
                .map(|it| (indent, it.to_owned()));
        }
    }

    fn end_run(&mut self) {
        if let Some(ended) = self.ended.take() {
            let place = ended.place.clone();
            let report = ended.report();
            self.runs.push_report(place.clone(), &report);
            self.told.push(place.start, report);
        }
    }

    fn finish(mut self) -> Option<Found> {
        self.end_run();
        for begun in &self.open {
            self.runs.push(begun.place.clone(), 0, Some(CUT_OFF));
        }
        let mut told = self.told.together();
        if let Some(begun) = self.open.last() {
            let report = told.get_or_insert_with(|| TestReport::new(Format::Vitest));
            report.mark_broken(CUT_OFF);
            self.cases.into_iter().for_each(|case| report.push(case));
            self.at = self.at.max(begun.place.end);
        }
        Some(Found { report: told?, at: self.at, runs: self.runs })
    }
}

impl Ended {
    fn report(self) -> TestReport {
        let mut report = TestReport::new(Format::Vitest);
        // A heading for a file alone means that it did not load.
        let (tests, unloaded): (Vec<_>, Vec<_>) =
            self.errors.into_iter().partition(|(name, _)| parts(name).len() > 1);
        let mut said: BTreeMap<String, String> =
            tests.into_iter().map(|(name, error)| (parts(&name).join(" > "), error)).collect();
        let has_failed = self.cases.iter().any(|case| case.status == Status::Failed);
        for case in self.cases {
            let error = said.remove(&case.name);
            report.push(if case.status == Status::Failed {
                case.saying(error.as_deref())
            } else {
                case
            });
        }
        if !has_failed {
            for (name, error) in &said {
                report.push(Case::new(name, Status::Failed).saying(Some(error)));
            }
        }
        report.settle(self.tests);
        if let Some((name, error)) = unloaded.first() {
            let file = name.split(" [").next().unwrap_or(name);
            report.mark_broken(format!("{file} failed to run: {error}"));
        } else if self.files.failed > self.tests.failed {
            report.mark_broken(UNLOADED);
        }
        if let Some(errors) = self.unhandled {
            report.mark_broken(unhandled(&errors));
        }
        report
    }
}

/// ` RUN  v2.1.4 /app`, or ` DEV ` where it waits for changes. Prose has no folder behind the version.
fn begins(line: &str) -> bool {
    let rest = line.strip_prefix("RUN ").or_else(|| line.strip_prefix("DEV "));
    let rest = rest.and_then(|rest| rest.trim_start().strip_prefix('v'));
    let Some((version, folder)) = rest.and_then(|rest| rest.split_once(' ')) else { return false };
    let numbers = version.split('.').filter(|number| leading_number(number).is_some());
    let folder = folder.trim_start();
    numbers.count() >= 3 && (folder.starts_with('/') || folder.get(1..2) == Some(":"))
}

fn unhandled(errors: &str) -> String {
    format!("{errors} outside of any test")
}

/// `30 failed | 36 passed (66)`, or `no tests`.
fn figures(text: &str) -> Option<TestCounts> {
    let text = text.trim();
    if text == "no tests" || text == "no test files" {
        return Some(TestCounts::default());
    }
    let (figures, total) = text.rsplit_once(" (")?;
    total.strip_suffix(')')?.parse::<u64>().ok()?;
    let mut counts = TestCounts::default();
    for figure in figures.split('|') {
        let (count, word) = leading_number(figure.trim())?;
        match word {
            " passed" => counts.passed = count,
            " failed" => counts.failed = count,
            " skipped" | " todo" | " expected fail" => {
                counts.skipped = counts.skipped.saturating_add(count);
            }
            _ => return None,
        }
    }
    Some(counts)
}

/// The file in `❯ src/sum.test.ts (66 tests | 30 failed) 350ms`, whatever the mark is.
fn file_line(line: &str) -> Option<&str> {
    let (before, after) = line.split_once(" (")?;
    let (_, rest) = leading_number(after)?;
    let is_count = rest.starts_with(" test");
    let file = before.split_whitespace().last().filter(|file| file.contains('.'))?;
    is_count.then_some(file)
}

/// The title in `math (3)`, which may be a block of three cases, or a case of that name.
fn counted_title(name: &str) -> Option<&str> {
    let (title, count) = name.strip_suffix(')')?.rsplit_once(" (")?;
    count.parse::<u64>().ok().map(|_| title)
}

const NO_FILES: &str = "No test files found, exiting with code ";

const NO_FILES_FOUND: &str = "no test files were found";

const UNLOADED: &str = "a test file failed to run";

const CUT_OFF: &str = "cut off before the summary";

/// Runs within each other.
const MOST_OPEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_of_a_file_are_named_by_it() {
        let text = "\
 RUN  v3.0.0 /app

 ✓ src/sum.test.ts (2 tests) 3ms
 ❯ src/div.test.ts (2 tests | 1 failed) 5ms
   ✓ div > divides 1ms
   × div > rejects zero 2ms
     → expected 1 to be 2

 FAIL  src/div.test.ts > div > rejects zero
AssertionError: expected 1 to be 2

 Test Files  1 failed | 1 passed (2)
      Tests  1 failed | 3 passed (4)
   Start at  12:00:00
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 3, failed: 1, skipped: 0 });
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["src/div.test.ts > div > rejects zero"]
        );
        assert_eq!(report.last_error(), Some("AssertionError: expected 1 to be 2"));
        assert_eq!(report.broken, None);
    }

    #[test]
    fn blocks_of_a_tree_are_no_cases_and_attempts_no_names() {
        let text = "\
 ✓ src/sum.test.ts (4 tests) 3ms
   ✓ math (3)
     ✓ adds 1ms (retry x2)
     ✓ subtracts (2) 1ms
     ↓ waits
   ✓ other (1) 2ms (repeat x3)
 ✓ src/flat.test.ts > math > deep (3) 1ms

 Test Files  2 passed (2)
      Tests  4 passed | 1 skipped (5)
";
        let report = read(text).expect("a report").report;
        let cases: Vec<_> = report
            .cases
            .iter()
            .map(|case| (case.name.as_str(), case.attempts, case.flaky))
            .collect();
        assert_eq!(
            cases,
            [
                ("src/sum.test.ts > math > adds", 3, true),
                ("src/sum.test.ts > math > subtracts (2)", 1, false),
                ("src/sum.test.ts > math > waits", 1, false),
                ("src/sum.test.ts > other (1)", 1, false),
                ("src/flat.test.ts > math > deep (3)", 1, false),
            ]
        );
    }

    #[test]
    fn files_that_do_not_load_break_the_report() {
        let text = " FAIL  src/a.test.ts [ src/a.test.ts ]\nError: Cannot find module 'x'\n\n \
                    Test Files  1 failed (1)\n      Tests  no tests\n";
        let report = read(text).expect("a report").report;
        assert_eq!(
            report.broken.as_deref(),
            Some("src/a.test.ts failed to run: Error: Cannot find module 'x'")
        );
    }
}
