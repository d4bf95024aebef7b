//! What vitest prints.

use std::collections::BTreeMap;
use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::Room;
use super::recognise::Found;
use super::runs::{Runs, Told};
use super::text::{Line, leading_number, read_lines};
use super::tick::{ending, parts, pointed, retried, ticked, timed};
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
    /// The line in which it began, if it told so and was within no other one.
    begun: Option<Range<usize>>,
    cases: Vec<Case>,
    errors: BTreeMap<String, Failure>,
    files: TestCounts,
    tests: TestCounts,
    unhandled: Option<String>,
}

/// What is told below a heading.
#[derive(Default)]
struct Failure {
    /// The first line.
    said: String,
    /// It is that of a file or a block, of which no case may have failed.
    is_of_suite: bool,
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
    errors: BTreeMap<String, Failure>,
    speaker: Option<String>,
    /// The headings are those of files and blocks.
    is_about_suites: bool,
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
        if goes_on(line.text) {
            self.reopen();
        }
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
        } else if begins(text) || (self.ended.is_some() && text.starts_with("RERUN ")) {
            self.begin(&line);
        } else if let Some(status) = text.strip_prefix(NO_FILES) {
            self.nothing_to_do(status, &line);
        } else if let Some(is_about_suites) = failed_section(text) {
            self.is_about_suites = is_about_suites;
        } else if let Some(name) = text.strip_prefix("FAIL ").map(str::trim) {
            // Several failures may share one message.
            let failure = self.errors.entry(name.to_owned()).or_default();
            failure.is_of_suite = self.is_about_suites;
            self.speaker = Some(name.to_owned());
        } else if let Some(file) = file_line(text) {
            self.file = Some(file.to_owned());
            self.blocks.clear();
            self.maybe_block = None;
        } else if let Some((status, name)) = ticked(text) {
            self.case(line.text, status, name);
        } else if let Some(title) = self.file.as_ref().and(pointed(text)).and_then(block_title) {
            self.block(indent(line.text), title);
        } else if !text.is_empty()
            && let Some(failure) = self.speaker.take().and_then(|name| self.errors.get_mut(&name))
        {
            text.clone_into(&mut failure.said);
        }
    }

    /// The figures before were printed by a test, if the run that they seemed to end goes on.
    fn reopen(&mut self) {
        if let Some(ended) = self.ended.take_if(|ended| ended.begun.is_some()) {
            // Nothing is copied: a test may print figures as often as it likes. Marks since then
            // are those of other runners.
            self.open.push(Open { place: ended.begun.unwrap_or_default(), before: 0 });
            self.cases = ended.cases;
            let since = std::mem::replace(&mut self.errors, ended.errors);
            for (name, failure) in since {
                self.errors.entry(name).or_insert(failure);
            }
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
        let before = begun.as_ref().map_or(0, |begun| begun.before);
        let (cases, errors) = self.take_run(before);
        let tests = TestCounts::default();
        let place = begin..line.end;
        let begun = begun.map(|begun| begun.place).filter(|_| self.open.is_empty());
        self.ended = Some(Ended { place, begun, cases, errors, files, tests, unhandled: None });
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
    fn take_run(&mut self, before: usize) -> (Vec<Case>, BTreeMap<String, Failure>) {
        self.file = None;
        self.blocks.clear();
        self.maybe_block = None;
        self.speaker = None;
        self.is_about_suites = false;
        let cases = match before {
            0 => std::mem::take(&mut self.cases),
            before => self.cases.split_off(before.min(self.cases.len())),
        };
        (cases, std::mem::take(&mut self.errors))
    }

    fn case(&mut self, line: &str, status: Status, name: &str) {
        let (name, retries) = retried(name);
        let (name, seconds) = timed(name);
        let indent = indent(line);
        self.leave_blocks(indent);
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
                .filter(|_| self.blocks.len() < MOST_BLOCKS)
                .map(|it| (indent, it.to_owned()));
        }
    }

    /// The title of a block that is certainly no case.
    fn block(&mut self, indent: usize, title: &str) {
        self.leave_blocks(indent);
        self.maybe_block = None;
        if self.blocks.len() < MOST_BLOCKS {
            self.blocks.push((indent, title.to_owned()));
        }
    }

    /// Keeps the blocks around what is indented so.
    fn leave_blocks(&mut self, indent: usize) {
        // What stands deeper belongs to the block above, which is no case then.
        if let Some(block) = self.maybe_block.take_if(|(depth, _)| *depth < indent) {
            self.cases.pop();
            self.blocks.push(block);
        }
        self.blocks.retain(|(depth, _)| *depth < indent);
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
        let (tests, unloaded): (Vec<_>, Vec<_>) = self
            .errors
            .into_iter()
            .partition(|(name, failure)| !failure.is_of_suite && parts(name).len() > 1);
        let mut said: BTreeMap<String, String> = tests
            .into_iter()
            .map(|(name, failure)| (parts(&name).join(" > "), failure.said))
            .collect();
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
        if let Some((name, failure)) = unloaded.first() {
            let file = name.split(" [").next().unwrap_or(name);
            report.mark_broken(format!("{file} failed to run: {}", failure.said));
        } else if self.files.failed > self.tests.failed {
            report.mark_broken(UNLOADED);
        }
        if let Some(errors) = self.unhandled {
            report.mark_broken(unhandled(&errors));
        }
        report
    }
}

/// ` RUN  v2.1.4 /app`, or ` DEV ` where it waits for changes. Prose has no folder behind the
/// version.
fn begins(line: &str) -> bool {
    let rest = line.strip_prefix("RUN ").or_else(|| line.strip_prefix("DEV "));
    let rest = rest.and_then(|rest| rest.trim_start().strip_prefix('v'));
    let Some((version, folder)) = rest.and_then(|rest| rest.split_once(' ')) else { return false };
    let numbers = version.split('.').filter(|number| leading_number(number).is_some());
    let folder = folder.trim_start();
    numbers.count() >= 3 && (folder.starts_with('/') || folder.get(1..2) == Some(":"))
}

/// Whether `⎯⎯ Failed Suites 2 ⎯⎯` is about suites, or about tests.
fn failed_section(line: &str) -> Option<bool> {
    let words = line.trim_matches(|sign: char| !sign.is_ascii_alphanumeric());
    let (what, count) = words.strip_prefix("Failed ")?.split_once(' ')?;
    count.parse::<u64>().ok()?;
    match what {
        "Suites" => Some(true),
        "Tests" => Some(false),
        _ => None,
    }
}

/// Whether only a run that goes on tells this: what a test printed, a file and its cases, a case
/// with its file. Marks alone are those of other runners, too.
fn goes_on(line: &str) -> bool {
    let text = line.trim_start();
    let is_printed = ["stdout | ", "stderr | "].iter().any(|stream| line.starts_with(stream));
    let is_file = indent(line) == 1 && file_line(text).is_some();
    let is_case = indent(line) == 1
        && ticked(text).is_some_and(|(_, name)| {
            let titles = parts(name);
            titles.len() > 1 && titles[0].contains('.')
        });
    let is_figures = text.strip_prefix("Test Files ").and_then(figures).is_some();
    is_printed || is_file || is_case || is_figures
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
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
            // Those that fail as they should have the mark of those that passed.
            " passed" | " expected fail" => counts.passed = counts.passed.saturating_add(count),
            " failed" => counts.failed = count,
            " skipped" | " todo" => {
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

/// The title in `math (3) 5ms`.
fn block_title(text: &str) -> Option<&str> {
    counted_title(timed(text).0)
}

const NO_FILES: &str = "No test files found, exiting with code ";

const NO_FILES_FOUND: &str = "no test files were found";

const UNLOADED: &str = "a test file failed to run";

const CUT_OFF: &str = "cut off before the summary";

/// Blocks within each other.
const MOST_BLOCKS: usize = 64;

/// Runs within each other.
const MOST_OPEN: usize = 64;

#[cfg(test)]
mod tests {
    use rstest::rstest;

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

    #[test]
    fn blocks_in_which_a_case_failed_are_part_of_its_name() {
        let text = "\
 RUN  v5.1.0 /app

 ❯ a.test.ts (5 tests | 1 failed | 1 todo) 6ms
   ✓ top 1ms
   ❯ x (3) 5ms
     ✓ deep (1)
       ✓ works 0ms
     ❯ inner > odd (1)
       × works 5ms
     □ later
   ✓ y (1)
     ✓ works 0ms

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  a.test.ts > x > inner > odd > works
AssertionError: expected 1 to be 2
 ❯ a.test.ts:2:55

 Test Files  1 failed (1)
      Tests  1 failed | 2 passed | 1 expected fail | 1 todo (5)
";
        let report = read(text).expect("a report").report;
        let names = |status| report.names(status).collect::<Vec<_>>();
        assert_eq!(
            names(Status::Passed),
            ["a.test.ts > top", "a.test.ts > x > deep > works", "a.test.ts > y > works"]
        );
        assert_eq!(names(Status::Failed), ["a.test.ts > x > inner > odd > works"]);
        assert_eq!(names(Status::Skipped), ["a.test.ts > x > later"]);
        assert_eq!(report.last_error(), Some("AssertionError: expected 1 to be 2"));
        assert_eq!(report.counts(), TestCounts { passed: 3, failed: 1, skipped: 1 });
        assert_eq!(report.broken, None);
    }

    const PRINTED: &str =
        "stdout | a.test.ts > one\n Test Files  9 failed (9)\n      Tests  9 failed (9)\n\n";

    #[rstest]
    #[case::file(" ✓ a.test.ts (1 test) 2ms\n")]
    #[case::case(" ✓ a.test.ts > one 2ms\n")]
    #[case::printed("stderr | a.test.ts > one\nhello\n\n")]
    fn figures_that_a_test_printed_do_not_end_its_run(#[case] next: &str) {
        let begun = format!(" RUN  v3.2.7 /app\n\n{PRINTED}{next}");
        let cut = read(&begun).expect("a report");
        assert_eq!(cut.report.broken.as_deref(), Some(CUT_OFF));
        assert_eq!(cut.report.counts().failed, 0);
        let whole = format!("{begun}\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n");
        for (text, passed) in [(whole.clone(), 1), (whole.repeat(2), 2)] {
            let report = crate::report::recognise(text.as_bytes(), None).expect("a report");
            assert_eq!(report.counts(), TestCounts { passed, failed: 0, skipped: 0 });
            assert_eq!(report.broken, None);
        }
    }

    #[test]
    fn a_run_that_is_repeated_when_a_file_changes_is_another_one() {
        let run = " ✓ a.test.ts (1 test) 2ms\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n\n \
                   PASS  Waiting for file changes...\n";
        let text = format!(" DEV  v3.2.7 /app\n\n{run} RERUN  a.test.ts x1\n\n{run}");
        let report = read(&text).expect("a report").report;
        assert_eq!((report.counts().passed, report.broken), (2, None));
    }

    #[rstest]
    #[case::empty("a.test.ts > none", "Error: No test found in suite none")]
    #[case::hook("a.test.ts > sum", "Failed to connect")]
    fn what_fails_of_a_block_alone_is_no_case(#[case] block: &str, #[case] said: &str) {
        let text = format!(
            "·\n\n⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯\n\n FAIL  {block}\n{said}\n⎯⎯⎯⎯⎯⎯⎯[1/1]⎯\n\n \
             Test Files  1 failed | 1 passed (2)\n      Tests  1 passed (1)\n"
        );
        let report = crate::report::recognise(text.as_bytes(), None).expect("a report");
        assert_eq!(report.cases, []);
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 0, skipped: 0 });
        assert_eq!(report.broken, Some(format!("{block} failed to run: {said}")));
    }
}
