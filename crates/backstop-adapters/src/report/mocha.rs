//! What mocha prints.

use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::Room;
use super::recognise::Found;
use super::runs::{Runs, Told};
use super::text::{Line, leading_number, read_lines};
use super::tick::{ending, ticked, timed};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

#[derive(Default)]
struct Reading {
    /// Cases of the run that goes on.
    cases: Vec<Case>,
    room: Room,
    /// Titles of the blocks around a case, with their indents.
    blocks: Vec<(usize, String)>,
    /// The run that has come to its figures, until the next one begins.
    ended: Option<Ended>,
    /// The line before was blank, or there was none.
    after_blank: bool,
    told: Told,
    runs: Runs,
    at: usize,
}

/// A run with its figures, below which stand its failures.
struct Ended {
    place: Range<usize>,
    counts: TestCounts,
    cases: Vec<Case>,
    /// The failure whose error is being read.
    detail: Option<Detail>,
    /// Failures as they are told there, for reporters that name none before.
    listed: Vec<Case>,
    /// How many failures were told.
    details: u64,
}

/// A numbered failure behind the figures.
struct Detail {
    number: usize,
    titles: Vec<String>,
    has_title: bool,
    error: String,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        let after_blank = std::mem::replace(&mut self.after_blank, text.is_empty());
        if let Some(found) = figure(text) {
            self.figure(found, line.begin..line.end);
            return;
        }
        if ending(text).is_some() {
            self.cases.clear();
            self.blocks.clear();
        }
        if let Some(ended) = &mut self.ended
            && !ended.is_followed_by(text, after_blank)
        {
            ended.line(text);
            return;
        }
        self.end_run();
        if !text.starts_with("  ") {
            // All that it tells is indented.
        } else if let Some((status, name)) = ticked(text.trim_start()) {
            self.case(text, status, name);
        } else if let Some(name) = numbered(text).map(|(_, name)| name) {
            self.case(text, Status::Failed, name);
        } else if let Some(name) = text.trim_start().strip_prefix("- ") {
            self.case(text, Status::Skipped, name);
        } else if !text.trim().is_empty() && self.blocks.len() < 64 {
            let indent = indent(text);
            self.blocks.retain(|(depth, _)| *depth < indent);
            self.blocks.push((indent, text.trim().to_owned()));
        }
    }

    fn figure(&mut self, found: (u64, &str), place: Range<usize>) {
        let (count, word) = found;
        match (&mut self.ended, word) {
            (_, "passing") => {
                self.end_run();
                self.blocks.clear();
                self.ended = Some(Ended {
                    place: place.clone(),
                    counts: TestCounts { passed: count, failed: 0, skipped: 0 },
                    cases: std::mem::take(&mut self.cases),
                    detail: None,
                    listed: Vec::new(),
                    details: 0,
                });
            }
            (Some(ended), "pending") => ended.counts.skipped = count,
            (Some(ended), "failing") => ended.counts.failed = count,
            _ => return,
        }
        if let Some(ended) = &mut self.ended {
            ended.place.end = place.end;
        }
        self.at = place.end;
    }

    fn case(&mut self, line: &str, status: Status, name: &str) {
        let indent = indent(line);
        self.blocks.retain(|(depth, _)| *depth < indent);
        let (name, seconds) = timed_or_listed(name);
        let titles = self.blocks.iter().map(|(_, title)| title.as_str()).chain([name]);
        let name = titles.collect::<Vec<_>>().join(" > ");
        let case = Case::new(&name, status).taking(seconds);
        if self.room.takes(case.size()) {
            self.cases.push(case);
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
        Some(Found { report: self.told.together()?, at: self.at, runs: self.runs })
    }
}

impl Ended {
    /// Whether a line is the first one of another run: a case, or the title of a block. An error may
    /// have any lines, but stands deeper than a title.
    fn is_followed_by(&self, text: &str, after_blank: bool) -> bool {
        if ticked(text.trim_start()).is_some() && text.starts_with("  ") {
            return true;
        }
        let is_told = self.detail.as_ref().is_none_or(|detail| !detail.error.is_empty());
        let is_outermost = indent(text) == 2 && !text.trim().is_empty();
        let is_next = numbered(text).is_none_or(|(number, _)| number == 1);
        after_blank && is_outermost && is_next && is_told && self.details >= self.counts.failed
    }

    /// Below its titles, of which the last ends with a colon, stands a failure's error.
    fn line(&mut self, text: &str) {
        if let Some((number, title)) = numbered(text) {
            self.note_error();
            self.details += 1;
            self.detail = Some(Detail {
                number,
                titles: vec![title.to_owned()],
                has_title: text.ends_with(':'),
                error: String::new(),
            });
        } else if let Some(detail) = &mut self.detail
            && !text.trim().is_empty()
        {
            if !detail.has_title && detail.titles.len() < 64 {
                detail.titles.push(text.trim().to_owned());
                detail.has_title = text.ends_with(':');
            } else if detail.error.is_empty() {
                text.trim().clone_into(&mut detail.error);
            }
        }
    }

    fn note_error(&mut self) {
        let Some(detail) = self.detail.take() else { return };
        if detail.has_title {
            let name = detail.titles.join(" > ");
            let name = name.strip_suffix(':').unwrap_or(&name);
            self.listed.push(Case::new(name, Status::Failed).saying(Some(&detail.error)));
        }
        let mut failed = self.cases.iter_mut().filter(|case| case.status == Status::Failed);
        // Failures are numbered in the order in which they came.
        if let Some(case) = failed.nth(detail.number.saturating_sub(1))
            && !detail.error.is_empty()
        {
            case.message = Some(detail.error);
        }
    }

    fn report(mut self) -> TestReport {
        self.note_error();
        let counts = self.counts;
        let mut report = TestReport::new(Format::Mocha);
        let names_all = self.cases.len() as u64
            == counts.passed.saturating_add(counts.failed).saturating_add(counts.skipped);
        for case in self.cases {
            // A dash may begin any line; if they are not all cases, only ticks are believed.
            if names_all || case.status != Status::Skipped {
                report.push(case);
            }
        }
        if report.counts().failed == 0 && self.listed.len() as u64 == counts.failed {
            self.listed.into_iter().for_each(|case| report.push(case));
        }
        report.settle(counts);
        report
    }
}

/// `12 passing (34ms)`, `1 pending`, `2 failing`.
fn figure(line: &str) -> Option<(u64, &str)> {
    let (count, rest) = leading_number(line.trim_start())?;
    if !line.starts_with("  ") {
        return None;
    }
    let rest = rest.strip_prefix(' ')?;
    let (word, time) = timed(rest);
    match word {
        "passing" if time.is_some() => Some((count, word)),
        "pending" | "failing" if time.is_none() => Some((count, word)),
        _ => None,
    }
}

/// The name and the time of a case: `adds (5ms)`, or in the plain list `sum adds: 5ms`.
fn timed_or_listed(text: &str) -> (&str, Option<f64>) {
    let (name, seconds) = timed(text);
    match name.strip_suffix(':') {
        Some(listed) if seconds.is_some() && !text.ends_with(')') => (listed, seconds),
        _ => (name, seconds),
    }
}

/// The number and the name of `1) rejects zero`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = leading_number(line.trim_start())?;
    let name = rest.strip_prefix(") ")?.trim();
    let number = usize::try_from(number).ok()?;
    (line.starts_with("  ") && !name.is_empty()).then_some((number, name))
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn cases_figures_and_errors_come_together() {
        let text = "

  sum
    ✔ adds
    with carry
      ✔ carries (12ms)
      - carries far
  div
    1) rejects zero


  2 passing (34ms)
  1 pending
  1 failing

  1) div
       rejects zero:
     AssertionError: expected 1 to equal 2
      at Context.<anonymous> (test.js:4:10)
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 1 });
        assert_eq!(
            report.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(),
            [
                "sum > adds",
                "sum > with carry > carries",
                "sum > with carry > carries far",
                "div > rejects zero"
            ]
        );
        assert_eq!(report.last_error(), Some("AssertionError: expected 1 to equal 2"));
    }

    #[rstest]
    #[case::dots("\n  .!,.!\n")]
    #[case::nothing("\n")]
    fn failures_are_named_behind_the_figures_if_not_before(#[case] before: &str) {
        let text = format!(
            "{before}
  2 passing (92ms)
  1 pending
  2 failing

  1) sum
       rejects: zero:

      AssertionError: 1 == 2
      at Context.<anonymous> (a.js:2:58)

  2) sum
       with carry
         \"before all\" hook for \"carries\":
     Error: z
"
        );
        let report = read(&text).expect("a report").report;
        let failed: Vec<_> =
            report.cases.iter().map(|case| (case.name.as_str(), case.first_line())).collect();
        assert_eq!(
            failed,
            [
                ("sum > rejects: zero", Some("AssertionError: 1 == 2")),
                ("sum > with carry > \"before all\" hook for \"carries\"", Some("Error: z")),
            ]
        );
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 2, skipped: 1 });
    }

    #[test]
    fn the_plain_list_has_a_colon_before_the_time() {
        let text = "    sum adds: \r  ✔ sum adds: 0ms\n    sum says: \r  ✔ sum says: (3ms)\n\n  2 passing (9ms)\n";
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["sum adds", "sum says:"]);
    }

    #[test]
    fn prose_is_no_report() {
        assert!(read("  12 passing cars\n").is_none());
        assert!(read("12 passing (34ms) is what it should print\n").is_none());
    }
}
