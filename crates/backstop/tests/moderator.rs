//! The stopping flow of the *moderator* design: situations and the decisions that they lead to, each
//! with the real binary and a scripted child. What follows from a decision is tested elsewhere.

mod support;

use support::looping::Loop;

/// A situation: what the child reports, line by line, and settings that lie over the preset.
struct Situation {
    events: String,
    /// Rules and limits with times that a test can wait for.
    settings: &'static str,
    /// What the child does afterwards.
    then: &'static str,
}

impl Situation {
    fn reported(events: &[&str]) -> Self {
        let lines = events.iter().map(|event| format!("echo '::backstop {{{event}}}'\n"));
        Self { events: lines.collect(), settings: "", then: "" }
    }

    fn over(self, settings: &'static str) -> Self {
        Self { settings, ..self }
    }

    fn then(self, then: &'static str) -> Self {
        Self { then, ..self }
    }

    /// The verdicts with their reasons, in the order in which they were journalled, each once.
    fn decisions(&self) -> Vec<String> {
        let policy = format!("preset = 'moderator'\n{}", self.settings);
        let test = Loop::new()
            .file("backstop.toml", &policy)
            .script("child.sh", &format!("{}{}", self.events, self.then));
        let flags = ["run", "--max-iterations", "1", "--grace", "1m", "--", "./child.sh"];
        test.run(flags);
        let mut told = Vec::new();
        for decision in test.events("decision") {
            let reason = decision["reason"].as_str().unwrap_or("");
            let words = format!("{} {reason}", decision["verdict"].as_str().expect("a verdict"));
            if !told.contains(&words) {
                told.push(words);
            }
        }
        told
    }
}

const FINE: &str = "stop max_iterations";
const APPROVED: &str = r#""type":"unit","id":"u1","status":"approved","attempts":1"#;

fn units(failed: usize, all: usize) -> Vec<String> {
    (0..all)
        .map(|number| {
            // The bad ones come last, so that the rate is never higher than at the end.
            let status = if number >= all - failed { "failed" } else { "approved" };
            format!(r#""type":"unit","id":"u{number}","status":"{status}","attempts":1"#)
        })
        .collect()
}

#[test]
fn a_report_leads_to_a_decision() {
    let situations: &[(&str, &[&str], &str)] = &[
        (
            "tokens",
            &[r#""type":"usage","input_tokens":900000,"output_tokens":100000"#],
            "stop token_limit",
        ),
        ("tokens_below", &[r#""type":"usage","input_tokens":999998"#, APPROVED], FINE),
        ("context", &[r#""type":"context","used":95,"limit":100"#], "recover context_overflow"),
        ("context_below", &[r#""type":"context","used":94,"limit":100"#], FINE),
        (
            "one_critical_error",
            &[r#""type":"error","category":"critical","message":"disk full""#],
            "fail critical_failure",
        ),
        ("one_other_error", &[r#""type":"error","category":"recoverable","message":"oops""#], FINE),
        ("drift", &[r#""type":"drift","score":0.51"#], "ask topic_drift"),
        ("drift_at_the_limit", &[r#""type":"drift","score":0.5"#], FINE),
        (
            "health_low",
            &[
                r#""type":"usage","input_tokens":900000"#,
                r#""type":"context","used":94,"limit":100"#,
            ],
            "warn health_critical",
        ),
        (
            "tasks_done",
            &[r#""type":"tasks","total":3,"done":3,"queued":0,"phase":"primary""#],
            "complete completed",
        ),
        (
            "tasks_open",
            &[r#""type":"tasks","total":3,"done":2,"queued":1,"phase":"primary""#],
            FINE,
        ),
        (
            "improvements_open",
            &[
                r#""type":"tasks","total":3,"done":3,"queued":0,"phase":"improvement","improvements":1"#,
            ],
            FINE,
        ),
        (
            "improvements_that_bring_nothing",
            &[
                r#""type":"tasks","total":3,"done":3,"queued":0,"phase":"improvement","improvements":1"#,
                r#""type":"cycle","metrics":{"score":100}"#,
                r#""type":"cycle","metrics":{"score":105}"#,
            ],
            "stop diminishing_returns",
        ),
    ];
    for (name, events, expected) in situations {
        let decisions = Situation::reported(events).decisions();
        assert!(decisions.iter().any(|decision| decision == expected), "{name}: {decisions:?}");
        if *expected == FINE {
            let is_plain = |decision: &String| decision == "continue " || decision == FINE;
            assert!(decisions.iter().all(is_plain), "{name}: {decisions:?}");
        }
    }
}

#[test]
fn errors_in_a_row_are_handled_by_their_category() {
    for (category, count, expected) in [
        ("transient", 3, "retry error"),
        ("recoverable", 3, "ask error"),
        ("transient", 2, FINE),
        ("recoverable", 2, FINE),
    ] {
        let event = format!(r#""type":"error","category":"{category}","message":"it failed""#);
        let decisions = Situation::reported(&vec![event.as_str(); count]).decisions();
        assert!(decisions.contains(&expected.to_owned()), "{category}: {decisions:?}");
        let other = if category == "transient" { "ask error" } else { "retry error" };
        assert!(!decisions.contains(&other.to_owned()), "{category}: {decisions:?}");
    }
}

#[test]
fn the_error_rate_counts_from_five_on() {
    // A fifth of five is enough; less is not, and neither are too few.
    for (failed, all, stops) in [(1, 5, true), (1, 6, false), (1, 4, false)] {
        let units = units(failed, all);
        let units: Vec<&str> = units.iter().map(String::as_str).collect();
        let decisions = Situation::reported(&units).decisions();
        assert_eq!(decisions.contains(&"stop error_rate".to_owned()), stops, "{decisions:?}");
    }
}

#[test]
fn cycles_that_hardly_improve_end_the_run() {
    for (scores, stops) in [
        (&[100, 200, 300, 400, 420][..], true),
        (&[100, 200, 300, 400, 440], false),
        (&[100, 101, 102, 103], false),
    ] {
        let cycles =
            scores.iter().map(|score| format!(r#""type":"cycle","metrics":{{"score":{score}}}"#));
        let cycles: Vec<String> = cycles.collect();
        let cycles: Vec<&str> = cycles.iter().map(String::as_str).collect();
        let decisions = Situation::reported(&cycles).decisions();
        let stopped = decisions.contains(&"stop diminishing_returns".to_owned());
        assert_eq!(stopped, stops, "{scores:?}: {decisions:?}");
    }
}

#[test]
fn the_run_time_is_limited() {
    let settings = "[limits]\nduration = '300ms'\n[loop]\nfinish_within = '0s'\n";
    let decisions = Situation::reported(&[]).over(settings).then("exec sleep 300").decisions();
    assert!(decisions.contains(&"stop timeout".to_owned()), "{decisions:?}");
}

#[test]
fn stagnation_is_met_with_another_way_first_and_ends_the_run_next() {
    let rules = "[[rule]]\nwhen = { type = 'stagnation', duration = '3s' }\nthen = 'recover'\n\
                 [[rule]]\nwhen = { type = 'stagnation', duration = '6s' }\nthen = 'stop'\n\
                 [loop]\nfinish_within = '0s'\n";
    // It does not let itself be ended before the second time has come.
    let decisions = Situation::reported(&[])
        .over(rules)
        .then("trap '' TERM INT; for i in $(seq 45); do sleep 0.2; done")
        .decisions();
    let first = decisions.iter().position(|decision| decision == "recover stalled");
    assert!(first.is_some(), "{decisions:?}");
    let then = decisions.iter().position(|decision| decision == "stop stalled");
    assert!(first < then, "{decisions:?}");
}

#[test]
fn a_run_in_bad_health_ends() {
    // Of the score only recent progress (0.20) and crumbs are left: 0.003 + 0.015 + 0.012.
    let mut events = units(4, 21);
    events.push(r#""type":"usage","input_tokens":990000"#.to_owned());
    events.push(r#""type":"context","used":94,"limit":100"#.to_owned());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let rules = "[[rule]]\nwhen = { type = 'health', below = 0.25 }\nthen = 'stop'\n\
                 [[rule]]\nwhen = { type = 'error_rate', at_least = 0.2, min_tasks = 21 }\nthen = 'stop'\n";
    let decisions = Situation::reported(&events).over(rules).decisions();
    assert!(decisions.contains(&"stop health_critical".to_owned()), "{decisions:?}");
}

#[test]
fn a_warning_is_said_once_for_each_time_that_it_comes_up() {
    let low = r#"::backstop {"type":"context","used":94,"limit":100}"#;
    let good = r#"::backstop {"type":"context","used":1,"limit":100}"#;
    let child = format!(
        "echo '{low}'; echo '{low}'; [ $BACKSTOP_ITERATION = 3 ] && echo '{good}' && echo '{low}'; true"
    );
    let policy = "[limits]\niterations = 4\n[[rule]]\n\
                  when = { type = 'context_usage', at_least = 0.9 }\nthen = 'warn'\n\
                  [[rule]]\nname = 'late'\nreason = 'stalled'\n\
                  when = { type = 'max_iterations', count = 2 }\nthen = 'warn'\n";
    let test = Loop::new().file("backstop.toml", policy).script("child.sh", &child);
    let ended = test.run(["run", "--", "./child.sh"]).exits(125);
    let warnings =
        |code: &str| ended.stderr.matches(&format!("backstop: warning: {code}: ")).count();
    // Each iteration begins with an empty context; the third also empties it half-way.
    assert_eq!(warnings("context_overflow"), 5, "{}", ended.stderr);
    assert_eq!(warnings("stalled"), 1, "{}", ended.stderr);
}

#[test]
fn an_outage_that_lasts_is_no_agent_that_repeats_itself() {
    let rule = "[[rule]]\nwhen = { type = 'repetition', sensitivity = 'high' }\nthen = 'stop'\n";
    for (category, code) in [("recoverable", 48), ("transient", 0)] {
        let error = format!(r#"{{"type":"error","category":"{category}","message":"it failed"}}"#);
        let events = format!("{error}\n").repeat(12);
        let test = Loop::new().file("p.toml", rule).file("events.jsonl", &events);
        test.run(["check", "--policy", "p.toml", "--events", "events.jsonl"]).exits(code);
    }
}
