//! The provider's limits are waited out, within a budget of their own.

use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value as Json, json};

use crate::support::looping::{Loop, wait_for};
use crate::{MISBEHAVE, claude, result};

/// Limited in the iterations that `limited` names, with this text; fine in all others.
fn limited(limited: &str, says: &str, exit: u8) -> Loop {
    let script = format!(
        "case $BACKSTOP_ITERATION in {limited}) exec {MISBEHAVE} play limited --exit {exit};; esac\n\
         exec {MISBEHAVE} play fine"
    );
    Loop::new()
        .file("limited", &claude(&[result(says, true)]))
        .file("fine", &claude(&[result("It is done.", false)]))
        .script("agent.sh", &script)
}

fn at(event: &Json, field: &str) -> Timestamp {
    event[field].as_str().expect("a time").parse().expect("a time")
}

#[test]
fn f9_a_limit_is_waited_out_and_then_the_work_succeeds() {
    for exit in [0, 1] {
        let test = limited("1", "API Error: Request rejected (429) · retry after 1s", exit);
        let flags = ["run", "--until-success", "--no-progress", "1", "--", "./agent.sh"];
        test.run(flags).exits(0);
        let facts = &test.state()["facts"];
        assert_eq!(facts["iterations"], 2);
        assert_eq!(facts["errored"], 0);
        assert_eq!(test.events("error"), Vec::<Json>::new());
        let limits = test.events("worker");
        assert_eq!(limits.len(), 1);
        assert_eq!(limits[0]["status"], "rate_limited");
        let next = &test.events("iteration_started")[1];
        assert!(at(next, "at") >= at(&limits[0], "retry_at"), "{limits:?} {next}");
    }
}

#[test]
fn times_to_come_back_are_read_in_every_form() {
    let table = [
        ("Claude AI usage limit reached|4102444800", "2100-01-01T00:00:00Z"),
        ("You've hit your weekly limit · resets 2100-01-01T02:00:00+02:00", "2100-01-01T00:00:00Z"),
        (
            "You've hit your usage limit. Try again at Jan 1st, 2100 12:00 AM.",
            "2100-01-01T00:00:00Z",
        ),
    ];
    for (says, expected) in table {
        let test = limited("*", says, 1);
        let ended = test.run(["run", "--", "./agent.sh"]).exits(33);
        assert_eq!(at(&test.events("worker")[0], "retry_at"), expected.parse().expect("a time"));
        assert_eq!(test.state()["run_status"], "held", "nobody waits for a lifetime");
        let words: Vec<_> = ended.stderr.split_whitespace().collect();
        assert!(words.join(" ").contains("1day is the most"), "{}", ended.stderr);
    }
}

#[test]
fn a_rejected_request_tells_when_to_come_back() {
    let rejected = json!({"type": "rate_limit_event", "rate_limit_info": {
        "status": "rejected", "resetsAt": 4_102_444_800_u64, "rateLimitType": "five_hour"}});
    let stream = claude(&[rejected, result("You've hit your session limit", true)]);
    let test = limited("*", "", 1).file("limited", &stream);
    test.run(["run", "--", "./agent.sh"]).exits(33);
    let limits = test.events("worker");
    assert_eq!(limits.len(), 1, "told once: {limits:?}");
    assert_eq!(limits[0]["retry_at"], "2100-01-01T00:00:00Z");
    assert_eq!(test.state()["facts"]["quota"], json!({"5h": 1.0}));
}

#[test]
fn a_clock_time_is_the_next_one() {
    let test = limited("*", "5-hour limit reached ∙ resets 3:45pm", 1)
        .file("p.toml", "[wait]\nmax_per_wait = '100ms'\n");
    let began = Timestamp::now();
    test.run(["run", "--policy", "p.toml", "--max-iterations", "2", "--", "./agent.sh"]);
    let retry_at = at(&test.events("worker")[0], "retry_at");
    let clock = retry_at.to_zoned(jiff::tz::TimeZone::UTC).time();
    // In the minutes after it, the time has just been.
    if clock != jiff::civil::time(15, 45, 0, 0) {
        assert!(retry_at.duration_since(began).as_secs() < 60, "{retry_at}");
        return;
    }
    let ahead = retry_at.duration_since(began).as_secs();
    assert!((0..=24 * 3600).contains(&ahead), "{retry_at}");
    assert_eq!(test.state()["stop_reason"]["code"], "rate_limited");
}

#[test]
fn f10_all_waits_together_have_a_budget_that_nothing_resets() {
    let policy = "[limits]\niterations = 50\n[wait]\nmax_total = '10s'\n";
    let test = limited("*", "API Error: Request rejected (429) · retry after 4s", 0)
        .file("p.toml", policy);
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(33);
    let state = test.state();
    assert_eq!(state["run_status"], "held");
    assert_eq!(state["facts"]["iterations"], 3, "two waits of four seconds fit");
    test.run(["resume", "latest"]).exits(33);
    assert_eq!(test.state()["facts"]["iterations"], 4, "and not a third one");
    test.run(["resume", "latest"]).exits(33);
    assert_eq!(test.state()["facts"]["iterations"], 5);
    let shown = test.run(["show", "latest"]).stdout;
    assert!(shown.contains("s waiting for a rate limit)"), "{shown}");
}

#[test]
fn f10_a_back_off_counts_as_a_wait_whatever_time_was_told() {
    let policy = "[limits]\niterations = 50\n[wait]\nmax_total = '5100ms'\n";
    for says in [
        "Claude AI usage limit reached|1700000000",
        "API Error: Request rejected (429) · retry after 1s",
    ] {
        // 1 s and 2 s, each up to a quarter more, fit; 4 s more do not.
        let test = limited("*", says, 1).file("p.toml", policy);
        let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(33);
        assert_eq!(test.state()["facts"]["iterations"], 3, "{says}");
        let told = ["3s", "4s"].map(|time| ended.stderr.contains(&format!("has waited {time}")));
        assert!(told.contains(&true), "{}", ended.stderr);
        // Another second does, and not two more.
        test.run(["resume", "latest"]).exits(33);
        assert_eq!(test.state()["facts"]["iterations"], 5, "{says}");
    }
}

#[test]
fn an_outage_is_waited_out_for_as_long_as_was_told_within_the_same_limit() {
    let test = limited("*", "API Error: 529 overloaded_error · retry after 90s", 0)
        .file("p.toml", "[limits]\niterations = 50\n[wait]\nmax_per_wait = '1m'\n");
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(33);
    assert_eq!(test.state()["facts"]["iterations"], 1);
    let card = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(card.contains("The wait for the provider would take 1m"), "{card}");
    let error = &test.events("error")[0];
    assert_eq!(error["category"], "transient");
    assert!(at(error, "retry_at") > at(error, "at"), "{error}");
}

#[test]
fn f10_a_single_wait_has_a_limit_too() {
    let test = limited("*", "API Error: Request rejected (429) · retry after 90s", 0)
        .file("p.toml", "[limits]\niterations = 50\n[wait]\nmax_per_wait = '1m'\n");
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(33);
    assert_eq!(test.state()["facts"]["iterations"], 1);
    let card = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        card.contains("1m") && card.contains("`[wait] max_per_wait` and `max_total`"),
        "{card}"
    );
    assert!(card.contains("(all of its limit is used); it opens again at 20"), "{card}");
}

#[test]
fn a_time_that_has_passed_is_no_reason_for_haste() {
    let test = limited("1|2", "Claude AI usage limit reached|1700000000", 1);
    test.run(["run", "--until-success", "--", "./agent.sh"]).exits(0);
    let started: Vec<_> =
        test.events("iteration_started").iter().map(|event| at(event, "at")).collect();
    let pauses: Vec<_> =
        started.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_millis()).collect();
    assert!(
        matches!(pauses[..], [first, second] if first >= 1_000 && second >= 2_000),
        "{pauses:?}"
    );
}

#[test]
fn a_single_iteration_says_what_the_agent_said_of_its_end() {
    let limit = claude(&[result("Claude AI usage limit reached|4102444800", true)]);
    let failed = claude(&[result("API Error: 500 Internal server error", true)]);
    for (stream, agent_exit, exit, reason, words) in [
        (&limit, "0", 33, "rate_limited", "may go on at 2100-01-01 00:00:00"),
        (&limit, "1", 33, "rate_limited", "may go on at 2100-01-01 00:00:00"),
        (&failed, "0", 31, "worker_failed", "The agent exited with 0, but failed: API Error: 500"),
        (&failed, "1", 31, "worker_failed", "The command exited with 1: API Error: 500"),
    ] {
        let test = Loop::new().file("stream", stream);
        let words_of_run =
            ["run", "--once", "--", MISBEHAVE, "play", "stream", "--exit", agent_exit];
        test.run(words_of_run).exits(exit);
        let stopped = &test.state()["stop_reason"];
        assert_eq!(stopped["code"], reason, "{stopped}");
        assert!(stopped["message"].as_str().is_some_and(|text| text.contains(words)), "{stopped}");
    }
}

#[test]
fn who_looks_at_a_run_that_waits_is_told_until_when() {
    let later = Timestamp::now().as_second() + 3600;
    let test = limited("1", &format!("Claude AI usage limit reached|{later}"), 0);
    let running = test.start(["run", "--until-success", "--", "./agent.sh"]);
    let told = || test.run(["show"]).stdout.contains("limit, which is waited out until 20");
    wait_for("the wait to be shown", told);
    running.signal(Signal::TERM);
    running.ends().exits(143);
}
