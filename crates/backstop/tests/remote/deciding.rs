//! `check`, `begin`, `emit` and `end`, by a server.

use crate::elsewhere::Elsewhere;
use crate::support::NOW;
use crate::support::looping::Loop;

const POLICY: &str = "[limits]\niterations = 2\n\
                      [[reason]]\ncode = \"own\"\ntitle = \"Our own\"\nexit_code = 61\n\
                      diagnosis = \"Ask the team.\"\n\
                      [[rule]]\nwhen = { type = \"consecutive_fails\", count = 1 }\n\
                      then = \"stop\"\nreason = \"own\"\n";
const EVENTS: &str = "{\"type\":\"iteration_finished\",\"exit_code\":0,\"at\":\"2026-05-04T09:00:00Z\"}\n\
                      {\"type\":\"iteration_finished\",\"exit_code\":0,\"at\":\"2026-05-04T09:30:00Z\"}\n";

fn files(test: Loop) -> Loop {
    test.file("p.toml", POLICY)
        .file("failed.json", "{\"consecutive_fails\": 3}")
        .file("fresh.json", "{}")
        .file("run.jsonl", EVENTS)
        .file("broken.json", "{\"iterations\": ")
}

/// A server, and a client that has the same files.
fn both() -> Elsewhere {
    let mut test = Elsewhere::new(files(Loop::new()));
    test.here = files(Loop::new());
    test
}

#[test]
fn a_question_with_its_policy_is_decided_as_here() {
    let test = both();
    for (arguments, code) in [
        (&["--facts", "fresh.json"][..], 0),
        (&["--facts", "failed.json"], 61),
        (&["--facts", "failed.json", "--json"], 61),
        (&["--facts", "failed.json", "--break"], 61),
        (&["--events", "run.jsonl"], 125),
        (&["--events", "run.jsonl", "--json"], 125),
        (&["--events", "run.jsonl", "--form", "rerun", "--pr", "9", "--run-id", "4"], 125),
        (&["--facts", "failed.json", "--form", "rerun", "--request-id", "r-1"], 61),
        (&["--facts", "broken.json"], 65),
        (&["--facts", "missing.json"], 66),
    ] {
        let check = [&["check", "--policy", "p.toml", "--now", NOW], arguments].concat();
        let (there, here) = (test.there.run(&check), test.ask(&check));
        assert_eq!(here, there, "{arguments:?}");
        assert_eq!(here.code, Some(code), "{arguments:?}");
    }
}

#[test]
fn without_a_policy_that_of_the_server_counts() {
    let test = both();
    let checked = test.ask(&["check", "--facts", "fresh.json", "--now", NOW]).exits(0);
    assert_eq!(checked.stderr.trim(), "policy: the one in force on the server");
    let check = ["check", "--policy", "preset:default", "--facts", "fresh.json", "--now", NOW];
    assert_eq!(checked.stdout, test.there.run(check).stdout);
}

#[test]
fn a_policy_that_runs_programs_is_not_sent_about() {
    let mut test = both();
    test.here = files(Loop::new()).file("verify.toml", "[verify]\ncommand = \"make\"\n");
    let checked = test.ask(&["check", "--policy", "verify.toml", "--facts", "fresh.json"]);
    checked.refused(78, &["can't name programs", "[verify] command"]);
    test.ask(&["begin", "--policy", "verify.toml"]).refused(78, &["[verify] command"]);
}

#[test]
fn a_script_begins_reports_and_ends_elsewhere() {
    let test = both();
    let begun = test.ask(&["begin", "--policy", "p.toml", "--label", "team=core"]).exits(0);
    let run = begun.stdout.trim().to_owned();
    let iteration = ["emit", "--run", &run, "iteration_finished", "--exit-code", "0"];
    let first = test.ask(&iteration).exits(0);
    assert!(first.stdout.starts_with("continue"), "{}", first.stdout);
    let last = test.ask(&[&iteration[..], &["--print", "json"]].concat()).exits(125);
    assert_eq!(last.json()["reason"], "max_iterations");
    assert_eq!(last.stderr, format!("run {run} is stopped\n"));
    assert_eq!(test.there.events("iteration_finished").len(), 2, "each counts once");
    let ended = test.ask(&["end", "--run", &run]);
    assert_eq!(ended, test.there.run(["end", "--run", &run]), "an end is no second end");
    assert_eq!(test.ask(&["ls", "--label", "team=core"]).exits(0).stdout.lines().count(), 2);
}

#[test]
fn an_end_says_how_it_ended() {
    let test = both();
    for (units, code) in [("0", 0), ("3", 130)] {
        let begin = ["begin", "--preset", "default", "--total-units", units];
        let (one, other) = (test.begun(&begin[1..]), test.begun(&begin[1..]));
        let there = test.there.run(["end", "--run", &one]).exits(code);
        let here = test.ask(&["end", "--run", &other]).exits(code);
        assert_eq!(here.stdout.replace(&other, "RUN"), there.stdout.replace(&one, "RUN"));
    }
}

#[test]
fn lines_are_reported_as_they_come() {
    let test = both();
    let run = test.begun(&["--policy", "p.toml"]);
    let emit = ["--server", &test.url, "emit", "--run", &run, "--json", "-"];
    let told = test.here.feed(EVENTS, emit).exits(125);
    assert_eq!(told.stdout.lines().count(), 2, "{}", told.stdout);
}

#[test]
fn what_only_a_supervisor_observes_is_refused_with_the_same_code() {
    let test = both();
    let run = test.begun(&[]);
    let event = ["emit", "--run", &run, "run_started"];
    let (there, here) = (test.there.run(event), test.ask(&event));
    assert_eq!(here, there);
    assert_ne!(here.code, Some(0));
}

#[test]
fn a_break_ends_a_loop_when_the_work_is_complete() {
    let mut test = both();
    let policy = "[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"complete\"\n";
    test.here = files(Loop::new()).file("done.toml", policy);
    let check = ["check", "--policy", "done.toml", "--events", "run.jsonl", "--now", NOW];
    test.ask(&check).exits(0);
    test.ask(&[&check[..], &["--break"]].concat()).exits(1);
    let begun = test.ask(&["begin", "--policy", "done.toml"]).exits(0).stdout;
    let iteration = ["iteration_finished", "--exit-code", "0", "--break"];
    test.ask(&[&["emit", "--run", begun.trim()], &iteration[..]].concat()).exits(1);
}
