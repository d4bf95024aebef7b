//! Ways in which loops went wrong for people, each supervised for real. A test carries the number of
//! its scenario. Not here: those that need an agent's own format (the rest of F6, F8, F19 and F20),
//! and F28, an option that is accepted and ignored, which is what `run` is about.

mod support;

use rustix::process::Signal;
use serde_json::json;
use support::looping::{Loop, active_ms, at, wait_for};

const CONTAINMENTS: [&str; 2] = ["cgroup", "sub-reaper"];

#[test]
fn f1_the_first_signal_ends_the_loop_and_its_tree() {
    for (signal, code, reason) in [
        (Signal::INT, 130, "user_stopped"),
        (Signal::TERM, 143, "terminated"),
        (Signal::HUP, 143, "terminated"),
    ] {
        let test = Loop::new().script("agent.sh", "echo go >> went; sleep 300 & sleep 300");
        let running = test.start(["run", "--grace", "2s", "--", "./agent.sh"]);
        wait_for("the agent and its child", || test.processes().len() >= 3);
        running.signal(signal);
        running.ends().exits(code);
        test.leaves_nothing();
        assert_eq!(test.read("went"), "go\n", "no second iteration was started");
        let state = test.state();
        assert_eq!(state["stop_reason"]["code"], reason);
        assert_eq!(state["run_status"], "stopped");
    }
}

#[test]
fn f1_a_second_signal_kills_at_once_what_ignores_the_first() {
    let test = Loop::new()
        .script("agent.sh", "trap '' INT TERM; echo up > up; while :; do sleep 300; done");
    let running = test.start(["run", "--grace", "1h", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::INT);
    wait_for("the first signal to be journalled", || {
        !test.events("noted").iter().all(|note| note["what"] != "signalled")
    });
    running.signal(Signal::INT);
    running.ends().exits(130);
    test.leaves_nothing();
}

#[test]
fn f2_the_halt_is_on_disk_before_the_first_signal_and_the_code_is_delivered() {
    // The agent copies the journal's tail as it dies: what it sees was on disk before its signal.
    let test = Loop::new().script(
        "agent.sh",
        r#"trap '"$BACKSTOP" show "$BACKSTOP_RUN_ID" --events > seen; exit 0' TERM
echo up > up; while :; do sleep 0.05; done"#,
    );
    let test = test.variable("BACKSTOP", support::BINARY);
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::TERM);
    running.ends().exits(143);
    let seen = test.read("seen");
    assert!(seen.contains(r#""type":"signal","kind":"kill""#), "{seen}");
    assert!(seen.contains(r#""type":"decision","verdict":"stop""#), "{seen}");
    assert!(seen.contains(r#""what":"signalled""#), "{seen}");
}

#[test]
fn f3_an_iteration_ends_with_its_main_process() {
    let test = Loop::new().script("agent.sh", "sleep 300 & echo done");
    let ended = test.run(["run", "--max-iterations", "2", "--", "./agent.sh"]).exits(125);
    assert_eq!(ended.stdout, "done\ndone\n");
    test.leaves_nothing();
    let swept = test.events("noted");
    assert!(swept.iter().any(|note| note["what"] == "swept"), "{swept:?}");
}

#[test]
fn f4_nothing_survives_the_death_of_the_supervisor() {
    for containment in CONTAINMENTS {
        for victim in ["outer", "inner"] {
            let test = Loop::new()
                .script("agent.sh", "sleep 300 & setsid sleep 300 & echo up > up; sleep 300")
                .variable("BACKSTOP_CONTAINMENT", containment);
            let running = test.start(["run", "--grace", "1s", "--", "./agent.sh"]);
            wait_for("the agent", || test.exists("up"));
            let supervisors: Vec<u32> =
                test.marked().into_iter().filter(|pid| !test.processes().contains(pid)).collect();
            let inner = supervisors.iter().find(|pid| **pid != running.pid());
            let pid = if victim == "outer" { running.pid() } else { *inner.expect("an inner one") };
            support::looping::send(pid, Signal::KILL);
            test.is_empty();
            drop(running);
        }
    }
}

#[test]
fn f5_a_server_with_a_session_of_its_own_is_ended_too() {
    for containment in CONTAINMENTS {
        let test = Loop::new()
            .script(
                "agent.sh",
                "setsid sh -c 'trap \"\" TERM; echo $$ > server; while :; do sleep 1; done' &\n\
                 (setsid sleep 300 &) ; while [ ! -s server ]; do sleep 0.01; done",
            )
            .variable("BACKSTOP_CONTAINMENT", containment);
        let ended = test.run(["run", "--once", "--grace", "200ms", "--", "./agent.sh"]).exits(0);
        test.leaves_nothing();
        assert!(ended.stderr.contains(containment), "{}", ended.stderr);
    }
}

#[test]
fn f6_an_empty_pattern_is_refused() {
    let ended = Loop::new().run(["run", "--until-output", "", "--", "true"]);
    ended.refused(64, &["--until-output"]);
}

#[test]
fn f7_a_claim_without_proof_is_refused_and_recorded() {
    let test = Loop::new().script("agent.sh", "echo ALL DONE").script("check.sh", "exit 1");
    let flags =
        ["run", "--max-iterations", "2", "--until-output", "ALL DONE", "--verify", "./check.sh"];
    test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(125);
    let notes = test.events("noted");
    assert_eq!(notes.iter().filter(|note| note["what"] == "claim_refused").count(), 2, "{notes:?}");
    let verifications = test.events("verification");
    assert_eq!(verifications.len(), 2);
    assert!(verifications.iter().all(|event| event["outcome"] == "failed"));
}

#[test]
fn f7_a_proven_claim_ends_the_run() {
    let test = Loop::new()
        .script("agent.sh", "echo ALL DONE; [ $BACKSTOP_ITERATION = 2 ] && touch good; true")
        .script("check.sh", "[ -e good ]");
    let flags = ["run", "--until-output", "ALL DONE", "--verify", "./check.sh", "--", "./agent.sh"];
    test.run(flags).exits(0);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    assert_eq!(test.state()["run_status"], "completed");
}

/// Limited by the provider in the iterations that `limited` names, for so long, failing in all
/// others.
fn limited(limited: &str, seconds: u32) -> Loop {
    let says = format!(
        r#"case $BACKSTOP_ITERATION in {limited})
  at=$(date -u -d '+{seconds} seconds' +%Y-%m-%dT%H:%M:%S.%NZ)
  echo "::backstop {{\"type\":\"worker\",\"status\":\"rate_limited\",\"retry_at\":\"$at\"}}";;
esac
exit 1"#
    );
    Loop::new().script("agent.sh", &says)
}

#[test]
fn f9_a_limit_is_neither_success_nor_failure_nor_progress() {
    let test = limited("*", 1);
    let flags = ["run", "--max-iterations", "4", "--no-progress", "9", "--", "./agent.sh"];
    test.run(flags).exits(125);
    let facts = &test.state()["facts"];
    assert_eq!(facts["consecutive_errors"], 0);
    assert_eq!(facts["iterations_since_progress"], 0);
    assert_eq!(test.events("error"), Vec::<serde_json::Value>::new());
}

#[test]
fn f10_a_wait_for_a_limit_is_waited_and_resets_no_counter() {
    let test = limited("2|4", 3);
    test.run(["run", "--", "./agent.sh"]).exits(12);
    let facts = &test.state()["facts"];
    assert_eq!(facts["iterations"], 5, "three failures in a row, with two waits between them");
    assert_eq!(facts["consecutive_errors"], 3);
    let limits = test.events("worker");
    let started = test.events("iteration_started");
    for (limit, next) in limits.iter().zip([&started[2], &started[4]]) {
        let retry = limit["retry_at"].as_str().expect("a time").parse().expect("a time");
        assert!(at(next) >= retry, "{limit} {next}");
        let counted = active_ms(next) - active_ms(limit);
        let passed = at(next).duration_since(at(limit)).as_millis();
        assert!(counted * 2 < passed, "the wait is no work: {limit} {next}");
    }
}

#[test]
fn f10_waits_are_bounded_by_what_bounds_the_run() {
    let test = limited("*", 1);
    test.run(["run", "--max-iterations", "2", "--", "./agent.sh"]).exits(125);
    let limited = r#"echo '::backstop {"type":"worker","status":"rate_limited"}'"#;
    let test = Loop::new().script("agent.sh", limited);
    test.run(["run", "--max-iterations", "3", "--", "./agent.sh"]).exits(125);
    // Who does not say when to come back is not asked again at once.
    let at: Vec<_> = test.events("iteration_started").iter().map(at).collect();
    assert!(at[1].duration_since(at[0]).as_millis() >= 1_000, "{at:?}");
    assert!(at[2].duration_since(at[1]).as_millis() >= 2_000, "{at:?}");
}

#[test]
fn f11_turns_that_fail_and_cost_nothing_are_bounded() {
    let test = Loop::new().script("agent.sh", "echo 'no credit' >&2; exit 7");
    test.run(["run", "--max-cost", "100", "--unmetered", "allow", "--", "./agent.sh"]).exits(12);
    let state = test.state();
    assert_eq!(state["facts"]["iterations"], 3);
    assert_eq!(state["facts"]["last_error"]["message"], "exit status 7: no credit");
}

#[test]
fn f12_a_permanent_error_is_not_retried() {
    let says = r#"echo '::backstop {"type":"error","category":"critical","message":"the budget is used up"}'; exit 1"#;
    let test = Loop::new().script("agent.sh", says);
    let ended = test.run(["run", "--", "./agent.sh"]).exits(13);
    assert_eq!(test.state()["facts"]["iterations"], 1);
    assert_eq!(test.state()["run_status"], "failed");
    assert!(ended.stderr.contains("the budget is used up"), "{}", ended.stderr);

    // The same by the policy's own words.
    let policy = "[errors]\ncritical = ['Credit Balance']\n";
    let test = Loop::new()
        .file("p.toml", policy)
        .script("agent.sh", "echo 'your credit balance is too low' >&2; exit 1");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(13);
    assert_eq!(test.state()["facts"]["iterations"], 1);

    // What it prints elsewhere is its work; it is no error that the words are for.
    let test = test.script("agent.sh", "echo 'tested: credit balance is too low'; exit 1");
    test.run(["run", "--once", "--policy", "p.toml", "--", "./agent.sh"]);
    let last = test.state()["facts"]["last_error"].clone();
    assert_eq!(last["category"], "recoverable");
    assert_eq!(last["message"], "exit status 1");
    let told = "echo '::backstop {\"type\":\"progress\",\"kind\":\"other\"}'; exit 1";
    let test = test.script("agent.sh", told);
    test.run(["run", "--once", "--policy", "p.toml", "--", "./agent.sh"]);
    assert_eq!(test.state()["facts"]["last_error"]["message"], "exit status 1");
}

#[test]
fn f20_what_may_pass_is_tried_again_later_and_not_for_ever() {
    let policy = "preset = 'default'\n[errors]\ntransient = ['overloaded']\n";
    let test = Loop::new()
        .file("p.toml", policy)
        .script("agent.sh", "echo 'the provider is overloaded' >&2; exit 1");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(12);
    assert_eq!(test.state()["facts"]["last_error"]["category"], "transient");
    let started = test.events("iteration_started");
    let active: Vec<u64> =
        started.iter().map(|event| event["active_ms"].as_u64().expect("a number")).collect();
    assert_eq!(active.len(), 3);
    assert!(active[1] - active[0] >= 1_000 && active[2] - active[1] >= 2_000, "{active:?}");
}

#[test]
fn f13_a_silent_meter_fails_closed() {
    let test = Loop::new();
    let limits = ["--max-cost", "20", "--max-iterations", "2"];
    test.run([&["run"], &limits[..], &["--", "true"]].concat()).exits(128);
    let state = test.state();
    assert_eq!(state["run_status"], "held");
    assert_eq!(state["facts"]["iterations"], 1);
    let again = test.run(["resume", "latest"]);
    again.refused(65, &["--unmetered allow"]);
    test.run(["resume", "latest", "--unmetered", "allow", "--raise", "iterations=3"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 3);
}

#[test]
fn f13_a_limit_that_only_a_preset_set_warns_once() {
    let test = Loop::new();
    let ended = test.run(["run", "--max-iterations", "3", "--", "true"]).exits(125);
    assert_eq!(ended.stderr.matches("No tokens were reported").count(), 1, "{}", ended.stderr);
}

#[test]
fn f14_an_iteration_that_the_rest_cannot_pay_for_is_not_started() {
    let usage = r#"echo '::backstop {"type":"usage","input_tokens":10,"cost_usd":1.8}'"#;
    let test = Loop::new().script("agent.sh", usage);
    let ended = test.run(["run", "--max-cost", "10", "--preflight", "--", "./agent.sh"]).exits(128);
    let state = test.state();
    assert_eq!(state["facts"]["iterations"], 5, "{}", ended.stderr);
    assert!(state["facts"]["cost_usd"].as_f64() < Some(10.0));
    assert!(state["stop_reason"]["message"].to_string().contains("$1.00 of $10.00"), "{state}");
}

#[test]
fn f15_what_sub_agents_use_counts() {
    let test = Loop::new().variable("BACKSTOP", support::BINARY).script(
        "agent.sh",
        r#"for agent in 1 2 3; do
  setsid sh -c 'sh -c "\"$BACKSTOP\" emit usage --input-tokens 60 --cost-usd 0.5; true"' &
done; wait"#,
    );
    test.run(["run", "--max-tokens", "180", "--", "./agent.sh"]).exits(127);
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(180), &json!(1.5)));
    assert_eq!(facts["iterations"], 1);
}

#[test]
fn f16_a_limit_fires_during_an_iteration() {
    let test = Loop::new().script(
        "agent.sh",
        r#"for i in $(seq 1000000); do
  echo $i >> calls; echo '::backstop {"type":"usage","input_tokens":100,"output_tokens":50}'; sleep 0.01
done"#,
    );
    let flags = ["run", "--max-tokens", "1500", "--finish-within", "0s", "--grace", "1s"];
    test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(127);
    let calls = test.read("calls").lines().count();
    assert!((10..200).contains(&calls), "{calls} calls at a cap of 10");
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn f17_progress_is_measured_against_the_iterations_own_baseline() {
    let commits = "echo $BACKSTOP_ITERATION > file; git add -A; git -c user.name=a -c user.email=a@b commit -qm x";
    let test = repository().script("../agent.sh", commits);
    let flags = ["run", "--no-progress", "2", "--max-iterations", "4", "--", "../agent.sh"];
    test.run(flags).exits(125);
    assert!(test.events("progress").iter().any(|event| event["kind"] == "commit"));

    // What was dirty before is none of the iteration's doing.
    let test = repository().file("file", "dirty");
    test.run(["run", "--no-progress", "2", "--", "true"]).exits(126);
    assert_eq!(test.events("progress"), Vec::<serde_json::Value>::new());
}

#[test]
fn f18_an_edit_and_its_revert_are_no_progress() {
    let flips = "if [ -e flip ]; then rm flip; else echo x > flip; fi";
    let test = repository().script("../agent.sh", flips);
    let flags = ["run", "--no-progress", "3", "--max-iterations", "20", "--", "../agent.sh"];
    test.run(flags).exits(126);
    assert_eq!(test.state()["facts"]["iterations"], 4, "only the first state was new");
}

#[test]
fn f21_work_that_needs_a_person_holds_the_run() {
    let test = Loop::new().script(
        "agent.sh",
        r#"echo '::backstop {"type":"worker","status":"blocked","detail":"needs the API key"}'"#,
    );
    let ended = test.run(["run", "--", "./agent.sh"]).exits(30);
    let state = test.state();
    assert_eq!(state["run_status"], "held");
    assert_eq!(state["facts"]["iterations"], 1);
    assert!(ended.stderr.contains("needs the API key"), "{}", ended.stderr);
}

#[test]
fn f22_what_the_agent_deletes_does_not_take_the_record_with_it() {
    let test = Loop::new().script("agent.sh", "rm -rf \"$PWD\"");
    let ended = test.run(["run", "--max-iterations", "3", "--", "./agent.sh"]);
    // The second iteration has nowhere to run.
    assert_eq!(ended.code, Some(31), "{}", ended.stderr);
    std::fs::create_dir_all(test.work()).expect("can be created");
    let listed = test.run(["ls", "--all", "--json"]).exits(0);
    let run: serde_json::Value = serde_json::from_str(listed.stdout.trim()).expect("one run");
    assert_eq!(run["stop_reason"]["code"], "worker_failed");
    assert_eq!(run["statistics"]["iterations"], 2);
}

#[test]
fn f23_the_journal_only_grows() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    let before = test.journal();
    test.run(["resume", "latest", "--raise", "iterations=2"]).exits(125);
    let after = test.journal();
    assert!(after.len() > before.len());
    assert_eq!(after[..before.len()], before[..]);
    let numbers: Vec<u64> = after.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=after.len() as u64).collect::<Vec<_>>());
}

#[test]
fn f24_a_restart_resets_no_counter() {
    let test = Loop::new().script(
        "agent.sh",
        r#"echo '::backstop {"type":"usage","input_tokens":100,"cost_usd":0.25}'
[ $BACKSTOP_ITERATION = 3 ] && [ ! -e crashed ] && { touch crashed; sleep 300; }; true"#,
    );
    let running = test.start(["run", "--max-iterations", "5", "--", "./agent.sh"]);
    wait_for("the third iteration's report", || {
        test.exists("crashed") && test.state()["facts"]["tokens"] == 300
    });
    Loop::cut_off(&test.marked());
    drop(running);
    let before = test.state();
    assert_eq!(before["facts"]["iterations"], 2);
    test.run(["resume", "latest"]).exits(125);
    let after = test.state();
    assert_eq!(after["facts"]["iterations"], 5);
    assert_eq!(after["facts"]["tokens"], 600, "the crashed iteration's report counts too");
    assert_eq!(
        test.events("resumed"),
        Vec::<serde_json::Value>::new(),
        "nobody acknowledged anything"
    );
}

#[test]
fn f25_time_while_everything_stands_still_does_not_count() {
    let test = Loop::new()
        .script("agent.sh", "touch up; while [ ! -e go ]; do echo x >> worked; sleep 0.02; done");
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::TSTP);
    wait_for("everything to stand still", || {
        is_stopped(running.pid()) && test.processes().into_iter().all(is_stopped)
    });
    let worked = test.read("worked");
    let shown = test.state()["facts"]["active_ms"].clone();
    let clock = std::time::Instant::now();
    wait_for("some time to pass", || clock.elapsed().as_millis() > 1_500);
    assert_eq!(test.read("worked"), worked, "nothing is done meanwhile");
    assert_eq!(test.state()["facts"]["active_ms"], shown, "who looks sees that it stands still");
    running.signal(Signal::CONT);
    wait_for("the work to go on", || test.read("worked") != worked);
    let test = test.file("go", "");
    running.ends().exits(125);
    let suspended = test.events("suspended");
    assert_eq!(suspended.len(), 2, "where it begins and where it ends: {suspended:?}");
    assert_eq!(suspended[0]["ms"], 0);
    assert!(suspended[1]["ms"].as_u64() >= Some(1_400), "{suspended:?}");
    let journal = test.journal();
    let at = journal.iter().rposition(|event| event["type"] == "suspended").expect("it is there");
    let active = |index: usize| journal[index]["active_ms"].as_u64().expect("a number");
    let wall = |index: usize| {
        let text = journal[index]["at"].as_str().expect("a time");
        text.parse::<jiff::Timestamp>().expect("a time").as_millisecond()
    };
    let (first, last) = (0, journal.len() - 1);
    let missing = u128::from((wall(last) - wall(first)).unsigned_abs())
        .saturating_sub(u128::from(active(last) - active(first)));
    assert!(missing >= 1_300, "{missing} ms of {at} events do not count");
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

#[test]
fn f26_and_f27_a_limit_is_stopped_with_its_own_code() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    assert_eq!(test.state()["run_status"], "stopped");
    test.run(["run", "--max-duration", "300ms", "--finish-within", "0s", "--", "sleep", "60"])
        .exits(124);
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn f26_who_exits_with_0_when_told_to_end_has_not_succeeded() {
    let agent = "trap 'exit 0' TERM; touch up; while :; do sleep 0.02; done";
    let test = Loop::new().script("agent.sh", agent);
    let limit = ["--max-duration", "5s", "--finish-within", "0s"];
    let flags = [&["run", "--until-success"], &limit[..], &["--", "./agent.sh"]].concat();
    test.run(flags).exits(124);
    assert!(test.exists("up"));
    assert_eq!(test.state()["run_status"], "stopped");
    test.run(["resume"]).refused(65, &["--raise duration="]);

    let test = Loop::new().script("agent.sh", agent);
    let running = test.start(["run", "--until-success", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::INT);
    running.ends().exits(130);
    assert_eq!(test.state()["facts"]["error_now"], false, "nor has it failed");
}

#[test]
fn f29_a_rate_on_the_first_sample_is_linted() {
    let policy = "[[rule]]\nwhen = { type = 'reject_rate', above = 0.3 }\nthen = 'stop'\n";
    let test = Loop::new().file("backstop.toml", policy);
    let ended = test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    assert!(ended.stderr.contains("min_units"), "{}", ended.stderr);
}

#[test]
fn f30_a_milder_verdict_does_not_hide_a_stronger_one() {
    let policy = "[[rule]]\nwhen = { type = 'max_iterations', count = 1 }\nthen = 'hold'\nreason = 'no_signal_change'\npriority = 1000\n\
                  [[rule]]\nwhen = { type = 'exit_code', any_of = [9] }\nthen = 'fail'\nreason = 'worker_failed'\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "exit 9");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(31);
    assert_eq!(test.state()["run_status"], "failed");
}

#[test]
fn f31_a_missing_program_is_not_retried() {
    let test = Loop::new();
    let ended = test.run(["run", "--", "./no-such-agent"]).exits(31);
    assert!(ended.stderr.contains("`./no-such-agent` was not found"), "{}", ended.stderr);
    assert_eq!(test.state()["facts"]["iterations"], 1);
    let test = Loop::new().file("agent.txt", "no program");
    let ended = test.run(["run", "--", "./agent.txt"]).exits(31);
    assert!(ended.stderr.contains("can't be executed"), "{}", ended.stderr);
}

#[test]
fn f32_status_and_meters_come_from_the_same_journal() {
    let test = Loop::new().script(
        "agent.sh",
        r#"echo '::backstop {"type":"usage","input_tokens":7,"cost_usd":0.5}'; touch reported; sleep 300"#,
    );
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the spend to be seen", || {
        test.exists("reported") && test.state()["statistics"]["cost_usd"] == json!(0.5)
    });
    assert_eq!(test.state()["run_status"], "running");
    running.signal(Signal::TERM);
    running.ends().exits(143);
}

fn repository() -> Loop {
    let test = Loop::new().file("kept", "x");
    let git = "git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b commit -qm first";
    let made = std::process::Command::new("sh").args(["-c", git]).current_dir(test.work()).status();
    assert!(made.expect("git runs").success());
    test
}
