//! Whatever is fed to it: a clear refusal with the right exit code and nothing on standard output,
//! or a defined answer.

use std::fs::{File, Permissions};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

mod support;

use support::{BINARY, Ended, Test};

fn check_policy(name: &str, policy: impl AsRef<[u8]>) -> Ended {
    Test::new().file(name, policy).run(["check", "--policy", name, "--json"])
}

fn check_facts(facts: impl AsRef<[u8]>) -> Ended {
    let call = ["check", "--policy", "preset:default", "--facts", "f.json", "--json"];
    Test::new().file("f.json", facts).run(call)
}

fn check_events(events: impl AsRef<[u8]>) -> Ended {
    let call = ["check", "--policy", "preset:default", "--events", "e.jsonl", "--json"];
    Test::new().file("e.jsonl", events).run(call)
}

#[test]
fn policies_that_cannot_be_read_are_refused_with_the_place() {
    for (name, policy, words) in [
        ("p.toml", "[limits\niterations = 3", &["p.toml:1:8"][..]),
        ("p.toml", "a = ", &["p.toml:1:5"]),
        ("p.yaml", "a: [1", &["p.yaml:1:6"]),
        ("p.yaml", "a: b: c", &["p.yaml:1:"]),
        ("p.json", "{\"rule\": [}", &["p.json:1:11"]),
        ("p.json", "{\"limits\": {\"iterations\": 3}", &["p.json:1:"]),
        ("p.json", "[]", &["p.json:1:1", "list"]),
        ("p.yaml", "- a\n- b\n", &["p.yaml:1:3", "list"]),
        ("p.json", "{\"limits\": {}, \"limits\": {}}", &["duplicate key `limits`"]),
        ("p.toml", "[limits]\niterations = 1\niterations = 2", &["iterations", "p.toml:3:1"]),
        ("p.yaml", "a: &x [*x]", &["p.yaml:1:8"]),
    ] {
        check_policy(name, policy).refused(78, words);
    }
}

#[test]
fn rules_that_can_never_work_are_refused_with_the_place() {
    let rule = |when: &str| format!("[[rule]]\nthen = \"stop\"\nwhen = {when}\n");
    for (when, words) in [
        (
            r#"{ type = "max_iteratons", count = 50 }"#,
            &["unknown condition `max_iteratons`", "did you mean `max_iterations`?", "p.toml:3:17"]
                [..],
        ),
        (
            r#"{ type = "max_iterations", count = 0 }"#,
            &["`count` must be at least 1", "p.toml:3:43"],
        ),
        (r#"{ type = "max_iterations", count = -1 }"#, &["`count`", "p.toml:3:43"]),
        (r#"{ type = "max_iterations", count = 1.5 }"#, &["`count` must be a whole number"]),
        (
            r#"{ type = "max_iterations", count = "5" }"#,
            &["`count` must be a whole number", "this is a string"],
        ),
        (r#"{ type = "max_iterations" }"#, &["`max_iterations` needs `count`"]),
        (
            r#"{ type = "max_iterations", count = 5, cuont = 3 }"#,
            &["unknown key `cuont`", "did you mean `count`?"],
        ),
        (r#"{ type = "max_cost", usd = nan }"#, &["`usd` must be a finite number"]),
        (r#"{ type = "max_cost", usd = -inf }"#, &["`usd` must be a finite number"]),
        (r#"{ type = "max_cost", usd = -1.0 }"#, &["`usd`"]),
        (r#"{ type = "max_duration", duration = "-5m" }"#, &["`duration` is a negative duration"]),
        (r#"{ type = "max_duration", duration = "0s" }"#, &["`duration` must be longer than 0"]),
        (r#"{ type = "max_duration", duration = "soon" }"#, &["`duration`"]),
        (
            r#"{ type = "max_duration", duration = 90 }"#,
            &["`duration` must be a duration in quotes"],
        ),
        (
            r#"{ type = "reject_rate", above = 1.01 }"#,
            &["`above` must be between 0 and 1", "p.toml:3:40"],
        ),
        (r#"{ type = "error_rate", at_least = -0.1 }"#, &["`at_least` must be between 0 and 1"]),
        (
            r#"{ type = "reject_rate", above = 0.5, min_units = 0 }"#,
            &["`min_units` must be at least 1"],
        ),
        (r#"{ type = "any", conditions = [] }"#, &["`any` needs at least one condition"]),
        (r#"{ type = "all", conditions = [] }"#, &["`all` needs at least one condition"]),
        (r#"{ type = "output_pattern", pattern = "" }"#, &["`pattern` must not be empty"]),
        (
            r#"{ type = "output_pattern", pattern = "(", is_regex = true }"#,
            &["`pattern` is not a regular expression"],
        ),
        (
            r#"{ type = "specific_tests_pass", tests = [] }"#,
            &["`tests` must name at least one test"],
        ),
        (r#"{ type = "failure_class", any_of = [""] }"#, &["`any_of` must not be empty"]),
        (
            r#"{ type = "expr", cel = "iterations >" }"#,
            &["the expression ends too early", "p.toml:3:"],
        ),
        (r#"{ type = "expr", cel = "iteratons > 1" }"#, &["unknown fact `iteratons`"]),
        (r#"{ type = "file_created", path = "../x" }"#, &["leaves the working directory"]),
        (r#"{ type = "wall_clock", at = "25:00" }"#, &["p.toml:3:"]),
        (r#"3"#, &["p.toml:3:8"]),
        (r#"{}"#, &["`type`"]),
    ] {
        check_policy("p.toml", rule(when)).refused(78, words);
    }
}

#[test]
fn what_only_switches_a_rule_off_is_legal() {
    for when in [
        r#"{ type = "exit_code", any_of = [] }"#,
        r#"{ type = "failure_class", any_of = [] }"#,
        r#"{ type = "reject_rate", above = 1.0 }"#,
        r#"{ type = "never" }"#,
    ] {
        check_policy("p.toml", format!("[[rule]]\nthen = \"stop\"\nwhen = {when}\n")).exits(0);
    }
}

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let policy = "\
[limits]
iterations = 0
cost_usd = inf
[[rule]]
when = { type = \"nope\" }
then = \"halt\"
colour = 3
[lop]
";
    let ended = check_policy("p.toml", policy);
    ended.refused(78, &["p.toml:2:14", "p.toml:3:12", "p.toml:5:17", "p.toml:6:8", "p.toml:7:1"]);
    ended.refused(78, &["p.toml:8:2", "6 errors in p.toml"]);
}

#[test]
fn reasons_of_ones_own_must_be_sound() {
    let reason = |code: &str, exit_code: i32| {
        format!(
            "[[reason]]\ncode = \"{code}\"\ntitle = \"t\"\nexit_code = {exit_code}\ndiagnosis = \"d\"\n"
        )
    };
    for exit_code in [64, 78, 0, 42, 124, 256] {
        check_policy("p.toml", reason("own", exit_code)).refused(78, &["p.toml:4:13"]);
    }
    check_policy("p.toml", reason("stalled", 61)).refused(78, &["stalled"]);
    for exit_code in [61, 63, 79, 99] {
        check_policy("p.toml", reason("own", exit_code)).exits(0);
    }
    let two = |exit_code| format!("{}{}", reason("one", 61), reason("two", exit_code));
    check_policy("p.toml", two(62)).exits(0);
    let ended = check_policy("p.toml", two(61));
    ended.refused(78, &["p.toml:9:13", "exit code 61 is that of reason `one`", "declared here"]);
    let unknown = "[[rule]]\nwhen = { type = \"never\" }\nthen = \"stop\"\nreason = \"stalld\"\n";
    check_policy("p.toml", unknown).refused(78, &["unknown reason `stalld`", "stalled"]);
}

#[test]
fn composites_nest_32_deep_and_no_deeper() {
    let nested = |depth: usize, open: &str, close: &str| {
        format!(
            r#"{{"rule": [{{"then": "stop", "when": {}{{"type": "never"}}{}}}]}}"#,
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    for (open, close) in
        [(r#"{"type": "not", "condition": "#, "}"), (r#"{"type": "all", "conditions": ["#, "]}")]
    {
        let ended = check_policy("p.json", nested(32, open, close));
        assert!(!ended.stdout.is_empty(), "{}", ended.stderr);
        check_policy("p.json", nested(33, open, close)).refused(78, &["nested deeper than 32"]);
        check_policy("p.json", nested(100_000, open, close)).refused(78, &["nested deeper than"]);
    }
}

#[test]
fn files_that_are_not_utf_8_are_refused() {
    check_policy("p.toml", b"[limits]\n# \xff\xfe\n").refused(78, &["p.toml:2:3", "UTF-8"]);
    check_policy("p.yaml", b"a: \xc3\x28").refused(78, &["UTF-8"]);
    check_policy("p.json", b"{\"\xff\": 1}").refused(78, &["UTF-8"]);
    check_facts(b"{\"failure_class\": \"\xff\"}").refused(65, &["f.json:1:"]);
    check_events(b"{\"type\": \"run_started\"}\n\xff\xfe\n").refused(65, &["e.jsonl:"]);
}

#[test]
fn a_file_of_100_mb_is_refused() {
    let line = "# a comment that goes on and on and on and on and on and on and on and on\n";
    check_policy("p.toml", line.repeat(100_000_000 / line.len())).refused(78, &["16 MiB"]);
    check_facts(" ".repeat(100_000_000)).refused(65, &["16 MiB"]);
}

#[test]
fn a_line_without_end_is_refused() {
    let call = ["check", "--policy", "preset:default", "--events", "/dev/zero"];
    Test::new().run(call).refused(65, &["/dev/zero:1:1", "16 MiB"]);
    Test::new().run(["check", "--policy", "/dev/zero"]).refused(78, &["16 MiB"]);
}

#[test]
fn ten_thousand_rules_are_decided() {
    let rule = |index: usize| {
        format!(
            "[[rule]]\nwhen = {{ type = \"max_attempts\", count = {} }}\nthen = \"stop\"\n",
            index + 1
        )
    };
    let policy: String = (0..10_000).map(rule).collect();
    let test = Test::new().file("p.toml", policy).stdin(r#"{"attempts": 3}"#);
    let decision =
        test.run(["check", "--policy", "p.toml", "--facts", "-", "--json"]).exits(40).json();
    assert_eq!(decision["also_met"].as_array().unwrap().len(), 2);
    assert_eq!(decision["progress"].as_array().unwrap().len(), 10_002);
}

#[test]
fn facts_that_are_none_are_refused_with_the_place() {
    for (facts, words) in [
        ("", &["f.json:1:1", "cut off"][..]),
        ("[]", &["f.json:1:1", "expected an object of facts"]),
        ("null", &["expected an object of facts"]),
        ("{\"iterations\": 3", &["f.json:1:16", "cut off"]),
        ("{} {}", &["f.json:1:4"]),
        ("{\"iteratons\": 3}", &["unknown field `iteratons`", "did you mean `iterations`?"]),
        ("{\n \"nonsense\": 3}", &["f.json:2:", "unknown field `nonsense`"]),
        ("{\"iterations\": -1}", &["a whole number of at least 0"]),
        ("{\"iterations\": 1.5}", &["a whole number of at least 0"]),
        ("{\"iterations\": \"3\"}", &["a whole number of at least 0"]),
        ("{\"cost_usd\": -1}", &["an amount of at least 0"]),
        ("{\"cost_usd\": NaN}", &["f.json:1:14"]),
        ("{\"cost_usd\": 1e999}", &["number out of range"]),
        ("{\"error_rate\": 1.01}", &["a number from 0 to 1"]),
        ("{\"exit_code\": 99999999999}", &["a whole number"]),
        ("{\"worker\": \"failled\"}", &["unknown value `failled`; did you mean `failed`?"]),
        ("{\"guards\": [\"lock\"]}", &["a guard is `scope`"]),
        ("{\"last_changed_at\": \"yesterday\"}", &["`yesterday` is not a time"]),
        ("{\"context\": {\"used\": 3}}", &["missing field `limit`"]),
        ("{\"iterations\": 1, \"iterations\": 2}", &["duplicate field `iterations`"]),
    ] {
        let ended = check_facts(facts);
        ended.refused(65, words);
        assert!(
            !ended.stderr.contains("struct") && !ended.stderr.contains("enum"),
            "{}",
            ended.stderr
        );
    }
    let nested = format!("{{\"failure_signals\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    check_facts(nested).refused(65, &["f.json:1:"]);
}

#[test]
fn lines_that_are_no_events_are_refused_with_the_place() {
    let good = r#"{"type": "iteration_started", "iteration": 1}"#;
    for (line, words) in [
        (r#"{"type": "iteration_star"#, &["e.jsonl:2:24", "cut off"][..]),
        (
            r#"{"type": "iteration_sarted", "iteration": 1}"#,
            &[
                "e.jsonl:2:",
                "unknown event type `iteration_sarted`; did you mean `iteration_started`?",
            ],
        ),
        (r#"{"type": "nonsense"}"#, &["unknown event type `nonsense`"]),
        (r#"{"iteration": 1}"#, &["missing field `type`"]),
        (r#"{"type": 3}"#, &["e.jsonl:2:"]),
        (
            r#"{"type": "usage", "input_token": 1}"#,
            &["e.jsonl:2:31", "unknown field `input_token`; did you mean `input_tokens`?"],
        ),
        (r#"   {"type": "usage", "input_token": 1}"#, &["e.jsonl:2:34"]),
        (r#"{"type": "usage", "input_tokens": "many"}"#, &["a whole number of at least 0"]),
        (r#"{"type": "context", "used": 3}"#, &["missing field `limit`"]),
        (r#"{"type": "unit", "id": "a", "status": "done"}"#, &["unknown value `done`"]),
        (r#"{"type": "usage", "at": "today"}"#, &["`today` is not a time"]),
        (r#"{"type": "quota", "window": "5h", "used": 1.5}"#, &["a number from 0 to 1"]),
        (r#"[1]"#, &["expected an event"]),
        (r#"{"type": "usage"} {"type": "usage"}"#, &["e.jsonl:2:19"]),
        ("hello", &["e.jsonl:2:1"]),
    ] {
        check_events(format!("{good}\n{line}")).refused(65, words);
        check_events(format!("{good}\n{line}\n{good}\n")).refused(65, words);
    }
}

#[test]
fn counts_of_tests_beyond_all_reason_end_no_run() {
    let counts =
        r#"::backstop {"type":"tests","counts":{"passed":18446744073709551615,"failed":1}}"#;
    let test = Test::new();
    test.run(["run", "--once", "--", "printf", "%s\\n%s\\n", counts, counts]).exits(0);
    let facts = &test.run(["show", "latest", "--json"]).exits(0).json()["facts"];
    assert_eq!(facts["test_failure_streak"], 2, "{facts}");
}

#[test]
fn files_that_are_missing_or_folders_are_no_input() {
    let test = Test::new().folder("folder");
    for flag in ["--policy", "--facts", "--events"] {
        let missing = test.run(["check", flag, "nowhere.toml"]);
        missing.refused(66, &["can't read `nowhere.toml`: no such file or directory"]);
        test.run(["check", flag, "folder"]).refused(66, &["can't read `folder`", "directory"]);
    }
    for verb in ["check", "show", "hash", "explain"] {
        test.run(["policy", verb, "nowhere.toml"]).refused(66, &["`nowhere.toml`"]);
    }
    test.run(["check", "--policy", "ralph"]).refused(66, &["did you mean `preset:ralph`?"]);
}

#[test]
fn a_file_that_may_not_be_read_is_no_input() {
    let test = Test::new().file("p.toml", "");
    let path = test.path().join("p.toml");
    std::fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        println!("skipped: this user may read every file");
        return;
    }
    test.run(["check", "--policy", "p.toml"]).refused(66, &["can't read `p.toml`"]);
}

#[test]
fn usage_errors_exit_64_and_never_2() {
    for call in [
        &[][..],
        &["chek"],
        &["policy"],
        &["policy", "chek"],
        &["check", "--nope"],
        &["check", "extra"],
        &["check", "--json=yes"],
        &["check", "--facts"],
        &["check", "--facts", "-", "--events", "-"],
        &["check", "--facts", "-", "--policy", "-"],
        &["check", "--policy", "preset:ralf"],
        &["check", "--policy", "preset:"],
        &["check", "--now", "yesterday"],
        &["check", "--form", "moderator"],
        &["check", "--pr", "9"],
        &["check", "--form", "rerun", "--pr", "-9"],
        &["check", "--color", "sometimes"],
        &["policy", "show", "--preset", "nope"],
        &["policy", "show", "a.toml", "--preset", "ralph"],
        &["policy", "schema", "extra"],
        &["reasons", "nonsense"],
        &["reasons", "--family", "nope"],
        &["reasons", "--json", "--markdown"],
        &["init", "extra"],
        &["completions"],
        &["completions", "tcsh"],
    ] {
        let ended = Test::new().stdin("{}").run(call.iter().copied());
        ended.refused(64, &[]);
        assert!(!ended.stderr.is_empty(), "{call:?}");
    }
    let ralf = Test::new().run(["check", "--policy", "preset:ralf"]);
    ralf.refused(64, &["unknown preset `ralf`", "did you mean `ralph`?"]);
}

#[test]
fn a_reader_that_goes_away_is_a_normal_ending() {
    for (call, expected) in [
        (&["reasons", "--markdown"][..], 0),
        (&["policy", "schema"], 0),
        (&["man"], 0),
        (&["--help"], 0),
        (&["check", "--policy", "preset:default", "--facts", "none.json"], 0),
        // What was decided holds, whoever reads it.
        (&["check", "--policy", "preset:default", "--facts", "f.json"], 125),
    ] {
        let test = Test::new().file("f.json", r#"{"iterations": 100}"#).file("none.json", "{}");
        let mut child = Command::new(BINARY)
            .args(call)
            .current_dir(test.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), &*stderr), (Some(expected), ""), "{call:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_io_error() {
    for call in [
        &["reasons"][..],
        &["reasons", "--json"],
        &["policy", "schema"],
        &["policy", "show", "--preset", "ralph"],
        &["policy", "hash", "preset:default"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
        &["check", "--policy", "preset:default"],
        &["check", "--policy", "preset:default", "--json"],
        &["init", "--print"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(BINARY).args(call).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(74), "{call:?}");
    }
}
