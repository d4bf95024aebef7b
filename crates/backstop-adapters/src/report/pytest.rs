//! What pytest prints: names with `-v` or in the short summary, counts in the last line.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use backstop_core::event::TestCounts;

use super::recognise::Found;
use super::runs::Runs;
use super::text::{Line, leading_number, read_lines, seconds};
use super::{Case, Format, MOST_CASES, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

#[derive(Default)]
struct Reading {
    /// Cases with `-v`, one list for each session: the tests of plugins run sessions of their own,
    /// and print them.
    sessions: Vec<Vec<Case>>,
    /// What would be cases, did not something stand between name and result.
    hidden: Vec<Case>,
    /// How often each test was tried again, without having come to a result.
    reruns: BTreeMap<String, u32>,
    /// The last short summary: the outermost session ends last.
    summary: Vec<Case>,
    is_summarising: bool,
    /// The file that could not be collected whose error comes next, and what such errors were.
    uncollected: Option<String>,
    errors: BTreeMap<String, String>,
    last: Option<Figures>,
    /// Where the sessions began that have not ended, the outermost first.
    open: Vec<Range<usize>>,
    runs: Runs,
    interrupted: Option<String>,
    /// What stopped the session of the last figures.
    stopped: Option<String>,
    at: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(heading) = heading(text) {
            // What stopped the session stands between the last heading and the figures; anything
            // before was printed by a test.
            if Figures::read(text).is_none() {
                self.interrupted = None;
            }
            self.is_summarising = heading == "short test summary info";
            if self.is_summarising {
                self.summary.clear();
            }
            if heading == "test session starts" {
                self.sessions.push(Vec::new());
                if self.open.len() < MOST_OPEN {
                    self.open.push(line.begin..line.end);
                }
                if self.last.is_none() {
                    self.at = line.end;
                }
            }
        }
        if let Some(figures) = Figures::read(text) {
            self.figures(figures, &line);
        } else if self.is_summarising {
            self.summary.extend(summary_case(text));
        } else if let Some(file) = uncollected(text) {
            self.uncollected = Some(file.to_owned()).filter(|_| self.errors.len() < MOST_CASES);
        } else if let Some(error) = text.strip_prefix("E   ") {
            if let Some(file) = self.uncollected.take() {
                self.errors.insert(file, error.trim().to_owned());
            }
        } else if let Some(name) = rerun(text) {
            if self.reruns.len() < MOST_CASES {
                *self.reruns.entry(name.to_owned()).or_default() += 1;
            }
        } else if let Some(case) = verbose_case(text) {
            let case = self.tried(case);
            match self.sessions.last_mut() {
                Some(session) => session.push(case),
                None => self.sessions.push(vec![case]),
            }
        } else if let Some(case) = hidden_case(text).filter(|_| self.hidden.len() < MOST_HIDDEN) {
            self.hidden.push(case);
        } else if text.starts_with("!!!") || text.starts_with("INTERNALERROR>") {
            self.interrupted.get_or_insert_with(|| text.trim_matches(['!', ' ']).to_owned());
        }
    }

    fn figures(&mut self, figures: Figures, line: &Line<'_>) {
        // One that says how it begins also rules off how it ends: the others are quiet.
        let begun = if line.text.starts_with('=') { self.open.pop() } else { None };
        let place = begun.map_or(line.begin, |begun| begun.start)..line.end;
        let stopped = self.interrupted.take();
        let broken = stopped.as_deref().or(figures.ran_nothing.then_some(super::NO_TEST_RAN));
        self.runs.push(place, figures.counts.failed, broken);
        self.stopped = stopped;
        self.last = Some(figures);
        self.is_summarising = false;
        self.at = line.end;
    }

    /// A test that was tried again and passed had failed before.
    fn tried(&mut self, mut case: Case) -> Case {
        if let Some(reruns) = self.reruns.remove(&case.name) {
            case.attempts = reruns.saturating_add(1);
            case.flaky = case.status == Status::Passed;
        }
        case
    }

    fn runs(&mut self) -> Runs {
        let mut runs = std::mem::take(&mut self.runs);
        for begun in &self.open {
            runs.push(begun.clone(), 0, Some(CUT_OFF));
        }
        runs
    }

    fn finish(mut self) -> Option<Found> {
        if self.at == 0 {
            return None;
        }
        let runs = self.runs();
        let mut report = TestReport::new(Format::Pytest);
        let Some(figures) = self.last else {
            for case in self.sessions.into_iter().flatten() {
                report.push(case);
            }
            let why = self.interrupted.as_deref().unwrap_or(CUT_OFF);
            report.mark_broken(why);
            return Some(Found { report, at: self.at, runs });
        };
        let counts = figures.counts;
        let is_whole = |session: &&Vec<Case>| {
            let count = |status| session.iter().filter(|case| case.status == status).count() as u64;
            count(Status::Passed) == counts.passed && count(Status::Failed) == counts.failed
        };
        // A test may pass and fail afterwards, when what it used is cleared away.
        let key = |case: &Case| (case.name.clone(), case.status.name());
        let said: BTreeMap<_, _> =
            self.summary.iter().map(|case| (key(case), case.message.as_deref())).collect();
        // What a test prints may hide a line. As long as there is one session, the others are its.
        // If the hidden ones are all that it lacks, they are what they seem.
        let alone = match self.sessions.as_slice() {
            [alone] => {
                let all: Vec<Case> = alone.iter().chain(&self.hidden).cloned().collect();
                Some(if is_whole(&&all) { all } else { alone.clone() })
            }
            _ => None,
        };
        let whole = self.sessions.iter().rev().find(is_whole).filter(|session| !session.is_empty());
        let session = whole.or(alone.as_ref());
        let mut named = BTreeSet::new();
        for case in session.into_iter().flatten() {
            let said = said.get(&key(case)).copied().flatten().or(case.message.as_deref());
            named.insert(key(case));
            report.push(case.clone().saying(said));
        }
        if whole.is_none() {
            let unnamed = self.summary.iter().filter(|case| !named.contains(&key(case)));
            for case in unnamed {
                let error = self.errors.get(&case.name).map(String::as_str);
                report.push(case.clone().saying(case.message.as_deref().or(error)));
            }
        }
        report.settle(counts);
        if let Some(why) = self.stopped {
            report.mark_broken(why);
        } else if !self.open.is_empty() {
            report.mark_broken(CUT_OFF);
        } else if figures.ran_nothing {
            report.mark_broken(super::NO_TEST_RAN);
        }
        Some(Found { report, at: self.at, runs })
    }
}

/// The last line: `1 failed, 104 passed, 7 skipped in 8.45s`.
struct Figures {
    counts: TestCounts,
    ran_nothing: bool,
}

impl Figures {
    fn read(line: &str) -> Option<Self> {
        // One that is indented is quoted.
        if line.starts_with([' ', '\t']) {
            return None;
        }
        let line = line.trim_matches(['=', ' ']);
        let (figures, time) = line.rsplit_once(" in ")?;
        let time = time.split_once(" (").map_or(time, |(time, _)| time);
        seconds(time).filter(|_| time.ends_with('s'))?;
        let mut read = Self { counts: TestCounts::default(), ran_nothing: false };
        let mut has_result = false;
        for figure in figures.split(", ") {
            if figure == "no tests ran" {
                read.ran_nothing = true;
                has_result = true;
                continue;
            }
            let (count, word) = leading_number(figure)?;
            let counts = &mut read.counts;
            let counted = match word.strip_prefix(' ')? {
                "passed" | "xpassed" => &mut counts.passed,
                "failed" | "error" | "errors" => &mut counts.failed,
                "skipped" | "xfailed" => &mut counts.skipped,
                "deselected" | "warning" | "warnings" | "rerun" | "reruns" | "retried"
                | "subtests passed" | "subtests failed" | "snapshots passed" => {
                    has_result |= word == " deselected";
                    continue;
                }
                _ => return None,
            };
            *counted = counted.saturating_add(count);
            has_result = true;
        }
        has_result.then_some(read)
    }
}

/// The words between the signs of `==== FAILURES ====`.
fn heading(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("==")?.strip_suffix("==")?;
    Some(inside.trim_matches(['=', ' ']))
}

/// The file in `____ ERROR collecting test_a.py ____`.
fn uncollected(line: &str) -> Option<&str> {
    line.strip_prefix('_')?.trim_matches(['_', ' ']).strip_prefix("ERROR collecting ")
}

/// `FAILED path::name - what went wrong`, from the short summary.
fn summary_case(line: &str) -> Option<Case> {
    // `SUBFAILED[message] (i=1) path::name - what went wrong`.
    if let Some(rest) = line.strip_prefix("SUBFAILED") {
        let (named, message) = split_message(rest);
        let (part, name) = named.rsplit_once(' ')?;
        return Some(Case::new(&part_name(name, part), Status::Failed).saying(message));
    }
    let (word, rest) = line.split_once(' ')?;
    let status = status(word)?;
    // Skipped tests are told by their place, several at once.
    if word == "SKIPPED" && rest.starts_with('[') {
        return None;
    }
    let (name, message) = split_message(rest);
    (!name.is_empty()).then(|| Case::new(name, status).saying(message))
}

/// `path::name PASSED [ 10%]`, or with several workers `[gw0] [ 10%] PASSED path::name`.
fn verbose_case(line: &str) -> Option<Case> {
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, rest) = rest.split_once("%] ")?;
        let (word, name) = rest.split_once(' ')?;
        return Some(Case::new(name, status(word)?));
    }
    if !line.contains("::") || line.starts_with(' ') {
        return None;
    }
    if let Some((name, part)) = line.split_once(" SUBFAILED") {
        let part = part.rsplit_once('[').filter(|(_, rest)| rest.ends_with("%]"));
        let part = part.map_or("", |(part, _)| part);
        return Some(Case::new(&part_name(name, part), Status::Failed));
    }
    let words = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];
    words.into_iter().find_map(|word| {
        let (name, rest) = line.rsplit_once(word)?;
        let name = name.strip_suffix(' ')?.trim_end();
        let rest = rest.trim();
        let is_end = rest.is_empty() || rest.starts_with('[') || rest.starts_with('(');
        let is_name = name.contains("::") && (name.contains('[') || !name.contains(' '));
        (is_end && is_name).then(|| {
            let reason = rest.strip_prefix('(').and_then(|rest| rest.rsplit_once(')'));
            status(word)
                .map(|status| Case::new(name, status).saying(reason.map(|(reason, _)| reason)))
        })?
    })
}

/// The name in `path::name RERUN [ 10%]`, or with several workers `[gw0] [ 10%] RERUN path::name`.
/// The plugin that repeats what failed says so before each further attempt.
fn rerun(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("[gw") {
        return rest.split_once("%] RERUN ").map(|(_, name)| name.trim_end());
    }
    let (name, rest) = line.rsplit_once(" RERUN")?;
    let rest = rest.trim();
    let is_end = rest.is_empty() || rest.starts_with('[');
    (is_end && !line.starts_with(' ') && name.contains("::")).then(|| name.trim_end())
}

/// `path.py::name and what the test printed without an endPASSED`, with `-s`.
fn hidden_case(line: &str) -> Option<Case> {
    let (name, rest) = line.split_once(' ')?;
    let words = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];
    let word = words.into_iter().find(|word| rest.ends_with(word))?;
    name.contains(".py::").then(|| status(word).map(|status| Case::new(name, status)))?
}

/// The name of a part of a test. Only those that failed are counted among the cases.
fn part_name(test: &str, part: &str) -> String {
    format!("{} {}", test.trim(), part.trim())
}

fn status(word: &str) -> Option<Status> {
    Some(match word {
        "PASSED" | "XPASS" => Status::Passed,
        "FAILED" | "ERROR" => Status::Failed,
        "SKIPPED" | "XFAIL" => Status::Skipped,
        _ => return None,
    })
}

/// Parts a name from what was said of it. Parameters may hold the sign that parts them.
fn split_message(text: &str) -> (&str, Option<&str>) {
    let begin = match (text.find('['), text.find("] - ")) {
        (Some(open), Some(close)) if open < close && !text[..open].contains(" - ") => close + 1,
        (Some(open), None) if text.ends_with(']') && !text[..open].contains(" - ") => text.len(),
        _ => 0,
    };
    match text[begin..].find(" - ") {
        Some(at) => (text[..begin + at].trim(), Some(&text[begin + at + 3..])),
        None => (text.trim(), None),
    }
}

const CUT_OFF: &str = "cut off before the summary";

/// Sessions within each other.
const MOST_OPEN: usize = 64;

/// More lines that look like results are a test's own.
const MOST_HIDDEN: usize = 1024;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("=== 1 failed, 104 passed, 7 skipped, 5 xfailed, 2 xpassed, 3 errors, 6 warnings in 8.45s ===", Some((106, 4, 12)))]
    #[case("1 passed in 0.01s", Some((1, 0, 0)))]
    #[case("== 2 passed, 1 warning in 65.12s (0:01:05) ==", Some((2, 0, 0)))]
    #[case("===== 3 passed in 0.12 seconds =====", Some((3, 0, 0)))]
    #[case("no tests ran in 0.01s", Some((0, 0, 0)))]
    #[case("5 passed yesterday in Berlin", None)]
    #[case("we had 5 passed, and it took place in 3s", None)]
    #[case("6 warnings in 1.0s", None)]
    #[case("    5 passed in 0.10s", None)]
    #[case("\t== 5 passed in 0.10s ==", None)]
    fn the_last_line_is_read(#[case] line: &str, #[case] expected: Option<(u64, u64, u64)>) {
        let counts = Figures::read(line).map(|figures| figures.counts);
        assert_eq!(counts.map(|counts| (counts.passed, counts.failed, counts.skipped)), expected);
    }

    #[test]
    fn what_passes_when_it_is_tried_again_is_flaky() {
        for text in [
            "== test session starts ==\na.py::ok PASSED [ 33%]\na.py::bad RERUN [ 66%]\n\
             a.py::bad RERUN [ 66%]\na.py::bad FAILED [ 66%]\na.py::fl RERUN [100%]\n\
             a.py::fl PASSED [100%]\n\n== short test summary info ==\nFAILED a.py::bad - no\n\
             == 1 failed, 2 passed, 3 rerun in 0.05s ==\n",
            "== test session starts ==\n[gw0] [ 33%] PASSED a.py::ok \n[gw1] [ 66%] RERUN a.py::bad \n\
             [gw1] [ 66%] RERUN a.py::bad \n[gw0] [100%] RERUN a.py::fl \n\
             [gw1] [ 66%] FAILED a.py::bad \n[gw0] [100%] PASSED a.py::fl \n\n\
             == 1 failed, 2 passed, 3 rerun in 0.05s ==\n",
        ] {
            let report = read(text).expect("a report").report;
            let cases = report.cases.iter();
            let mut told: Vec<_> =
                cases.map(|case| (case.name.as_str(), case.attempts, case.flaky)).collect();
            told.sort_unstable();
            assert_eq!(
                told,
                [("a.py::bad", 3, false), ("a.py::fl", 2, true), ("a.py::ok", 1, false)]
            );
            assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 0 });
        }
    }

    #[test]
    fn verbose_names_and_the_reason_come_together() {
        let text = "\
============================= test session starts ==============================
collected 3 items

tests/test_a.py::test_one PASSED                                         [ 33%]
tests/test_a.py::test_two[a - b] FAILED                                  [ 66%]
tests/test_a.py::test_three SKIPPED (not here)                           [100%]

=================================== FAILURES ===================================
=========================== short test summary info ============================
FAILED tests/test_a.py::test_two[a - b] - AssertionError: assert 1 == 2
==================== 1 failed, 1 passed, 1 skipped in 0.05s ====================
";
        let report = read(text).expect("a report").report;
        let names: Vec<_> =
            report.cases.iter().map(|case| (case.name.as_str(), case.first_line())).collect();
        assert_eq!(
            names,
            [
                ("tests/test_a.py::test_one", None),
                ("tests/test_a.py::test_two[a - b]", Some("AssertionError: assert 1 == 2")),
                ("tests/test_a.py::test_three", Some("not here")),
            ]
        );
        assert_eq!(report.broken, None);
    }

    #[test]
    fn parts_of_tests_that_failed_are_cases() {
        let text = "\
============================= test session starts ==============================
t.py::test_ok PASSED                                                     [ 33%]
t.py::test_sub SUBPASSED[s] (i=0)                                        [ 66%]
t.py::test_sub SUBFAILED[s] (i=1)                                        [ 66%]
t.py::test_sub FAILED                                                    [ 66%]
t.py::test_skip SKIPPED (no db)                                          [100%]
=========================== short test summary info ============================
SUBFAILED[s] (i=1) t.py::test_sub - assert 1 != 1
FAILED t.py::test_sub - contains 1 failed subtest
========= 2 failed, 1 passed, 1 skipped, 1 subtests passed in 0.08s ============
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["t.py::test_ok"]);
        assert_eq!(report.names(Status::Skipped).collect::<Vec<_>>(), ["t.py::test_skip"]);
        let failed: Vec<_> = report
            .cases
            .iter()
            .filter(|case| case.status == Status::Failed)
            .map(|case| (case.name.as_str(), case.first_line()))
            .collect();
        assert_eq!(
            failed,
            [
                ("t.py::test_sub [s] (i=1)", Some("assert 1 != 1")),
                ("t.py::test_sub", Some("contains 1 failed subtest")),
            ]
        );
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 2, skipped: 1 });
    }

    #[test]
    fn a_line_that_is_hidden_does_not_hide_the_others() {
        let text = |last: &str| {
            let head = "\
============================= test session starts ==============================
t.py::test_talks hello without an endPASSED
t.py::test_ok PASSED
t.py::test_bad FAILED
t.py::test_hidden still talkingFAILED
=========================== short test summary info ============================
FAILED t.py::test_bad - assert 1 == 2
FAILED t.py::test_hidden - assert 3 == 4
";
            let text = format!("{head}===================== {last} in 0.08s ==================\n");
            let report = read(&text).expect("a report").report;
            let names = |status| report.names(status).map(str::to_owned).collect::<Vec<_>>();
            (names(Status::Passed), names(Status::Failed), report.counts())
        };
        let failed = ["t.py::test_bad", "t.py::test_hidden"].map(str::to_owned);
        let (passed, named, counts) = text("2 failed, 2 passed");
        assert_eq!(passed, ["t.py::test_ok", "t.py::test_talks"]);
        assert_eq!(named, failed);
        assert_eq!(counts, TestCounts { passed: 2, failed: 2, skipped: 0 });
        // Something else is hidden, too, so that nobody knows what the lines are.
        let (passed, named, counts) = text("2 failed, 3 passed");
        assert_eq!(passed, ["t.py::test_ok"]);
        assert_eq!(named, failed);
        assert_eq!(counts, TestCounts { passed: 3, failed: 2, skipped: 0 });
    }

    #[rstest]
    #[case("t.py::test_p[x - y]", ("t.py::test_p[x - y]", None))]
    #[case("t.py::test_p[x - y] - boom", ("t.py::test_p[x - y]", Some("boom")))]
    #[case("t.py::test_p[x] - a - b", ("t.py::test_p[x]", Some("a - b")))]
    #[case("t.py::test_a - assert [1 - 2]", ("t.py::test_a", Some("assert [1 - 2]")))]
    #[case("t.py::test_a", ("t.py::test_a", None))]
    fn a_message_is_parted_from_its_name(
        #[case] text: &str,
        #[case] expected: (&str, Option<&str>),
    ) {
        assert_eq!(split_message(text), expected);
    }

    #[test]
    fn a_file_that_can_not_be_collected_says_why() {
        let text = "\
===== test session starts =====
collected 0 items / 1 error

===== ERRORS =====
_____ ERROR collecting test_a.py _____
ImportError while importing test module '/app/test_a.py'.
E   ModuleNotFoundError: No module named 'foo'
===== short test summary info =====
ERROR test_a.py
!!!!! Interrupted: 1 error during collection !!!!!
===== 1 error in 0.07s =====
";
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["test_a.py"]);
        assert_eq!(report.last_error(), Some("ModuleNotFoundError: No module named 'foo'"));
    }

    #[test]
    fn a_session_without_an_end_is_broken() {
        let text =
            "=========== test session starts ===========\ntests/a.py::test_one PASSED  [ 50%]\n";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 0, skipped: 0 });
        assert_eq!(report.broken.as_deref(), Some("cut off before the summary"));
    }
}
