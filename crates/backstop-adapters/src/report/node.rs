//! What Node's own runner prints for people: its `spec` reporter.

use std::ops::Range;

use backstop_core::event::TestCounts;

use super::bounded::Room;
use super::recognise::Found;
use super::runs::Runs;
use super::text::{Line, read_lines, seconds};
use super::tick::ending;
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

#[derive(Default)]
struct Reading {
    cases: Vec<Told>,
    room: Room,
    blocks: Vec<Block>,
    /// Blocks that failed although nothing in them did: a test of its own, or a hook.
    failed_blocks: Vec<Told>,
    /// How many of both there were in the runs that have ended.
    in_ended: (usize, usize),
    /// The figures that are being read.
    figures: Option<Figures>,
    counts: Option<TestCounts>,
    /// Below `failing tests:`.
    is_in_details: bool,
    /// The failure whose error comes next: its title and time.
    detail: Option<(String, Option<f64>)>,
    /// The line before told where a failure is.
    is_placed: bool,
    runs: Runs,
    at: usize,
}

/// A suite, or a test with others in it, between its title and its end.
struct Block {
    indent: usize,
    title: String,
    /// How many cases there were before it.
    before: usize,
}

struct Told {
    title: String,
    case: Case,
}

/// The lines at the end, in their order.
#[derive(Clone, Copy, Default)]
struct Figures {
    begin: usize,
    counts: TestCounts,
    read: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some((key, figure)) = text.strip_prefix("ℹ ").and_then(|it| it.split_once(' ')) {
            self.figure(key, figure, line.begin..line.end);
            return;
        }
        if ending(text).is_some() {
            self.cases.truncate(self.in_ended.0);
            self.failed_blocks.truncate(self.in_ended.1);
            self.blocks.clear();
            return;
        }
        let bare = text.trim_start();
        let indent = text.len() - bare.len();
        if bare == "✖ failing tests:" {
            (self.is_in_details, self.blocks) = (true, Vec::new());
        } else if self.is_in_details && (indent > 0 || !bare.starts_with(['✔', '▶', '﹣'])) {
            self.detail(bare);
        } else if let Some(title) = bare.strip_prefix("▶ ") {
            self.is_in_details = false;
            self.block(indent, title);
        } else if let Some((mark, ending)) = marked(bare).and_then(|(mark, rest)| {
            let ending = Ending::of(rest)?;
            Some((mark, ending))
        }) {
            self.is_in_details = false;
            self.ended(indent, mark, &ending);
        } else if let Some(title) = bare.strip_prefix("✖ ") {
            self.ended(indent, Status::Failed, &Ending::untimed(title));
        }
    }

    fn block(&mut self, indent: usize, title: &str) {
        self.figures = None;
        // Older builds end a block as they begin it, with its time.
        if let Some(ending) = Ending::of(title)
            && self.ends_block(indent, ending.title)
        {
            return self.ended(indent, Status::Passed, &ending);
        }
        self.blocks.retain(|block| block.indent < indent);
        if self.blocks.len() < MOST_BLOCKS {
            let before = self.cases.len();
            self.blocks.push(Block { indent, title: title.to_owned(), before });
        }
    }

    fn ends_block(&self, indent: usize, title: &str) -> bool {
        self.blocks.iter().any(|block| block.indent == indent && block.title == title)
    }

    fn ended(&mut self, indent: usize, mark: Status, ending: &Ending<'_>) {
        self.figures = None;
        let is_block = self.ends_block(indent, ending.title);
        let inside = self.blocks.iter().find(|block| block.indent == indent);
        let begun = inside.map_or(self.cases.len(), |block| block.before);
        self.blocks.retain(|block| block.indent < indent);
        // What is to be done, and what is skipped, says so.
        let status = if ending.has_remark { Status::Skipped } else { mark };
        let titles = self.blocks.iter().map(|block| block.title.as_str());
        let name = titles.chain([ending.title]).collect::<Vec<_>>().join(" > ");
        let case = Case::new(&name, status).taking(ending.seconds);
        if !self.room.takes(case.size()) {
            return;
        }
        let told = Told { title: ending.title.to_owned(), case };
        if !is_block {
            self.cases.push(told);
        } else if status == Status::Failed
            && !self.cases[begun..].iter().any(|told| told.case.status == Status::Failed)
        {
            self.failed_blocks.push(told);
        }
    }

    /// Only all of them, in their order and without a test between, are a summary: a test may print
    /// one of these lines.
    fn figure(&mut self, key: &str, figure: &str, place: Range<usize>) {
        if key == "tests" {
            self.figures = Some(Figures { begin: place.start, ..Figures::default() });
        }
        let Some(figures) = &mut self.figures else { return };
        let rest = &SUMMARY[figures.read..];
        // Early builds count no suites.
        let Some(skipped) = rest.iter().take(2).position(|known| *known == key) else {
            self.figures = None;
            return;
        };
        figures.read += skipped + 1;
        let count = figure.parse().unwrap_or(0);
        match key {
            "pass" => figures.counts.passed = count,
            "fail" => figures.counts.failed = count,
            "cancelled" => {
                figures.counts.failed = figures.counts.failed.saturating_add(count);
            }
            "skipped" | "todo" => {
                figures.counts.skipped = figures.counts.skipped.saturating_add(count);
            }
            "duration_ms" => {
                let Figures { counts, begin, .. } = *figures;
                self.figures = None;
                self.summary(counts, begin..place.end);
            }
            _ => {}
        }
    }

    /// The end of one of several runs in a row, or of the only one.
    fn summary(&mut self, more: TestCounts, place: Range<usize>) {
        let counts = self.counts.get_or_insert_default();
        counts.passed = counts.passed.saturating_add(more.passed);
        counts.failed = counts.failed.saturating_add(more.failed);
        counts.skipped = counts.skipped.saturating_add(more.skipped);
        self.blocks.clear();
        self.in_ended = (self.cases.len(), self.failed_blocks.len());
        self.at = place.end;
        self.runs.push(place, more.failed, None);
    }

    /// Below its title stands a failure's error.
    fn detail(&mut self, text: &str) {
        let is_placed = std::mem::replace(&mut self.is_placed, text.starts_with("test at "));
        let ending = marked(text).and_then(|(_, rest)| {
            Ending::of(rest).or_else(|| is_placed.then(|| Ending::untimed(rest)))
        });
        if let Some(ending) = ending {
            self.detail = Some((ending.title.to_owned(), ending.seconds));
        } else if !text.is_empty()
            && let Some((title, seconds)) = self.detail.take()
        {
            let all = self.cases.iter_mut().chain(&mut self.failed_blocks);
            let mut failed = all.filter(|told| told.case.status == Status::Failed);
            let it = failed.find(|told| told.title == title && told.case.seconds == seconds);
            if let Some(told) = it {
                told.case = told.case.clone().saying(Some(text));
            }
        }
    }

    fn finish(self) -> Option<Found> {
        let counts = self.counts?;
        let mut report = TestReport::new(Format::Node);
        // What has no time was cancelled if it is among the failures, and else printed by a test.
        let cases = self.cases.into_iter().map(|told| told.case);
        let is_told = |case: &Case| case.seconds.is_some() || case.message.is_some();
        cases.filter(is_told).for_each(|case| report.push(case));
        for told in self.failed_blocks {
            if report.counts().failed < counts.failed {
                report.push(told.case);
            }
        }
        // Tests with others in them count, suites do not, and both look alike.
        report.settle(counts);
        Some(Found { report, at: self.at, runs: self.runs })
    }
}

/// What stands behind a mark: `adds (0.81ms) # some day`.
struct Ending<'a> {
    title: &'a str,
    seconds: Option<f64>,
    has_remark: bool,
}

impl<'a> Ending<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let last = text.strip_suffix("ms)").and_then(timed);
        let remarked = text.rsplit_once("ms) # ").and_then(|(head, _)| timed(head));
        // A title may hold what looks like a remark, and a remark what looks like a time. Node's own
        // time is hardly ever a round one.
        let is_exact = |timed: &(&str, &str)| timed.1.contains('.');
        let has_remark = match (&last, &remarked) {
            (Some(last), Some(remarked)) => is_exact(remarked) && !is_exact(last),
            (last, _) => last.is_none(),
        };
        let (title, time) = if has_remark { remarked? } else { last? };
        Some(Self { title: title.trim(), seconds: seconds(time).map(|it| it / 1e3), has_remark })
    }

    /// What was cancelled before it began.
    fn untimed(title: &'a str) -> Self {
        Self { title: title.trim(), seconds: None, has_remark: false }
    }
}

/// The title and the time of `adds (0.81`.
fn timed(head: &str) -> Option<(&str, &str)> {
    let (title, time) = head.rsplit_once(" (")?;
    let is_number = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_number && seconds(time).is_some()).then_some((title, time))
}

fn marked(text: &str) -> Option<(Status, &str)> {
    [
        ("✔ ", Status::Passed),
        ("✖ ", Status::Failed),
        ("﹣ ", Status::Skipped),
        ("⚠ ", Status::Skipped),
    ]
    .into_iter()
    .find_map(|(mark, status)| Some((status, text.strip_prefix(mark)?)))
}

const SUMMARY: [&str; 8] =
    ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"];

const MOST_BLOCKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// As Node 24 printed it, but for most lines of the traces.
    const PRINTED: &str = "\
✔ adds (0.81607ms)
✖ rejects zero (1.85484ms)
﹣ waits (0.129933ms) # no network
✔ later (0.109462ms) # some day
⚠ later fails (0.220166ms) # soon
▶ sum
  ✔ carries (1.608725ms)
  ▶ deep
    ✖ breaks (0.371791ms)
    ﹣ is skipped (0.170923ms) # SKIP
  ✖ deep (1.422779ms)
✖ sum (3.630712ms)
▶ outer
  ✔ inner (4.616954ms)
✔ outer (4.992721ms)
ℹ tests 10
ℹ suites 2
ℹ pass 4
ℹ fail 2
ℹ cancelled 0
ℹ skipped 2
ℹ todo 2
ℹ duration_ms 123.447595

✖ failing tests:

test at a.test.mjs:4:1
✖ rejects zero (1.85484ms)
  AssertionError [ERR_ASSERTION]: 1 == 2
      at TestContext.<anonymous> (file:///app/a.test.mjs:4:37)

test at a.test.mjs:7:1
⚠ later fails (0.220166ms) # soon
  Error: todo boom

test at a.test.mjs:11:5
✖ breaks (0.371791ms)
  TypeError: bad (thing)
";

    fn of(text: &str) -> TestReport {
        read(text).expect("a report").report
    }

    #[test]
    fn cases_figures_and_errors_come_together() {
        let report = of(PRINTED);
        assert_eq!(report.counts(), TestCounts { passed: 4, failed: 2, skipped: 4 });
        let failed: Vec<_> = report
            .cases
            .iter()
            .filter(|case| case.status == Status::Failed)
            .map(|case| (case.name.as_str(), case.first_line()))
            .collect();
        assert_eq!(
            failed,
            [
                ("rejects zero", Some("AssertionError [ERR_ASSERTION]: 1 == 2")),
                ("sum > deep > breaks", Some("TypeError: bad (thing)")),
            ]
        );
        assert_eq!(
            report.names(Status::Passed).collect::<Vec<_>>(),
            ["adds", "sum > carries", "outer > inner"]
        );
        assert_eq!(
            report.names(Status::Skipped).collect::<Vec<_>>(),
            ["waits", "later", "later fails", "sum > deep > is skipped"]
        );
    }

    #[test]
    fn a_block_of_an_older_build_ends_as_it_begins() {
        let text = "▶ sum\n  ✔ carries (1ms)\n▶ sum (2.5ms)\n\n✔ adds (1ms)\nℹ tests 2\nℹ pass 2\n\
                    ℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 12\n";
        assert_eq!(of(text).names(Status::Passed).collect::<Vec<_>>(), ["sum > carries", "adds"]);
    }

    #[test]
    fn a_test_that_fails_around_others_has_a_name() {
        let text = "▶ outer\n  ✔ inner (1ms)\n✖ outer (2.5ms)\nℹ tests 2\nℹ suites 0\nℹ pass 1\n\
                    ℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 12\n\n\
                    ✖ failing tests:\n\ntest at a.mjs:1:1\n✖ outer (2.5ms)\n  Error: late\n";
        let report = of(text);
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["outer"]);
        assert_eq!(report.last_error(), Some("Error: late"));
    }

    #[test]
    fn runs_in_a_row_are_one_and_what_was_cancelled_failed() {
        let one = "✔ a (1ms)\nℹ tests 99\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 0\n\
                   ℹ cancelled 1\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 12\n";
        let report = of(&format!("{PRINTED}\n> next\n{one}"));
        assert_eq!(report.counts(), TestCounts { passed: 5, failed: 3, skipped: 4 });
    }

    #[test]
    fn what_was_cancelled_has_a_name() {
        let text = "▶ suite\n  ✖ x\n    'test did not finish before its parent and was cancelled'\n\n\
                    ✖ suite (0.354345ms)\n\n  Error: hook boom\n✖ printed by a test\n\
                    ✔ ends (5ms) # note (0.138546ms)\n✔ later (0.5ms) # in (5ms)\n\
                    ℹ tests 3\nℹ suites 1\nℹ pass 1\nℹ fail 0\nℹ cancelled 1\nℹ skipped 0\nℹ todo 1\n\
                    ℹ duration_ms 12\n\n✖ failing tests:\n\ntest at a.test.mjs:6:69\n✖ x\n  \
                    'test did not finish before its parent and was cancelled'\n\n\
                    test at a.test.mjs:6:1\n✖ suite (0.354345ms)\n  Error: hook boom\n";
        let report = of(text);
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["suite > x"]);
        assert_eq!(
            report.last_error(),
            Some("'test did not finish before its parent and was cancelled'")
        );
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["ends (5ms) # note"]);
        assert_eq!(report.names(Status::Skipped).collect::<Vec<_>>(), ["later"]);
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 1 });
    }

    #[test]
    fn lines_alone_are_no_report() {
        assert!(read("✔ built (12ms)\nℹ tests 3\nℹ pass 3\n").is_none());
        assert!(read("ℹ tests 3\nℹ pass 3\nthen\nℹ fail 0\nℹ duration_ms 1\n").is_none());
    }
}
