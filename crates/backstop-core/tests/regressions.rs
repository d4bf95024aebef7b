//! What once went wrong, one plain case each.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;
use rstest::rstest;

const NOW: &str = "2026-05-04T10:00:00Z";

fn engine(rules: &str) -> Engine {
    let text = format!("limits = {{ unlimited = true }}\n{rules}");
    Engine::new(Policy::load(text.as_bytes(), Syntax::Toml).expect("the policy is right").policy)
}

fn decide(engine: &mut Engine, lines: &[&str]) -> Decision {
    let now: Timestamp = NOW.parse().expect("a time");
    let mut decision = engine.poll_decision(engine.moment(now));
    for line in lines {
        engine.handle_event(&Event::from_json(line.as_bytes()).expect("an event"), now);
        decision = engine.poll_decision(engine.moment(now));
    }
    decision
}

#[rstest]
#[case("pause")]
#[case("resume")]
fn a_stop_that_was_asked_for_is_not_undone(#[case] later: &str) {
    let mut engine = engine("[[rule]]\nwhen = { type = \"user_signal\" }\nthen = \"stop\"\n");
    let later = format!(r#"{{"type":"signal","kind":"{later}"}}"#);
    let stop = r#"{"type":"signal","kind":"stop"}"#;
    assert_eq!(decide(&mut engine, &[stop, &later]).verdict, Verdict::Stop);
    assert_eq!(decide(&mut engine, &[r#"{"type":"resumed"}"#]).verdict, Verdict::Continue);
}

#[test]
fn a_limit_is_not_raised_to_nothing() {
    let rule = "[[rule]]\nwhen = { type = \"cooldown\", duration = \"5m\" }\nthen = \"hold\"\n";
    let mut engine = engine(rule);
    let progress = r#"{"type":"progress","kind":"commit"}"#;
    for value in ["0", "\"0s\"", "3"] {
        let raised = format!(r#"{{"type":"raised","limit":"cooldown_active","value":{value}}}"#);
        let decision = decide(&mut engine, &[progress, &raised]);
        assert_eq!(
            (decision.verdict, decision.progress[0].progress),
            (Verdict::Hold, 1.0),
            "{value}"
        );
    }
}

#[test]
fn a_critical_error_is_not_hidden_by_what_follows_it() {
    let critical = r#"{"type":"error","category":"critical","message":"disk full"}"#;
    for later in [
        r#"{"type":"error","category":"transient","message":"x"}"#,
        r#"{"type":"progress","kind":"commit"}"#,
        r#"{"type":"iteration_started"}"#,
    ] {
        let decision = decide(&mut engine(""), &[critical, later]);
        let reason = decision.reason.as_deref();
        assert_eq!(
            (decision.verdict, reason),
            (Verdict::Fail, Some("critical_failure")),
            "{later}"
        );
    }
}

#[test]
fn an_abort_ends_the_run_and_acknowledges_nothing() {
    let abort = r#"{"type":"answered","answer":"abort"}"#;
    let mut engine = engine("");
    let decision = decide(&mut engine, &[r#"{"type":"signal","kind":"stop"}"#, abort]);
    assert_eq!(
        (decision.verdict, decision.reason.as_deref()),
        (Verdict::Stop, Some("user_aborted"))
    );
}

#[test]
fn a_rate_limit_stops_the_clock_only_until_work_goes_on() {
    let at = |time: &str, event: &str| format!(r#"{{"at":"2026-05-04T{time}Z",{event}}}"#);
    let unit = r#""type":"unit","id":"a","status":"approved""#;
    let events = [
        at("00:00:00", r#""type":"run_started""#),
        at("00:00:01", r#""type":"worker","status":"rate_limited""#),
        at("01:00:00", unit),
        at("09:00:00", unit),
    ];
    let mut engine = engine(
        "[[rule]]\nwhen = { type = \"max_duration\", duration = \"2h\" }\nthen = \"stop\"\n",
    );
    let lines: Vec<_> = events.iter().map(String::as_str).collect();
    assert_eq!(decide(&mut engine, &lines).verdict, Verdict::Stop);
}

#[test]
fn invented_windows_do_not_keep_out_the_one_that_is_limited() {
    let rule =
        "[[rule]]\nwhen = { type = \"quota\", window = \"5h\", at_least = 0.9 }\nthen = \"hold\"\n";
    let mut lines: Vec<_> = (0..200)
        .map(|number| format!(r#"{{"type":"quota","window":"w{number}","used":0.1}}"#))
        .collect();
    lines.push(r#"{"type":"quota","window":"5h","used":1.0}"#.to_owned());
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    assert_eq!(decide(&mut engine(rule), &lines).verdict, Verdict::Hold);
}

#[test]
fn a_guard_is_let_go_only_by_those_who_saw_it() {
    let rule =
        "[[rule]]\nwhen = { type = \"guard_violated\", kind = \"lockfile\" }\nthen = \"hold\"\n";
    let guard = r#"{"type":"guard","kind":"lockfile","files":["Cargo.lock"]}"#;
    let other = r#"{"type":"decision","verdict":"ask","reason":"topic_drift"}"#;
    let answered = r#"{"type":"answered","answer":"continue"}"#;
    let mut engine = engine(rule);
    assert_eq!(decide(&mut engine, &[guard, other, answered]).verdict, Verdict::Hold);
    let seen = r#"{"type":"decision","verdict":"hold","reason":"lockfile_violation"}"#;
    let released = r#"{"type":"released"}"#;
    assert_eq!(decide(&mut engine, &[seen, released]).verdict, Verdict::Continue);
}

#[test]
fn a_cooldown_lasts_to_the_end_of_time() {
    let rule = "[[rule]]\nwhen = { type = \"cooldown\", duration = \"5m\" }\nthen = \"hold\"\n";
    let progress = r#"{"type":"progress","kind":"commit","at":"9000-01-01T00:00:00Z"}"#;
    let decision = decide(&mut engine(rule), &[progress]);
    assert_eq!((decision.verdict, decision.progress[0].progress), (Verdict::Hold, 1.0));
}

#[test]
fn a_pattern_may_look_like_a_key() {
    let rule = "[[rule]]\nwhen = { type = \"output_pattern\", pattern = \"sha256:DONE\" }\nthen = \"complete\"\n";
    let matched = r#"{"type":"matched","pattern":"sha256:DONE"}"#;
    assert_eq!(decide(&mut engine(rule), &[matched]).verdict, Verdict::Complete);
}

#[rstest]
#[case("context_usage", "at_least = 0.0")]
#[case("stagnation", "duration = \"1ns\"")]
fn a_recovery_may_fire_on_what_is_unknown(#[case] name: &str, #[case] field: &str) {
    let rule = format!(
        "[[rule]]\nwhen = {{ type = \"any\", conditions = [{{ type = \"all\", conditions = \
         [{{ type = \"{name}\", {field} }}, {{ type = \"never\" }}] }}, \
         {{ type = \"expr\", cel = \"1 / iterations > 0\" }}] }}\nthen = \"recover\"\non_unknown = \"fire\"\n"
    );
    let started = r#"{"type":"iteration_started"}"#;
    assert_eq!(decide(&mut engine(&rule), &[started]).verdict, Verdict::Recover);
}

#[rstest]
#[case("fire", Some(Verdict::Stop))]
#[case("hold", Some(Verdict::Hold))]
#[case("ignore", None)]
fn a_watched_rule_shows_what_it_would_have_done(
    #[case] on_unknown: &str,
    #[case] expected: Option<Verdict>,
) {
    let rule = format!(
        "[[rule]]\nwhen = {{ type = \"expr\", cel = \"1 / iterations > 0\" }}\nthen = \"stop\"\n\
         shadow = true\non_unknown = \"{on_unknown}\"\n"
    );
    let decision = decide(&mut engine(&rule), &[r#"{"type":"iteration_started"}"#]);
    assert_eq!(decision.verdict, Verdict::Continue);
    assert_eq!(
        decision.also_met.first().map(|shown| (shown.verdict, shown.shadow)),
        expected.map(|verdict| (verdict, true))
    );
}

#[test]
fn a_wake_up_is_for_the_nanosecond() {
    let rule =
        "[[rule]]\nwhen = { type = \"max_duration\", duration = \"1s 1ns\" }\nthen = \"stop\"\n";
    let mut engine = engine(rule);
    decide(&mut engine, &[r#"{"type":"iteration_started"}"#]);
    let wake = engine.poll_timeout().active.unwrap();
    assert_eq!(wake, Duration::new(1, 1));
    let mut moment = engine.moment(NOW.parse().unwrap());
    moment.active = wake - Duration::from_nanos(1);
    assert_eq!(engine.decide(moment).verdict, Verdict::Continue);
    moment.active = wake;
    assert_eq!(engine.decide(moment).verdict, Verdict::Stop);
}

#[test]
fn a_misspelt_stop_section_is_remarked_on() {
    for (text, syntax, expected) in [
        (
            "retry:\n  stop_conditionz: {max_reject_rate: 0.9}\n",
            Syntax::Yaml,
            "`stop_conditionz` is ignored",
        ),
        (r#"{"lawbookVersion": "1", "stop_rules": {}}"#, Syntax::Json, "`stop_rules` is ignored"),
    ] {
        let lints = Policy::load(text.as_bytes(), syntax).expect(text).lints();
        assert!(lints.iter().any(|lint| lint.message == expected), "{text}: {lints:?}");
    }
}

#[test]
fn nothing_written_is_nothing_said() {
    let text = r#"{"conditions": [{"type": "on_error", "pattern": null}]}"#;
    assert!(Policy::load(text.as_bytes(), Syntax::Json).is_ok());
    assert!(Policy::load(b"retry:\n  stop_conditions:\n", Syntax::Yaml).is_ok());
}

#[test]
fn a_cooldown_too_short_to_write_is_off() {
    let text = r#"{"stopRules": {"cooldownMinutes": 1e-12}}"#;
    let policy = Policy::load(text.as_bytes(), Syntax::Json).expect(text).policy;
    let again = Policy::load(policy.to_toml().as_bytes(), Syntax::Toml).expect("reloads").policy;
    assert_eq!(policy.hash(), again.hash());
}

#[test]
fn a_file_that_nobody_looked_for_is_not_said_to_be_missing() {
    let rule =
        "[[rule]]\nwhen = { type = \"file_created\", path = \"DONE\" }\nthen = \"complete\"\n";
    let decision = decide(&mut engine(rule), &[]);
    assert_eq!(decision.progress[0].note, "Nobody has looked for 'DONE' yet");
}

#[test]
fn an_exit_code_that_is_too_large_is_held() {
    let rule =
        "[[rule]]\nwhen = { type = \"exit_code\", any_of = [2147483647] }\nthen = \"stop\"\n";
    let end = r#"{"type":"iteration_finished","exit_code":3221225786}"#;
    assert_eq!(decide(&mut engine(rule), &[end]).verdict, Verdict::Stop);
}

#[test]
fn a_passing_error_excuses_no_tokens_of_a_launch_that_was_cut_off() {
    let mut engine = engine("[[rule]]\nwhen = { type = \"max_cost\", usd = 1 }\nthen = \"stop\"\n");
    let decision = decide(
        &mut engine,
        &[
            r#"{"type":"usage","output_tokens":1,"basis":"live"}"#,
            r#"{"type":"iteration_started"}"#,
            r#"{"type":"error","category":"transient","message":"overloaded"}"#,
            r#"{"type":"iteration_finished","exit_code":1}"#,
        ],
    );
    assert_eq!(decision.verdict, Verdict::Hold, "what they cost is not known");
}
