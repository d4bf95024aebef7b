//! Several commands that verify the work.

use crate::refusals;
use crate::support::looping::{Loop, wait_for};

const TIERS: &str = "[limits]\niterations = 2\n\
    [[rule]]\nwhen = { type = 'exit_code', any_of = [0] }\nthen = 'complete'\n\
    [verify]\ncommand = 'echo last >> ran'\n\
    [[verify.tiers]]\nname = 'lint'\ncommand = 'echo lint >> ran'\n\
    [[verify.tiers]]\nname = 'unit'\ncommand = ['./unit.sh']\ntimeout = '20s'\n";

#[test]
fn tiers_run_in_order_and_the_command_last() {
    let test =
        Loop::new().file("backstop.toml", TIERS).script("unit.sh", "echo unit >> ran; echo 7 left");
    let ended = test.run(["run", "--", "true"]).exits(0);
    assert_eq!(test.read("ran"), "lint\nunit\nlast\n");
    let verifications = test.events("verification");
    assert_eq!(verifications.len(), 1);
    assert_eq!(verifications[0]["outcome"], "passed");
    let detail = verifications[0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("lint passed in "), "{detail}");
    assert!(detail.contains("s, unit passed in ") && detail.contains("echo last"), "{detail}");
    assert!(ended.stderr.contains("backstop: verification: lint passed in "), "{}", ended.stderr);
    assert!(ended.stderr.contains("backstop: verification: unit passed in "), "{}", ended.stderr);
}

#[test]
fn what_passed_is_told_in_one_line() {
    for (prints, told) in [
        (
            "echo preamble; echo '== 3 passed, 1 skipped in 0.12s =='",
            "passed: 3 passed, 1 skipped\n",
        ),
        ("echo preamble; echo; echo two", "passed: two\n"),
        ("true", "passed\n"),
    ] {
        let test = Loop::new().script("check.sh", prints);
        let flags = ["run", "--until-success", "--verify", "./check.sh", "--", "true"];
        let card = test.run(flags).exits(0).stderr;
        let line = card.lines().find(|line| line.trim_start().starts_with("verified"));
        assert_eq!(line.expect("a line").trim_end().rsplit("  ").next(), told.lines().next());
        assert!(!card.contains("preamble"), "{card}");
    }
}

#[test]
fn nothing_follows_a_colon_that_is_not_there() {
    let policy = "[limits]\niterations = 1\n[[rule]]\nwhen = { type = 'exit_code', any_of = [0] }\n\
        then = 'complete'\n[verify]\ncommand = './check.sh'\nreport = 'tap:out.tap'\n";
    let test = Loop::new().file("backstop.toml", policy);
    let test = test.script("check.sh", "printf '1..1\\nnot ok 1 - a\\n' > out.tap");
    test.run(["run", "--", "true"]).exits(125);
    let detail = test.events("verification")[0]["detail"].clone();
    assert_eq!(detail, "it exited with 0, but 1 of its tests failed");
}

#[test]
fn the_first_that_fails_ends_the_verification() {
    let failing = "echo unit >> ran; echo '2 tests failed'; exit 1";
    let test = Loop::new().file("backstop.toml", TIERS).script("unit.sh", failing);
    test.run(["run", "--", "true"]).exits(125);
    assert_eq!(test.read("ran"), "lint\nunit\nlint\nunit\n");
    let verification = &test.events("verification")[0];
    assert_eq!(verification["outcome"], "failed");
    let detail = verification["detail"].as_str().unwrap();
    assert!(detail.contains(", unit failed after "), "{detail}");
    assert!(detail.ends_with("s:\n2 tests failed"), "{detail}");
    assert_eq!(refusals(&test).len(), 2);
}

#[test]
fn one_that_takes_too_long_is_ended_with_all_its_processes() {
    let policy = TIERS.replace("20s", "3s");
    let slow = "(trap '' TERM; echo $BASHPID > pid; sleep 300) & wait";
    let test = Loop::new().file("backstop.toml", &policy).script("unit.sh", slow);
    test.run(["run", "--once", "--", "true"]).exits(11);
    assert_eq!(test.events("verification")[0]["outcome"], "timed_out");
    assert_eq!(test.read("ran"), "lint\n");
    assert!(!test.read("pid").is_empty());
    test.leaves_nothing();
}

#[test]
fn test_results_of_all_tiers_are_counted_together() {
    let policy = "[limits]\niterations = 2\n\
        [[rule]]\nwhen = { type = 'all_tests_pass' }\nthen = 'complete'\n\
        [verify]\ncommand = 'printf \"1..1\\nok 1 - end to end\\n\"'\nreport = 'tap'\n\
        [[verify.tiers]]\ncommand = 'printf \"TAP version 13\\n1..2\\nok 1 - a\\nok 2 - b\\n\"'\n";
    let test = Loop::new().file("backstop.toml", policy);
    test.run(["run", "--", "true"]).exits(0);
    let tests = test.events("tests");
    assert_eq!(tests.len(), 1);
    assert_eq!(tests[0]["passed"].as_array().unwrap().len(), 3, "{tests:?}");
}

#[test]
fn the_flag_may_be_repeated_and_replaces_what_the_file_says() {
    let test = Loop::new().file("backstop.toml", TIERS).script("unit.sh", "exit 1");
    let flags = ["--verify", "echo one >> ran", "--verify", "echo two >> ran"];
    test.run([&["run"], &flags[..], &["--", "true"]].concat()).exits(0);
    assert_eq!(test.read("ran"), "one\ntwo\n");
    let flags = ["--verify", "echo one >> ran; false", "--verify", "echo two >> ran"];
    test.run([&["run", "--once"], &flags[..], &["--", "true"]].concat()).exits(10);
    assert_eq!(test.read("ran"), "one\ntwo\none\n");
}

#[test]
fn one_that_verifies_nothing_is_refused_with_its_place() {
    let test = Loop::new().file("backstop.toml", "[verify]\ntimeout = '1m'\n");
    test.run(["run", "--", "true"])
        .refused(78, &["`verify` needs `command` or `tiers`", "backstop.toml:1:"]);
}

#[test]
fn who_wants_the_run_to_end_does_not_wait_for_the_other_tiers() {
    let policy = TIERS.replace("20s", "10m");
    let test = Loop::new().file("backstop.toml", &policy).script("unit.sh", "exec sleep 300");
    let running = test.start(["run", "--", "true"]);
    wait_for("the second tier", || test.read("ran") == "lint\n" && test.processes().len() == 1);
    test.run(["stop", "latest", "--now"]).exits(0);
    running.ends().exits(130);
    assert_eq!(test.read("ran"), "lint\n");
    test.leaves_nothing();
}

#[test]
fn a_command_that_exits_with_0_has_not_passed_if_its_tests_did_not() {
    let whole = "1..2\nok 1 - a\nok 2 - b\n";
    for (printed, report, why) in [
        ("1..2\nok 1 - a\nnot ok 2 - b\n", "auto", Some("1 of its tests failed")),
        ("TAP version 14\n1..3\nok 1 - a\n", "auto", Some("its tests are no proof")),
        ("TAP version 14\n1..3\n", "auto", Some("its tests are no proof")),
        ("TAP version 14\nBail out! no database\n", "auto", Some("its tests are no proof")),
        ("running 5 tests\n", "auto", Some("its tests are no proof")),
        (
            "   Compiling a v0.1.0 (/a)\nerror[E0425]: cannot find value `x` in this scope\n\
             error: could not compile `a` (lib test) due to 1 previous error\n",
            "auto",
            Some("its tests are no proof"),
        ),
        (
            "FAIL ./a.test.js\n  ● Test suite failed to run\n\n    Cannot find module './b'\n\n\
             Test Suites: 1 failed, 1 total\nTests:       0 total\nSnapshots:   0 total\n\
             Time:        0.2 s\n",
            "auto",
            Some("its tests are no proof"),
        ),
        (
            "--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample.org/a\t0.002s\nFAIL\n\
             1..1\nok 1 - other\n",
            "auto",
            Some("its tests are no proof (1 failed in the go run before it)"),
        ),
        (
            "error[E0425]: cannot find value `x`\nerror: could not compile `a` (lib test)\n\
             .\n----\nRan 1 test in 0.000s\n\nOK\n",
            "auto",
            Some("the libtest run before it is broken: the build failed: error[E0425]"),
        ),
        ("PASS a\nFAIL b\n", "regex:^(?<status>PASS|FAIL) (?<name>.+)$", Some("1 of its tests")),
        (whole, "junit:none/*.xml", Some("there is no test report from it at `junit:none/*.xml`")),
        (whole, "auto", None),
        (
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; \
          0 filtered out; finished in 0.00s\n",
            "auto",
            Some("no test ran"),
        ),
        ("?   \texample.org/a\t[no test files]\n", "auto", Some("no test ran")),
        ("Ran 0 tests in 0.000s\n\nOK\n", "auto", Some("no test ran")),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", "auto", Some("no test ran")),
        // Another runner had some.
        ("== 2 passed in 0.1s ==\nRan 0 tests in 0.000s\n\nOK\n", "auto", None),
        ("1..0 # SKIP no database\n", "auto", None),
        ("all good\n", "auto", None),
    ] {
        let policy = format!(
            "[limits]\niterations = 1\n[[rule]]\nwhen = {{ type = 'exit_code', any_of = [0] }}\n\
             then = 'complete'\n[verify]\ncommand = 'cat printed'\nreport = '{report}'\n"
        );
        let test = Loop::new().file("backstop.toml", &policy).file("printed", printed);
        let ended = test.run(["run", "--", "true"]);
        let verification = &test.events("verification")[0];
        match why {
            Some(why) => {
                ended.exits(125);
                assert_eq!(verification["outcome"], "failed", "{printed}");
                let detail = verification["detail"].as_str().expect("words");
                assert!(detail.starts_with("it exited with 0, but "), "{detail}");
                assert!(detail.contains(why), "{detail}");
            }
            None => {
                ended.exits(0);
                assert_eq!(verification["outcome"], "passed", "{printed}");
            }
        }
    }
}
