//! What jest prints.

use std::collections::{BTreeMap, BTreeSet};

use backstop_core::event::TestCounts;

use super::recognise::Found;
use super::text::{Line, leading_number, lines};
use super::tick::{bulleted, parts, ticked, timed};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    let mut reading = Reading::default();
    for line in lines(text) {
        reading.line(line);
    }
    reading.finish()
}

#[derive(Default)]
struct Reading {
    cases: Vec<Case>,
    /// The file, and the blocks around the case with their indents.
    file: String,
    blocks: Vec<(usize, String)>,
    /// Headings of failures, with the first line below each.
    errors: BTreeMap<String, String>,
    speaker: Option<String>,
    /// Files that did not load; each is told twice.
    unloaded: BTreeSet<String>,
    suites: Option<TestCounts>,
    totals: TestCounts,
    at: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(suites) = text.strip_prefix("Test Suites: ").and_then(figures) {
            self.suites = Some(suites);
        } else if let Some(tests) = text.strip_prefix("Tests: ").and_then(figures) {
            if self.suites.is_some() {
                self.totals = tests;
                self.at = line.end;
            }
        } else if let Some(file) = file_line(text) {
            self.file = file.to_owned();
            self.blocks.clear();
            self.speaker = None;
        } else if let Some(heading) = bulleted(text.trim_start()) {
            self.heading(heading);
        } else if let Some((status, name)) = ticked(text.trim_start()) {
            self.case(indent(text), status, name);
        } else {
            self.words(text);
        }
    }

    fn heading(&mut self, heading: &str) {
        self.speaker = None;
        if heading == "Test suite failed to run" {
            self.unloaded.insert(self.file.clone());
        } else if heading != "Console" && !heading.starts_with("Cannot log after") {
            let name = self.name(parts(heading));
            self.errors.entry(name.clone()).or_default();
            self.speaker = Some(name);
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
        let name = self.name(titles.collect());
        self.cases.push(Case::new(&name, status).taking(seconds));
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
        file.into_iter().chain(titles).collect::<Vec<_>>().join(" > ")
    }

    fn finish(self) -> Option<Found> {
        let suites = self.suites.filter(|_| self.at > 0)?;
        let mut report = TestReport::new(Format::Jest);
        let mut errors = self.errors;
        for case in self.cases {
            let said = errors.remove(&case.name);
            let case =
                if case.status == Status::Failed { case.saying(said.as_deref()) } else { case };
            report.push(case);
        }
        // Without `--verbose` only those that failed have a heading, once where they ran and once in
        // the summary at the end.
        if report.cases.is_empty() {
            for (name, error) in &errors {
                report.push(Case::new(name, Status::Failed).saying(Some(error)));
            }
        }
        report.settle(self.totals);
        // A suite that does not load has no failed test.
        let surplus = suites.failed.saturating_sub(self.totals.failed);
        let unloaded = surplus.max(self.unloaded.len() as u64);
        if unloaded > 0 {
            let word = if unloaded == 1 { "test suite" } else { "test suites" };
            report.mark_broken(format!("{unloaded} {word} failed to run"));
        }
        Some(Found { report, at: self.at })
    }
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

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
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
    fn suites_that_do_not_load_break_the_report() {
        let text = "FAIL a.test.ts\n  ● Test suite failed to run\n\n    TS1192\n\n\
                    Test Suites: 1 failed, 1 total\nTests:       0 total\n";
        let report = read(text).expect("a report").report;
        assert_eq!(report.broken.as_deref(), Some("1 test suite failed to run"));
    }
}
