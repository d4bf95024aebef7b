//! Runners one after the other in one output, of which the last one alone is counted.

use backstop_adapters::report::{Format, Status, recognise};

/// A run of each format that fails, and one that passes.
const RUNS: [(Format, &str, &str); 19] = [
    (
        Format::Junit,
        "<?xml version=\"1.0\"?><testsuites><testsuite name='s'><testcase name='x'>\
         <failure message='no'/></testcase></testsuite></testsuites>\n",
        "<?xml version=\"1.0\"?><testsuites><testsuite name='s'><testcase name='y'/></testsuite>\
         </testsuites>\n",
    ),
    (
        Format::Libtest,
        "running 2 tests\ntest one ... ok\ntest two ... FAILED\n\nfailures:\n\n---- two stdout ----\n\
         boom\n\n\nfailures:\n    two\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; \
         0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`\n",
        "running 1 test\ntest one ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; \
         0 measured; 0 filtered out; finished in 0.00s\n",
    ),
    (
        Format::LibtestJson,
        "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }\n\
         { \"type\": \"test\", \"event\": \"started\", \"name\": \"a\" }\n\
         { \"type\": \"test\", \"name\": \"a\", \"event\": \"failed\", \"stdout\": \"x\" }\n\
         { \"type\": \"suite\", \"event\": \"failed\", \"passed\": 0, \"failed\": 1 }\n",
        "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }\n\
         { \"type\": \"test\", \"event\": \"started\", \"name\": \"a\" }\n\
         { \"type\": \"test\", \"name\": \"a\", \"event\": \"ok\" }\n\
         { \"type\": \"suite\", \"event\": \"ok\", \"passed\": 1, \"failed\": 0 }\n",
    ),
    (
        Format::Nextest,
        "    Starting 2 tests across 1 binary\n        PASS [   0.005s] (1/2) x one\n        \
         FAIL [   0.006s] (2/2) x two\n──── STDOUT:             x two\n\nrunning 1 test\n\
         test two ... FAILED\n\nfailures:\n\nfailures:\n    two\n\ntest result: FAILED. 0 passed; \
         1 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s\n\n────────────\n     \
         Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        \
         FAIL [   0.006s] (2/2) x two\nerror: test run failed\n",
        "    Starting 1 test across 1 binary\n        PASS [   0.005s] (1/1) x one\n────────────\n     \
         Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n",
    ),
    (
        Format::Pytest,
        "===== test session starts =====\ncollected 2 items\n\ntest_a.py .F   [100%]\n\n\
         ===== short test summary info =====\nFAILED test_a.py::test_b - assert 1 == 2\n\
         ===== 1 failed, 1 passed in 0.03s =====\n",
        "===== test session starts =====\ncollected 1 item\n\ntest_c.py .   [100%]\n\n\
         ===== 1 passed in 0.01s =====\n",
    ),
    (
        Format::Unittest,
        "F\n======\nFAIL: test_a (test_a.A.test_a)\n------\nTraceback (most recent call last):\n\
         AssertionError: 1 != 2\n\n------\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n",
        ".\n------\nRan 1 test in 0.000s\n\nOK\n",
    ),
    (
        Format::Go,
        "=== RUN   TestA\n    a_test.go:7: want 1, got 2\n--- FAIL: TestA (0.00s)\nFAIL\n\
         FAIL\texample.org/a\t0.002s\nFAIL\n",
        "ok  \texample.org/b\t0.002s\n",
    ),
    (
        Format::GoJson,
        "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n\
         {\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestA\",\"Elapsed\":0}\n\
         {\"Action\":\"fail\",\"Package\":\"p\",\"Elapsed\":0}\n",
        "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n\
         {\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\",\"Elapsed\":0}\n\
         {\"Action\":\"pass\",\"Package\":\"p\",\"Elapsed\":0}\n",
    ),
    (
        Format::Jest,
        "FAIL src/sum.test.js\n  sum\n    ✓ adds (2 ms)\n    ✕ carries (3 ms)\n\n  ● sum › carries\n\n    \
         expect(received).toBe(expected)\n\nTest Suites: 1 failed, 1 total\n\
         Tests:       1 failed, 1 passed, 2 total\nSnapshots:   0 total\nTime:        0.5 s\n",
        "PASS src/b.test.js\n  ✓ works (1 ms)\n\nTest Suites: 1 passed, 1 total\n\
         Tests:       1 passed, 1 total\nSnapshots:   0 total\nTime:        0.5 s\n",
    ),
    (
        Format::JestJson,
        "{\"numFailedTests\":1,\"numTotalTests\":1,\"testResults\":[{\"name\":\"/a.test.js\",\
         \"status\":\"failed\",\"assertionResults\":[{\"title\":\"a\",\"status\":\"failed\"}]}]}\n",
        "{\"numFailedTests\":0,\"numTotalTests\":1,\"testResults\":[{\"name\":\"/b.test.js\",\
         \"status\":\"passed\",\"assertionResults\":[{\"title\":\"a\",\"status\":\"passed\"}]}]}\n",
    ),
    (
        Format::Vitest,
        "\n RUN  v2.1.4 /app\n\n ❯ src/sum.test.ts (2 tests | 1 failed) 5ms\n   ✓ adds 1ms\n   \
         × carries 3ms\n     → expected 1 to be 10\n\n FAIL  src/sum.test.ts > carries\n\
         AssertionError: expected 1 to be 10\n\n Test Files  1 failed (1)\n      \
         Tests  1 failed | 1 passed (2)\n   Start at  10:00:00\n   Duration  300ms\n",
        "\n RUN  v2.1.4 /app\n\n ✓ src/b.test.ts (1 test) 2ms\n\n Test Files  1 passed (1)\n      \
         Tests  1 passed (1)\n   Start at  10:00:00\n   Duration  300ms\n",
    ),
    (
        Format::Mocha,
        "\n\n  sum\n    ✔ adds\n    1) carries\n\n\n  1 passing (5ms)\n  1 failing\n\n  1) sum\n       \
         carries:\n     AssertionError: 1 == 2\n",
        "\n\n  sum\n    ✔ adds (12ms)\n\n\n  1 passing (5ms)\n\n",
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
        ".F\n\nFailures:\n\n  1) Sum carries\n     Failure/Error: expect(1).to eq(10)\n\n\
         Finished in 0.01 seconds (files took 0.1 seconds to load)\n2 examples, 1 failure\n\n\
         Failed examples:\n\nrspec ./spec/sum_spec.rb:5 # Sum carries\n\n",
        ".\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n1 example, 0 failures\n\n",
    ),
    (
        Format::RspecJson,
        "{\"version\":\"3.13\",\"examples\":[{\"full_description\":\"a\",\"status\":\"failed\"}],\
         \"summary\":{},\"summary_line\":\"1 example, 1 failure\"}\n",
        "{\"version\":\"3.13\",\"examples\":[{\"full_description\":\"b\",\"status\":\"passed\"}],\
         \"summary\":{},\"summary_line\":\"1 example, 0 failures\"}\n",
    ),
    (
        Format::Tap,
        "TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b\n",
        "TAP version 13\n1..1\nok 1 - a\n",
    ),
    (
        Format::Ctrf,
        "{\"reportFormat\":\"CTRF\",\"results\":{\"tool\":{},\"summary\":{},\
         \"tests\":[{\"name\":\"a\",\"status\":\"failed\"}]}}\n",
        "{\"reportFormat\":\"CTRF\",\"results\":{\"tool\":{},\"summary\":{},\
         \"tests\":[{\"name\":\"b\",\"status\":\"passed\"}]}}\n",
    ),
    (
        Format::Maven,
        "[INFO]  T E S T S\n[INFO] Running com.x.ATest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, \
         Skipped: 0, Time elapsed: 0.03 s <<< FAILURE! - in com.x.ATest\n[INFO] Results:\n\
         [ERROR] Failures: \n[ERROR]   ATest.b:10 expected:<1> but was:<2>\n\
         [ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n",
        "[INFO]  T E S T S\n[INFO] Running com.x.ATest\n[INFO] Tests run: 2, Failures: 0, Errors: 0, \
         Skipped: 0, Time elapsed: 0.03 s - in com.x.ATest\n[INFO] Results:\n\
         [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
    ),
    (
        Format::Sympy,
        "===== test process starts =====\nsympy/core/tests/test_a.py[2] .F     [FAIL]\n\n\
         ===== tests finished: 1 passed, 1 failed, in 0.06 seconds =====\nDO *NOT* COMMIT!\n",
        "===== test process starts =====\nsympy/core/tests/test_a.py[1] .     [OK]\n\n\
         ===== tests finished: 1 passed, in 0.06 seconds =====\n",
    ),
];

/// Runs that came to no proper end, without a test that failed.
const BROKEN: [(&str, &str); 13] = [
    (
        "a build that failed",
        "error[E0425]: cannot find value `x` in this scope\n --> src/lib.rs:1:1\n\n\
         error: could not compile `ledger` (lib test) due to 1 previous error\n",
    ),
    (
        "a binary that died",
        "running 3 tests\ntest a ... ok\nerror: test failed, to rerun pass `--lib`\n\nCaused by:\n  \
         process didn't exit successfully: `x` (signal: 11, SIGSEGV: invalid memory reference)\n",
    ),
    (
        "a suite that did not load",
        "FAIL src/a.test.js\n  ● Test suite failed to run\n\n    Cannot find module './b'\n\n\
         Test Suites: 1 failed, 1 total\nTests:       0 total\nSnapshots:   0 total\n",
    ),
    (
        "a file that did not load",
        "\n RUN  v2.1.4 /app\n\n ❯ src/a.test.ts (0 test)\n\n FAIL  src/a.test.ts [ src/a.test.ts ]\n\
         Error: Failed to load url nope\n\n Test Files  1 failed (1)\n      Tests  no tests\n   \
         Start at  10:00:00\n   Duration  300ms\n",
    ),
    ("vitest, killed", "\n RUN  v2.1.4 /app\n\n ✓ src/b.test.ts (1 test) 2ms\n"),
    (
        "an error outside of tests",
        "\n RUN  v2.1.4 /app\n\n ✓ src/b.test.ts (1 test) 2ms\n\n Test Files  1 passed (1)\n      \
         Tests  1 passed (1)\n     Errors  1 error\n   Start at  10:00:00\n",
    ),
    (
        "a spec that did not load",
        "An error occurred while loading ./spec/a_spec.rb.\nNo examples found.\n\n\
         Finished in 0.00002 seconds (files took 0.05 seconds to load)\n\
         0 examples, 0 failures, 1 error occurred outside of examples\n",
    ),
    ("who bailed out", "TAP version 13\nok 1 - a\nBail out! the database is gone\n"),
    ("a plan that was not kept", "TAP version 13\n1..3\nok 1 - a\n"),
    ("a session that was cut off", "===== test session starts =====\na.py::test_a PASSED [ 50%]\n"),
    (
        "a session that was stopped",
        "===== test session starts =====\ncollected 1 item\n\n\
         !!!!! KeyboardInterrupt !!!!!\n===== 1 passed in 0.02s =====\n",
    ),
    (
        "a build that failed in Maven",
        "[ERROR] COMPILATION ERROR : \n[INFO] 1 error\n[INFO] BUILD FAILURE\n",
    ),
    ("a report that was cut off", "<testsuite name='s'>\n<testcase name='a'/>\n<testcase "),
];

/// What may stand between two commands.
const GAPS: [&str; 3] = ["", "\n", "== second\n"];

fn succeeds(text: &str) -> bool {
    recognise(text.as_bytes(), None).expect("a report").succeeded()
}

#[test]
fn what_failed_is_not_forgotten_whatever_passes_next() {
    let mut forgotten = Vec::new();
    for (first, failing, _) in RUNS {
        assert!(!succeeds(failing), "{first}");
        for (next, _, passing) in RUNS {
            for gap in GAPS {
                if succeeds(&format!("{failing}{gap}{passing}")) {
                    forgotten.push(format!("{first}, {gap:?}, {next}"));
                }
            }
        }
    }
    assert!(forgotten.is_empty(), "{}", forgotten.join("\n"));
}

#[test]
fn what_broke_is_not_forgotten_whatever_passes_next() {
    let mut forgotten = Vec::new();
    for (what, broken) in BROKEN {
        for (next, _, passing) in RUNS {
            for gap in GAPS {
                if succeeds(&format!("{broken}{gap}{passing}")) {
                    forgotten.push(format!("{what}, {gap:?}, {next}"));
                }
            }
        }
    }
    assert!(forgotten.is_empty(), "{}", forgotten.join("\n"));
}

#[test]
fn runs_that_passed_are_a_success_in_any_order() {
    let mut doubted = Vec::new();
    for (first, _, passing) in RUNS {
        for (next, _, then) in RUNS {
            for gap in GAPS {
                let text = format!("{passing}{gap}{then}");
                let report = recognise(text.as_bytes(), None).expect("a report");
                if !report.succeeded() || report.format != next {
                    doubted.push(format!("{first}, {gap:?}, {next}: {report:?}"));
                }
            }
        }
    }
    assert!(doubted.is_empty(), "{}", doubted.join("\n"));
}

/// Where a runner names only some of its cases a list is shorter than its count, but never longer.
#[test]
fn no_list_is_longer_than_its_count() {
    let mut wrong = Vec::new();
    for (first, failing, passing) in RUNS {
        for (next, then_failing, then_passing) in RUNS {
            for before in [failing, passing] {
                for then in [then_failing, then_passing] {
                    let text = format!("{before}{then}");
                    let report = recognise(text.as_bytes(), None).expect("a report");
                    let counts = report.counts();
                    let named = |status| report.names(status).count() as u64;
                    if named(Status::Passed) > counts.passed
                        || named(Status::Failed) > counts.failed
                        || named(Status::Skipped) > counts.skipped
                    {
                        wrong.push(format!("{first}, {next}: {report:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A failure between two runs of the same runner is in neither of them.
#[test]
fn what_failed_between_two_runs_is_not_forgotten() {
    let mut forgotten = Vec::new();
    for (around, _, passing) in RUNS {
        for (between, failing, _) in RUNS {
            if succeeds(&format!("{passing}{failing}{passing}")) {
                forgotten.push(format!("{between} between {around}"));
            }
        }
    }
    assert!(forgotten.is_empty(), "{}", forgotten.join("\n"));
}

/// Where a runner says that it has begun, what others say until it ends was printed by its tests.
#[test]
fn a_run_within_another_one_is_a_part_of_it() {
    let whole = [
        ("running 1 test\n", "test one ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n"),
        (
            "{\"type\":\"suite\",\"event\":\"started\",\"test_count\":1}\n",
            "{\"type\":\"test\",\"name\":\"a\",\"event\":\"ok\"}\n{\"type\":\"suite\",\"event\":\"ok\"}\n",
        ),
        (
            "    Starting 1 test across 1 binary\n",
            "        PASS [   0.005s] x one\n     Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n",
        ),
        ("===== test session starts =====\n", "===== 1 passed in 0.01s =====\n"),
        ("test_a (m.T.test_a) ... ok\n", "\n------\nRan 1 test in 0.000s\n\nOK\n"),
        ("=== RUN   TestX\n", "--- PASS: TestX (0.00s)\nPASS\nok  \tpkg\t0.1s\n"),
        (
            "{\"Action\":\"run\",\"Package\":\"q\",\"Test\":\"TestX\"}\n",
            "{\"Action\":\"pass\",\"Package\":\"q\",\"Test\":\"TestX\"}\n{\"Action\":\"pass\",\"Package\":\"q\"}\n",
        ),
        (
            "PASS src/a.test.js\n",
            "PASS src/b.test.js\n\nTest Suites: 2 passed, 2 total\nTests:       2 passed, 2 total\n",
        ),
        (
            "\n RUN  v1.6.0 /app\n\nstdout | a.test.ts > runs\n",
            " ✓ a.test.ts (1 test) 1ms\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n",
        ),
        (
            "[INFO]  T E S T S\n[INFO] Running com.x.ATest\n",
            "[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in com.x.ATest\n\
             [INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n",
        ),
        ("TAP version 13\n# Subtest: runs\n", "ok 1 - runs\n1..1\n"),
        (
            "===== test process starts =====\n",
            "===== tests finished: 1 passed, in 0.06 seconds =====\n",
        ),
    ];
    let mut doubted = Vec::new();
    for (begin, end) in whole {
        assert!(succeeds(&format!("{begin}{end}")), "{begin}");
        for (within, failing, _) in RUNS {
            let text = format!("{begin}{failing}{end}");
            let report = recognise(text.as_bytes(), None).expect("a report");
            // A runner within one of its own kind is for its reader to tell apart.
            if !report.succeeded()
                && report.broken.as_deref().is_some_and(|it| it.contains("before it"))
            {
                doubted.push(format!("{within} in {begin:?}: {:?}", report.broken));
            }
        }
    }
    assert!(doubted.is_empty(), "{}", doubted.join("\n"));
}

/// jest puts what a test prints on lines of their own, indented below the call.
#[test]
fn what_a_console_shows_was_printed_by_a_test() {
    for (within, failing, _) in RUNS {
        let printed: String = failing.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!(
            "  console.log\n{printed}\n      at Object.log (src/a.test.js:3:11)\n\n\
             PASS src/a.test.js\n  ✓ works (1 ms)\n\nTest Suites: 1 passed, 1 total\n\
             Tests:       1 passed, 1 total\n"
        );
        assert!(succeeds(&text), "{within}: {:?}", recognise(text.as_bytes(), None));
    }
}

#[test]
fn what_went_wrong_is_said_with_the_name_of_its_runner() {
    let told = |text: &str| recognise(text.as_bytes(), None).expect("a report").broken;
    let passing = "===== 1 passed in 0.01s =====\n";
    for (format, failing, _) in RUNS.iter().filter(|(format, ..)| *format != Format::Pytest) {
        let expected = format!("1 failed in the {format} run before it");
        assert_eq!(told(&format!("{failing}{passing}")), Some(expected));
    }
    assert_eq!(
        told(&format!("{}{passing}", BROKEN[1].1)).as_deref(),
        Some("the libtest run before it is broken: a test binary ended without a result")
    );
    let libtest = |text: &str| recognise(text.as_bytes(), Some(Format::Libtest));
    let named = format!("{}{}", RUNS[4].1, RUNS[1].2);
    assert!(libtest(&named).expect("a report").succeeded(), "who names a format asks for no other");
}

#[test]
fn what_looks_like_a_report_hides_none() {
    let lines = "{\"level\":\"info\",\"results\":null,\"reportFormat\":1}\n".repeat(100);
    for (format, failing, passing) in RUNS {
        assert!(!succeeds(&format!("{lines}{failing}")), "{format}");
        assert!(succeeds(&format!("{lines}{passing}")), "{format}");
        assert!(!succeeds(&format!("a < b, <c\n{failing}")), "{format}");
    }
}

/// The runs of very long output are compared with each other, but not each with every other one.
#[test]
fn many_runs_take_no_longer_than_their_text() {
    let text = format!("{}{}", RUNS[6].1, RUNS[1].2).repeat(50_000);
    let begun = std::time::Instant::now();
    assert!(!succeeds(&text));
    let json = format!("{}{}", RUNS[9].2, RUNS[0].2).repeat(20_000);
    assert!(succeeds(&json));
    let unfinished = "<testsuite><!--\n{\"numTotalTests\":1,\"testResults\":}\n".repeat(100_000);
    let _ = recognise(unfinished.as_bytes(), None);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}
