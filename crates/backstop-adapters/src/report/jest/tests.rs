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

#[test]
fn figures_that_are_told_twice_count_once() {
    let run = |file: &str, failed: u64| {
        let word = if failed > 0 { "FAIL" } else { "PASS" };
        format!("{word} {file}\n  ✓ one\n  ✕ two\n  ✓ two\n\n  ● two\n\n    boom\n\n")
    };
    let figures = "Test Suites: 1 failed, 1 of 2 total\nTests:       1 failed, 2 passed, 3 total\n\
                       Snapshots:   0 total\nTime:        0.5 s\nRan all test suites.\n";
    let left = figures.replace("1 failed, 1 of 2", "2 failed, 2");
    let text = format!("{}{figures}{left}", run("a.test.js", 1));
    let report = read(&text).expect("a report").report;
    assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 0 });
    assert_eq!((report.cases.len(), report.last_error()), (3, Some("boom")));
    assert_eq!(report.broken, None);
    // Another run has cases of its own, or other figures.
    for (more, failed) in [
        (format!("{}{figures}", run("b.test.js", 1)), 2),
        (figures.replace("1 failed, 2 passed", "3 failed"), 4),
    ] {
        let text = format!("{}{figures}{more}", run("a.test.js", 1));
        let report = read(&text).expect("a report").report;
        assert_eq!(report.counts().failed, failed, "{text}");
    }
}

const SAID_AGAIN: &str = "\
::error file=/app/unit/a.test.js,line=2,title=sum › adds::boom%0A    at a.test.js:2:3
FAIL unit/a.test.js
  ● sum › adds

    boom

FAIL unit/b.test.js
  ● Test suite failed to run

    no module

::group::Errors thrown in a.test.js
  ● sum › adds

    boom

::endgroup::
::group::Errors thrown in b.test.js
  ● Test suite failed to run

    no module

::endgroup::
::group::Errors thrown in c.test.js
  ● Test suite failed to run

    no test

::endgroup::
FAIL unit/c.test.js
  ● Test suite failed to run

    no test

Test Suites: 3 failed, 3 total
Tests:       1 failed, 1 passed, 2 total
";

#[test]
fn what_is_said_again_for_github_is_that_of_its_file() {
    let report = read(SAID_AGAIN).expect("a report").report;
    let told: Vec<_> =
        report.cases.iter().map(|case| (&*case.name, case.message.as_deref())).collect();
    assert_eq!(told, [("unit/a.test.js > sum > adds", Some("boom"))]);
    assert_eq!(report.broken.as_deref(), Some("2 test suites failed to run"));
}

#[test]
fn what_is_said_again_of_one_of_several_files_of_a_name_is_left_out() {
    let text = "\
FAIL one/index.test.js
  ● sum › adds

    boom

FAIL two/index.test.js
  ● sum › adds

    bang

::group::Errors thrown in index.test.js
  ● sum › divides

    by zero

::endgroup::
Test Suites: 2 failed, 2 total
Tests:       3 failed, 3 total
";
    let report = read(text).expect("a report").report;
    let told: Vec<_> =
        report.cases.iter().map(|case| (&*case.name, case.message.as_deref())).collect();
    let expected = [
        ("one/index.test.js > sum > adds", Some("boom")),
        ("two/index.test.js > sum > adds", Some("bang")),
    ];
    assert_eq!(told, expected);
}

#[rstest]
#[case::all_of_them("1 failed, 1 total", 2)]
#[case::who_stops_at_the_first("1 failed, 1 of 3 total", 1)]
fn equal_figures_in_a_row_are_those_of_two_runs_unless_one_stopped(
    #[case] suites: &str,
    #[case] failed: u64,
) {
    let figures = format!("Test Suites: {suites}\nTests:       1 failed, 1 total\n");
    let report = read(&figures.repeat(2)).expect("a report").report;
    assert_eq!(report.counts(), TestCounts { passed: 0, failed, skipped: 0 });
}

#[test]
fn cases_may_be_folded_up_for_github() {
    let text = "
  FAIL a.test.js (511 ms)
    ✓ adds (2 ms)
    deep
      ✕ carries (2 ms)
      ○ skipped one (1 ms)
      ✎ todo one (1 ms)
::group::PASS b.test.js (65 ms)
  ✓ adds (1 ms)
::endgroup::

::group::Errors thrown in a.test.js
  ● deep › carries

    boom

::endgroup::
Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total
";
    let report = read(text).expect("a report").report;
    let names = |status| report.names(status).collect::<Vec<_>>();
    assert_eq!(names(Status::Passed), ["a.test.js > adds", "b.test.js > adds"]);
    assert_eq!(names(Status::Failed), ["a.test.js > deep > carries"]);
    assert_eq!(
        names(Status::Skipped),
        ["a.test.js > deep > skipped one", "a.test.js > deep > todo one"]
    );
    assert_eq!((report.last_error(), report.broken.as_deref()), (Some("boom"), None));
}
