//! Limits on what a run may use: iterations, time, tokens, money, context.

use std::time::Duration;

use jiff::civil::Time;
use serde_json::{Value as Json, json};

use super::kind::Kind;
use super::measure::{Measure, Scene};
use super::words::{counted, dollars, duration, grouped, percent, quoted};
use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::event::LimitValue;
use crate::facts::{CostGap, Watch, context_share};
use crate::field::{Count, Field, Findings, Money, Period, Rate, Text, record};
use crate::reason::ReasonCode;
use crate::time::{Timestamp, Wake};

record! {
    /// Iterations finished.
    pub struct MaxIterations {
        /// How many iterations may finish.
        required count: Count,
    }
}

impl Kind for MaxIterations {
    const TYPE: &'static str = "max_iterations";
    const EXAMPLE: &'static str = r#"{ type = "max_iterations", count = 50 }"#;
    const PROGRESS: &'static str = "iterations / `count`";
    const PRIORITY: i32 = 80;
    const WATCHES: Watch = Watch::ITERATIONS;

    fn describe(&self) -> String {
        format!("after {}", counted(self.count.0, "iteration", "iterations"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.iterations, self.count.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        if measure.truth.is_met() {
            let limit = counted(self.count.0, "iteration", "iterations");
            format!("Reached the limit of {limit} ({} finished)", grouped(scene.facts.iterations))
        } else {
            format!("Iteration {}/{}", scene.facts.iterations, self.count.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::MaxIterations
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// Active time of the run.
    pub struct MaxDuration {
        /// How long the run may be active.
        required duration: Period,
    }
}

impl Kind for MaxDuration {
    const TYPE: &'static str = "max_duration";
    const EXAMPLE: &'static str = r#"{ type = "max_duration", duration = "8h" }"#;
    const PROGRESS: &'static str = "active time / `duration`";
    const PRIORITY: i32 = 80;
    const WATCHES: Watch = Watch::NONE;
    const MOVES: bool = true;

    fn describe(&self) -> String {
        format!("after {} of active time", duration(self.duration.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::duration(scene.now.active, self.duration.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let (now, limit) = (duration(scene.now.active), duration(self.duration.0));
        if measure.truth.is_met() {
            format!("Active for {now}, the limit is {limit}")
        } else {
            format!("{now} of {limit}")
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::Timeout
    }

    fn wake(&self, _: &Scene<'_>) -> Wake {
        Wake::active(self.duration.0)
    }

    fn raise(&mut self, value: LimitValue) {
        raise_duration(&mut self.duration, value);
    }
}

record! {
    /// A time of day, or a point in time.
    pub struct WallClock {
        /// "07:00", the next one after the run began, or a time with its date.
        required at: ClockTime,
    }
}

impl WallClock {
    fn due(&self, scene: &Scene<'_>) -> Timestamp {
        match self.at {
            ClockTime::At(at) => at,
            ClockTime::Daily(time) => next_time_of_day(scene.facts.start(scene.now), time, scene),
        }
    }
}

impl Kind for WallClock {
    const TYPE: &'static str = "wall_clock";
    const EXAMPLE: &'static str = r#"{ type = "wall_clock", at = "07:00" }"#;
    const PRIORITY: i32 = 80;
    const WATCHES: Watch = Watch::START;

    fn describe(&self) -> String {
        format!("at {}", self.at)
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(scene.now.at >= self.due(scene))
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        if measure.truth.is_met() {
            format!("It is {} now", self.at)
        } else {
            format!("{} until {}", duration(self.due(scene).since(scene.now.at)), self.at)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        Wake::at(self.due(scene))
    }
}

record! {
    /// Tokens used.
    pub struct MaxTokens {
        /// How many tokens may be used.
        required count: Count,
        /// Whether tokens read from a cache count too.
        default cache_reads: bool = false,
    }
}

impl Kind for MaxTokens {
    const TYPE: &'static str = "max_tokens";
    const EXAMPLE: &'static str = r#"{ type = "max_tokens", count = 1000000 }"#;
    const PROGRESS: &'static str = "tokens / `count`";
    const PRIORITY: i32 = 80;
    const WATCHES: Watch = Watch::TOKENS.union(Watch::METERS);
    const METER: bool = true;

    fn describe(&self) -> String {
        let limit = counted(self.count.0, "token", "tokens");
        format!("after {limit}{}", if self.cache_reads { ", cache reads included" } else { "" })
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let spent = &scene.facts.spent;
        Measure::count(spent.tokens(self.cache_reads), self.count.0)
            .unless_silent(spent.tokens_silent, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let used = grouped(scene.facts.spent.tokens(self.cache_reads));
        let limit = counted(self.count.0, "token", "tokens");
        match measure.truth {
            super::Truth::Yes => format!("Used {used} tokens, the limit is {limit}"),
            super::Truth::Unknown => {
                let interrupted = scene.facts.spent.interrupted_without_tokens;
                format!("No tokens were reported for {}", last_iterations(interrupted))
            }
            super::Truth::No => format!("{used} of {limit}"),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::TokenLimit
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// Money spent.
    pub struct MaxCost {
        /// How many US dollars may be spent.
        required usd: Money,
    }
}

impl Kind for MaxCost {
    const TYPE: &'static str = "max_cost";
    const EXAMPLE: &'static str = r#"{ type = "max_cost", usd = 20.0 }"#;
    const PROGRESS: &'static str = "cost / `usd`";
    const PRIORITY: i32 = 80;
    const WATCHES: Watch = Watch::COST.union(Watch::METERS);
    const METER: bool = true;

    fn describe(&self) -> String {
        format!("after {}", dollars(self.usd.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let spent = &scene.facts.spent;
        Measure::at_least(spent.cost_usd(), self.usd.0).unless_silent(spent.cost_silent, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let (spent, limit) = (dollars(scene.facts.spent.cost_usd()), dollars(self.usd.0));
        match measure.truth {
            super::Truth::Yes => format!("Spent {spent}, the limit is {limit}"),
            super::Truth::Unknown if scene.facts.spent.cost_gap == Some(CostGap::Part) => {
                "Only a part of the last iteration's cost was reported".to_owned()
            }
            super::Truth::Unknown => {
                let interrupted = scene.facts.spent.interrupted_without_cost;
                format!("No cost was reported for {}", last_iterations(interrupted))
            }
            super::Truth::No => format!("{spent} of {limit}"),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::CostLimit
    }

    fn raise(&mut self, value: LimitValue) {
        if let LimitValue::Number(number) = value
            && number > 0.0
        {
            self.usd = Money(number);
        }
    }
}

record! {
    /// How full a provider's usage window is.
    pub struct Quota {
        /// The window's name: `5h`, `weekly`, …
        required window: Text,
        /// From which share on.
        required at_least: Rate,
    }
}

impl Kind for Quota {
    const TYPE: &'static str = "quota";
    const EXAMPLE: &'static str = r#"{ type = "quota", window = "5h", at_least = 0.9 }"#;
    const PROGRESS: &'static str = "share used / `at_least`";
    const PRIORITY: i32 = 80;
    const WATCHES: Watch = Watch::QUOTA;

    fn describe(&self) -> String {
        let window = quoted(&self.window.0);
        format!("when the usage window {window} is at least {} full", percent(self.at_least.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::at_least(scene.facts.quotas.used(&self.window.0, scene.now), self.at_least.0)
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        let used = percent(scene.facts.quotas.used(&self.window.0, scene.now));
        let limit = percent(self.at_least.0);
        format!("Usage window {} is {used} full, the limit is {limit}", quoted(&self.window.0))
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::RateLimited
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        scene.facts.quotas.resets_at(&self.window.0).map_or(Wake::NEVER, Wake::at)
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.at_least, value);
    }
}

record! {
    /// How full the context window is.
    pub struct ContextUsage {
        /// From which share on.
        required at_least: Rate,
    }
}

impl Kind for ContextUsage {
    const TYPE: &'static str = "context_usage";
    const EXAMPLE: &'static str = r#"{ type = "context_usage", at_least = 0.95 }"#;
    const PROGRESS: &'static str = "share used / `at_least`";
    const PRIORITY: i32 = 74;
    const WATCHES: Watch = Watch::CONTEXT;

    fn describe(&self) -> String {
        format!("when the context window is at least {} full", percent(self.at_least.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        match scene.facts.context.as_ref().and_then(context_share) {
            Some(used) => Measure::at_least(used, self.at_least.0),
            None => Measure { threshold: Some(self.at_least.0), ..Measure::plain(false) },
        }
    }

    fn note(&self, scene: &Scene<'_>, _: &Measure) -> String {
        match scene.facts.context.as_ref().and_then(context_share) {
            Some(used) => {
                format!(
                    "Context is {} full, the limit is {}",
                    percent(used),
                    percent(self.at_least.0)
                )
            }
            None => "How full the context is was not reported".to_owned(),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ContextOverflow
    }

    fn raise(&mut self, value: LimitValue) {
        raise_rate(&mut self.at_least, value);
    }
}

/// The iterations that told a meter nothing, of which so many failed in a row.
fn last_iterations(failed: u64) -> String {
    match failed {
        0 | 1 => "the last iteration".to_owned(),
        failed => format!("the last {failed} iterations, which ended in errors"),
    }
}

/// A time of day in the run's zone, or a point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockTime {
    Daily(Time),
    At(Timestamp),
}

impl std::fmt::Display for ClockTime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Daily(time) if time.second() == 0 => {
                write!(formatter, "{:02}:{:02}", time.hour(), time.minute())
            }
            Self::Daily(time) => time.fmt(formatter),
            Self::At(at) => at.fmt(formatter),
        }
    }
}

impl Field for ClockTime {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let (Value::String(text) | Value::Datetime(text)) = &node.value else {
            findings.wrong_type(node, key, "a time such as \"07:00\" or \"2026-05-04T07:00:00Z\"");
            return None;
        };
        let time = Time::strptime("%H:%M:%S", text).or_else(|_| Time::strptime("%H:%M", text));
        let read = time.map(Self::Daily).ok().or_else(|| text.parse().map(Self::At).ok());
        if read.is_none() {
            findings.push(
                Diagnostic::error(format!("`{key}` is not a time: `{text}`"), node.span.clone())
                    .label("write \"07:00\" or \"2026-05-04T07:00:00Z\""),
            );
        }
        read
    }

    fn write(&self) -> Json {
        self.to_string().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "examples": ["07:00", "2026-05-04T07:00:00Z"] })
    }
}

/// The first time at or after `start` at which clocks show `time`.
fn next_time_of_day(start: Timestamp, time: Time, scene: &Scene<'_>) -> Timestamp {
    let began = start.to_jiff().to_zoned(scene.zone.clone());
    let mut day = began.date();
    // Two days suffice; the third is for a day on which a zone jumps over that time.
    for _ in 0..3 {
        if let Ok(due) = scene.zone.to_zoned(day.to_datetime(time))
            && due.timestamp() >= began.timestamp()
        {
            return Timestamp::from_jiff(due.timestamp());
        }
        match day.tomorrow() {
            Ok(tomorrow) => day = tomorrow,
            Err(_) => break,
        }
    }
    start.plus(Duration::from_secs(86_400))
}

pub(super) fn raise_count(count: &mut Count, value: LimitValue) {
    if let LimitValue::Number(number) = value {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast holds what is too large or negative at the border"
        )]
        let whole = number as u64;
        if whole > 0 {
            *count = Count(whole);
        }
    }
}

pub(super) fn raise_rate(rate: &mut Rate, value: LimitValue) {
    if let LimitValue::Number(number) = value {
        *rate = Rate(number.clamp(0.0, 1.0));
    }
}

pub(super) fn raise_duration(period: &mut Period, value: LimitValue) {
    match value {
        LimitValue::Duration(duration) if !duration.is_zero() => *period = Period(duration),
        // Of a bare number nobody knows the unit.
        LimitValue::Duration(_) | LimitValue::Number(_) => {}
    }
}
