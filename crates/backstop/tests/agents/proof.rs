//! What tests say decides, where they say it and as they say it.

use serde_json::{Value as Json, json};

use crate::support::looping::Loop;
use crate::{MISBEHAVE, claude, result};

/// Prints what pytest would: the third test passes from the second iteration on.
const PYTEST: &str = "if [ $BACKSTOP_ITERATION -ge 2 ]; then o=PASSED; s='3 passed'; else o=FAILED; s='1 failed, 2 passed'; fi\n\
    printf 'test_a.py::test_one PASSED\\ntest_a.py::test_two PASSED\\n'\n\
    echo \"test_a.py::test_three $o\"; echo \"==== $s in 0.12s ====\"; [ $o = PASSED ]";

const UNTIL: [&str; 4] = ["run", "--max-iterations", "5", "--until-tests-pass"];

fn tests_kept(test: &Loop) -> Json {
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    let path = test.state_directory().join("runs").join(run).join("tests.json");
    let text = std::fs::read_to_string(path).expect("the history of tests");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_command_itself_may_be_what_tests() {
    let test = Loop::new().script("check.sh", PYTEST);
    test.run([&UNTIL[..], &["--", "./check.sh"]].concat()).exits(0);
    let facts = &test.state()["facts"];
    assert_eq!(facts["iterations"], 2);
    assert_eq!(facts["tests"]["passed"].as_array().map(Vec::len), Some(3));
    assert_eq!(facts["tests"]["failed"], json!([]));
    let tests = test.events("tests");
    assert_eq!(tests.len(), 2, "{tests:?}");
    assert_eq!(tests[0]["failed"], json!(["test_a.py::test_three"]));
    let kept = tests_kept(&test).to_string();
    assert!(kept.contains("test_a.py::test_three"), "{kept}");
}

#[test]
fn the_verification_tests_an_agents_work() {
    let test = Loop::new().script("check.sh", PYTEST);
    let words = ["--verify", "./check.sh", "--", MISBEHAVE, "agent", "--messages", "1"];
    test.run([&UNTIL[..], &words].concat()).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    let outcomes = test.events("verification");
    assert_eq!(outcomes[0]["outcome"], "failed");
    assert_eq!(outcomes[1]["outcome"], "passed");
    tests_kept(&test);
}

#[test]
fn what_an_agent_says_about_tests_is_no_result() {
    let says = "==== 12 passed in 0.5s ====";
    let test = Loop::new().file("stream", &claude(&[result(says, false)]));
    let words = ["--", MISBEHAVE, "play", "stream"];
    test.run([&["run", "--max-iterations", "2", "--until-tests-pass"], &words[..]].concat())
        .exits(125);
    assert_eq!(test.events("tests"), Vec::<Json>::new());
}

#[test]
fn more_tests_that_pass_are_progress() {
    let grows = "for i in $(seq 1 $BACKSTOP_ITERATION); do echo \"ok $i - part $i\"; done\n\
                 echo \"not ok $((BACKSTOP_ITERATION + 1)) - rest\"; echo \"1..$((BACKSTOP_ITERATION + 1))\"; exit 1";
    let test = Loop::new().script("check.sh", grows);
    let flags = ["run", "--max-iterations", "4", "--no-progress", "2", "--verify", "./check.sh"];
    test.run([&flags[..], &["--", "true"]].concat()).exits(125);
    let progress = test.events("progress");
    assert!(progress.iter().any(|event| event["kind"] == "tests"), "{progress:?}");
    // The same results again are none.
    let test = Loop::new().script("check.sh", "echo 'not ok 1 - rest'; echo 1..1; exit 1");
    test.run([&flags[..], &["--", "true"]].concat()).exits(126);
}

/// All tests must pass, as a report says that the policy names.
fn reported(report: &str, script: &str) -> Loop {
    let policy = format!(
        "[limits]\niterations = 2\n[verify]\ncommand = './check.sh'\nreport = '{report}'\n\
         [[rule]]\nwhen = {{ type = 'all_tests_pass' }}\nthen = 'complete'\n"
    );
    Loop::new().file("p.toml", &policy).script("check.sh", script)
}

const RUN: [&str; 5] = ["run", "--policy", "p.toml", "--", "true"];

const JUNIT: &str = r#"<?xml version="1.0"?>
<testsuite name="parts" tests="2"><testcase classname="parts" name="one"/><testcase classname="parts" name="two"/></testsuite>
"#;

const CTRF: &str = r#"{"reportFormat":"CTRF","results":{"tool":{"name":"x"},"summary":{},
"tests":[{"name":"one","status":"passed"},{"name":"two","status":"passed"}]}}"#;

#[test]
fn reports_are_found_where_the_policy_says() {
    for (report, script, passed) in [
        ("auto", "printf '1..2\\nok 1 - one\\nok 2 - two\\n'", 2),
        ("tap", "printf '1..1\\nok 1 - one\\n'", 1),
        ("junit:out/*.xml", "mkdir -p out; cp kept out/a.xml", 2),
        ("auto:out/*", "mkdir -p out; cp kept out/a.xml; printf '1..1\\nok 1 - x\\n' > out/b", 3),
        ("ctrf:out/*.json", "mkdir -p out; cp report out/a.json", 2),
        (r"regex:(?<passed>\d+) good, (?<failed>\d+) bad", "echo 7 good, 0 bad", 7),
    ] {
        let test = reported(report, script).file("kept", JUNIT).file("report", CTRF);
        test.run(RUN).exits(0);
        assert_eq!(test.state()["facts"]["iterations"], 1, "{report}");
        let tests = test.events("tests");
        let named = tests[0]["passed"].as_array().map(Vec::len).unwrap_or_default();
        let counted = tests[0]["counts"]["passed"].as_u64();
        assert!(named == passed || counted == Some(passed as u64), "{report}: {tests:?}");
        tests_kept(&test);
    }
}

#[test]
fn a_file_of_an_earlier_time_tells_nothing() {
    // The moment before the verification is an earlier time, too.
    let test = reported("junit:junit.xml", "exit 0").file("junit.xml", JUNIT);
    test.run(RUN).exits(125);
    assert_eq!(test.events("tests"), Vec::<Json>::new());
    // What is written again counts, whatever time it bears.
    let test = reported("junit:junit.xml", "cp -p kept junit.xml").file("kept", JUNIT);
    let hour = std::time::Duration::from_secs(3600);
    let path = test.work().join("kept");
    let file = std::fs::File::options().write(true).open(path).expect("can be opened");
    file.set_modified(std::time::SystemTime::now() - hour).expect("can be made older");
    test.run(RUN).exits(0);
}

#[test]
fn a_report_that_is_broken_is_no_success() {
    let cut = &JUNIT[..JUNIT.len() - 40];
    for (report, script) in [
        ("junit:junit.xml", "cp cut junit.xml"),
        ("junit:junit.xml", ": > junit.xml"),
        ("junit:junit.xml", "echo '<testsuite tests=\"0\"/>' > junit.xml"),
        ("ctrf:out.json", "echo '{\"reportFormat\":\"CTRF\",\"results\":{\"tests\":[' > out.json"),
        ("auto:out.json", "echo nothing > out.json"),
        ("tap", "echo 1..0"),
        ("tap", "printf '1..5\\nok 1 - one\\nok 2 - two\\n'"),
        ("auto", "printf '1..2\\nok 1 - one\\nBail out! no database\\n'"),
        ("auto", "echo everything is fine"),
        (r"regex:(?<passed>\d+) good, (?<failed>\d+) bad", "echo 7 good, 1 bad"),
        (r"regex:(?<passed>\d+) good, (?<failed>\d+) bad", "echo nothing here"),
        ("auto", "printf '1..1\\nok 1 - one\\n'; exit 1"),
    ] {
        let test = reported(report, script).file("cut", cut);
        let ended = test.run(RUN);
        assert_eq!(ended.code, Some(125), "{report} {script}: {}", ended.stderr);
    }
}
