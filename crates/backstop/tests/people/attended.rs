//! Attended runs: a person lets each iteration start.

use std::time::{Duration, Instant};

use crate::support::looping::{Loop, Running, wait_for};

fn attended(iterations: &str) -> (Loop, Running) {
    let test = Loop::new().script("agent.sh", "echo $BACKSTOP_ITERATION >> went");
    let running =
        test.start(["run", "--attended", "--max-iterations", iterations, "--", "./agent.sh"]);
    (test, running)
}

/// Answers as soon as the run waits for it.
fn answer(test: &Loop, choice: &str) {
    wait_for("the prompt", || test.run(["answer", "latest", choice]).code == Some(0));
}

#[test]
fn each_iteration_is_let_go_or_skipped() {
    let (test, running) = attended("3");
    answer(&test, "go");
    answer(&test, "skip");
    answer(&test, "go");
    running.ends().exits(125);
    assert_eq!(test.read("went"), "1\n3\n");
    assert_eq!(test.state()["facts"]["iterations"], 3);
    let told = |what: &str| -> Vec<String> {
        let notes = test.journal().into_iter().filter(|event| event["what"] == what);
        notes.map(|note| note["detail"].as_str().expect("a text").to_owned()).collect()
    };
    let (let_go, skipped) = (told("let_go"), told("skipped"));
    // Who let each of them go, and who did not, is on record.
    let is_of = |told: &String, start: &str| told.starts_with(start) && told.len() > start.len();
    assert!(let_go.len() == 2 && is_of(&let_go[0], "iteration 1, by "), "{let_go:?}");
    assert!(is_of(&let_go[1], "iteration 3, by "), "{let_go:?}");
    assert!(skipped.len() == 1 && is_of(&skipped[0], "iteration 2, by "), "{skipped:?}");
    let report = test.run(["report", "latest"]).exits(0).stdout;
    assert!(report.contains("Let go by a person: iteration 3, by "), "{report}");
    assert_eq!(test.state()["facts"]["errored"], 0);
}

#[test]
fn what_is_skipped_is_neither_work_nor_the_lack_of_it() {
    let policy = "[limits]\niterations = 3\ncost_usd = 5\n[[rule]]\n\
                  when = { type = \"no_progress\", iterations = 1 }\nthen = \"stop\"\n";
    let script = "cp \"$BACKSTOP_HANDOFF\" seen; echo '::backstop {\"type\":\"usage\",\"cost_usd\":1}'\n\
                  echo '::backstop {\"type\":\"progress\",\"kind\":\"other\"}'";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", script);
    let running = test.start(["run", "--attended", "--policy", "p.toml", "--", "./agent.sh"]);
    answer(&test, "stop");
    running.ends();
    let running = test.start(["resume", "latest", "--note", "mind the gap"]);
    answer(&test, "skip");
    answer(&test, "go");
    // Neither a silent meter nor a standstill has ended it, and who works is told the note.
    answer(&test, "skip");
    running.ends().exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 3);
    assert!(test.read("seen").contains("mind the gap"));
}

#[test]
fn who_looks_from_elsewhere_sees_that_it_waits() {
    let (test, running) = attended("1");
    wait_for("the prompt", || test.has("noted") && !open_question(&test).is_null());
    let question = open_question(&test);
    assert_eq!(question["question"], "Start iteration 1?");
    assert_eq!(question["answers"], serde_json::json!(["go", "skip", "stop"]));
    assert!(question["until"].is_null(), "it waits for as long as it takes: {question}");
    let shown = test.run(["show", "latest"]).exits(0).stdout;
    assert!(shown.contains("Start iteration 1?") && shown.contains(" go`, `skip`"), "{shown}");
    answer(&test, "go");
    running.ends().exits(125);
    assert!(open_question(&test).is_null());
}

fn open_question(test: &Loop) -> serde_json::Value {
    let listed = test.run(["ls", "--json"]).exits(0).stdout;
    let run: serde_json::Value = serde_json::from_str(&listed).unwrap_or_default();
    run["question"].clone()
}

#[test]
fn a_person_can_stop_before_the_first_one() {
    let (test, running) = attended("3");
    answer(&test, "stop");
    running.ends().exits(130);
    assert!(!test.exists("went"));
}

#[test]
fn it_can_be_switched_off_and_on_while_the_run_goes_on() {
    let script =
        "echo $BACKSTOP_ITERATION >> went; until [ -e go$BACKSTOP_ITERATION ]; do sleep 0.02; done";
    let test = Loop::new().script("agent.sh", script);
    let running = test.start(["run", "--max-iterations", "3", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("went"));
    test.run(["attend", "latest"]).exits(0);
    let test = test.file("go1", "").file("go2", "").file("go3", "");
    answer(&test, "go");
    wait_for("the second", || test.read("went").lines().count() == 2);
    wait_for("the switch", || test.run(["attend", "latest", "--off"]).code == Some(0));
    running.ends().exits(125);
    assert_eq!(test.read("went"), "1\n2\n3\n");
    let switched: Vec<_> =
        test.journal().into_iter().filter(|event| event["what"] == "attended").collect();
    assert_eq!(switched.len(), 2);
}

#[test]
fn waiting_for_a_person_takes_no_time_of_the_run() {
    let began = Instant::now();
    let (test, running) = attended("1");
    wait_for("the prompt", || test.has("noted") && !open_question(&test).is_null());
    let asked = Instant::now();
    wait_for("some time to pass", || asked.elapsed() > Duration::from_secs(1));
    let waited = asked.elapsed();
    answer(&test, "go");
    running.ends().exits(125);
    let lived = began.elapsed();
    let active = test.state()["facts"]["active_ms"].as_u64().expect("a number");
    let active = Duration::from_millis(active);
    assert!(active + waited <= lived, "{active:?} + {waited:?} > {lived:?}");
}

#[test]
fn a_note_has_no_place_there_and_is_refused() {
    let (test, running) = attended("1");
    wait_for("the prompt", || {
        let refused = test.run(["answer", "latest", "go", "--note", "look"]);
        refused.stderr.contains("a note goes with `fix`")
    });
    answer(&test, "go");
    running.ends().exits(125);
}

#[test]
fn of_a_single_iteration_that_is_skipped_nothing_is_left() {
    let test = Loop::new().script("agent.sh", "echo went >> went");
    let running = test.start(["run", "--attended", "--once", "--", "./agent.sh"]);
    answer(&test, "skip");
    running.ends().exits(130);
    assert!(!test.exists("went"));
}

#[test]
fn a_run_that_has_ended_asks_nobody() {
    let test = Loop::new().script("agent.sh", "true");
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    test.run(["attend", "latest"]).exits(65);
    test.run(["answer", "latest", "go"]).exits(65);
    let dry = test.run(["run", "--attended", "--dry-run", "--", "./agent.sh"]).exits(0);
    assert!(dry.stdout.contains("# attended:"), "{}", dry.stdout);
}
