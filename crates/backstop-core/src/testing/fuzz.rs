//! The bodies of the fuzz targets: any bytes go in, and what must always hold is asserted.

use std::sync::LazyLock;

use crate::document::Syntax;
use crate::engine::Engine;
use crate::event::Event;
use crate::expression::Expression;
use crate::facts::{Facts, HealthLimits, View};
use crate::normalise::{Style, key, normalise as normalised};
use crate::policy::Policy;
use crate::time::{Moment, Timestamp};

/// A policy in any syntax is loaded or refused. One that loads is written and read again as the
/// same, and decides.
///
/// # Panics
/// Where that does not hold.
pub fn policy(data: &[u8]) {
    for syntax in [Syntax::Toml, Syntax::Yaml, Syntax::Json] {
        let Ok(loaded) = Policy::load(data, syntax) else { continue };
        let hash = loaded.policy.hash();
        reload(loaded.policy.to_toml().as_bytes(), Syntax::Toml, &hash);
        reload(loaded.policy.to_json().to_string().as_bytes(), Syntax::Json, &hash);
        check_decision(&mut Engine::new(loaded.policy), Moment::default());
    }
}

/// Lines are decoded or refused. Those that are events are written and read again as the same, and
/// are folded and decided on.
///
/// # Panics
/// Where that does not hold.
pub fn events(data: &[u8]) {
    let mut engine = Engine::new(POLICY.clone());
    let now = Timestamp::default();
    for line in data.split(|byte| *byte == b'\n').take(MOST_LINES) {
        let Ok(event) = Event::from_json(line) else { continue };
        let written = event.to_json();
        let again = Event::from_json(written.as_bytes());
        assert_eq!(again.as_ref(), Ok(&event), "{written}");
        engine.handle_event(&event, now);
        let moment = engine.moment(now);
        engine.decide(moment);
    }
    let moment = engine.moment(now);
    check_decision(&mut engine, moment);
}

/// An expression is compiled or refused, and gives an answer or says why not.
///
/// # Panics
/// Where that does not hold.
pub fn expression(data: &[u8]) {
    let source = String::from_utf8_lossy(data);
    match Expression::compile(&source) {
        Ok(compiled) => {
            let facts = Facts::default();
            let view = View { facts: &facts, now: Moment::default(), limits: NO_LIMITS };
            let answer = compiled.evaluate(&view);
            assert_eq!(compiled.evaluate(&view), answer, "an answer does not change by asking");
        }
        Err(error) => {
            let span = error.span.unwrap_or(0..0);
            assert!(source.get(span).is_some(), "an error lies inside the source");
        }
    }
}

/// What was normalised is not changed by normalising it again, and has the same key.
///
/// # Panics
/// Where that does not hold.
pub fn normalise(data: &[u8]) {
    for style in [Style::Action, Style::Observation, Style::Masked, Style::Error] {
        let once = normalised(data, style);
        let twice = normalised(&once, style);
        assert_eq!(
            String::from_utf8_lossy(&once),
            String::from_utf8_lossy(&twice),
            "{style:?} changes what it made"
        );
        assert_eq!(key(data, style), key(&once, style), "{style:?} has another key");
    }
}

fn reload(text: &[u8], syntax: Syntax, hash: &str) {
    let again = Policy::load(text, syntax);
    let again = again.unwrap_or_else(|findings| {
        panic!("can't be read again: {findings:?}\n{}", String::from_utf8_lossy(text))
    });
    assert_eq!(again.policy.hash(), hash, "{}", String::from_utf8_lossy(text));
}

fn check_decision(engine: &mut Engine, now: Moment) {
    let decision = engine.poll_decision(now);
    let progress = decision.progress.iter().map(|rule| rule.progress);
    for progress in progress.chain([decision.overall_progress]) {
        assert!((0.0..=1.0).contains(&progress), "progress is {progress}");
    }
    let figures = decision.value.into_iter().chain(decision.threshold);
    figures.for_each(|figure| assert!(figure.is_finite(), "a figure is {figure}"));
    assert_eq!(engine.poll_decision(now).to_json(), decision.to_json());
}

const NO_LIMITS: HealthLimits = HealthLimits { tokens: None, error_rate: None };
const MOST_LINES: usize = 1_000;

/// Every preset at once, so that most facts are read by some rule.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let document = br#"preset = ["moderator", "ralph", "rerun", "pipeline", "default"]"#;
    Policy::load(document, Syntax::Toml).expect("the presets exist").policy
});
