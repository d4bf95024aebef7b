//! A run that fills its context, or stands still, goes on afresh.

use crate::support::looping::{Loop, wait_for};

const USAGE: &str = "echo '::backstop {\"type\":\"context\",\"used\":96,\"limit\":100}'";

fn full_context(more: &str) -> Loop {
    let policy = format!(
        "[limits]\niterations = 9\n[loop]\ngrace = \"1s\"\nfinish_within = \"0s\"\n{more}[[rule]]\n\
         when = {{ type = \"context_usage\", at_least = 0.95 }}\nthen = \"recover\"\n"
    );
    Loop::new().file("p.toml", &policy).file("PROMPT.md", "go on\n")
}

fn git(test: &Loop, words: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    assert!(command.current_dir(test.work()).output().expect("git").status.success(), "{words:?}");
}

#[test]
fn a_full_context_is_met_by_a_fresh_start_with_a_hand_off() {
    let requirements =
        "# Cache\n\n## Acceptance criteria\n\n- evicts the oldest\n\n## Later\n\nmore";
    let script = format!(
        "cat; if [ $BACKSTOP_ITERATION = 1 ]; then {USAGE}; exec sleep 300; fi; \
         cp \"$BACKSTOP_HANDOFF\" seen; touch DONE"
    );
    let more = "[work]\nrequirements = \"SPEC.md\"\n[progress]\ntasks = \"PLAN.md\"\n\
                [[rule]]\nwhen = { type = \"file_created\", path = \"DONE\" }\nthen = \"complete\"\n";
    let test = full_context(more)
        .file("SPEC.md", requirements)
        .file("PLAN.md", "- [x] read\n- [ ] write the eviction\n")
        .script("agent.sh", &script);
    git(&test, &["init", "-q"]);
    git(&test, &["add", "-A"]);
    git(&test, &["commit", "-qm", "Begin the cache"]);
    let ended = test
        .run(["run", "--policy", "p.toml", "--stdin", "PROMPT.md", "--", "./agent.sh"])
        .exits(0);
    let recovered = test.events("recovered");
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0]["kind"], "context");
    let checkpoint = recovered[0]["checkpoint"].as_str().expect("a checkpoint");
    assert!(checkpoint.starts_with("refs/backstop/"), "{checkpoint}");
    git(&test, &["rev-parse", "--verify", "-q", checkpoint]);
    let handoff = test.read("seen");
    for part in [
        "The context of the last session was full",
        "## Current task\n\nwrite the eviction",
        "## Acceptance criteria\n\n- evicts the oldest\n",
        "Begin the cache",
    ] {
        assert!(handoff.contains(part), "{part}\n{handoff}");
    }
    assert!(!handoff.contains("more"), "{handoff}");
    // The prompt came first, and the hand-off after it in the second iteration only.
    assert_eq!(ended.stdout.matches("go on\n").count(), 2, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("# Hand-off").count(), 1, "{}", ended.stdout);
    // It was ended on purpose, so it is no error.
    assert_eq!(test.state()["facts"]["errored"], 0);
}

#[test]
fn fresh_starts_come_to_an_end() {
    let script = format!("{USAGE}; exec sleep 300");
    let test = full_context("[recover]\ncontext_max = 2\n").script("agent.sh", &script);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(129);
    assert_eq!(test.events("recovered").len(), 2);
    assert_eq!(test.state()["stop_reason"]["code"], "context_overflow");
    assert_eq!(test.state()["facts"]["iterations"], 3);
}

fn standing_still(action: &str) -> Loop {
    let policy = "[limits]\nduration = \"1m\"\n[loop]\ngrace = \"1s\"\nfinish_within = \"0s\"\n[[rule]]\n\
                  when = { type = \"stagnation\", duration = \"3s\" }\nthen = \"recover\"\n\
                  [[rule]]\nwhen = { type = \"file_created\", path = \"DONE\" }\nthen = \"complete\"\n";
    let script = format!(
        "[ -z \"$BACKSTOP_HANDOFF\" ] || {{ cp \"$BACKSTOP_HANDOFF\" seen; touch DONE; exit; }}\n\
         for n in 1 2 3 4 5; do\n\
         echo '::backstop {{\"type\":\"action\",\"signature\":\"'\"{action}\"'\",\"kind\":\"shell\"}}'\n\
         done; sleep 300"
    );
    Loop::new().file("p.toml", policy).script("agent.sh", &script)
}

#[test]
fn an_agent_that_repeats_itself_is_told_to_go_another_way() {
    let test = standing_still("bash: make");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.events("recovered")[0]["kind"], "stagnation");
    let handoff = test.read("seen");
    assert!(handoff.contains("`bash: make` was done again and again"), "{handoff}");
    assert!(handoff.contains("Go about it in another way"), "{handoff}");
}

#[test]
fn one_that_tries_this_and_that_needs_a_person() {
    let test = standing_still("bash: make $n");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(126);
    assert!(test.events("recovered").is_empty());
    assert_eq!(test.events("asked").len(), 1);
    assert_eq!(test.state()["run_status"], "held");
}

#[test]
fn it_works_on_while_the_person_thinks() {
    let test = standing_still("bash: make $n");
    let policy = format!("{}[notify]\ncommand = \"true\"\n", test.read("p.toml"));
    let test = test.file("p.toml", &policy);
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the question", || test.has("asked"));
    assert!(test.events("iteration_finished").is_empty());
    assert!(test.journal().iter().all(|event| event["what"] != "signalled"));
    test.run(["answer", "latest", "abort"]).exits(0);
    running.ends().exits(131);
}

#[test]
fn whoever_commits_does_not_stand_still() {
    let policy = "[limits]\niterations = 1\n[loop]\ngrace = \"1s\"\nfinish_within = \"0s\"\n[[rule]]\n\
                  when = { type = \"stagnation\", duration = \"3s\" }\nthen = \"stop\"\n";
    // Each piece of work takes less than that; all of them together take longer.
    let script = "for n in $(seq 12); do echo $n > file; git add file\n\
                  git -c user.name=a -c user.email=a@b commit -qm $n; sleep 0.3; done; touch ended";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", script);
    git(&test, &["init", "-q"]);
    git(&test, &["add", "-A"]);
    git(&test, &["commit", "-qm", "first"]);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(125);
    assert!(test.exists("ended"));
    assert!(!test.events("progress").is_empty());
    // Nor does who says nothing and only writes.
    let writes = "for n in $(seq 12); do echo $n > file$n; sleep 0.3; done; touch ended";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", writes);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(125);
    assert!(test.exists("ended"));
    // One that does not is ended.
    let test = test.script("agent.sh", "exec sleep 300");
    let policy = policy.replace("iterations = 1", "iterations = 2").replace("3s", "500ms");
    let test = test.file("p.toml", &policy);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(126);
}

#[test]
fn a_hand_off_waits_for_an_iteration_that_can_work() {
    let script = format!(
        "case $BACKSTOP_ITERATION in 1) {USAGE}; exec sleep 300;;\n\
         2) echo '::backstop {{\"type\":\"worker\",\"status\":\"rate_limited\",\"retry_at\":\"'$(date -u -d '+1 second' +%FT%TZ)'\"}}'; exit 1;;\n\
         *) cp \"$BACKSTOP_HANDOFF\" seen; touch DONE;; esac"
    );
    let more =
        "[[rule]]\nwhen = { type = \"file_created\", path = \"DONE\" }\nthen = \"complete\"\n";
    let test = full_context(more).script("agent.sh", &script);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(0);
    assert!(test.read("seen").contains("The context of the last session was full"));
}

#[test]
fn errors_can_be_recovered_from_too() {
    let policy = "[limits]\niterations = 4\n[[rule]]\n\
                  when = { type = \"consecutive_errors\", count = 2 }\nthen = \"recover\"\n";
    let script =
        "[ -z \"$BACKSTOP_HANDOFF\" ] || cp \"$BACKSTOP_HANDOFF\" seen; echo no disk >&2; exit 3";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", script);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(125);
    let recovered = test.events("recovered");
    assert!(!recovered.is_empty() && recovered.iter().all(|event| event["kind"] == "error"));
    let handoff = test.read("seen");
    assert!(handoff.contains("## Last error") && handoff.contains("no disk"), "{handoff}");
}

#[test]
fn a_note_at_the_resumption_reaches_the_agent() {
    let script = "[ -z \"$BACKSTOP_HANDOFF\" ] || cp \"$BACKSTOP_HANDOFF\" seen";
    let test = Loop::new().script("agent.sh", script);
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    let raise = ["--raise", "iterations=3", "--note", "mind the gap"];
    test.run([&["resume", "latest"][..], &raise].concat()).exits(125);
    assert!(test.read("seen").contains("- mind the gap"));
}

#[test]
fn who_claims_too_early_is_told_what_is_missing() {
    let policy = "[limits]\niterations = 5\n[verify]\n\
                  command = \"test -f eviction.rs || { echo no eviction yet; exit 1; }\"\n\
                  [[rule]]\nwhen = { type = \"output_pattern\", pattern = \"ALL DONE\" }\n\
                  then = \"complete\"\n";
    let script = "echo ALL DONE\n\
                  [ -z \"$BACKSTOP_HANDOFF\" ] || { cp \"$BACKSTOP_HANDOFF\" seen; touch eviction.rs; }";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", script);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    let handoff = test.read("seen");
    for part in ["## Not done yet", "the verification did not pass", "no eviction yet"] {
        assert!(handoff.contains(part), "{part}\n{handoff}");
    }
}
