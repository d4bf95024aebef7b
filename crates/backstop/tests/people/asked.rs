//! A run that needs a person asks, and takes the first answer.

use rustix::process::Signal;

use crate::support::looping::{Loop, Running, wait_for};
use crate::support::serving::Serving;

/// Asks after two iterations without progress, on a channel that a notification opens.
const ASKS: &str = "[limits]\niterations = 4\n[notify]\ncommand = \"true\"\n\
                    [[rule]]\nwhen = { type = \"no_progress\", iterations = 2 }\nthen = \"ask\"\n";

fn asking(more: &str) -> Loop {
    Loop::new().file("p.toml", &format!("{ASKS}{more}")).script(
        "agent.sh",
        "echo $BACKSTOP_ITERATION >> $XDG_STATE_HOME/went; echo \"$BACKSTOP_HANDOFF\"; cat",
    )
}

fn went(test: &Loop) -> usize {
    let path = test.state_directory().parent().expect("it lies in one").join("went");
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

fn start(test: &Loop) -> Running {
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    running
}

#[test]
fn an_answer_to_go_on_lets_the_run_go_on_and_is_not_asked_twice() {
    let test = asking("");
    let running = start(&test);
    assert_eq!(went(&test), 2, "nothing new starts while the question is open");
    test.run(["answer", "latest", "continue"]).exits(0);
    running.ends().exits(125);
    assert_eq!(went(&test), 4);
    let asked = test.events("asked");
    // The streak counts from the answer on: two more iterations, and the limit ends the run.
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(asked[0]["question"].as_str().is_some_and(|text| text.contains("no progress")));
    let answered = test.events("answered");
    assert_eq!(answered[0]["answer"], "continue");
    assert!(answered[0]["by"].is_string());
}

#[test]
fn a_note_reaches_the_next_iteration_and_only_that() {
    let test = asking("").file("PROMPT.md", "do the work");
    let running =
        test.start(["run", "--policy", "p.toml", "--stdin", "PROMPT.md", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    test.run(["answer", "latest", "fix", "--note", "use the other cache"]).exits(0);
    let ended = running.ends().exits(125);
    let told: Vec<_> = ended.stdout.matches("- use the other cache").collect();
    assert_eq!(told.len(), 1, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("handoff.md").count(), 1, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("do the work").count(), 4, "{}", ended.stdout);
}

#[test]
fn an_abort_ends_the_run() {
    let test = asking("");
    let running = start(&test);
    test.run(["answer", "latest", "abort"]).exits(0);
    running.ends().exits(131);
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "user_aborted");
    assert_eq!(state["run_status"], "stopped");
}

#[test]
fn silence_is_no_answer() {
    for (more, status) in [("", "held"), ("on_timeout = \"stop\"\n", "stopped")] {
        let test = asking(&format!("[intervention]\ntimeout = \"300ms\"\n{more}"));
        start(&test).ends().exits(132);
        let state = test.state();
        assert_eq!(state["stop_reason"]["code"], "user_unresponsive");
        assert_eq!(state["run_status"], status);
    }
}

#[test]
fn the_first_answer_wins_and_the_others_are_told() {
    let test = asking("");
    let running = start(&test);
    // Both speak to the same question; the run waits for the disk before it starts anything.
    let first = test.run(["answer", "latest", "continue"]);
    first.exits(0);
    // Told, or too late: the run may have ended meanwhile.
    let second = test.run(["answer", "latest", "abort"]);
    let told = ["answered already: continue", "asks nothing", "gave no answer", "is ending"];
    assert!(told.iter().any(|words| second.stderr.contains(words)), "{second:?}");
    running.ends().exits(125);
    assert_eq!(test.events("answered").len(), 1);
}

#[test]
fn what_fits_no_question_is_refused() {
    let test = asking("");
    let running = start(&test);
    let wrong = test.run(["answer", "latest", "skip"]).exits(65);
    assert!(wrong.stderr.contains("answer with fix, continue, abort"), "{}", wrong.stderr);
    let empty = test.run(["answer", "latest", "fix"]).exits(64);
    assert!(empty.stderr.contains("--note"), "{}", empty.stderr);
    test.run(["answer", "latest", "maybe"]).exits(64);
    test.run(["answer", "latest", "continue"]).exits(0);
    running.ends().exits(125);
    let late = test.run(["answer", "latest", "continue"]).exits(65);
    assert!(late.stderr.contains("asks nothing"), "{}", late.stderr);
}

#[test]
fn without_anybody_to_ask_the_run_is_held_and_can_be_answered_there() {
    let policy = ASKS.replace("[notify]\ncommand = \"true\"\n", "");
    let test = Loop::new().file("p.toml", &policy).script("agent.sh", "cat");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(126);
    assert_eq!(test.state()["run_status"], "held");
    assert_eq!(test.state()["stop_reason"]["code"], "stalled");
    test.run(["answer", "latest", "fix", "--note", "look into b.txt"]).exits(0);
    assert_eq!(test.state()["run_status"], "stopped");
    test.run(["resume", "latest"]).exits(125);
    let handoff = std::fs::read_dir(test.state_directory().join("runs")).expect("runs");
    let run = handoff.flatten().next().expect("a run").path();
    let text = std::fs::read_to_string(run.join("handoff.md")).expect("a hand-off");
    assert!(text.contains("- look into b.txt"), "{text}");
}

#[test]
fn an_iteration_that_is_ended_for_want_of_somebody_to_ask_is_no_error() {
    let policy = "[limits]\niterations = 9\n[loop]\nfinish_within = \"0s\"\ngrace = \"1s\"\n\
                  [[rule]]\nwhen = { type = \"topic_drift\", above = 0.5 }\nthen = \"ask\"\n";
    let report = "echo '::backstop {\"type\":\"drift\",\"score\":0.9}'; exec sleep 300";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", report);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(49);
    assert_eq!(test.state()["run_status"], "held");
    assert_eq!(test.state()["facts"]["errored"], 0);
    let asked = test.events("asked");
    assert!(!asked[0]["question"].as_str().unwrap_or_default().contains("signal"), "{asked:?}");
}

#[test]
fn an_abort_of_a_held_run_ends_it() {
    let policy = ASKS.replace("[notify]\ncommand = \"true\"\n", "");
    let test = Loop::new().file("p.toml", &policy).script("agent.sh", "true");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(126);
    test.run(["answer", "latest", "abort"]).exits(0);
    assert_eq!(test.state()["stop_reason"]["code"], "user_aborted");
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn the_iteration_runs_on_while_the_question_is_open() {
    let policy = "[limits]\niterations = 9\n[notify]\ncommand = \"true\"\n\
                  [[rule]]\nwhen = { type = \"topic_drift\", above = 0.5 }\nthen = \"ask\"\n";
    let report = "echo '::backstop {\"type\":\"drift\",\"score\":0.9}'\n\
                  until [ -e go_on ]; do sleep 0.02; done; echo did go on; touch done";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", report);
    let running = test.start(["run", "--once", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    assert!(test.events("iteration_finished").is_empty());
    test.run(["answer", "latest", "continue"]).exits(0);
    let test = test.file("go_on", "");
    let ended = running.ends();
    assert!(ended.stdout.contains("did go on"), "{}", ended.stdout);
    // Nothing was signalled: the agent ended by itself.
    assert!(test.exists("done"));
    assert!(test.journal().iter().all(|event| event["what"] != "signalled"));
}

/// Asks in the middle of an iteration, which waits for a file of its number before it ends.
fn asks_in_the_middle(more: &str) -> Loop {
    let policy = format!(
        "[notify]\ncommand = \"true\"\n[limits]\niterations = 3\n{more}\
         [[rule]]\nwhen = {{ type = \"topic_drift\", above = 0.5 }}\nthen = \"ask\"\n"
    );
    let script = "[ -z \"$BACKSTOP_HANDOFF\" ] || cp \"$BACKSTOP_HANDOFF\" seen$BACKSTOP_ITERATION\n\
                  [ $BACKSTOP_ITERATION = 1 ] || exit 0\n\
                  echo '::backstop {\"type\":\"drift\",\"score\":0.9}'\n\
                  until [ -e go_on ]; do sleep 0.02; done";
    Loop::new().file("p.toml", &policy).script("agent.sh", script)
}

#[test]
fn an_answer_in_the_middle_of_an_iteration_is_for_the_next_one_and_holds_until_that_has_ended() {
    let test = asks_in_the_middle("");
    let running = start(&test);
    test.run(["answer", "latest", "fix", "--note", "mind the cache"]).exits(0);
    let test = test.file("go_on", "");
    // It is not asked about again at the end of the iteration, but it is at the end of the next.
    wait_for("the next question", || test.events("asked").len() == 2);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    assert!(test.read("seen2").contains("- mind the cache"), "{}", test.read("seen2"));
    test.run(["answer", "latest", "abort"]).exits(0);
    running.ends().exits(131);
    assert!(!test.exists("seen3"));
}

#[test]
fn a_limit_that_ends_the_run_ends_its_question_too() {
    let limit = "[[rule]]\nwhen = { type = \"file_created\", path = \"over\" }\n\
                 then = \"stop\"\nreason = \"timeout\"\n[loop]\nfinish_within = \"0s\"\n";
    let test = asks_in_the_middle(limit);
    let running = start(&test);
    let test = test.file("over", "");
    let ended = running.ends().exits(124);
    let (_, card) = ended.stderr.split_once("stopped: timeout").expect("a card");
    assert!(!card.contains("backstop answer"), "{card}");
    let refused = test.run(["answer", "latest", "continue"]);
    assert!(refused.stderr.contains("asks nothing"), "{}", refused.stderr);
    assert_eq!(test.state()["stop_reason"]["code"], "timeout");
}

#[test]
fn a_question_that_has_become_pointless_is_withdrawn() {
    let policy = "[limits]\niterations = 2\n[notify]\ncommand = \"true\"\n\
                  [[rule]]\nwhen = { type = \"topic_drift\", above = 0.5 }\nthen = \"ask\"\n";
    let report = "[ $BACKSTOP_ITERATION = 1 ] || exit 0\n\
                  echo '::backstop {\"type\":\"drift\",\"score\":0.9}'\n\
                  until [ -e go_on ]; do sleep 0.02; done\n\
                  echo '::backstop {\"type\":\"drift\",\"score\":0.1}'";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", report);
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    let test = test.file("go_on", "");
    running.ends().exits(125);
    assert!(test.events("answered").is_empty(), "nobody has answered");
    let withdrawn = test.journal().into_iter().filter(|event| event["what"] == "withdrawn");
    assert_eq!(withdrawn.count(), 1);
}

#[test]
fn an_answer_lets_nothing_pass_that_nobody_was_asked_about() {
    let policy = "[limits]\niterations = 9\n[notify]\ncommand = \"true\"\n\
                  [[rule]]\nname = \"asks\"\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"ask\"\n\
                  [[rule]]\nname = \"holds\"\nwhen = { type = \"max_iterations\", count = 1 }\n\
                  then = \"hold\"\nreason = \"no_signal_change\"\npriority = 1\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "true");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    test.run(["answer", "latest", "continue"]).exits(0);
    running.ends().exits(54);
    assert_eq!(test.state()["facts"]["iterations"], 1, "the hold stands");
}

#[test]
fn an_open_question_is_shown_with_how_to_answer_it() {
    let test = asking("");
    let running = start(&test);
    let shown = test.run(["show", "latest"]).exits(0).stdout;
    assert!(shown.contains("asks") && shown.contains("no progress"), "{shown}");
    assert!(shown.contains("backstop answer "), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(" continue`, `fix --note \"…\"` or `abort`"), "{shown}");
    assert!(shown.contains(" left, then it holds"), "{shown}");
    test.run(["answer", "latest", "continue"]).exits(0);
    running.ends().exits(125);
}

#[test]
fn a_list_of_runs_says_which_of_them_waits_for_an_answer() {
    let test = asking("");
    let running = start(&test);
    let listed = test.run(["ls"]).exits(0).stdout;
    assert!(listed.contains("running ?"), "{listed}");
    let words = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no progress") && words.contains("answer with `backstop"), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let json = || -> serde_json::Value {
        serde_json::from_str(&test.run(["ls", "--json"]).exits(0).stdout).expect("one run")
    };
    let question = json()["question"].clone();
    assert_eq!(question["answers"], serde_json::json!(["fix", "continue", "abort"]));
    assert_eq!(question["on_timeout"], "hold");
    assert!(question["until"].as_str() > question["asked_at"].as_str(), "{question}");
    assert_eq!(test.state()["question"], question);
    test.run(["answer", "latest", "continue"]).exits(0);
    running.ends().exits(125);
    assert!(json()["question"].is_null());
    assert!(!test.run(["ls"]).exits(0).stdout.contains('?'));
}

#[test]
fn a_held_run_waits_for_its_answer_without_end() {
    let policy = ASKS.replace("[notify]\ncommand = \"true\"\n", "");
    let test = Loop::new().file("p.toml", &policy).script("agent.sh", "true");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(126);
    let listed = test.run(["ls"]).exits(0).stdout;
    assert!(listed.contains("held ?") && !listed.contains(" left"), "{listed}");
    let question = test.state()["question"].clone();
    assert!(question["until"].is_null() && question["question"].is_string(), "{question}");
    test.run(["answer", "latest", "continue"]).exits(0);
    assert!(!test.run(["ls"]).exits(0).stdout.contains('?'));
}

#[test]
fn who_attaches_sees_what_was_asked_before() {
    let test = asking("");
    let running = start(&test);
    let seen = test.work().join("seen");
    let file = std::fs::File::create(&seen).expect("can be created");
    let mut attached =
        test.command(["attach", "latest"]).stdout(file).spawn().expect("the binary runs");
    let read = || std::fs::read_to_string(&seen).unwrap_or_default();
    wait_for("the question", || read().contains("? 2 iterations"));
    wait_for("how to answer it", || read().contains("answer with `backstop answer "));
    test.run(["answer", "latest", "continue"]).exits(0);
    running.ends().exits(125);
    let ended = attached.wait().expect("it can be waited for");
    assert_eq!(ended.code(), Some(125), "{}", read());
}

#[test]
fn the_streak_that_was_asked_about_in_vain_counts_from_the_resumption_on() {
    let policy = ASKS.replace("iterations = 4", "iterations = 9");
    let test = asking("").file("p.toml", &format!("{policy}[intervention]\ntimeout = \"200ms\"\n"));
    start(&test).ends().exits(132);
    test.run(["resume", "latest"]).exits(132);
    let asked = test.events("asked");
    let said = |at: usize| asked[at]["question"].as_str().unwrap_or_default().to_owned();
    assert!(
        said(0).starts_with("2 iterations") && said(1).starts_with("2 iterations"),
        "{asked:?}"
    );
}

#[test]
fn a_supervised_process_answers_nothing() {
    let policy = "[limits]\niterations = 2\n[notify]\ncommand = \"true\"\n\
                  [intervention]\ntimeout = \"5s\"\n\
                  [[rule]]\nwhen = { type = \"topic_drift\", above = 0.5 }\nthen = \"ask\"\n";
    let script = format!(
        "echo '::backstop {{\"type\":\"drift\",\"score\":0.9}}'\n\
         {binary} answer latest continue; echo answer $?\n\
         {binary} release latest; echo release $?\n\
         {binary} attend latest --off; echo attend $?",
        binary = crate::support::BINARY
    );
    let test = Loop::new().file("p.toml", policy).script("agent.sh", &script);
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(132);
    for line in ["answer 64", "release 64", "attend 64"] {
        assert!(ended.stdout.contains(line), "{}", ended.stdout);
    }
    assert!(test.events("answered").is_empty());
}

#[test]
fn a_service_for_the_same_store_is_a_channel_as_long_as_it_answers() {
    let policy = ASKS.replace("[notify]\ncommand = \"true\"\n", "");
    let test = Loop::new().file("p.toml", &policy).script("agent.sh", "true");
    let serving = Serving::beside(&test);
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    assert_eq!(test.state()["run_status"], "running");
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    let answered = serving.post(&format!("/v1/runs/{run}/answer"), r#"{"answer":"abort"}"#);
    assert_eq!(answered.status, 200, "{}", answered.body);
    running.ends().exits(131);
    serving.signal(Signal::TERM);
    assert_eq!(serving.ends(), Some(0));

    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(126);
    assert_eq!(test.state()["run_status"], "held", "nobody is there to ask any more");
    assert!(!ended.stderr.contains(" left, then it"), "{}", ended.stderr);
    let asked = test.events("asked");
    assert_eq!(asked[0]["unheard"], true);
    let report = test.run(["report", "latest"]).exits(0).stdout;
    assert!(report.contains("Nobody was there to ask."), "{report}");
}
