//! Our engine's part in the comparison. Each function gives one contestant, ready to be called.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, Usage};
use backstop_core::facts::{Facts, GivenFacts};
use backstop_core::policy::Policy;
use backstop_core::time::{Moment, Timestamp};
use backstop_core::verdict::Verdict;

use crate::figures::{Figures, Rule};
use crate::measure::Contestant;

/// The policy of the comparison.
const POLICY: &str = include_str!("../policy.toml");

/// Which rule stops the run with these figures, as the other contestants are asked.
pub fn decision(figures: &Figures) -> anyhow::Result<Option<Rule>> {
    Ok(engine(POLICY, figures)?.decide(moment(figures, 0)).rule)
}

/// One decision with the progress of all ten rules, as a run asks after each event: the facts are
/// folded, time has moved on, and the figures of all rules are read.
pub fn decide() -> anyhow::Result<Contestant<'static>> {
    let figures = Figures::healthy();
    let mut engine = engine(POLICY, &figures)?;
    let mut tick = 0;
    Ok(Contestant::new(move || {
        tick += 1;
        decide_with_progress(&mut engine, moment(&figures, tick))
    }))
}

/// The same, with every rule looked at again in each call, as if all facts had changed.
pub fn decide_anew() -> anyhow::Result<Contestant<'static>> {
    let figures = Figures::healthy();
    let mut engine = engine(POLICY, &figures)?;
    let mut tick = 0;
    Ok(Contestant::new(move || {
        tick += 1;
        engine.reconsider();
        decide_with_progress(&mut engine, moment(&figures, tick))
    }))
}

/// One `usage` event of small increments at a time that moves on, then a decision. The increments
/// are so small that no limit is reached in a whole measurement.
pub fn fold_and_decide() -> anyhow::Result<Contestant<'static>> {
    let figures = Figures::healthy();
    let mut engine = engine(POLICY, &figures)?;
    let usage = Usage { cost_usd: Some(0.0), ..Usage::default() };
    let event = Event::new(usage);
    let mut tick = 0;
    Ok(Contestant::new(move || {
        tick += 1;
        let now = moment(&figures, tick);
        engine.handle_event(&event, now.at);
        engine.decide(now).verdict
    }))
}

/// An event that touches exactly one rule, then a decision, with this many rules in all.
pub fn touch_one_of(rules: Rules) -> anyhow::Result<Contestant<'static>> {
    let mut engine = engine(&policy_of(rules), &Figures::healthy())?;
    let touch = Event::from_json(br#"{"type":"matched","key":"","pattern":"phrase 5"}"#)?;
    let start = Event::from_json(br#"{"type":"progress","kind":"commit"}"#)?;
    let figures = Figures::healthy();
    engine.handle_event(&start, moment(&figures, 0).at);
    let mut tick = 0;
    Ok(Contestant::new(move || {
        tick += 1;
        let now = moment(&figures, tick);
        engine.handle_event(&touch, now.at);
        engine.decide(now).verdict
    }))
}

/// Decoding each line of a journal held in memory, and nothing else.
pub fn decode() -> Contestant<'static> {
    let journal = journal();
    Contestant::new(move || {
        journal.lines().filter_map(|line| Event::from_json(line.as_bytes()).ok()).count()
    })
}

/// Decoding the same journal, folding each event and deciding after it.
pub fn replay() -> anyhow::Result<Contestant<'static>> {
    let policy = load(POLICY)?;
    let journal = journal();
    Ok(Contestant::new(move || {
        let mut engine = Engine::new(policy.clone());
        let mut stops = 0u64;
        for event in journal.lines().filter_map(|line| Event::from_json(line.as_bytes()).ok()) {
            let now = event.at.unwrap_or_default();
            engine.handle_event(&event, now);
            let moment = engine.moment(now);
            stops += u64::from(engine.decide(moment).verdict == Verdict::Stop);
        }
        stops
    }))
}

/// How large the policy is.
#[derive(Clone, Copy, Debug)]
pub enum Rules {
    Ten,
    Thousand,
}

fn decide_with_progress(engine: &mut Engine, now: Moment) -> (Verdict, f64) {
    let ruling = engine.decide(now);
    let sum = (0..10).map(|rule| engine.progress(rule)).sum();
    (ruling.verdict, sum)
}

fn engine(policy: &str, figures: &Figures) -> anyhow::Result<Engine> {
    let mut engine = Engine::with_facts(load(policy)?, facts(figures)?).with_neutral_meters();
    engine.decide(moment(figures, 0));
    Ok(engine)
}

fn load(policy: &str) -> anyhow::Result<Policy> {
    let loaded = Policy::load(policy.as_bytes(), Syntax::Toml)
        .map_err(|findings| anyhow::anyhow!("{findings:?}"))
        .context("the policy of the comparison")?;
    ensure!(!loaded.policy.rules.is_empty(), "the policy has no rules");
    Ok(loaded.policy)
}

/// Half of the rules wait for a phrase in the output, half for a time: an event that matches one
/// phrase touches one rule.
fn policy_of(rules: Rules) -> String {
    let count = match rules {
        Rules::Ten => 10,
        Rules::Thousand => 1_000,
    };
    let mut policy = String::new();
    for number in 0..count / 2 {
        let _ = write!(
            policy,
            "[[rule]]\nwhen = {{ type = \"output_pattern\", pattern = \"phrase {number}\" }}\nthen = \"warn\"\n\
             [[rule]]\nwhen = {{ type = \"stagnation\", duration = \"{}h\" }}\nthen = \"stop\"\n",
            number + 1,
        );
    }
    policy
}

fn facts(figures: &Figures) -> anyhow::Result<Facts> {
    let approved = figures.units_finished - figures.units_rejected;
    let json = format!(
        r#"{{"iterations": {}, "active_ms": {}, "tokens": {}, "cost_usd": {}, "ended": {}, "errored": {},
            "consecutive_errors": {}, "progress_age_ms": {}, "context": {{"used": {}, "limit": {}}},
            "units": {{"approved": {approved}, "rejected": {}}}, "cycles": {}, "improvement": {}}}"#,
        figures.iterations,
        figures.active_ms,
        figures.tokens,
        figures.cost_usd,
        figures.ended,
        figures.errored,
        figures.consecutive_errors,
        figures.progress_age_ms,
        figures.context_used,
        figures.context_limit,
        figures.units_rejected,
        figures.cycles,
        figures.improvement,
    );
    Ok(GivenFacts::from_json(json.as_bytes())?.into())
}

/// A moment `tick` nanoseconds after the one that the figures were taken at.
fn moment(figures: &Figures, tick: u64) -> Moment {
    let active = Duration::from_millis(figures.active_ms) + Duration::from_nanos(tick);
    Moment {
        at: Timestamp::from_nanos(1_700_000_000_000_000_000).plus(Duration::from_nanos(tick)),
        active,
    }
}

/// A journal of some 10,000 events as a run writes it: each with its sequence number, its time and
/// the active time so far.
fn journal() -> String {
    let mut lines = String::new();
    let mut sequence = 0u64;
    let mut write = |fields: String, second: u64| {
        sequence += 1;
        let _ = writeln!(
            lines,
            r#"{{{fields},"seq":{sequence},"at":"2026-05-04T{:02}:{:02}:{:02}Z","active_ms":{}}}"#,
            second / 3600 % 24,
            second / 60 % 60,
            second % 60,
            second * 1000,
        );
    };
    for iteration in 1..=1_000u64 {
        let second = iteration * 60;
        write(format!(r#""type":"iteration_started","iteration":{iteration}"#), second);
        for step in 0..4 {
            let tokens = 20 + step;
            write(
                format!(
                    r#""type":"usage","input_tokens":{tokens},"output_tokens":{},"cache_read_tokens":1200,"cache_write_tokens":30,"cost_usd":0.0001,"model":"m""#,
                    iteration % 7,
                ),
                second + 10 + step,
            );
            write(
                format!(
                    r#""type":"action","signature":"edit src/file_{iteration}.rs {step}","kind":"edit","result_signature":"ok, {iteration} lines""#
                ),
                second + 10 + step,
            );
        }
        write(r#""type":"progress","kind":"tree""#.to_owned(), second + 20);
        write(
            format!(
                r#""type":"iteration_finished","iteration":{iteration},"exit_code":0,"timed_out":false,"duration_ms":30000"#
            ),
            second + 30,
        );
    }
    lines
}
