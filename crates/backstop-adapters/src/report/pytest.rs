//! What pytest prints: names with `-v` or in the short summary, counts in the last line.

mod figures;
mod lines;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};

use backstop_core::event::TestCounts;
use figures::Figures;
use lines::{
    exit, heading, hidden_case, is_interruption, is_test_name, refusal, rerun, status,
    summary_case, uncollected, verbose_case,
};
use sessions::{Session, Sessions};

use super::recognise::Found;
use super::runs::Runs;
use super::text::{Line, read_lines};
use super::{Case, Format, MOST_CASES, Status, TestReport};

pub(super) fn read(text: &str) -> Option<Found> {
    read_lines(text, Reading::default(), Reading::line).finish()
}

#[derive(Default)]
struct Reading {
    sessions: Sessions,
    /// What would be cases, did not something stand between name and result.
    hidden: Vec<Case>,
    /// How often each test was tried again, without having come to a result.
    reruns: BTreeMap<String, u32>,
    is_summarising: bool,
    /// The test that is under way, where what it logs stands between its name and its result.
    running: Option<String>,
    /// The file that could not be collected whose error comes next, and what such errors were.
    uncollected: Option<String>,
    errors: BTreeMap<String, String>,
    runs: Runs,
    at: usize,
}

impl Reading {
    fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(figures) = Figures::read(text) {
            self.figures(figures, &line);
            return;
        }
        if let Some(heading) = heading(text) {
            self.heading(heading, &line);
        }
        self.sessions.line(text);
        if let Some(why) = refusal(text).filter(|_| self.sessions.is_outside()) {
            self.sessions.current().interrupted = Some(why.to_owned());
            self.runs.push(line.begin..line.end, 0, Some(why));
            self.at = line.end;
        } else if let Some(why) = exit(text).filter(|_| self.sessions.is_behind_end()) {
            // One that was left on purpose says so behind its figures.
            self.sessions.stop_ended(why);
            self.runs.push(line.begin..line.end, 0, Some(why));
            self.at = line.end;
        } else if is_interruption(text)
            // One that breaks shows nothing that tests have printed.
            || (text.starts_with("INTERNALERROR>") && !self.sessions.is_quoting())
        {
            let interrupted = &mut self.sessions.current().interrupted;
            interrupted.get_or_insert_with(|| text.trim_matches(['!', ' ']).to_owned());
        } else if self.is_summarising {
            if let Some(case) = summary_case(text) {
                self.sessions.summarise(case);
            }
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
        } else if let Some(case) = verbose_case(text).or_else(|| self.late_case(text)) {
            self.running = None;
            let case = self.tried(case);
            self.sessions.current().cases.push(case);
        } else if let Some(case) = hidden_case(text).filter(|_| self.hidden.len() < MOST_HIDDEN) {
            self.hidden.push(case);
        }
    }

    fn heading(&mut self, heading: &str, line: &Line<'_>) {
        // What stopped the session stands between the last heading and the figures; anything before
        // was printed by a test.
        self.sessions.current().interrupted = None;
        self.is_summarising = heading == "short test summary info";
        if self.is_summarising {
            self.sessions.current().summary.clear();
        } else if heading == "test session starts" {
            self.sessions.begin(line);
            if self.sessions.ended.is_none() {
                self.at = line.end;
            }
        } else if SHOWN.contains(&heading) {
            self.sessions.show(line);
        }
    }

    fn figures(&mut self, figures: Figures, line: &Line<'_>) {
        let begin = self.sessions.end(figures, line);
        let ended = self.sessions.ended.as_ref();
        let stopped = ended.and_then(|(session, _)| session.interrupted.as_deref());
        let broken = stopped.or(figures.ran_nothing.then_some(super::NO_TEST_RAN));
        self.runs.push(begin..line.end, figures.counts.failed, broken);
        self.is_summarising = false;
        self.at = line.end;
    }

    /// `PASSED  [ 33%]`, below what was logged while the test ran that is named above.
    fn late_case(&mut self, line: &str) -> Option<Case> {
        if is_test_name(line) {
            self.running = Some(line.trim_end().to_owned());
            return None;
        }
        let (word, progress) = line.trim_end().split_once(' ')?;
        let is_result = progress.trim_start().starts_with('[') && progress.ends_with("%]");
        let status = status(word).filter(|_| is_result)?;
        Some(Case::new(&self.running.take()?, status))
    }

    /// A test that was tried again and passed had failed before.
    fn tried(&mut self, mut case: Case) -> Case {
        if let Some(reruns) = self.reruns.remove(&case.name) {
            case.attempts = reruns.saturating_add(1);
            case.flaky = case.status == Status::Passed;
        }
        case
    }

    fn finish(mut self) -> Option<Found> {
        if self.at == 0 {
            return None;
        }
        let mut runs = std::mem::take(&mut self.runs);
        for session in self.sessions.unfinished() {
            runs.push(session.place.clone(), 0, Some(CUT_OFF));
        }
        let is_cut_off = self.sessions.unfinished().next().is_some();
        let mut report = TestReport::new(Format::Pytest);
        if self.sessions.is_cut_around() {
            // What its tests have printed tells nothing of it.
            self.sessions.ended = None;
        }
        let Some((session, figures)) = self.sessions.ended.take() else {
            let (cases, interrupted) = self.sessions.rest();
            cases.into_iter().for_each(|case| report.push(case));
            report.mark_broken(interrupted.as_deref().unwrap_or(CUT_OFF));
            return Some(Found { report, at: self.at, runs });
        };
        let stopped = session.interrupted.clone();
        let at = self.at;
        self.cases(session, figures.counts, &mut report);
        report.settle(figures.counts);
        if let Some(why) = stopped {
            report.mark_broken(why);
        } else if is_cut_off {
            report.mark_broken(CUT_OFF);
        } else if figures.ran_nothing {
            report.mark_broken(super::NO_TEST_RAN);
        }
        Some(Found { report, at, runs })
    }

    /// The cases of the last session, as far as they are named.
    fn cases(self, session: Session, counts: TestCounts, report: &mut TestReport) {
        let is_whole = |cases: &[Case]| {
            let count = |status| cases.iter().filter(|case| case.status == status).count() as u64;
            count(Status::Passed) == counts.passed && count(Status::Failed) == counts.failed
        };
        // A test may pass and fail afterwards, when what it used is cleared away.
        let key = |case: &Case| (case.name.clone(), case.status.name());
        let summary = session.summary;
        let said: BTreeMap<_, _> =
            summary.iter().map(|case| (key(case), case.message.as_deref())).collect();
        let mut cases = session.cases;
        let mut names_all = !cases.is_empty() && is_whole(&cases);
        // What a test prints may hide a line. As long as there is one session, the others are its.
        // If the hidden ones are all that it lacks, they are what they seem.
        if !names_all && self.sessions.begun > 1 {
            cases.clear();
        } else if !names_all {
            let shown = cases.len();
            cases.extend(self.hidden);
            names_all = is_whole(&cases);
            if !names_all {
                cases.truncate(shown);
            }
        }
        let mut named = BTreeSet::new();
        for case in cases {
            let key = key(&case);
            let said = said.get(&key).copied().flatten().or(case.message.as_deref());
            let case = case.clone().saying(said);
            named.insert(key);
            report.push(case);
        }
        let unnamed = summary.iter().filter(|case| !named.contains(&key(case)));
        for case in unnamed.filter(|_| !names_all) {
            let error = self.errors.get(&case.name).map(String::as_str);
            report.push(case.clone().saying(case.message.as_deref().or(error)));
        }
    }
}

const CUT_OFF: &str = "cut off before the summary";

/// Where it is shown what tests said and printed.
const SHOWN: [&str; 5] = ["ERRORS", "FAILURES", "PASSES", "XFAILURES", "XPASSES"];

/// More lines that look like results are a test's own.
const MOST_HIDDEN: usize = 1024;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_result_below_what_was_logged_is_the_tests_above() {
        let text = "\
============================= test session starts ==============================
collected 3 items

test_a.py::test_a\u{20}
-------------------------------- live log call ---------------------------------
INFO     root:test_a.py:5 hello
PASSED                                                                   [ 33%]
test_a.py::test_b PASSED                                                 [ 66%]
test_a.py::test_c[x y]\u{20}
-------------------------------- live log call ---------------------------------
WARNING  root:test_a.py:9 oops
FAILED                                                                   [100%]

=========================== short test summary info ============================
FAILED test_a.py::test_c[x y] - assert 0
========================= 1 failed, 2 passed in 0.01s =========================
";
        let report = read(text).expect("a report").report;
        let names = |status| report.names(status).collect::<Vec<_>>();
        assert_eq!(names(Status::Passed), ["test_a.py::test_a", "test_a.py::test_b"]);
        assert_eq!(names(Status::Failed), ["test_a.py::test_c[x y]"]);
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
    fn older_versions_say_fail_in_the_summary() {
        let text = "== test session starts ==\ncollected 2 items\n\nt.py .F   [100%]\n\
                    == short test summary info ==\nPASSED t.py::test_a\nFAIL t.py::test_b\n\
                    SKIP [1] t.py:20: no\n\n== FAILURES ==\n____ test_b ____\nFAIL t.py::test_x\n\
                    == 1 failed, 1 passed in 0.45 seconds ==\n";
        let report = read(text).expect("a report").report;
        let told: Vec<_> =
            report.cases.iter().map(|case| (case.name.as_str(), case.status)).collect();
        assert_eq!(told, [("t.py::test_a", Status::Passed), ("t.py::test_b", Status::Failed)]);
    }

    #[rstest]
    #[case::usage(
        "ERROR: usage: __main__.py [options] [file_or_dir] [file_or_dir] [...]\n\
         __main__.py: error: unrecognized arguments: --nope\n",
        "its arguments can't be used"
    )]
    #[case::conftest(
        "ImportError while loading conftest '/app/conftest.py'.\nconftest.py:1: in <module>\n",
        "ImportError while loading conftest '/app/conftest.py'."
    )]
    fn a_session_that_could_not_begin_is_no_proof(#[case] text: &str, #[case] why: &str) {
        let report = read(text).expect("a report").report;
        assert_eq!((report.broken.as_deref(), report.cases.len()), (Some(why), 0));
        let session = |inside: &str| {
            format!(
                "== test session starts ==\ncollected 1 item\n\nt.py {inside}.   [100%]\n\n\
                 == 1 passed in 0.01s ==\n"
            )
        };
        let before = crate::report::recognise((text.to_owned() + &session("")).as_bytes(), None);
        assert!(!before.expect("a report").succeeded(), "one after the other");
        let within = crate::report::recognise(session(text).as_bytes(), None);
        assert!(within.expect("a report").succeeded(), "a test has printed it");
    }

    #[rstest]
    #[case(
        "!!!!!!!! KeyboardInterrupt !!!!!!!!\n/a/t.py:12: KeyboardInterrupt",
        Some("KeyboardInterrupt")
    )]
    #[case("!!!!!!!! _pytest.outcomes.Exit: stop !!!!!!!!", Some("_pytest.outcomes.Exit: stop"))]
    #[case(
        "!!!! Interrupted: 1 error during collection !!!!",
        Some("Interrupted: 1 error during collection")
    )]
    #[case("!!!!!!!! stopping after 1 failures !!!!!!!!", None)]
    #[case("!!!! xdist.dsession.Interrupted: stopping after 1 failures !!!!", None)]
    #[case("", None)]
    fn a_session_that_was_stopped_is_no_proof(#[case] line: &str, #[case] broken: Option<&str>) {
        let collected = if line.is_empty() { 2 } else { 5 };
        for summary in ["", "=== short test summary info ===\nPASSED t.py::test_a\n"] {
            let text = format!(
                "=== test session starts ===\ncollected {collected} items\n\nt.py .F\n{summary}{line}\n\
                 === 1 failed, 1 passed in 1.01s ===\n"
            );
            let found = read(&text).expect("a report");
            assert_eq!(found.report.broken.as_deref(), broken, "{text}");
        }
    }

    #[rstest]
    #[case::left(
        "!!!!!! _pytest.outcomes.Exit: enough !!!!!!",
        Some("_pytest.outcomes.Exit: enough")
    )]
    #[case::left_without_a_word("!!!!!! KeyboardInterrupt !!!!!!", Some("KeyboardInterrupt"))]
    #[case::another_program("!!! all done !!!", None)]
    fn a_session_that_was_left_may_say_so_at_last(
        #[case] line: &str,
        #[case] broken: Option<&str>,
    ) {
        let text = format!(
            "=== test session starts ===\ncollected 2 items\n\nt.py::test_a PASSED   [ 50%]\n\
             t.py::test_b \n\n=== 1 passed in 0.11s ===\n{line}\n"
        );
        // Without a line that tells how many there are, the figures alone could be all.
        let quiet = format!(".\n1 passed in 0.11s\n{line}\n");
        for text in [text.replace("collected 2", "collected 1"), quiet] {
            let report = read(&text).expect("a report").report;
            assert_eq!(report.broken.as_deref(), broken, "{text}");
            let next = "=== test session starts ===\ncollected 1 item\n\nu.py .\n\n=== 1 passed in 0.01s ===\n";
            let both = crate::report::recognise(format!("{text}{next}").as_bytes(), None);
            assert_eq!(both.expect("a report").succeeded(), broken.is_none(), "{text}");
        }
        assert!(!read(&text).expect("a report").report.succeeded());
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

    #[rstest]
    #[case("(i=1)", "(i=1)")]
    #[case("(i=1)   [ 50%]", "(i=1)")]
    #[case("[with words] (i=1)", "[with words] (i=1)")]
    #[case("[50%]", "[50%]")]
    #[case("[50%] [100%]", "[50%]")]
    fn a_part_is_called_the_same_with_and_without_progress(#[case] told: &str, #[case] part: &str) {
        let text = format!(
            "== test session starts ==\nt.py::U::test_sub SUBFAILED{told}\nt.py::U::test_sub PASSED\n\n\
             == short test summary info ==\nSUBFAILED{part} t.py::U::test_sub - 1 == 1\n\
             == 1 failed, 1 passed in 0.04s ==\n"
        );
        let report = crate::report::recognise(text.as_bytes(), None).expect("a report");
        let told: Vec<_> = report.cases.iter().map(|case| (&*case.name, case.status)).collect();
        let name = format!("t.py::U::test_sub {part}");
        assert_eq!(told, [(&*name, Status::Failed), ("t.py::U::test_sub", Status::Passed)]);
        assert_eq!((&report.broken, report.counts_at_last().failed), (&None, 1));
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
