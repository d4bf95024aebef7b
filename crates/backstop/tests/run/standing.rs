//! What was decided stands, and what was counted counts: also when figures recover, supervisors die
//! and scripts drive themselves.

use super::support;
use super::support::looping::{Loop, active_ms, at, wait_for};

const REJECTS: &str = "[limits]\niterations = 3\n[loop]\nfinish_within = '1m'\n\
    [[rule]]\nwhen = { type = 'reject_rate', above = 0.4, min_units = 1 }\nthen = 'stop'\n";

/// A rejected unit, and then more approved ones than it takes to make up for it.
const RECOVERS: &str = r#"unit() { echo "::backstop {\"type\":\"unit\",\"id\":\"$1\",\"status\":\"$2\"}"; }
unit a in_progress; unit b in_progress; unit c in_progress; unit a rejected
until grep -q stop decided 2>/dev/null; do "$BACKSTOP" emit unit --id a --status rejected > decided; done
unit b approved; unit c approved; "$BACKSTOP" emit unit --id c --status approved > later"#;

#[test]
fn a_stop_is_not_taken_back_by_a_rate_that_recovers() {
    let test = Loop::new()
        .file("p.toml", REJECTS)
        .script("agent.sh", RECOVERS)
        .variable("BACKSTOP", support::BINARY);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(42);
    let state = test.state();
    assert_eq!(state["facts"]["iterations"], 1);
    assert_eq!(state["stop_reason"]["code"], "reject_rate");
    assert!(test.read("later").contains("reject_rate"), "{}", test.read("later"));
}

#[test]
fn time_without_a_supervisor_is_not_active_time() {
    let test = Loop::new().script("agent.sh", "[ -e up ] && exit 0; touch up; sleep 300");
    let running =
        test.start(["run", "--max-duration", "20s", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    Loop::cut_off(&test.marked());
    drop(running);
    let died = jiff::Timestamp::now();
    let since = || jiff::Timestamp::now().duration_since(died).as_millis();
    wait_for("time to pass", || since() > 3_000);
    let dead = since();
    test.run(["resume", "latest"]).exits(125);
    let journal = test.journal();
    let (first, last) = (&journal[0], &journal[journal.len() - 1]);
    let counted = active_ms(last) - active_ms(first);
    let passed = at(last).duration_since(at(first)).as_millis();
    assert!(counted + dead <= passed, "{counted} ms of {passed} ms count, {dead} ms of them dead");
    let gaps = test.events("suspended");
    assert!(gaps[0]["ms"].as_u64() > Some(2_500), "{gaps:?}");
}

#[test]
fn a_run_that_a_script_drives_is_resumed_too() {
    let policy = "[[rule]]\nwhen = { type = 'reject_rate', above = 0.4 }\nthen = 'stop'\n";
    let test = Loop::new().file("p.toml", policy);
    let begun = test.run(["begin", "--policy", "p.toml", "--total-units", "4"]).exits(0);
    let run = begun.stdout.trim();
    let unit = |id: &str, index: &str, status: &str| {
        test.run(["emit", "--run", run, "unit", "--id", id, "--index", index, "--status", status])
    };
    unit("a", "0", "rejected").exits(42);
    test.run(["resume", run]).refused(65, &["--raise reject_rate="]);
    let ended = test.run(["resume", run, "--raise", "reject_rate=1"]).exits(0);
    assert!(ended.stdout.contains("the next unit is 1"), "{}", ended.stdout);
    unit("b", "1", "approved").exits(0);
    assert_eq!(test.state()["run_status"], "running");
}

#[test]
fn each_resumed_iteration_is_told_where_to_go_on() {
    let agent = r#"echo "${BACKSTOP_RESUME_FROM:-none}" >> from; i=$BACKSTOP_ITERATION
echo "::backstop {\"type\":\"unit\",\"id\":\"u$i\",\"index\":$i,\"status\":\"approved\"}""#;
    let test = Loop::new().script("agent.sh", agent);
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    test.run(["resume", "latest", "--raise", "iterations=3"]).exits(125);
    assert_eq!(test.read("from"), "none\n2\n3\n");
}

#[test]
fn the_pipeline_knows_its_circuit_breaker_by_name() {
    let manifest = r#"{"retry": {"stop_conditions": {"circuit_breaker_limit": 2}}}"#;
    let agent = r#"echo '::backstop {"type":"unit","id":"a","status":"approved","attempts":2}'"#;
    let test = Loop::new().file("manifest.json", manifest).script("agent.sh", agent);
    test.run(["run", "--once", "--policy", "manifest.json", "--", "./agent.sh"]).exits(40);
    assert_eq!(test.state()["stop_reason"]["condition"], "CIRCUIT_BREAKER");
}

#[test]
fn a_wait_that_takes_too_long_holds_the_run() {
    let agent = r#"echo '::backstop {"type":"worker","status":"rate_limited","retry_at":"2099-01-01T00:00:00Z"}'"#;
    let test = Loop::new().script("agent.sh", agent);
    test.run(["run", "--", "./agent.sh"]).exits(33);
    assert_eq!(test.state()["run_status"], "held");
    assert_eq!(test.state()["facts"]["iterations"], 1);
}

#[test]
fn a_supervised_process_cannot_prune() {
    let agent = "\"$BACKSTOP\" prune --older 1ms 2> said; echo $? >> said";
    let test = Loop::new().script("agent.sh", agent).variable("BACKSTOP", support::BINARY);
    test.run(["run", "--once", "--", "./agent.sh"]).exits(0);
    assert!(test.read("said").contains("can't be called by what run"), "{}", test.read("said"));
    assert!(test.read("said").ends_with("64\n"));
}
