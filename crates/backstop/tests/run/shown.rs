//! What is shown of a run, and where: lines of JSON, a dry run, the background.

use rustix::process::Signal;
use serde_json::Value as Json;

use crate::run_of;
use crate::support::looping::{Loop, wait_for};

#[test]
fn json_prints_events_and_leaves_standard_error_to_the_child() {
    let test = Loop::new();
    let flags = ["--json", "--max-iterations", "2"];
    let ended = test.run(run_of(&flags, &["say", "hello"])).exits(125);
    assert_eq!(ended.stderr, "hello\nhello\n");
    let lines: Vec<Json> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let (last, lines) = lines.split_last().expect("lines");
    assert_eq!(last["run_status"], "stopped");
    let is_beside = |line: &&Json| line["type"] == "rule_progress" || line["type"] == "remark";
    let events: Vec<&Json> = lines.iter().filter(|line| !is_beside(line)).collect();
    assert_eq!(events, test.journal().iter().collect::<Vec<_>>(), "the journal as it is");
    let moved = lines.iter().find(|line| line["type"] == "rule_progress");
    assert_eq!(moved.expect("a rule moved")["progress"], 0.5);
}

#[test]
fn a_dry_run_prints_a_policy_that_is_the_one_that_would_be_pinned() {
    let test = Loop::new().file("backstop.toml", "preset = 'ralph'\n[limits]\npreflight = true\n");
    let flags = ["run", "--max-iterations", "1", "--until-output", "a 'b' \\ ü", "--grace", "3s"];
    let run = |more: &[&'static str]| {
        test.run([&flags[..], &["--verify", "true"], more, &["--", "touch", "ran"]].concat())
    };
    let shown = run(&["--dry-run"]).exits(0);
    assert!(!test.exists("ran"));
    assert!(!test.state_directory().exists(), "nothing was begun");
    assert!(shown.stdout.contains("# would run: touch ran\n"), "{}", shown.stdout);
    let test = test.file("shown.toml", &shown.stdout);
    let hash = test.run(["policy", "hash", "shown.toml"]).exits(0).stdout;
    assert!(shown.stdout.contains(&format!("# hash: {hash}")), "{hash}{}", shown.stdout);
    let flags = [&flags[..], &["--verify", "true", "--", "touch", "ran"]].concat();
    test.run(flags).exits(125);
    assert_eq!(test.state()["policy_hash"], hash.trim());
    test.run(["run", "--policy", "shown.toml", "--", "true"]).exits(125);
    assert_eq!(test.state()["policy_hash"], hash.trim(), "as a file it is the same");
}

#[test]
fn a_dry_run_can_be_copied_and_kept() {
    let test = Loop::new();
    let folder = test.work().join("two\nlines");
    std::fs::create_dir(&folder).expect("can be created");
    let words = ["run", "--dry-run", "--max-iterations", "1", "--", "./agent.sh", "a b", "it's"];
    let shown = test.launch(&mut test.command_in(&folder, words)).ends().exits(0).stdout;
    assert!(shown.contains("# would run: ./agent.sh 'a b' 'it'\\''s'\n"), "{shown}");
    assert!(!shown.contains("_violation") && !shown.contains("file_collision"), "{shown}");
    assert!(shown.contains("user_stopped"), "{shown}");
    let test = test.file("kept.toml", &shown);
    test.run(["run", "--policy", "kept.toml", "--", "true"]).exits(125);
    let test = test.file("g.toml", "[guards]\nlockfiles = 'deny'\n");
    let guarded = test.run(["run", "--dry-run", "--policy", "g.toml", "--", "true"]).exits(0);
    assert!(guarded.stdout.contains("lockfile_violation"), "{}", guarded.stdout);
}

#[test]
fn only_what_counts_is_told_as_progress() {
    let policy = "limits = { iterations = 2 }\n[progress]\ntasks = 'PLAN.md'\ncount = ['task']\n\
                  [[rule]]\nwhen = { type = 'no_progress', iterations = 9 }\nthen = 'stop'\n";
    let agent = "echo more >> changes; [ $BACKSTOP_ITERATION = 1 ] || echo '- [x] one' > PLAN.md";
    let test =
        Loop::new().file("p.toml", policy).file("PLAN.md", "- [ ] one\n").script("agent.sh", agent);
    for words in [&["init", "-q"][..], &["add", "-A"]] {
        let git = std::process::Command::new("git").args(words).current_dir(test.work()).status();
        assert!(git.expect("git runs").success());
    }
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(125);
    let told: Vec<_> = ended.stderr.lines().filter(|line| line.contains("progress: ")).collect();
    assert_eq!(told.len(), 1, "{}", ended.stderr);
    assert!(told[0].contains("progress: task"), "{}", ended.stderr);
}

#[test]
fn a_reason_is_listed_whole_before_the_command_is() {
    let test = Loop::new().script("agent.sh", "touch up; exec sleep 300");
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    let _crashes = test.start_unheard(["run", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up") && test.has("iteration_started"));
    Loop::cut_off(&test.marked());
    let listed = test.run(["ls"]).exits(0).stdout;
    assert!(listed.contains("interrupted") && listed.contains(" max_iterations "), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
}

#[test]
fn detach_attach_and_stop() {
    let test = Loop::new().script("agent.sh", "echo working; touch up; sleep 300; echo no");
    let ended = test.run(["run", "--detach", "--", "./agent.sh"]).exits(0);
    let run = ended.stdout.trim().to_owned();
    assert_eq!(run.len(), 13, "{}", ended.stdout);
    wait_for("the agent", || test.exists("up"));
    assert_eq!(test.state()["run_id"], run.as_str());
    assert_eq!(test.state()["run_status"], "running");

    let let_go = test.start(["attach", &run]);
    wait_for("somebody who listens", || listens_to_interrupts(let_go.pid()));
    let_go.signal(Signal::INT);
    let_go.ends().exits(0);
    assert_eq!(test.state()["run_status"], "running", "who lets go ends nothing");

    let attached = test.start(["attach", &run]);
    wait_for("somebody who listens", || listens_to_interrupts(attached.pid()));
    test.run(["stop", &run, "--now"]).exits(0);
    let watched = attached.ends().exits(130);
    assert!(watched.stdout.contains("working"), "{}", watched.stdout);
    assert!(watched.stdout.contains("user_stopped"), "{}", watched.stdout);
    test.is_empty();
    wait_for("the supervisor to end", || test.marked().is_empty());
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn attaching_shows_an_agent_as_running_it_does() {
    let said = r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Hi."}}"#;
    let stream = format!("{{\"type\":\"thread.started\",\"thread_id\":\"t\"}}\n{said}\n");
    for (flags, seen, unseen) in [(&[][..], "\nHi.\n", said), (&["--raw"][..], said, "\nHi.\n")] {
        let test = Loop::new().file("stream", &stream);
        let test = test.script("agent.sh", "cat stream; touch up; sleep 300");
        test.run(["run", "--detach", "--", "./agent.sh"]).exits(0);
        wait_for("the agent", || test.exists("up"));
        let attached = test.start([&["attach"], flags].concat());
        wait_for("somebody who listens", || listens_to_interrupts(attached.pid()));
        test.run(["stop", "latest", "--now"]).exits(0);
        let watched = attached.ends().exits(130).stdout;
        assert!(watched.contains(seen) && !watched.contains(unseen), "{watched}");
        test.is_empty();
        wait_for("the supervisor to end", || test.marked().is_empty());
    }
}

#[test]
fn a_detached_run_that_can_not_begin_says_so() {
    let test = Loop::new().file("taken", "");
    let store = test.work().join("taken");
    let store = store.to_str().expect("UTF-8");
    let ended = test.run(["run", "--detach", "--store", store, "--", "touch", "ran"]);
    ended.refused(73, &["taken"]);
    assert!(!test.exists("ran"));
}

#[test]
fn a_detached_run_is_there_when_its_name_is_printed() {
    let test = Loop::new();
    for _ in 0..3 {
        let name = test.run(["run", "--detach", "--max-iterations", "1", "--", "true"]).exits(0);
        test.run(["show", name.stdout.trim()]).exits(0);
    }
    test.is_empty();
}

#[test]
fn a_detached_run_that_is_refused_says_so() {
    let test = Loop::new();
    test.run(["halt", "--all", "--why", "the release is today"]).exits(0);
    let ended = test.run(["run", "--detach", "--", "touch", "ran"]);
    ended.refused(55, &["nothing was started, by order of", "the release is today"]);
    assert_eq!(ended.stdout, "", "there is no run to be named");
    assert!(!test.exists("ran"));
}

#[test]
fn a_detached_run_outlives_its_terminal() {
    let test = Loop::new().script("agent.sh", "touch up; while [ ! -e go ]; do sleep 0.02; done");
    test.run(["run", "--detach", "--max-iterations", "1", "--", "./agent.sh"]).exits(0);
    wait_for("the agent", || test.exists("up"));
    let test = test.file("go", "");
    wait_for("its end", || test.state()["run_status"] == "stopped");
    assert_eq!(test.state()["stop_reason"]["code"], "max_iterations");
}

#[test]
fn a_resumption_goes_into_the_background_too() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "1", "--", "echo", "said"]).exits(125);
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    let ended = test.run(["resume", "--detach", "--raise", "iterations=2"]).exits(0);
    assert_eq!(ended.stdout.trim(), run);
    wait_for("its end", || {
        let state = test.state();
        state["run_status"] == "stopped" && state["facts"]["iterations"] == 2
    });
    let ended = test.run(["resume", "--json", "--raise", "iterations=3"]).exits(125);
    assert_eq!(ended.stderr, "said\n");
    assert!(ended.stdout.starts_with('{'), "{}", ended.stdout);
}

#[test]
fn the_card_and_the_journal_tell_the_same() {
    let test = Loop::new();
    let ended = test.run(["run", "--max-iterations", "2", "--", "true"]).exits(125);
    assert!(ended.stderr.contains("stopped: max_iterations"), "{}", ended.stderr);
    assert!(ended.stderr.contains("exit 125 · resumable"), "{}", ended.stderr);
    assert!(ended.stderr.contains("backstop resume"), "{}", ended.stderr);
    let halted = test.events("halted");
    assert_eq!(halted[0]["reason"], "max_iterations");
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    let path = test.state_directory().join("runs").join(run).join("state.json");
    let text = std::fs::read_to_string(path).expect("state.json is there");
    let file: Json = serde_json::from_str(&text).expect("JSON");
    let mut shown = test.state();
    for beside in ["facts", "health", "interrupted"] {
        shown.as_object_mut().expect("an object").remove(beside);
    }
    assert_eq!(file, shown);
}

/// Whether SIGINT is caught by a process.
fn listens_to_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 2 != 0)
}

#[test]
fn every_rule_that_cannot_be_held_is_told_of_once() {
    let policy = "preset = \"default\"\n[[rule]]\n\
                  when = { type = \"custom_script\", script = \"./absent\" }\n\
                  then = \"complete\"\non_unknown = \"ignore\"\n";
    let test = Loop::new().file("backstop.toml", policy);
    let ended = test.run(["run", "--max-iterations", "2", "--", "true"]).exits(125);
    let lines = ended.stderr.lines().filter(|line| line.contains("is not held"));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 2, "{}", ended.stderr);
    assert!(lines[0].contains("custom_script") && lines[1].contains("max_tokens"), "{lines:?}");
}
