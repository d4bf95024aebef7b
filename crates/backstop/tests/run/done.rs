//! When the work is done.

use crate::run_of;
use crate::support::looping::Loop;

#[test]
fn until_success() {
    let test = Loop::new();
    let counter = ["counter", "n", "--exit", "1", "--until", "3"];
    let flags = ["--until-success", "--max-iterations", "9"];
    let ended = test.run(run_of(&flags, &counter)).exits(0);
    assert_eq!(ended.stdout, "1\n2\n3\n");
    let state = test.state();
    assert_eq!(state["run_status"], "completed");
    assert_eq!(state["stop_reason"]["code"], "completed");
    assert_eq!(state["resumable"], false);
    test.run(["resume"]).refused(65, &["completed"]);
}

#[test]
fn until_output_is_a_literal_unless_it_is_a_regex() {
    let says = r#"[ $BACKSTOP_ITERATION = 1 ] && echo 'all doXne' || echo 'all do.ne' >&2"#;
    let test = Loop::new().script("agent.sh", says);
    test.run(["run", "--until-output", "do.ne", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    test.run(["run", "--until-output", "do.ne", "--regex", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 1);
}

#[test]
fn until_output_finds_what_comes_in_pieces() {
    let test = Loop::new()
        .script("agent.sh", "for c in A L L ' ' D O N E; do printf \"$c\"; sleep 0.02; done");
    for flags in [&["--until-output", "ALL DONE"][..], &["--until-output", "AL+ D.NE", "--regex"]] {
        let words = [&["run", "--max-iterations", "3"], flags, &["--", "./agent.sh"]].concat();
        test.run(words).exits(0);
        let matched = test.events("matched");
        assert_eq!(matched.len(), 1, "{matched:?}");
        assert_eq!(matched[0]["stream"], "stdout");
    }
}

#[test]
fn until_output_ends_an_iteration_that_stays() {
    let test = Loop::new().script("agent.sh", "echo DONE; exec sleep 300");
    test.run(["run", "--until-output", "DONE", "--finish-within", "0s", "--", "./agent.sh"])
        .exits(0);
    assert_eq!(test.state()["run_status"], "completed");
    test.leaves_nothing();
}

#[test]
fn until_file_is_watched_while_an_iteration_runs() {
    let test = Loop::new();
    let flags = ["--until-file", "out/done", "--finish-within", "0s"];
    let stays = "mkdir out; touch out/done; exec sleep 300";
    test.run([&["run"], &flags[..], &["--", "sh", "-c", stays]].concat()).exits(0);
    assert_eq!(test.state()["run_status"], "completed");
    test.leaves_nothing();
}

#[test]
fn until_file_that_comes_and_goes_is_not_there() {
    let test = Loop::new();
    let flags = ["--until-file", "done", "--max-iterations", "2"];
    test.run([&["run"], &flags[..], &["--", "sh", "-c", "touch done; rm done"]].concat())
        .exits(125);
}

#[test]
fn until_script() {
    let test = Loop::new()
        .script("agent.sh", "echo x >> went")
        .script("check.sh", "[ $(wc -l < went) -ge 2 ]");
    test.run(["run", "--until-script", "./check.sh", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    // A script of one's own may take its time.
    let shown =
        test.run(["run", "--until-script", "./check.sh", "--dry-run", "--", "true"]).exits(0);
    assert!(shown.stdout.contains("10m"), "{}", shown.stdout);
}

#[test]
fn work_that_is_done_already_runs_nothing() {
    let test = Loop::new().file("done", "").script("check.sh", "exit 0");
    for flags in [["--until-file", "done"], ["--until-script", "./check.sh"]] {
        test.run([&["run"], &flags[..], &["--", "touch", "ran"]].concat()).exits(0);
        assert_eq!(test.state()["run_status"], "completed");
        assert_eq!(test.state()["facts"]["iterations"], 0);
    }
    assert!(!test.exists("ran"));
}

#[test]
fn a_file_is_a_claim_that_must_be_verified_even_before_the_start() {
    let test = Loop::new().file("done", "").script("check.sh", "[ -e good ]");
    let flags = ["--until-file", "done", "--verify", "./check.sh", "--max-iterations", "3"];
    test.run([&["run"], &flags[..], &["--", "touch", "good"]].concat()).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 1);
    let notes = test.events("noted");
    assert!(notes.iter().any(|note| note["what"] == "claim_refused"), "{notes:?}");
}

#[test]
fn success_is_a_claim_too() {
    let test = Loop::new().script("check.sh", "[ -e good ]");
    let agent = "[ $BACKSTOP_ITERATION = 2 ] && touch good; true";
    let flags = ["--until-success", "--verify", "./check.sh"];
    test.run([&["run"], &flags[..], &["--", "sh", "-c", agent]].concat()).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

#[test]
fn verification_alone_ends_nothing() {
    let test = Loop::new();
    test.run(["run", "--verify", "true", "--max-iterations", "2", "--", "true"]).exits(125);
    let outcomes = test.events("verification");
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    assert!(outcomes.iter().all(|event| event["outcome"] == "passed"));
}

#[test]
fn tests_that_nobody_sees_are_warned_of_once() {
    let flags = ["run", "--until-tests-pass", "--max-iterations", "2"];
    let test = Loop::new();
    let told = test.run([&flags[..], &["--", "echo", "hello"]].concat()).exits(125).stderr;
    assert_eq!(told.matches("no test results were seen").count(), 1, "{told}");
    assert!(told.contains("`--verify`") && told.contains("`[verify] report`"), "{told}");
    let told = test.run([&flags[..], &["--verify", "true", "--", "true"]].concat()).exits(125);
    assert_eq!(told.stderr.matches("no test results were seen").count(), 1, "{}", told.stderr);

    let failing = "echo '== 1 failed, 2 passed in 0.12s =='";
    let test = Loop::new().script("agent.sh", failing);
    let told = test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(125).stderr;
    assert!(!told.contains("no test results were seen"), "{told}");
    // A rule that only watches for failures waits for nothing.
    let told = test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125).stderr;
    assert!(!told.contains("no test results were seen"), "{told}");
}

#[test]
fn node_prints_results_for_people() {
    let printed = "✔ adds (0.8ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\n\
                   ℹ skipped 0\nℹ todo 0\nℹ duration_ms 12.3\n";
    let test = Loop::new().file("printed", printed).script("agent.sh", "cat printed");
    test.run(["run", "--until-tests-pass", "--", "./agent.sh"]).exits(0);
}

#[test]
fn once() {
    let test = Loop::new();
    test.run(run_of(&["--once"], &["exit", "0"])).exits(0);
    assert_eq!(test.state()["run_status"], "completed");
    test.run(run_of(&["--once"], &["exit", "3"])).exits(31);
    let state = test.state();
    assert_eq!(state["run_status"], "failed");
    assert_eq!(state["stop_reason"]["code"], "worker_failed");
    assert_eq!(state["facts"]["iterations"], 1);
    test.run(run_of(&["--once"], &["die-by", "SIGKILL"])).exits(31);
    assert_eq!(test.events("iteration_finished")[0]["signal"], 9);
}

#[test]
fn once_is_verified_too() {
    let test = Loop::new();
    test.run(["run", "--once", "--verify", "true", "--", "true"]).exits(0);
    test.run(["run", "--once", "--verify", "false", "--", "true"]).exits(10);
    assert_eq!(test.state()["run_status"], "failed");
    let notes = test.events("noted");
    assert!(notes.iter().any(|note| note["what"] == "claim_refused"), "{notes:?}");
    test.run(["run", "--once", "--verify", "true", "--", "false"]).exits(31);
}

#[test]
fn a_rule_that_fires_goes_before_once() {
    let units = ["units", "4", "--status", "rejected"];
    let test = Loop::new();
    test.run(run_of(&["--once", "--preset", "pipeline"], &units)).exits(42);
    let state = test.state();
    assert_eq!(state["run_status"], "stopped");
    // The first unit was enough. That three in a row were bad fires a rule of higher priority, but
    // only when the run was to end already, whether the command was ended or was too fast for that.
    assert_eq!(state["stop_reason"]["condition"], "REJECT_RATE");
}

#[test]
fn a_single_iteration_that_is_killed_says_by_what() {
    let test = Loop::new();
    let ended = test.run(["run", "--once", "--", "sh", "-c", "kill -9 $$"]).exits(31);
    assert!(ended.stderr.contains("The command was ended by SIGKILL"), "{}", ended.stderr);
}

#[test]
fn a_line_for_a_shell_is_named_by_itself() {
    let test = Loop::new();
    let line = "test -e DONE -a 1 = 1";
    let ended = test.run(["run", "--until-script", line, "--", "touch", "DONE"]).exits(0);
    assert!(ended.stderr.contains(&format!("'{line}' succeeds (done)")), "{}", ended.stderr);
    assert!(!ended.stderr.contains("/bin/sh"), "{}", ended.stderr);
}

#[test]
fn a_line_that_names_no_command_is_warned_of_once() {
    let test = Loop::new();
    let flags = ["run", "--until-script", "nosuch --x", "--max-iterations", "2", "--", "true"];
    let ended = test.run(flags).exits(125);
    let probes = test.events("probe");
    assert!(!probes.is_empty() && probes.iter().all(|probe| probe["met"].is_null()), "{probes:?}");
    let warned = "could not run `nosuch --x`: ";
    assert_eq!(ended.stderr.matches(warned).count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("not found"), "{}", ended.stderr);
}
