//! What can't be meant is refused, with the flag's name, before anything runs.

use crate::support::looping::Loop;

#[test]
fn a_bad_value_is_refused_with_the_name_of_its_flag() {
    let test = Loop::new();
    for (flag, value) in [
        ("--max-iterations", "0"),
        ("--max-iterations", "many"),
        ("--max-duration", "0s"),
        ("--max-duration", "soon"),
        ("--max-tokens", "0"),
        ("--max-cost", "-1"),
        ("--max-cost", "NaN"),
        ("--max-cost", "free"),
        ("--until-time", "25:00"),
        ("--until-time", "tomorrow"),
        ("--no-progress", "0"),
        ("--unmetered", "maybe"),
        ("--until-output", ""),
        ("--until-file", ""),
        ("--until-script", ""),
        ("--verify", ""),
        ("--iteration-timeout", "0s"),
        ("--idle-timeout", "0s"),
        ("--idle-timeout", "long"),
        ("--finish-within", "-1s"),
        ("--grace", "short"),
        ("--delay", "a while"),
        ("--label", "core"),
        ("--label", "=core"),
        ("--auto-resume", "-1"),
        ("--total-units", "all"),
    ] {
        let said = format!("{flag}={value}");
        test.run(["run", &said, "--", "touch", "ran"]).refused(64, &[flag]);
    }
    test.run(["run", "--until-output", "(", "--regex", "--", "touch", "ran"])
        .refused(64, &["--until-output"]);
    test.run(["run", "--preset", "ralf", "--", "touch", "ran"]).refused(64, &["preset `ralf`"]);
    assert!(!test.exists("ran"));
    assert!(!test.state_directory().exists(), "nothing was begun");
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let test = Loop::new();
    for flags in [&["--regex"][..], &["--json", "--detach"], &["--dry-run", "--detach"]] {
        let words = [&["run"], flags, &["--", "touch", "ran"]].concat();
        test.run(words).refused(64, &[flags[0]]);
    }
    test.run(["run", "--once"]).refused(64, &["COMMAND"]);
    assert!(!test.exists("ran"));
}

#[test]
fn files_that_are_not_there_are_no_input() {
    let test = Loop::new();
    for flag in ["--stdin", "--policy"] {
        test.run(["run", flag, "absent.md", "--", "touch", "ran"]).refused(66, &["absent.md"]);
    }
    assert!(!test.exists("ran"));
}

#[test]
fn a_folder_is_no_standard_input() {
    let test = Loop::new();
    test.run(["run", "--stdin", ".", "--", "touch", "ran"]).refused(66, &["`.`", "is a directory"]);
    assert!(!test.exists("ran"));
}

#[test]
fn who_is_refused_is_told_what_to_write() {
    let test = Loop::new();
    for (words, said) in [
        (&["run", "./agent.sh", "-x"][..], "put `--` before the command: `-- ./agent.sh`"),
        (&["run", "--max-cost", "-1", "--", "true"], "write it like 20 or 0.5"),
        (&["run", "--max-iterations", "0", "--", "true"], "a whole number from 1 on"),
        (&["run", "--no-progress", "-2", "--", "true"], "a whole number from 1 on"),
    ] {
        test.run(words).refused(64, &[said]);
    }
    let unknown = test.run(["run", "--nosuch", "--", "true"]);
    assert!(!unknown.stderr.contains("before the command"), "{}", unknown.stderr);
}

#[test]
fn a_policy_that_can_not_be_loaded_runs_nothing() {
    let test = Loop::new().file("backstop.toml", "[limits]\niteratons = 5\n");
    test.run(["run", "--", "touch", "ran"]).refused(78, &["iteratons", "did you mean"]);
    assert!(!test.exists("ran"));
}

#[test]
fn a_resume_refuses_what_it_can_not_do() {
    let test = Loop::new();
    test.run(["resume"]).refused(66, &["no run"]);
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    test.run(["resume", "ZZZZ"]).refused(66, &["ZZZZ"]);
    for raise in ["iterations", "iterations=x", "iteratons=9", "cost_usd=9"] {
        test.run(["resume", "--raise", raise]).refused(64, &[raise.split('=').next().unwrap()]);
    }
    test.run(["resume", "--unmetered", "maybe"]).refused(64, &["--unmetered"]);
    test.run(["resume", "--auto-resume", "x"]).refused(64, &["--auto-resume"]);
    assert_eq!(test.events("resumed").len(), 0);
}
