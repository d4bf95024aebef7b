//! However short the lines are that repeat what is long, a report is not much larger than its text.

use std::time::Instant;

use backstop_adapters::report::{Format, TestReport, recognise};
use backstop_core::testing::proportional::assert_proportional;

/// Bytes of all that a report holds.
fn size(report: &TestReport) -> usize {
    let texts = |case: &backstop_adapters::report::Case| {
        case.name.len() + case.message.as_ref().map_or(0, String::len)
    };
    report.cases.iter().map(texts).sum()
}

/// Output in which something long is said once, and many short lines refer to it.
fn multiplying(count: usize) -> Vec<(&'static str, String)> {
    let long = "a.".repeat(2500);
    let said = "x".repeat(4000);
    let lines = |line: &str| line.repeat(count);
    let numbered = |before: &str, after: &str| -> String {
        (0..count).map(|number| format!("{before}{number}{after}")).collect()
    };
    vec![
        (
            "jest",
            format!(
                "PASS {long}js\n{}Test Suites: 1 passed, 1 total\nTests: 1 passed, 1 total\n",
                lines("  ✓ a\n")
            ),
        ),
        (
            "headings of jest",
            format!(
                "FAIL {long}js\n{}Test Suites: 1 failed, 1 total\nTests: 999999 failed, 999999 total\n",
                numbered("  ● a", "\n")
            ),
        ),
        (
            "vitest",
            format!(
                " ✓ {long}ts (1 test) 1ms\n{} Test Files  1 passed (1)\n Tests  1 passed (1)\n",
                lines("  ✓ a\n")
            ),
        ),
        ("mocha", format!("  {long}\n{}\n  1 passing (1ms)\n", lines("    ✓ a\n"))),
        (
            "node",
            format!(
                "▶ {long}\n{}ℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1\n",
                lines("  ✔ a (1ms)\n")
            ),
        ),
        (
            "documentation",
            format!(
                "{long}\n{}\nFinished in 1 second\n{count} examples, 0 failures\n",
                lines("  a\n")
            ),
        ),
        (
            "rspec",
            format!(
                "Failures:\n\n  1) a\n     {said}\nFinished in 1 second\n{count} examples, {count} failures\n{}",
                lines("rspec ./a.rb:1 # a\n")
            ),
        ),
        (
            "runs of rspec",
            lines(
                "Failures:\n\n  1) a\n     x\nFinished in 0.1 seconds\n1 example, 1 failure\nrspec ./a.rb:1 # a\n",
            ),
        ),
        (
            "libtest",
            format!(
                "     Running {long}.rs (target/debug/deps/{long}-0123456789abcdef)\nrunning {count} tests\n{}test result: ok. {count} passed; 0 failed; 0 ignored\n",
                lines("test a ... ok\n")
            ),
        ),
        (
            "words of libtest",
            format!(
                "running {count} tests\n{}\nfailures:\n\n---- a stdout ----\n{said}\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; {count} failed; 0 ignored\n",
                lines("test a ... FAILED\n")
            ),
        ),
        ("go", format!("{}PASS\nok  \t{long}\t0.1s\n", lines("--- PASS: T (0.00s)\n"))),
        (
            "pytest",
            format!(
                "== test session starts ==\n{}== short test summary info ==\nFAILED a.py::b - {said}\n== {count} failed in 1s ==\n",
                lines("a.py::b FAILED\n")
            ),
        ),
        (
            "unittest",
            format!(
                "{}======\nFAIL: t (m.A)\n------\n{said}\n\n------\nRan {count} tests in 1s\n\nFAILED (failures={count})\n",
                lines("t (m.A) ... FAIL\n")
            ),
        ),
        ("tap", format!("{long}.t ..\n1..{count}\n{}", lines("ok\n"))),
        (
            "sympy",
            format!(
                "{long}py[1] \n{}=== tests finished: 1 passed, in 1 seconds ===\n",
                lines("test_a ok\n")
            ),
        ),
    ]
}

#[test]
fn a_report_is_not_much_larger_than_its_text() {
    for (what, text) in multiplying(80_000) {
        let report = recognise(text.as_bytes(), None);
        let report = report.unwrap_or_else(|| panic!("{what} is no report"));
        assert!(report.cases.iter().all(|case| case.name.len() <= 1024), "{what}");
        assert!(size(&report) <= 64 << 20, "{what}: {} of {}", size(&report), text.len());
    }
}

/// Figures may be printed by a test, so each that follows takes back that the run has ended.
#[test]
#[expect(clippy::disallowed_methods, reason = "this measures how long reading takes")]
fn figures_that_do_not_end_a_run_cost_no_more_the_longer_it_is() {
    let text = |count: usize| {
        let cases: String =
            (0..count).map(|at| format!(" ✓ a.test.ts > case {at} 1ms\n")).collect();
        let figures = " Test Files  1 passed (1)\n".repeat(count);
        format!(" RUN  v3.2.7 /app\n\n{cases}{figures}      Tests  1 passed (1)\n")
    };
    let [small, large] = [1_000, 8_000].map(text);
    let read = |text: &str| {
        let report = recognise(text.as_bytes(), Some(Format::Vitest)).expect("a report");
        assert_eq!(report.broken, None);
    };
    assert_proportional("vitest", 8, Instant::now, || read(&small), || read(&large));
}

/// What is told of an example is told once, so that the first of the same title does not hide
/// others.
#[test]
fn examples_of_the_same_title_say_each_what_is_theirs() {
    let text = "FF\n\nFailures:\n\n  1) Sum adds\n     first\n     # ./a.rb:1\n\n  2) Sum adds\n     second\n\n\
                Finished in 0.1 seconds\n2 examples, 2 failures\n\nFailed examples:\n\n\
                rspec ./a.rb:1 # Sum adds\nrspec ./a.rb:9 # Sum adds\n";
    let report = recognise(text.repeat(2).as_bytes(), None).expect("a report");
    let said: Vec<_> = report.cases.iter().map(|case| case.message.as_deref()).collect();
    assert_eq!(said, [Some("first"), Some("second"), Some("first"), Some("second")]);
    assert_eq!(report.counts().failed, 4);
}
