//! `backstop tests`: what test reports say, and the exit codes that scripts rely on.

mod support;

use support::{Test, keys};

const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="99">
  <testsuite name="ledger">
    <testcase classname="ledger.Sum" name="adds" time="0.01"/>
    <testcase classname="ledger.Sum" name="carries" time="0.02">
      <failure message="expected 10, got 1" type="AssertionError">at sum.py:7</failure>
    </testcase>
    <testcase classname="ledger.Sum" name="waits"><skipped message="too slow"/></testcase>
    <testcase classname="ledger.Net" name="connects"><flakyFailure message="timeout"/></testcase>
  </testsuite>
</testsuites>
"#;

const TAP: &str = "TAP version 14\n1..2\nok 1 - adds\nok 2 - divides\n";

#[test]
fn people_read_figures_failures_and_what_is_flaky() {
    let ended = Test::new().file("junit.xml", JUNIT).run(["tests", "junit.xml"]).exits(10);
    insta::assert_snapshot!(ended.stdout, @r"
    2 passed, 1 failed, 1 skipped  junit

    failed ledger.Sum::carries
           expected 10, got 1

    flaky  ledger.Net::connects
    ");
    assert_eq!(ended.stderr, "");
}

#[test]
fn json_has_one_entry_per_case() {
    let object =
        Test::new().file("a.xml", JUNIT).run(["tests", "a.xml", "--json"]).exits(10).json();
    assert_eq!(
        keys(&object),
        [
            "format", "passed", "failed", "skipped", "counts", "failures", "flaky", "overcome",
            "broken"
        ]
    );
    assert_eq!(object["format"], "junit");
    assert_eq!(object["passed"], serde_json::json!(["ledger.Sum::adds", "ledger.Net::connects"]));
    assert_eq!(object["failed"], serde_json::json!(["ledger.Sum::carries"]));
    assert_eq!(object["counts"], serde_json::json!({"passed": 2, "failed": 1, "skipped": 1}));
    assert_eq!(
        object["failures"],
        serde_json::json!([{"name": "ledger.Sum::carries", "message": "expected 10, got 1"}])
    );
    assert_eq!(object["broken"], serde_json::Value::Null);
}

#[test]
fn what_passed_when_it_was_tried_again_did_not_fail() {
    let retried = "<testsuite><testcase classname='c' name='r'><failure message='m'/></testcase>\
                   <testcase classname='c' name='r'/><testcase classname='c' name='s'/></testsuite>";
    let test = Test::new().file("a.xml", retried);
    let ended = test.run(["tests", "a.xml"]).exits(0);
    insta::assert_snapshot!(ended.stdout, @r"
    2 passed, 1 failed (1 passed when tried again)  junit

    flaky  c::r
    ");
    let object = test.run(["tests", "a.xml", "--json"]).exits(0).json();
    assert_eq!(object["counts"], serde_json::json!({"passed": 2, "failed": 1, "skipped": 0}));
    assert_eq!(object["failed"], serde_json::json!(["c::r"]));
    assert_eq!(object["overcome"], serde_json::json!(["c::r"]));
    assert_eq!(object["flaky"], serde_json::json!(["c::r"]));
}

#[test]
fn several_files_are_one_run() {
    let test = Test::new().file("a.xml", JUNIT).file("b.tap", TAP);
    let ended = test.run(["tests", "a.xml", "b.tap"]).exits(10);
    insta::assert_snapshot!(ended.stdout, @r"
    4 passed, 1 failed, 1 skipped  junit, tap

      a.xml: 2 passed, 1 failed, 1 skipped
      b.tap: 2 passed, 0 failed

    failed ledger.Sum::carries
           expected 10, got 1

    flaky  ledger.Net::connects
    ");
    let object = test.run(["tests", "a.xml", "b.tap", "--json"]).exits(10).json();
    assert_eq!(object["passed"].as_array().map(Vec::len), Some(4));
    assert_eq!(object["files"][1]["file"], "b.tap");
    assert_eq!(object["files"][1]["counts"]["passed"], 2);
}

#[test]
fn one_file_that_is_no_report_takes_nothing_from_the_others() {
    let test = Test::new().file("b.tap", TAP).file("notes.txt", "notes\n");
    for (bad, code, why) in [
        ("notes.txt", 65, "error: no test report: it begins with `notes`\n --> notes.txt"),
        ("missing.xml", 66, "error: can't read `missing.xml`: no such file or directory"),
    ] {
        let ended = test.run(["tests", bad, "b.tap", "--json"]);
        assert_eq!(ended.code, Some(code));
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        let object = ended.json();
        assert_eq!(object["passed"], serde_json::json!(["adds", "divides"]));
        let broken = object["broken"].as_str().expect("it says what is missing");
        assert!(why.contains(broken), "{broken}");
        assert_eq!(object["files"][1]["file"], bad);
        assert_eq!(object["files"][1]["broken"], broken);
    }
    let ended = test.run(["tests", "b.tap", "notes.txt"]);
    insta::assert_snapshot!(ended.stdout, @r"
    2 passed, 0 failed  tap

      b.tap: 2 passed, 0 failed
      notes.txt: not read
    ");
}

#[test]
fn a_pattern_of_ones_own_is_a_format() {
    let test = Test::new().file("log", "built\n3 ok, 1 bad\n");
    let pattern = r"regex:(?<passed>\d+) ok, (?<failed>\d+) bad";
    let ended = test.run(["tests", "log", "--format", pattern]).exits(10);
    assert_eq!(ended.stdout, "3 passed, 1 failed  regex\n");
    test.run(["tests", "log", "--format", r"regex:(?<passed>\d+) good"])
        .refused(65, &["no line that the pattern matches: it begins with `built`"]);
    test.run(["tests", "log", "--format", "regex:("])
        .refused(64, &["the pattern can't be used: unclosed group"]);
    test.run(["tests", "log", "--format", "junit:a.xml"])
        .refused(64, &["a format is named without a path"]);
}

#[test]
fn standard_input_is_a_file_too() {
    let ended = Test::new().stdin("2 passed in 0.01s\n").run(["tests", "-"]).exits(0);
    assert_eq!(ended.stdout, "2 passed, 0 failed  pytest\n");
    let test = Test::new().stdin(TAP);
    test.run(["tests", "-", "--format", "TAP"]).exits(0);
    test.run(["tests", "-", "--format", "junit"])
        .refused(65, &["no junit report: it begins with `TAP version 14`", "--> <stdin>"]);
}

#[test]
fn a_broken_report_is_no_success() {
    let cut = &JUNIT[..JUNIT.find("<testcase classname=\"ledger.Sum\" name=\"waits\"").unwrap()];
    let ended = Test::new().file("cut.xml", cut).run(["tests", "cut.xml", "--json"]);
    assert_eq!(ended.code, Some(65));
    assert_eq!(ended.json()["broken"], "the XML is cut off");
    assert_eq!(ended.json()["failed"].as_array().map(Vec::len), Some(1));
    assert!(ended.stderr.contains("the report is broken: the XML is cut off\n --> cut.xml"));
}

#[test]
fn what_is_no_report_is_refused_by_name() {
    let test =
        Test::new().file("notes.txt", "we had 5 passed tests\n").file("empty", "").folder("dir");
    test.run(["tests", "notes.txt"])
        .refused(65, &["no test report: it begins with `we had 5 passed tests`", "--> notes.txt"]);
    test.run(["tests", "empty"]).refused(65, &["no test report: it is empty", "--> empty"]);
    test.run(["tests", "missing.xml"]).refused(66, &["can't read `missing.xml`: no such file"]);
    test.run(["tests", "dir"]).refused(66, &["can't read `dir`"]);
    test.run(["tests", "notes.txt", "--format", "pytst"]).refused(64, &["did you mean `pytest`?"]);
    test.run(["tests"]).refused(64, &["<FILE>"]);
}

#[test]
fn a_terminal_is_not_obeyed_and_lines_stay_short() {
    let name = format!("{}\u{1b}[31m", "long ".repeat(40));
    let tap = format!("1..1\nnot ok 1 - {name}\n# {}\n", "boom ".repeat(60));
    let ended = Test::new().stdin(tap).run(["tests", "-"]).exits(10);
    assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
}

#[test]
fn very_many_failures_are_cut_short_for_people_only() {
    let points: String = (1..=120).map(|number| format!("not ok {number} - t{number}\n")).collect();
    let test = Test::new().stdin(format!("1..120\n{points}"));
    let shown = test.run(["tests", "-"]).exits(10).stdout;
    assert!(shown.ends_with("and 70 more; --json lists them all\n"), "{shown}");
    let object = test.run(["tests", "-", "--json"]).exits(10).json();
    assert_eq!(object["failed"].as_array().map(Vec::len), Some(120));
}
