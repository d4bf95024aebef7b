//! What jest prints.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::{MOST_NAME, Room, shortened};
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

#[derive(Default)]
struct Reading {
    /// What is told of the run that goes on.
    cases: Vec<Case>,
    room: Room,
    /// The file, and the blocks around the case with their indents.
    file: String,
    blocks: Vec<(usize, String)>,
    /// Headings of failures, with the first line below each.
    errors: BTreeMap<String, String>,
    speaker: Option<String>,
    /// How far the call of the console is indented whose words are being read.
    console: Option<Console>,
    /// Below the heading for all that a file wrote to the console.
    in_console: bool,
    /// The line before was blank, or there was none.
    after_blank: bool,
    /// Files that did not load; each is told twice.
    unloaded: BTreeSet<String>,
    suites: Option<TestCounts>,
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
        if let Some(suites) = text.strip_prefix("Test Suites: ").and_then(figures) {
            self.suites = Some(suites);
        } else if let Some(tests) = text.strip_prefix("Tests: ").and_then(figures) {
            if let Some(suites) = self.suites.take() {
                self.at = line.end;
                let begun = self.begun.take().unwrap_or(line.begin);
                let report = self.end_run(suites, tests);
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
        } else if let Some(file) = file_line(text) {
            if is_script(file) {
                self.begun.get_or_insert(line.begin);
            }
            // Others go on behind their figures.
            if std::mem::take(&mut self.is_behind_other) {
                self.cases.clear();
            }
            self.file = file.to_owned();
            self.blocks.clear();
            self.speaker = None;
            self.in_console = false;
        } else if let Some(heading) = bulleted(text.trim_start()) {
            self.heading(heading);
        } else if let Some((status, name)) = ticked(text.trim_start()) {
            self.case(indent(text), status, name);
        } else {
            self.words(text);
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
            let name = self.name(parts(heading));
            if self.errors.contains_key(&name) || self.room.takes(name.len()) {
                self.errors.entry(name.clone()).or_default();
                self.speaker = Some(name);
            }
        }
    }

    fn case(&mut self, indent: usize, status: Status, name: &str) {
        let (name, seconds) = timed(name);
        let name = match status {
            Status::Skipped => {
                name.strip_prefix("skipped ").or_else(|| name.strip_prefix("todo ")).unwrap_or(name)
            }
            _ => name,
        };
        self.blocks.retain(|(depth, _)| *depth < indent);
        let titles = self.blocks.iter().map(|(_, title)| title.as_str()).chain([name]);
        let case = Case::new(&self.name(titles.collect()), status).taking(seconds);
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

    fn name(&self, titles: Vec<&str>) -> String {
        let file = Some(self.file.as_str()).filter(|file| !file.is_empty());
        let name = file.into_iter().chain(titles).collect::<Vec<_>>().join(" > ");
        shortened(&name, MOST_NAME).into_owned()
    }

    /// What was told since the run before.
    fn end_run(&mut self, suites: TestCounts, tests: TestCounts) -> TestReport {
        let mut report = TestReport::new(Format::Jest);
        let mut errors = std::mem::take(&mut self.errors);
        for case in std::mem::take(&mut self.cases) {
            // A title may hold a pointer, which a heading does not tell from those between titles.
            let said = errors.remove(&parts(&case.name).join(" > "));
            let case =
                if case.status == Status::Failed { case.saying(said.as_deref()) } else { case };
            report.push(case);
        }
        // Without `--verbose` only those that failed have a heading, once where they ran and once in
        // the summary at the end.
        for (name, error) in &errors {
            if report.counts().failed < tests.failed {
                report.push(Case::new(name, Status::Failed).saying(Some(error)));
            }
        }
        report.settle(tests);
        // A suite that does not load has no failed test.
        let surplus = suites.failed.saturating_sub(tests.failed);
        let count = surplus.max(std::mem::take(&mut self.unloaded).len() as u64);
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

const NO_TESTS: &str = "No tests found, exiting with code ";

const NO_TESTS_FOUND: &str = "no tests were found";

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn blocks_are_part_of_a_name() {
        let text = "\
PASS src/sum.test.js
  sum
    ✓ adds (2 ms)
    with carry
      ✓ carries
  ○ skipped later
FAIL src/div.test.js
  div
    ✕ rejects zero (3 ms)

  ● div › rejects zero

    expect(received).toBe(expected)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 1 skipped, 2 passed, 4 total
Snapshots:   0 total
";
        let report = read(text).expect("a report").report;
        assert_eq!(
            report.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(),
            [
                "src/sum.test.js > sum > adds",
                "src/sum.test.js > sum > with carry > carries",
                "src/sum.test.js > later",
                "src/div.test.js > div > rejects zero",
            ]
        );
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 1 });
        assert_eq!(report.last_error(), Some("expect(received).toBe(expected)"));
        assert_eq!(report.broken, None);
    }

    #[test]
    fn what_tests_print_is_no_case() {
        let quiet = "\
FAIL src/a.test.js
  ● Console

    console.log
      ✓ no test

      at Object.log (a.test.js:1:93)

  ● math › fails › x

    expect(received).toBe(expected)

  ● math › fails too

    boom

Test Suites: 1 failed, 1 total
Tests:       2 failed, 1 passed, 3 total
";
        let verbose = "
  console.log
    ✓ no test

      at Object.log (a.test.js:1:93)

FAIL src/a.test.js
  console.log
    ✓ is a block here
  math
    ✕ fails › x (28 ms)
    ✕ fails too

  console.warn src/a.js:3
    ✕ no test

  ● math › fails › x

    expect(received).toBe(expected)

Test Suites: 1 failed, 1 total
Tests:       2 failed, 1 passed, 3 total
";
        let report = |text| read(text).expect("a report").report;
        let failed = |report: &TestReport| -> Vec<(String, Option<String>)> {
            let failed = report.cases.iter().filter(|case| case.status == Status::Failed);
            failed.map(|case| (case.name.clone(), case.message.clone())).collect()
        };
        let case = |name: &str, said: Option<&str>| (name.to_owned(), said.map(str::to_owned));
        let expected = "expect(received).toBe(expected)";
        assert_eq!(
            failed(&report(quiet)),
            [
                case("src/a.test.js > math > fails > x", Some(expected)),
                case("src/a.test.js > math > fails too", Some("boom")),
            ]
        );
        assert_eq!(report(quiet).cases.len(), 2);
        assert_eq!(
            failed(&report(verbose)),
            [
                case("src/a.test.js > math > fails › x", Some(expected)),
                case("src/a.test.js > math > fails too", None),
            ]
        );
        assert_eq!(
            report(verbose).names(Status::Passed).collect::<Vec<_>>(),
            ["src/a.test.js > console.log > is a block here"]
        );
    }

    #[test]
    fn suites_that_do_not_load_break_the_report() {
        let text = "FAIL a.test.ts\n  ● Test suite failed to run\n\n    TS1192\n\n\
                    Test Suites: 1 failed, 1 total\nTests:       0 total\n";
        let report = read(text).expect("a report").report;
        assert_eq!(report.broken.as_deref(), Some("1 test suite failed to run"));
    }

    #[rstest]
    #[case("1", "no tests were found")]
    #[case("0", "no test ran")]
    fn a_run_without_tests_is_no_proof(#[case] code: &str, #[case] why: &str) {
        let text = format!("No tests found, exiting with code {code}\nIn /app\n");
        let report = read(&text).expect("a report").report;
        assert_eq!((report.broken.as_deref(), report.cases.len()), (Some(why), 0));
    }
}
