//! What people do to runs by a server: stop, answer, release, and the one switch.

use serde_json::Value as Json;

use crate::elsewhere::Elsewhere;
use crate::support::database::sql;
use crate::support::looping::{Loop, wait_for};

const ASKING: &str = "[limits]\niterations = 4\n\
                      [[rule]]\nwhen = { type = \"no_progress\", iterations = 2 }\nthen = \"ask\"\n";
const HOLDING: &str = "[limits]\niterations = 9\n\
                       [[rule]]\nwhen = { type = \"consecutive_fails\", count = 1 }\n\
                       then = \"hold\"\n";

fn state(test: &Elsewhere, run: &str) -> Json {
    test.ask(&["show", run, "--json"]).exits(0).json()
}

fn held(test: &Elsewhere) -> String {
    let run = test.begun(&["--policy", "p.toml", "--label", "team=core"]);
    let unit = ["emit", "--run", &run, "unit", "--id", "f1", "--status", "failed"];
    assert_ne!(test.there.run(unit).code, Some(0));
    assert_eq!(state(test, &run)["run_status"], "held");
    run
}

#[test]
fn a_supervised_run_is_stopped_from_elsewhere() {
    let test = Elsewhere::new(Loop::new());
    let running = test.there.start(["run", "--", "sleep", "600"]);
    wait_for("the iteration", || test.there.has("iteration_started"));
    let stopped = test.ask(&["stop", "latest", "--now"]).exits(0);
    assert!(stopped.stdout.ends_with(" stops now\n"), "{}", stopped.stdout);
    running.ends().exits(130);
    assert_eq!(test.there.state()["stop_reason"]["code"], "user_stopped");
    test.there.leaves_nothing();
    test.ask(&["stop", "latest"]).refused(65, &["is stopped", "backstop show latest"]);
}

#[test]
fn a_script_is_stopped_with_the_same_words() {
    let test = Elsewhere::new(Loop::new());
    let (one, other) = (test.begun(&[]), test.begun(&[]));
    let there = test.there.run(["stop", &one]).exits(0).stdout;
    let here = test.ask(&["stop", &other]).exits(0).stdout;
    assert_eq!(here.replace(&other, "RUN"), there.replace(&one, "RUN"));
    let told = test.ask(&["emit", "--run", &other, "drift", "--score", "0"]).exits(130);
    assert!(told.stdout.starts_with("stop  user_stopped"), "{}", told.stdout);
}

#[test]
fn a_question_is_answered_from_elsewhere() {
    let policy = format!("[notify]\ncommand = \"true\"\n{ASKING}");
    let test = Elsewhere::new(Loop::new().file("p.toml", &policy));
    let running = test.there.start(["run", "--policy", "p.toml", "--", "true"]);
    wait_for("the question", || test.there.has("asked"));
    test.ask(&["answer", "latest", "fix"]).refused(64, &["`fix` needs a note"]);
    let answered = test.ask(&["answer", "latest", "fix", "--note", "look again"]).exits(0);
    assert!(answered.stdout.ends_with(": fix\n"), "{}", answered.stdout);
    running.ends().exits(125);
    let answered = test.there.events("answered");
    assert_eq!(
        (&answered[0]["answer"], &answered[0]["note"]),
        (&"fix".into(), &"look again".into())
    );
    test.ask(&["answer", "latest", "continue"]).refused(65, &["asks nothing"]);
}

#[test]
fn who_is_held_for_want_of_an_answer_is_answered_and_told_how_to_go_on() {
    let policy = format!("[intervention]\ntimeout = \"300ms\"\n{ASKING}");
    let test = Elsewhere::new(Loop::new().file("p.toml", &policy));
    let ended = test.there.run(["run", "--policy", "p.toml", "--", "true"]);
    assert_ne!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(test.there.state()["run_status"], "held");
    let answered = test.ask(&["answer", "latest", "continue"]).exits(0);
    assert!(answered.stderr.contains("backstop resume"), "{}", answered.stderr);
    test.ask(&["answer", "latest", "go"]).refused(65, &["does not wait"]);
}

#[test]
fn a_held_run_is_released_from_elsewhere() {
    let test = Elsewhere::new(Loop::new().file("p.toml", HOLDING));
    let run = held(&test);
    let released = test.ask(&["release", &run, "--why", "mended"]).exits(0);
    assert_eq!(released.stdout, format!("run {run} is released\n"));
    assert_eq!(state(&test, &run)["run_status"], "running");
    test.ask(&["release", &run]).refused(65, &["not held"]);
}

#[test]
fn the_one_switch_is_reached_from_elsewhere() {
    let test = Elsewhere::new(Loop::new().file("p.toml", HOLDING));
    let (going_on, waiting) = (test.begun(&[]), held(&test));
    let halted = test.ask(&["halt", "--all", "--why", "the bill"]).exits(0);
    assert!(halted.stdout.starts_with("1 run is told to stop;"), "{}", halted.stdout);
    assert!(halted.stdout.ends_with(&format!("  {going_on}\n")), "{}", halted.stdout);
    // Nothing begins, wherever it is asked for, and the code is the same.
    let there = test.there.run(["begin"]);
    let here = test.ask(&["begin"]);
    assert_eq!(here.code, there.code, "{}{}", here.stderr, there.stderr);
    let released = test.ask(&["release", "--all"]).exits(0);
    assert_eq!(released.stdout, "1 order to halt taken back, 1 held run released\n");
    assert_eq!(state(&test, &waiting)["run_status"], "running");
    test.ask(&["begin"]).exits(0);
}

#[test]
fn who_obeys_before_the_server_can_look_was_told_to_stop_too() {
    let test = Elsewhere::new(Loop::new());
    let run = test.begun(&[]);
    sql(
        &test.there.state_directory().join("backstop.db"),
        "CREATE TRIGGER obeys AFTER INSERT ON halt_orders \
         BEGIN UPDATE runs SET status = 'stopped'; END",
    );
    let halted = test.ask(&["halt", "--all"]).exits(0);
    assert!(halted.stdout.starts_with("1 run is told to stop;"), "{}", halted.stdout);
    assert!(halted.stdout.ends_with(&format!("  {run}\n")), "{}", halted.stdout);
}

#[test]
fn labels_choose_what_is_halted_and_let_go() {
    let test = Elsewhere::new(Loop::new().file("p.toml", HOLDING));
    let (mine, other) = (held(&test), test.begun(&["--policy", "p.toml"]));
    let halted = test.ask(&["halt", "--all", "--label", "team=core"]).exits(0);
    assert!(halted.stdout.starts_with("0 runs are told"), "{}", halted.stdout);
    let released = test.ask(&["release", "--all", "--label", "team=other"]).exits(0);
    assert!(released.stdout.starts_with("0 orders"), "{}", released.stdout);
    assert_eq!(state(&test, &mine)["run_status"], "held");
    assert_eq!(state(&test, &other)["run_status"], "running");
}

#[test]
fn who_acted_is_on_record() {
    let test = Elsewhere::new(Loop::new());
    let run = test.begun(&[]);
    let token = test.token("operate");
    let mut command = test.here.command(["--server", &test.url, "stop", &run]);
    let command = command.env("BACKSTOP_TOKEN", &token).env("USER", "ann");
    test.here.launch(command).ends().exits(0);
    let signal = test.there.events("signal");
    assert!(signal[0]["by"].as_str().is_some_and(|by| by.starts_with("ann (by")), "{signal:?}");
}
