//! The supervisor is killed in the middle of a question, a hold and a recovery.

use rustix::process::Signal;

use crate::support::looping::{Loop, Running, wait_for};

/// Everything that belongs to the run dies at once.
fn kill(test: &Loop, running: Running) {
    let all = test.marked();
    Loop::cut_off(&all);
    drop(running);
    wait_for("their end", || all.iter().all(|pid| has_ended(*pid)));
}

/// Whether nothing is left of a process but, perhaps, its exit status.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

#[test]
fn in_a_question_the_same_one_is_asked_again() {
    let policy = "[limits]\niterations = 4\n[notify]\ncommand = \"true\"\n\
                  [[rule]]\nwhen = { type = \"no_progress\", iterations = 2 }\nthen = \"ask\"\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "true");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    kill(&test, running);
    let resumed = test.start(["resume", "latest"]);
    wait_for("an answer is taken", || test.run(["answer", "latest", "continue"]).code == Some(0));
    resumed.ends().exits(125);
    // It was asked once and answered once, and nothing ran in between.
    assert_eq!(test.events("asked").len(), 1);
    assert_eq!(test.events("answered").len(), 1);
    assert_eq!(test.state()["facts"]["iterations"], 4);
}

const ASKS: &str = "[limits]\niterations = 4\n[notify]\ncommand = \"cat >> told\"\n\
    [[rule]]\nwhen = { type = \"no_progress\", iterations = 2 }\nthen = \"ask\"\n";

#[test]
fn in_a_question_it_can_be_seen_and_answered_before_the_run_goes_on() {
    let test = Loop::new().file("p.toml", ASKS).script("agent.sh", "true");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    kill(&test, running);
    let shown = test.run(["show"]).exits(0).stdout;
    assert!(shown.contains("asks") && !shown.contains(" left, then it holds"), "{shown}");
    // Nobody has to wait until the dead supervisor's lease ends.
    test.run(["answer", "latest", "continue"]).exits(0);
    test.run(["resume", "latest"]).exits(125);
    assert_eq!(test.events("asked").len(), 1);
    assert_eq!(test.state()["facts"]["iterations"], 4);
}

#[test]
fn a_machine_that_shuts_down_answers_nothing() {
    let test = Loop::new().file("p.toml", ASKS).script("agent.sh", "true");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    running.signal(Signal::TERM);
    running.ends().exits(143);
    assert_eq!(test.state()["stop_reason"]["code"], "terminated");
    assert!(test.run(["show"]).exits(0).stdout.contains("asks"));
    let told = test.read("told");
    assert!(told.contains("backstop answer ") && told.contains(" continue"), "{told}");
    // It is asked again when the run goes on, and nothing has run meanwhile.
    let resumed = test.start(["resume", "latest"]);
    wait_for("the run goes on", || test.has("resumed"));
    wait_for("an answer is taken", || test.run(["answer", "latest", "abort"]).code == Some(0));
    resumed.ends().exits(131);
    assert_eq!(test.events("asked").len(), 2);
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

#[test]
fn what_was_switched_on_stays_on() {
    let script = "touch up; until [ -e go_on ]; do sleep 0.02; done";
    let test = Loop::new().script("agent.sh", script);
    let running = test.start(["run", "--max-iterations", "2", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    test.run(["attend", "latest"]).exits(0);
    kill(&test, running);
    let test = test.file("go_on", "");
    let resumed = test.start(["resume", "latest"]);
    wait_for("the prompt", || test.run(["answer", "latest", "go"]).code == Some(0));
    wait_for("the second prompt", || test.run(["answer", "latest", "stop"]).code == Some(0));
    resumed.ends().exits(130);
}

#[test]
fn in_a_hold_it_holds_on() {
    let policy = "[limits]\niterations = 2\n[progress]\nmarkers = [\"[PROGRESS]\"]\n\
                  [[rule]]\nwhen = { type = \"cooldown\", duration = \"9m\" }\nthen = \"hold\"\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "echo '[PROGRESS]'");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the hold", || test.has("held"));
    kill(&test, running);
    let resumed = test.start(["resume", "latest"]);
    wait_for("the hold again", || test.events("held").len() == 2);
    assert_eq!(test.events("iteration_finished").len(), 1);
    test.run(["release", "latest"]).exits(0);
    wait_for("the second iteration", || test.events("iteration_finished").len() == 2);
    resumed.signal(Signal::TERM);
    resumed.ends();
}

#[test]
fn in_a_recovery_the_hand_off_is_not_lost() {
    let policy = "[limits]\niterations = 9\n[[rule]]\n\
                  when = { type = \"context_usage\", at_least = 0.95 }\nthen = \"recover\"\n\
                  [[rule]]\nwhen = { type = \"file_created\", path = \"DONE\" }\nthen = \"complete\"\n";
    let script = "if [ $BACKSTOP_ITERATION = 1 ]; then\n\
                  echo '::backstop {\"type\":\"context\",\"used\":96,\"limit\":100}'; exec sleep 300; fi\n\
                  [ -e once ] || { touch once; exec sleep 300; }\n\
                  cp \"$BACKSTOP_HANDOFF\" seen; touch DONE";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", script);
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the fresh start", || test.exists("once"));
    kill(&test, running);
    test.run(["resume", "latest"]).exits(0);
    assert!(test.read("seen").contains("The context of the last session was full"));
    assert_eq!(test.events("recovered").len(), 1);
}

#[test]
fn what_the_first_iteration_had_done_is_kept() {
    let policy = "[limits]\niterations = 2\n[[rule]]\n\
                  when = { type = \"file_created\", path = \"once\" }\nthen = \"hold\"\n";
    let script = "[ -e once ] && exit; echo work > unsaved; touch once; exec sleep 300";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", script);
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        let output = command.current_dir(test.work()).output().expect("git");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the work", || test.exists("once"));
    kill(&test, running);
    test.run(["resume", "latest"]);
    let kept = git(&["for-each-ref", "--format=%(refname)", "refs/backstop"]);
    let kept = kept.lines().next().expect("a ref");
    assert_eq!(git(&["show", &format!("{kept}:unsaved")]), "work\n");
}

#[test]
fn who_answers_for_a_dead_supervisor_ends_what_it_left_running() {
    let policy = "[limits]\niterations = 4\n[notify]\ncommand = \"true\"\n\
        [[rule]]\nwhen = { type = \"output_pattern\", pattern = \"HELP\" }\nthen = \"ask\"\n";
    for answer in ["abort", "continue"] {
        let test =
            Loop::new().file("p.toml", policy).script("agent.sh", "echo HELP; exec sleep 300");
        let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
        wait_for("the question", || test.has("asked"));
        wait_for("the agent", || !test.processes_named("sleep").is_empty());
        let agent = test.processes_named("sleep");
        let others: Vec<_> = test.marked().into_iter().filter(|pid| !agent.contains(pid)).collect();
        Loop::cut_off(&others);
        drop(running);
        wait_for("only the agent is left", || test.marked() == agent);
        let answered = test.run(["answer", "latest", answer]).exits(0);
        let told = "ended what the last supervisor left behind: sleep";
        assert!(answered.stderr.contains(told), "{}", answered.stderr);
        test.leaves_nothing();
    }
}
