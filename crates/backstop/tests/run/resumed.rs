//! `backstop resume`, and runs that resume by themselves.

use backstop_store::{Home, Location};
use rustix::process::Signal;
use serde_json::json;

use crate::support::looping::{Loop, active_ms, at, wait_for};
use crate::{run_of, usage};

#[test]
fn a_total_must_be_raised() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "2", "--", "true"]).exits(125);
    let refused = test.run(["resume"]);
    refused.refused(65, &["so it would stop again at once", "--raise iterations="]);
    test.run(["resume", "--raise", "iterations=2"]).refused(65, &["--raise iterations="]);
    assert_eq!(test.events("resumed").len(), 0, "a refusal changes nothing");
    test.run(["resume", "--raise", "iterations=3", "--note", "nearly there"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 3);
    let resumed = test.events("resumed");
    assert_eq!(resumed[0]["note"], "nearly there");
    let raised = test.events("raised");
    assert_eq!(raised[0]["limit"], "max_iterations");
    assert_eq!(raised[0]["value"], json!(3.0));
}

/// On another machine, or after a clean-up.
#[test]
fn a_run_whose_directory_is_not_here_is_left_as_it_is() {
    let test = Loop::new().file("sub/kept", "");
    let inside = test.work().join("sub");
    let ended = test.launch(&mut test.command_in(&inside, LIMITED)).ends();
    ended.exits(125);
    let elsewhere = test.work().join("elsewhere");
    std::fs::rename(&inside, &elsewhere).unwrap();
    let refused = test.run(["resume", "--raise", "iterations=2"]);
    refused.refused(66, &["works in `", "/sub`", "which is not on this machine"]);
    assert_eq!(test.state()["run_status"], "stopped");
    assert_eq!(test.events("resumed").len(), 0, "a refusal changes nothing");
    std::fs::rename(&elsewhere, &inside).unwrap();
    test.run(["resume", "--raise", "iterations=2"]).exits(125);
}

const LIMITED: [&str; 5] = ["run", "--max-iterations", "1", "--", "true"];

#[test]
fn several_limits_are_raised_at_once() {
    let usage = r#"echo '::backstop {"type":"usage","input_tokens":5,"cost_usd":0.5}'"#;
    let test = Loop::new().script("agent.sh", usage);
    let flags = ["run", "--max-tokens", "10", "--max-cost", "1", "--", "./agent.sh"];
    let ended = test.run(flags);
    assert!([Some(127), Some(128)].contains(&ended.code), "{}", ended.stderr);
    test.run(["resume", "--raise", "tokens=100"]).refused(65, &["--raise cost_usd="]);
    let raises = ["resume", "--raise", "tokens=100", "--raise", "cost_usd=2.5"];
    test.run(raises).exits(128);
    assert_eq!(test.state()["facts"]["iterations"], 5);
}

#[test]
fn a_streak_is_acknowledged_and_counts_anew() {
    let test = Loop::new();
    test.run(["run", "--no-progress", "2", "--", "true"]).exits(126);
    test.run(["resume"]).exits(126);
    assert_eq!(test.state()["facts"]["iterations"], 4);
}

#[test]
fn time_while_stopped_does_not_count() {
    let test = Loop::new();
    test.run(run_of(&["--max-duration", "400ms"], &["sleep", "0.1"])).exits(124);
    let stopped = jiff::Timestamp::now();
    let lasts = || jiff::Timestamp::now().duration_since(stopped).as_millis();
    wait_for("some time to pass", || lasts() > 1_000);
    let before = test.state()["facts"]["active_ms"].as_u64().expect("a number");
    let stood = lasts();
    test.run(["resume", "--raise", &format!("duration={}ms", before + 400)]).exits(124);
    let (halted, resumed) = (&test.events("halted")[0], &test.events("resumed")[0]);
    let counted = active_ms(resumed) - active_ms(halted);
    let passed = at(resumed).duration_since(at(halted)).as_millis();
    assert!(counted + stood <= passed, "{halted} to {resumed}, stopped for {stood} ms");
}

#[test]
fn what_a_run_had_worked_when_it_crashed_counts() {
    let agent = "[ -e up ] && exit 0; touch up; exec sleep 300";
    let test = Loop::new().script("agent.sh", agent).variable("BACKSTOP_LEASE_SECONDS", "1");
    let _crashes = test.start_unheard(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up") && test.has("iteration_started"));
    let began = at(&test.events("iteration_started")[0]);
    let worked = || lease_renewed_at(&test).duration_since(began).as_millis();
    wait_for("signs of life while it works", || worked() > 500);
    let worked = worked();
    Loop::cut_off(&test.marked());
    test.run(["resume"]).exits(125);
    let journal = test.journal();
    let gap = journal.iter().position(|event| event["type"] == "suspended").expect("a gap");
    let (started, gap) = (&test.events("iteration_started")[0], &journal[gap]);
    let counted = active_ms(gap) - active_ms(started);
    // Each of them was cut off to whole milliseconds.
    assert!(counted + 2 >= worked, "{counted} ms of {worked}");
    let passed = at(gap).duration_since(at(started)).as_millis();
    let stood_still = i128::from(gap["ms"].as_u64().expect("a number"));
    assert!(counted + stood_still <= passed + 2, "{started} to {gap}");
}

/// When the supervisor of the newest run was last known to live.
fn lease_renewed_at(test: &Loop) -> jiff::Timestamp {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let run = test.state()["run_id"].as_str().expect("a name").parse().expect("a name");
    let location = Location::Embedded(Home::new(test.state_directory()));
    let lease = runtime.expect("possible in a test").block_on(async {
        let store = backstop_store::open(&location).await.expect("a store");
        store.lease_fetch(run).await.expect("readable")
    });
    lease.and_then(|lease| lease.renewed_at()).expect("a lease").to_jiff()
}

/// What the agent was killed over, it could not tell any more.
#[test]
fn a_stop_in_the_middle_of_an_iteration_stands_in_no_ones_way() {
    let paid = usage(5, "0.5");
    let agent = format!("if [ -e again ]; then {paid}; else touch begun; sleep 600; fi");
    let test = Loop::new().script("agent.sh", &agent);
    let limits = ["run", "--max-cost", "5", "--max-iterations", "2", "--", "./agent.sh"];
    let running = test.start(limits);
    wait_for("the agent works", || test.exists("begun"));
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.ends().exits(130);
    std::fs::write(test.work().join("again"), "").unwrap();
    test.run(["resume"]).exits(125);
    assert_eq!(test.state()["facts"]["cost_known"], true);
}

#[test]
fn unmetered_can_be_allowed_and_taken_back() {
    let test = Loop::new();
    let flags = ["--max-tokens", "10", "--max-iterations", "2", "--unmetered", "allow"];
    test.run([&["run"], &flags[..], &["--", "true"]].concat()).exits(125);
    let raise = ["resume", "--raise", "iterations=3"];
    test.run([&raise[..], &["--unmetered", "hold"]].concat()).refused(65, &["--unmetered allow"]);
    test.run([&raise[..], &["--unmetered", "allow"]].concat()).exits(125);
}

#[test]
fn a_pipeline_goes_on_with_its_first_open_unit() {
    // The third frame fails three times over; then the limits allow for it.
    let agent = r#"from=${BACKSTOP_RESUME_FROM:-0}; echo "from $from" >> went
for i in $(seq $from 5); do
  [ $i = 3 ] && [ ! -e fixed ] && exit 1
  echo "::backstop {\"type\":\"unit\",\"id\":\"f$i\",\"index\":$i,\"status\":\"approved\",\"attempts\":1}"
done"#;
    let test = Loop::new().script("agent.sh", agent);
    test.run(["run", "--once", "--total-units", "6", "--", "./agent.sh"]).exits(31);
    assert_eq!(test.state()["resume_from"]["index"], 3);
    let test = test.file("fixed", "");
    test.run(["resume"]).exits(0);
    assert_eq!(test.read("went"), "from 0\nfrom 3\n");
    assert_eq!(test.state()["statistics"]["units_approved"], 6);
    assert_eq!(test.state()["statistics"]["units_remaining"], 0);
}

#[test]
fn a_stalled_run_resumes_by_itself_so_many_times() {
    let test = Loop::new();
    test.run(["run", "--no-progress", "1", "--auto-resume", "1", "--", "true"]).exits(126);
    assert_eq!(test.state()["facts"]["iterations"], 2);
    let resumed = test.events("resumed");
    assert_eq!(resumed.len(), 1);
    assert_eq!(resumed[0]["by"], "backstop");
    assert_eq!(test.events("halted").len(), 2, "each halt is on record");
    // By hand it goes on as it began, unless told otherwise.
    test.run(["resume", "--auto-resume", "0"]).exits(126);
    assert_eq!(test.state()["facts"]["iterations"], 3);
}

#[test]
fn other_reasons_do_not_resume_by_themselves() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "1", "--auto-resume", "5", "--", "true"]).exits(125);
    assert_eq!(test.events("resumed").len(), 0);
}

#[test]
fn who_waits_to_resume_by_itself_can_be_stopped() {
    let test = Loop::new();
    let running = test.start(["run", "--no-progress", "1", "--auto-resume", "9", "--", "true"]);
    wait_for("the first halt", || !test.marked().is_empty() && has_halted(&test));
    running.signal(Signal::INT);
    running.ends().exits(130);
    assert_eq!(test.state()["stop_reason"]["code"], "user_stopped");
}

#[test]
fn a_run_that_goes_on_is_not_resumed() {
    let test = Loop::new().script("agent.sh", "touch up; sleep 300");
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    test.run(["resume"]).refused(65, &["is running, supervised by process"]);
    running.signal(Signal::TERM);
    running.ends().exits(143);
    let again = test.start(["resume"]);
    wait_for("the second agent", || test.events("iteration_started").len() == 2);
    again.signal(Signal::TERM);
    again.ends().exits(143);
}

#[test]
fn an_unfinished_iteration_is_run_again_after_a_stop() {
    let test = Loop::new()
        .script("agent.sh", "echo $BACKSTOP_ITERATION >> went; touch up; [ -e go ] || sleep 300");
    let running = test.start(["run", "--max-iterations", "2", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::INT);
    running.ends().exits(130);
    assert_eq!(
        test.state()["facts"]["consecutive_errors"],
        0,
        "a person ended it, it did not fail"
    );
    let test = test.file("go", "");
    test.run(["resume"]).exits(125);
}

fn has_halted(test: &Loop) -> bool {
    let shown = test.run(["show", "latest", "--events"]);
    shown.stdout.contains(r#""type":"halted""#)
}

#[test]
fn every_limit_that_was_reached_is_raised_by_the_hint() {
    let spends = usage(10, "1.09");
    let test = Loop::new().script("agent.sh", &format!("{spends}; [ -e go ] || sleep 300"));
    let limits = ["--max-cost", "1", "--max-iterations", "1", "--finish-within", "0s"];
    let ended = test.run([&["run"], &limits[..], &["--", "./agent.sh"]].concat());
    let ended = ended.exits(128);
    let both = "--raise cost_usd=2.18 --raise iterations=2";
    assert!(ended.stderr.contains(both), "the card names what ended it first: {}", ended.stderr);
    test.run(["resume"]).refused(65, &["--raise cost_usd=2.18", "--raise iterations=2"]);
    let kept = ["--raise cost_usd=2.18", "--raise iterations=3"];
    test.run(["resume", "--raise", "iterations=3"]).refused(65, &kept);
    let kept = ["--raise iterations=2", "--raise cost_usd=4"];
    test.run(["resume", "--raise", "cost_usd=4"]).refused(65, &kept);
    let test = test.file("go", "");
    test.run(["resume", "--raise", "cost_usd=2.18", "--raise", "iterations=2"]).exits(128);
}

#[test]
fn what_the_next_iteration_would_cost_must_be_raised_too() {
    let test = Loop::new().script("agent.sh", &usage(10, "1.8"));
    let limits = ["run", "--max-cost", "10", "--preflight", "--", "./agent.sh"];
    let ended = test.run(limits).exits(128);
    assert!(ended.stderr.contains("The next iteration will likely take"), "{}", ended.stderr);
    let short = ["so it would stop again at once", "--raise cost_usd="];
    test.run(["resume"]).refused(65, &short);
    assert_eq!(test.events("resumed").len(), 0, "a refusal changes nothing");
}

#[test]
fn who_watches_a_resumption_sees_what_was_journalled_for_it() {
    let test = Loop::new();
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    let ended = test.run(["resume", "--json", "--raise", "iterations=2"]).exits(125);
    for kind in ["raised", "resumed"] {
        let line = format!(r#""type":"{kind}""#);
        assert_eq!(ended.stdout.matches(&line).count(), 1, "{kind}: {}", ended.stdout);
    }
}

#[test]
fn a_run_that_resumes_by_itself_waits_until_the_provider_takes_more() {
    let limited = r#"[ "$BACKSTOP_ITERATION" = 1 ] || exit 0
echo "::backstop {\"type\":\"worker\",\"status\":\"rate_limited\",\"retry_at\":\"$(date -u -d '+4 seconds' +%FT%TZ)\"}""#;
    let test = Loop::new().script("agent.sh", limited);
    let ended = test.run(["run", "--once", "--auto-resume", "1", "--", "./agent.sh"]).exits(0);
    assert!(ended.stderr.contains("resuming after rate_limited"), "{}", ended.stderr);
    let retry_at = &test.events("worker")[0]["retry_at"];
    let retry_at: jiff::Timestamp = retry_at.as_str().expect("a time").parse().expect("a time");
    let next = &test.events("iteration_started")[1];
    assert!(at(next) >= retry_at, "{next}");
}

#[test]
fn a_run_does_not_resume_by_itself_where_the_provider_makes_it_wait_too_long() {
    let limited = r#"echo '::backstop {"type":"worker","status":"rate_limited","retry_at":"2100-01-01T00:00:00Z"}'"#;
    let test = Loop::new().script("agent.sh", limited);
    let ended = test.run(["run", "--auto-resume", "3", "--", "./agent.sh"]).exits(33);
    assert!(ended.stderr.contains("not resumed by itself"), "{}", ended.stderr);
    assert_eq!(test.events("resumed").len(), 0);
    assert_eq!(test.events("iteration_started").len(), 1);
}

#[test]
fn a_supervisor_that_ends_its_run_is_waited_for() {
    let agent = "[ -e up ] && exit 0\n\
                 trap 'while [ ! -e over ]; do sleep 0.1; done; exit 1' TERM; touch up\n\
                 while :; do sleep 0.1; done";
    let test = Loop::new().script("agent.sh", agent);
    let running = test.start_unheard(["run", "--until-success", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up") && test.has("iteration_started"));
    running.signal(Signal::KILL);
    let resume = test.start_into("said", ["resume"]);
    wait_for("its words", || test.read("said").contains("waiting until process"));
    std::fs::write(test.work().join("over"), "").expect("can be written");
    resume.ends().exits(0);
    assert_eq!(test.state()["run_status"], "completed");
}
