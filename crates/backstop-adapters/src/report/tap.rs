//! TAP 13 and 14: the Test Anything Protocol.
//!
//! The points at the outermost level are the cases: a subtest is told by the point that follows it.
//! Output may hold several documents, as that of `prove` does; they add up.

mod documents;
mod subtests;

use documents::Documents;
use subtests::Subtests;

use super::bounded::{MOST_TEXT, append};
use super::recognise::Found;
use super::text::{leading_number, lines, seconds};
use super::{Case, Format, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    let mut documents = Documents::new();
    for line in lines(text) {
        documents.line(line);
    }
    documents.finish()
}

/// One document.
struct Reading {
    report: TestReport,
    plan: Option<Plan>,
    has_version: bool,
    /// Points so far, and how many of them came when the plan was told.
    points: u64,
    points_before_plan: Option<u64>,
    /// Points that were numbered from 1 on without a gap.
    in_sequence: u64,
    lowest: Option<u64>,
    highest: Option<u64>,
    is_strict: bool,
    subtests: Subtests,
    /// Whether the latest point may be followed by a subtest in braces that must not have failed.
    is_plainly_ok: bool,
    /// Inside of a block that explains the last point.
    explaining: Explaining,
}

#[derive(Clone, Copy)]
struct Plan {
    first: u64,
    last: u64,
    is_skipped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Explaining {
    No,
    /// Comments behind a point that failed belong to it.
    Comments,
    Yaml,
}

impl Reading {
    fn new() -> Self {
        Self {
            report: TestReport::new(Format::Tap),
            plan: None,
            has_version: false,
            points: 0,
            points_before_plan: None,
            in_sequence: 0,
            lowest: None,
            highest: None,
            is_strict: false,
            subtests: Subtests::default(),
            is_plainly_ok: false,
            explaining: Explaining::No,
        }
    }

    /// Takes in a line; says whether it is one that only TAP has.
    fn line(&mut self, text: &str) -> bool {
        if self.explaining == Explaining::Yaml {
            self.yaml(text);
            if self.explaining == Explaining::Yaml {
                return false;
            }
        }
        if text.starts_with([' ', '\t']) {
            self.indented(text);
            return false;
        }
        if let Some(point) = Point::read(text) {
            self.point(&point);
            return true;
        }
        if let Some(plan) = Plan::read(text) {
            self.planned(plan);
            return true;
        }
        if let Some(reason) = bail_out(text) {
            self.report.mark_broken(reason);
            return true;
        }
        if is_version(text) {
            self.has_version = true;
            return true;
        }
        if let Some(pragma) = text.strip_prefix("pragma ") {
            self.is_strict = match pragma.trim() {
                "+strict" => true,
                "-strict" => false,
                _ => self.is_strict,
            };
        } else if let Some(comment) = text.strip_prefix('#') {
            if self.explaining == Explaining::Comments {
                self.explain(comment);
            }
        } else if text == "}" {
            self.end_subtest();
        } else if !matches!(text, "" | "{") && self.is_strict {
            self.report.mark_broken(format!("a line that is no TAP, in strict mode: {text}"));
        }
        false
    }

    fn point(&mut self, point: &Point<'_>) {
        self.points += 1;
        let number = point.number.unwrap_or(self.points);
        if point.number == Some(self.in_sequence + 1) {
            self.in_sequence += 1;
        }
        self.lowest = Some(self.lowest.map_or(number, |lowest| lowest.min(number)));
        self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
        let numbered = format!("test {number}");
        let name = if point.name.is_empty() { &numbered } else { point.name };
        let case = Case::new(name, point.status()).saying(point.reason).taking(point.seconds);
        self.explaining = Explaining::Comments;
        self.report.push(case);
        self.is_plainly_ok = point.is_plainly_ok();
        self.end_subtest();
    }

    /// What went wrong in a subtest is not mended by a point that says `ok`.
    fn end_subtest(&mut self) {
        let problem = self.subtests.close().filter(|_| self.is_plainly_ok);
        if let (Some(problem), Some(case)) = (problem, self.report.cases.last()) {
            let name = case.name.clone();
            self.report.mark_broken(format!("`{name}` says ok, but {problem}"));
        }
    }

    fn planned(&mut self, plan: Plan) {
        if self.plan.is_some() {
            self.report.mark_broken("there are two plans");
        }
        self.plan = Some(plan);
        self.points_before_plan = Some(self.points);
    }

    fn indented(&mut self, text: &str) {
        let inner = text.trim_start();
        if self.explaining == Explaining::Comments && inner == "---" && text.starts_with("  ---") {
            self.explaining = Explaining::Yaml;
        } else if let Some(reason) = bail_out(inner) {
            // Who bails out in a subtest bails out of everything.
            self.report.mark_broken(reason);
        } else if self.explaining == Explaining::Comments && inner.starts_with('#') {
            self.explain(inner.trim_start_matches('#'));
        } else {
            self.subtests.line(text);
        }
    }

    fn yaml(&mut self, text: &str) {
        if !text.starts_with("  ") && !text.is_empty() {
            // It was never closed.
            self.explaining = Explaining::No;
        } else if text.trim() == "..." && text.starts_with("  ...") {
            self.explaining = Explaining::No;
        } else if let Some((key, value)) = text.trim().split_once(": ") {
            match key {
                "message" | "error" => self.explain(value.trim_matches(['"', '\''])),
                "duration_ms" => {
                    let milliseconds = value.parse::<f64>().ok();
                    if let Some(case) = self.report.cases.last_mut() {
                        let seconds = milliseconds.map(|count| count / 1000.0);
                        case.seconds =
                            seconds.filter(|seconds| seconds.is_finite()).or(case.seconds);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds to what is known of the last point, if it failed.
    fn explain(&mut self, words: &str) {
        let last = self.report.cases.last_mut();
        let Some(case) = last.filter(|case| case.status == Status::Failed) else { return };
        let words = words.trim();
        if words.is_empty() || matches!(words, "|" | "|-" | ">" | ">-") {
            return;
        }
        let message = case.message.get_or_insert_default();
        if !message.is_empty() {
            append(message, "\n", MOST_TEXT);
        }
        append(message, words, MOST_TEXT);
    }

    /// Whether it is TAP at all: a bare `ok` or `1..3` may stand in any output.
    fn is_tap(&self) -> bool {
        match self.plan {
            Some(plan) => self.has_version || self.points > 0 || plan.is_skipped,
            None => self.has_version || self.in_sequence >= 2,
        }
    }

    /// Whether there is anything of a document.
    fn has_begun(&self) -> bool {
        self.has_version || self.plan.is_some() || self.points > 0
    }

    /// Whether all that was planned has come.
    fn is_complete(&self) -> bool {
        self.plan.is_some_and(|plan| self.points >= plan.count())
    }

    fn finish(mut self) -> TestReport {
        match (self.plan, self.points_before_plan) {
            (None, _) => self.report.mark_broken("there is no plan"),
            (Some(plan), _) if plan.is_skipped => {
                if self.points > 0 {
                    self.report.mark_broken("the plan skips all tests, but there are some");
                }
            }
            (Some(plan), Some(before)) => {
                let numbers = [self.lowest, self.highest].into_iter().flatten();
                let outside = numbers.into_iter().find(|it| !(plan.first..=plan.last).contains(it));
                if let Some(number) = outside {
                    let Plan { first, last, .. } = plan;
                    self.report.mark_broken(format!(
                        "test {number} is outside of the plan {first}..{last}"
                    ));
                }
                if before > 0 && before < self.points {
                    self.report.mark_broken("the plan stands between the tests");
                }
                let planned = plan.count();
                if planned != self.points {
                    let points = self.points;
                    self.report.mark_broken(format!("{planned} tests were planned, {points} ran"));
                }
            }
            (Some(_), None) => {}
        }
        self.report
    }
}

impl Plan {
    /// How many points it announces.
    fn count(self) -> u64 {
        if self.is_skipped { 0 } else { self.last.saturating_add(1).saturating_sub(self.first) }
    }

    /// `1..5`, `1..0 # SKIP reason`.
    fn read(line: &str) -> Option<Self> {
        let (first, rest) = leading_number(line)?;
        let (last, rest) = leading_number(rest.strip_prefix("..")?)?;
        let rest = rest.trim();
        (rest.is_empty() || rest.starts_with('#')).then_some(Self {
            first,
            last,
            is_skipped: last == 0,
        })
    }
}

/// One test point.
struct Point<'a> {
    is_ok: bool,
    number: Option<u64>,
    name: &'a str,
    directive: Option<Directive>,
    reason: Option<&'a str>,
    seconds: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Skip,
    Todo,
}

impl<'a> Point<'a> {
    /// `ok 1 - it adds # SKIP not here`, with nearly everything optional.
    fn read(line: &'a str) -> Option<Self> {
        let (is_ok, rest) = match line.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("ok")?),
        };
        // `ok  \tpackage\t0.1s` is a line of `go test`.
        if (!rest.is_empty() && !rest.starts_with([' ', '\t'])) || rest.starts_with("  \t") {
            return None;
        }
        let rest = rest.trim_start();
        let (number, rest) = match leading_number(rest) {
            Some((number, rest)) if rest.is_empty() || rest.starts_with([' ', '\t']) => {
                (Some(number), rest.trim_start())
            }
            _ => (None, rest),
        };
        let mut point =
            Self { is_ok, number, name: "", directive: None, reason: None, seconds: None };
        let rest = rest.strip_suffix('{').unwrap_or(rest);
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        point.describe(rest);
        Some(point)
    }

    /// Parts the description from its directives. A `#` behind a backslash is none.
    fn describe(&mut self, text: &'a str) {
        let mut name = text;
        let mut searched = text.len();
        while let Some(at) = text[..searched].rfind('#') {
            searched = at;
            let before = &text[..at];
            let is_escaped = before.ends_with('\\') && !before.ends_with("\\\\");
            let stands_apart = before.is_empty() || before.ends_with([' ', '\t']);
            if is_escaped || !stands_apart || !self.direct(text[at + 1..].trim()) {
                continue;
            }
            name = before;
        }
        self.name = name.trim();
    }

    /// Takes in what stands behind a `#`, if it is a directive.
    fn direct(&mut self, words: &'a str) -> bool {
        let word = words.split([' ', '\t', ':', '-', '#']).next().unwrap_or("");
        let lower = word.to_ascii_lowercase();
        let reason = words[word.len()..].split(" #").next().unwrap_or("");
        if lower.starts_with("skip") {
            self.directive = Some(Directive::Skip);
        } else if lower == "todo" {
            self.directive = Some(Directive::Todo);
        } else if let Some(time) = words.strip_prefix("time=") {
            self.seconds = seconds(time.split_whitespace().next().unwrap_or(time));
            return true;
        } else {
            return false;
        }
        self.reason = Some(reason.trim_matches([' ', ':', '-']));
        true
    }

    /// It passed, and nothing excuses it.
    fn is_plainly_ok(&self) -> bool {
        self.is_ok && self.directive.is_none()
    }

    fn status(&self) -> Status {
        match (self.is_ok, self.directive) {
            (_, Some(Directive::Skip)) => Status::Skipped,
            // What is known not to work yet, and does not.
            (false, Some(Directive::Todo)) => Status::Skipped,
            (true, _) => Status::Passed,
            (false, None) => Status::Failed,
        }
    }
}

fn is_version(line: &str) -> bool {
    line.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("TAP version "))
}

/// The reason in `Bail out! no database`.
fn bail_out(line: &str) -> Option<String> {
    let start = line.get(..9).filter(|start| start.eq_ignore_ascii_case("bail out!"))?;
    let reason = line[start.len()..].trim();
    Some(if reason.is_empty() { "bailed out".to_owned() } else { format!("bailed out: {reason}") })
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
    fn directives_and_explanations_are_read() {
        let report = report(
            "TAP version 14\n1..5\nok 1 - adds # time=2ms\nnot ok 2 - divides\n  ---\n  message: \"by zero\"\n  ...\n\
             ok 3 - waits # SKIP not here\nnot ok 4 - flies # Todo one day\nok 5 - counts \\# signs\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 2 });
        assert_eq!(
            report.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(),
            ["adds", "divides", "waits", "flies", "counts \\# signs"]
        );
        assert_eq!(report.last_error(), Some("by zero"));
        assert_eq!((report.cases[0].seconds, report.broken), (Some(0.002), None));
    }

    #[test]
    fn subtests_are_told_by_the_point_behind_them() {
        let report = report(
            "TAP version 14\n# Subtest: sums\n    ok 1 - adds\n    not ok 2 - carries\n    1..2\n\
             not ok 1 - sums\nok 2 - divs {\n    ok 1 - divides\n    1..1\n}\n1..2\n",
        );
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(report.broken, None);
    }

    #[rstest]
    #[case::no_plan("TAP version 13\nok 1\nok 2\n", "there is no plan")]
    #[case::too_few("1..3\nok 1\nok 2\n", "3 tests were planned, 2 ran")]
    #[case::too_many("1..1\nok 1\nok 2\n", "test 2 is outside of the plan 1..1")]
    #[case::bail_out("1..2\nok 1\nBail out! no database\n", "bailed out: no database")]
    #[case::two_plans("1..1\nok 1\n1..1\n", "there are two plans")]
    #[case::between("ok 1\n1..2\nok 2\n", "the plan stands between the tests")]
    #[case::skipped("1..0 # SKIP no\nok 1\n", "the plan skips all tests, but there are some")]
    #[case::strict(
        "TAP version 14\npragma +strict\n1..1\nhello\nok 1\n",
        "a line that is no TAP, in strict mode: hello"
    )]
    fn what_breaks_the_rules_breaks_the_report(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(report(text).broken.as_deref(), Some(expected));
    }

    #[rstest]
    #[case::failed(
        "    ok 1 - a\n    not ok 2 - b\n    1..2\nok 1 - sums\n1..1\n",
        Some("`sums` says ok, but `b` failed in it")
    )]
    #[case::plan(
        "# Subtest: sums\n    1..3\n    ok 1 - a\nok 1 - sums\n1..1\n",
        Some("`sums` says ok, but 3 tests were planned in it, 1 ran")
    )]
    #[case::deep(
        "        not ok 1 - b\n        1..1\n    ok 1 - mid\n    1..1\nok 1 - sums\n1..1\n",
        Some("`sums` says ok, but `b` failed in it")
    )]
    #[case::braces(
        "1..1\nok 1 - sums {\n    1..1\n    not ok 1 - b\n}\n",
        Some("`sums` says ok, but `b` failed in it")
    )]
    #[case::in_an_explanation(
        "    ok 1 - a\n      ---\n        not ok 1\n      ...\n    1..1\nok 1 - sums\n1..1\n",
        None
    )]
    #[case::excused("    not ok 1 - b # Todo one day\n    1..1\nok 1 - sums\n1..1\n", None)]
    #[case::excused_around("    not ok 1 - b\n    1..1\nok 1 - sums # Todo soon\n1..1\n", None)]
    #[case::never_ended("ok 1 - sums\n1..1\n    not ok 1 - b\n", None)]
    fn a_point_does_not_hide_what_its_subtest_says(
        #[case] text: &str,
        #[case] expected: Option<&str>,
    ) {
        let report = report(text);
        assert_eq!(report.broken.as_deref(), expected);
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 0, skipped: 0 });
    }

    #[rstest]
    #[case::versions(
        "TAP version 13\n1..1\nok 1 - a\nTAP version 13\n1..2\nok 1 - b\nnot ok 2 - c\n",
        &["a", "b"], &["c"], None
    )]
    #[case::plans_before("1..1\nok 1\n1..2\nok 1\nok 2\n", &["test 1", "document 2 > test 1", "test 2"], &[], None)]
    #[case::plans_behind("ok 1 - a\n1..1\nok 1 - b\n1..1\n", &["a", "b"], &[], None)]
    #[case::one_is_cut_off(
        "TAP version 13\n1..1\nok 1 - a\nTAP version 13\n1..2\nok 1 - b\n",
        &["a", "b"], &[], Some("2 tests were planned, 1 ran")
    )]
    #[case::of_prove(
        "t/a.t ..\n1..1\nok 1 - y\nok\nt/b.t .. \nok 1 - y\nnot ok 2\n1..2\n\
         Dubious, test returned 1 (wstat 256, 0x100)\nFailed 1/2 subtests \nt/c.t .. \n1..0 # SKIP no\n\
         skipped: no\n\nFiles=2, Tests=3\nResult: FAIL\n",
        &["t/a.t > y", "t/b.t > y"], &["t/b.t > test 2"], None
    )]
    #[case::of_prove_where_one_died(
        "t/a.t .. \n1..1\nok 1 - y\nok\nt/b.t .. \nDubious, test returned 2 (wstat 512, 0x200)\n\
         No subtests run \n\nResult: FAIL\n",
        &["t/a.t > y"], &[], Some("t/b.t: Dubious, test returned 2 (wstat 512, 0x200)")
    )]
    #[case::words_with_dots_between(
        "1..2\nok 1 - a\nwaiting ...\nsrc/a.c ...\nok 2 - b\n", &["a", "b"], &[], None
    )]
    #[case::words_with_dots_below_prove(
        "t/a.t .. \n1..2\nok 1 - a\nsrc/a.c ...\nok 2 - b\nok\n", &["t/a.t > a", "t/a.t > b"], &[], None
    )]
    #[case::of_prove_where_one_was_cut_off(
        "t/a.t .. \n1..2\nok 1 - a\nDubious, test returned 9\nFailed 1/2 subtests\nt/b.t ..\n1..1\nok 1\nok\n",
        &["t/a.t > a", "t/b.t > test 1"], &[], Some("2 tests were planned, 1 ran")
    )]
    #[case::a_point_too_many("1..2\nok\nok\nok\n", &["test 1", "test 2", "test 3"], &[], Some("test 3 is outside of the plan 1..2"))]
    fn documents_add_up(
        #[case] text: &str,
        #[case] passed: &[&str],
        #[case] failed: &[&str],
        #[case] broken: Option<&str>,
    ) {
        let report = report(text);
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), passed);
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), failed);
        assert_eq!(report.broken.as_deref(), broken);
    }

    #[test]
    fn skipping_everything_is_fine() {
        let report = report("1..0 # SKIP no database here\n");
        assert!(report.succeeded() && report.cases.is_empty());
    }

    #[test]
    fn prose_is_no_tap() {
        assert!(read("ok then\nok 1 go\n").is_none());
        assert!(read("1..3\n").is_none());
        assert!(read("tests/test_a.py ...\nok\n1 failed\n").is_none());
        assert!(read("t/a.t .. ok\nt/b.t .. ok\nResult: FAIL\n").is_none());
    }
}
