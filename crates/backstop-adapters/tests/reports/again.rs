//! Several runs of the same runner in one output.

use backstop_adapters::report::{Format, Status, TestReport, recognise};

use super::told;

fn read(text: &str) -> TestReport {
    recognise(text.as_bytes(), None).expect("a report")
}

fn names(report: &TestReport, status: Status) -> Vec<&str> {
    report.names(status).collect()
}

/// Runners that name every case: one run that failed, one that passed, and the cases of each.
const NAMED: [(Format, &str, &str); 12] = [
    (
        Format::Jest,
        "FAIL unit/a.test.js\n  sum\n    ✕ adds (2 ms)\n    ✓ subtracts\n\n  ● sum › adds\n\n    \
         expect(received).toBe(expected)\n\nTest Suites: 1 failed, 1 total\n\
         Tests:       1 failed, 1 passed, 2 total\nSnapshots:   0 total\nTime:        0.5 s\n",
        "PASS int/b.test.js\n  api\n    ✓ gets (2 ms)\n    ○ skipped puts\n\nTest Suites: 1 passed, 1 total\n\
         Tests:       1 skipped, 1 passed, 2 total\nSnapshots:   0 total\n",
    ),
    (
        Format::Vitest,
        " RUN  v2.1.4 /app/a\n\n ❯ a.test.ts (2 tests | 1 failed) 3ms\n   ✓ one\n   × two\n     → no\n\n \
         FAIL  a.test.ts > two\nError: no\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n",
        " RUN  v2.1.4 /app/b\n\n ✓ b.test.ts (1 test) 3ms\n   ✓ three\n\n Test Files  1 passed (1)\n      \
         Tests  1 passed (1)\n   Duration  300ms\n",
    ),
    (
        Format::Mocha,
        "\n\n  unit\n    ✔ adds\n    1) subtracts\n\n\n  1 passing (4ms)\n  1 failing\n\n  1) unit\n       \
         subtracts:\n\n      AssertionError: 1 == 2\n      + expected - actual\n\n      -1\n      +2\n\n      \
         at Context.<anonymous> (a.js:2:58)\n\n\n",
        "\n\n  integration\n    ✔ gets (12ms)\n    - puts\n\n\n  1 passing (4ms)\n  1 pending\n\n",
    ),
    (
        Format::Node,
        "✔ adds (0.5ms)\n✖ carries (1.2ms)\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ cancelled 0\n\
         ℹ skipped 0\nℹ todo 0\nℹ duration_ms 50.1\n\n✖ failing tests:\n\ntest at a.js:5:3\n\
         ✖ carries (1.2ms)\n  AssertionError: 1 !== 10\n",
        "✔ adds (0.5ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\n\
         ℹ todo 0\nℹ duration_ms 50.1\n",
    ),
    (
        Format::Rspec,
        "\nSum\n  adds\n  carries (FAILED - 1)\n\nFailures:\n\n  1) Sum carries\n     Failure/Error: no\n\n\
         Finished in 0.01 seconds (files took 0.1 seconds to load)\n2 examples, 1 failure\n\n\
         Failed examples:\n\nrspec ./spec/sum_spec.rb:5 # Sum carries\n\n",
        "\nSum\n  adds\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n1 example, 0 failures\n\n",
    ),
    (
        Format::Unittest,
        "test_a (m.A.test_a) ... ok\ntest_b (m.A.test_b) ... FAIL\n\n======\nFAIL: test_b (m.A.test_b)\n------\n\
         Traceback (most recent call last):\nAssertionError: 1 != 2\n\n------\nRan 2 tests in 0.000s\n\n\
         FAILED (failures=1)\n",
        "test_c (m.A.test_c) ... ok\n\n------\nRan 1 test in 0.000s\n\nOK\n",
    ),
    (
        Format::Libtest,
        "running 2 tests\ntest one ... ok\ntest two ... FAILED\n\nfailures:\n\nfailures:\n    two\n\n\
         test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
        "running 1 test\ntest one ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n",
    ),
    (
        Format::Nextest,
        "    Starting 2 tests across 1 binary\n        PASS [   0.005s] (1/2) x one\n        \
         FAIL [   0.006s] (2/2) x two\n────────────\n     \
         Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        \
         FAIL [   0.006s] (2/2) x two\nerror: test run failed\n",
        "    Starting 1 test across 1 binary\n        PASS [   0.005s] (1/1) x one\n────────────\n     \
         Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n",
    ),
    (
        Format::Go,
        "=== RUN   TestA\n    a_test.go:7: want 1, got 2\n--- FAIL: TestA (0.00s)\nFAIL\n\
         FAIL\texample.org/a\t0.002s\nFAIL\n",
        "=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \texample.org/b\t0.002s\n",
    ),
    (
        Format::Sympy,
        "===== test process starts =====\nsympy/core/tests/test_a.py[2] \ntest_one ok\ntest_two F    [FAIL]\n\n\
         ===== tests finished: 1 passed, 1 failed, in 0.06 seconds =====\n",
        "===== test process starts =====\nsympy/core/tests/test_b.py[1] \ntest_three ok    [OK]\n\n\
         ===== tests finished: 1 passed, in 0.06 seconds =====\n",
    ),
    (
        Format::Tap,
        "TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b\n",
        "TAP version 13\n1..1\nok 1 - c\n",
    ),
    (
        Format::Pytest,
        "===== test session starts =====\ncollected 2 items\n\nt.py::a PASSED [ 50%]\nt.py::b FAILED [100%]\n\n\
         ===== 1 failed, 1 passed in 0.03s =====\n",
        "===== test session starts =====\ncollected 1 item\n\nt.py::c PASSED [100%]\n\n\
         ===== 1 passed in 0.01s =====\n",
    ),
];

/// Whether each list is as long as its figure.
fn lists_agree(report: &TestReport) -> bool {
    let counts = report.counts();
    let listed = |status| report.names(status).count() as u64;
    [listed(Status::Passed), listed(Status::Failed), listed(Status::Skipped)]
        == [counts.passed, counts.failed, counts.skipped]
}

#[test]
fn lists_agree_with_counts_whatever_comes_before() {
    let mut wrong = Vec::new();
    for (first, failing, passing) in NAMED {
        for (next, last_failing, last_passing) in NAMED {
            for before in [failing, passing] {
                for last in [last_failing, last_passing] {
                    for text in [format!("{before}{last}"), format!("{last}{before}{last}")] {
                        let report = read(&text);
                        if !lists_agree(&report) {
                            wrong.push(format!("{first}, {next}: {report:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of pytest the last session alone is read, because its tests print sessions of their own.
#[test]
fn runs_of_the_same_runner_are_added_up() {
    for (format, failing, passing) in NAMED.iter().filter(|(format, ..)| *format != Format::Pytest)
    {
        let [one, two] = [read(failing), read(passing)];
        assert_eq!((one.format, two.format), (*format, *format));
        for text in [format!("{failing}{passing}"), format!("{passing}{failing}")] {
            let report = read(&text);
            assert_eq!(report.broken, None, "{text}");
            assert!(!report.succeeded(), "{text}");
            let counts = [one.counts(), two.counts(), report.counts()];
            let [one, two, both] =
                counts.map(|counts| [counts.passed, counts.failed, counts.skipped]);
            assert_eq!([one[0] + two[0], one[1] + two[1], one[2] + two[2]], both, "{text}");
            assert_eq!(report.last_error(), read(failing).last_error(), "{text}");
        }
    }
}

#[test]
fn a_run_is_named_by_its_own_blocks() {
    let runs = |at: usize| format!("{}{}", NAMED[at].1, NAMED[at].2);
    let [jest, vitest, mocha] = [0, 1, 2].map(|at| read(&runs(at)));
    assert_eq!(
        names(&jest, Status::Passed),
        ["unit/a.test.js > sum > subtracts", "int/b.test.js > api > gets"]
    );
    assert_eq!(names(&vitest, Status::Passed), ["a.test.ts > one", "b.test.ts > three"]);
    assert_eq!(names(&mocha, Status::Passed), ["unit > adds", "integration > gets"]);
    assert_eq!(names(&mocha, Status::Failed), ["unit > subtracts"]);
    assert_eq!(names(&mocha, Status::Skipped), ["integration > puts"]);
}

#[test]
fn a_run_of_vitest_within_another_one_is_not_added_to_it() {
    let text = format!(
        " RUN  v2.1.4 /app\n\n ✓ o.test.ts (1 test) 3ms\n   ✓ outer\n{} Test Files  1 passed (1)\n      \
         Tests  1 passed (1)\n",
        NAMED[1].1
    );
    assert_eq!(told(Some(&read(&text))), "vitest 1 0 0 whole");
    assert!(lists_agree(&read(&text)));
}

#[test]
fn vitest_without_a_test_file_does_what_it_was_asked_to() {
    let cargo = NAMED[6].2;
    let none = |status: u8| {
        format!("\n RUN  v1.6.0 /app\n\nNo test files found, exiting with code {status}\n\n")
    };
    assert_eq!(told(Some(&read(&format!("{}{cargo}", none(0))))), "libtest 1 0 0 whole");
    assert_eq!(
        read(&format!("{}{cargo}", none(1))).broken.as_deref(),
        Some("the vitest run before it is broken: no test files were found")
    );
    assert!(read(&none(0)).is_empty());
    assert_eq!(read(&none(1)).broken.as_deref(), Some("no test files were found"));
    let vitest = NAMED[1].2;
    assert_eq!(told(Some(&read(&format!("{}{vitest}", none(0))))), "vitest 1 0 0 whole");
    assert!(!read(&format!("{}{vitest}", none(1))).succeeded());
    assert!(!read(&format!("{vitest}{}", none(1))).succeeded());
}

#[test]
fn prose_is_no_run_of_vitest() {
    for prose in
        ["RUN v2 of the pipeline", "RUN v2.0.1 of the pipeline", "DEV v1.2.3", "RUN  v1 /app"]
    {
        let text = format!("{prose}\n=== 3 passed in 0.1s ===\n");
        assert_eq!(told(Some(&read(&text))), "pytest 3 0 0 whole", "{prose}");
    }
    for begun in [" RUN  v2.1.4 /app", " DEV  v0.34.6 C:/app", "RUN  v3.0.0-beta.2 /app"] {
        let text = format!("{begun}\n=== 3 passed in 0.1s ===\n");
        assert!(!read(&text).succeeded(), "{begun}");
    }
}
