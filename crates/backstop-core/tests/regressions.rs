//! Where the engine once differed from the reference, one plain case each.

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
fn a_cooldown_of_nothing_has_a_finite_progress() {
    let rule = "[[rule]]\nwhen = { type = \"cooldown\", duration = \"5m\" }\nthen = \"hold\"\n";
    let mut engine = engine(rule);
    let progress = r#"{"type":"progress","kind":"commit"}"#;
    assert_eq!(decide(&mut engine, &[progress]).progress[0].progress, 1.0);
    let raised = r#"{"type":"raised","limit":"cooldown_active","value":0}"#;
    let decision = decide(&mut engine, &[raised]);
    assert_eq!((decision.verdict, decision.progress[0].progress), (Verdict::Continue, 0.0));
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
