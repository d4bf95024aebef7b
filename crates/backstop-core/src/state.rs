//! Where a run stands, as `state.json` and `backstop show` tell it.

mod help;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::condition::Condition;
use crate::condition::words::{self, first_line};
use crate::decision::Decision;
use crate::engine::Engine;
use crate::event::{Event, Resumed};
use crate::id::RunId;
use crate::policy::{Dialect, Policy};
use crate::reason::{self, Values};
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// What a run is doing, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Running,
    /// It waits between two iterations because a person asked for it.
    Paused,
    /// It waits until it is let go.
    Held,
    /// A policy or a person ended it; it can go on.
    Stopped,
    Completed,
    Failed,
}

impl RunStatus {
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Paused, Self::Held, Self::Stopped, Self::Completed, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Held => "held",
            Self::Stopped => "stopped",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// How a verdict leaves the run that it ends. A policy stop is never a failure.
    pub const fn after(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Complete => Self::Completed,
            Verdict::Fail => Self::Failed,
            Verdict::Stop | Verdict::Kill => Self::Stopped,
            Verdict::Hold | Verdict::Ask | Verdict::Recover => Self::Held,
            Verdict::Continue | Verdict::Warn | Verdict::Retry => Self::Running,
        }
    }

    /// Whether nothing is done for the run until somebody resumes it.
    pub const fn is_halted(self) -> bool {
        matches!(self, Self::Held | Self::Stopped | Self::Completed | Self::Failed)
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl std::str::FromStr for RunStatus {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(())
    }
}

/// Where a run stands. Its JSON is `state.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub run_id: RunId,
    pub run_status: RunStatus,
    /// None while it runs.
    pub stop_reason: Option<StopReason>,
    pub stopped_at: Option<Timestamp>,
    pub resumable: bool,
    pub resume_from: ResumeFrom,
    pub statistics: Statistics,
    pub policy_hash: String,
}

/// Why a run halted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopReason {
    pub code: String,
    /// The type of the condition that was met, or its name in the dialect of the policy.
    pub condition: Option<String>,
    pub value: Option<f64>,
    pub threshold: Option<f64>,
    pub message: String,
    pub diagnosis: String,
    pub exit_code: u8,
}

/// Where the run goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeFrom {
    pub iteration: u64,
    /// The first unit that is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
}

/// The figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    pub total_units: u64,
    pub units_attempted: u64,
    pub units_approved: u64,
    pub units_rejected: u64,
    pub units_failed: u64,
    pub units_remaining: u64,
    pub total_attempts: u64,
    pub retry_rate: f64,
    pub reject_rate: f64,
    pub consecutive_fails: u64,
    pub iterations: u64,
    pub tokens: u64,
    /// What is known to be spent.
    pub cost_usd: f64,
    /// Whether that is all.
    pub cost_known: bool,
    /// Iterations of whose tokens nobody told what they cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_iterations: u64,
    /// As people read it: `52m 10s`.
    pub active_time: String,
    pub active_ms: u64,
}

impl RunState {
    /// Where a run stands that goes on.
    pub fn going_on(run: RunId, status: RunStatus, engine: &Engine) -> Self {
        Self {
            run_id: run,
            run_status: status,
            stop_reason: None,
            stopped_at: None,
            resumable: true,
            resume_from: ResumeFrom::of(engine),
            statistics: Statistics::of(engine),
            policy_hash: engine.policy_hash().to_owned(),
        }
    }

    /// Where a run stands that a decision halts.
    pub fn halted(run: RunId, status: RunStatus, decision: &Decision, engine: &Engine) -> Self {
        Self {
            stop_reason: Some(StopReason::of(run, decision, engine)),
            stopped_at: Some(decision.decided_at),
            resumable: status != RunStatus::Completed,
            ..Self::going_on(run, status, engine)
        }
    }

    /// The older names of the pipeline dialect, in which units are frames.
    pub fn pipeline_form(&self) -> Json {
        let numbers = &self.statistics;
        json!({
            "run_id": self.run_id,
            "run_status": self.run_status,
            "stop_reason": self.stop_reason,
            "stopped_at": self.stopped_at,
            "resumable": self.resumable,
            "resume_from_frame": self.resume_from.index,
            "statistics": {
                "total_frames": numbers.total_units,
                "frames_attempted": numbers.units_attempted,
                "frames_approved": numbers.units_approved,
                "frames_rejected": numbers.units_rejected,
                "frames_failed": numbers.units_failed,
                "frames_remaining": numbers.units_remaining,
                "total_attempts": numbers.total_attempts,
                "retry_rate": numbers.retry_rate,
                "reject_rate": numbers.reject_rate,
                "consecutive_fails": numbers.consecutive_fails,
            },
            "policy_hash": self.policy_hash,
        })
    }
}

impl StopReason {
    fn of(run: RunId, decision: &Decision, engine: &Engine) -> Self {
        let code = decision.reason.clone().unwrap_or_default();
        let values = values(run, decision, engine);
        Self {
            condition: condition_name(decision, engine.policy()),
            value: decision.value,
            threshold: decision.threshold,
            message: decision.message.clone(),
            diagnosis: match is_unmetered(decision, engine) {
                true => values.fill_prose(UNMETERED),
                false => engine.policy().reason(&code).diagnosis(&values),
            },
            exit_code: decision.exit_code(engine.policy()),
            code,
        }
    }
}

impl ResumeFrom {
    fn of(engine: &Engine) -> Self {
        let facts = engine.facts();
        let unit = facts.first_unfinished_unit();
        Self {
            iteration: facts.iterations + 1,
            unit: unit.map(|(id, _)| id.to_owned()),
            index: unit.and_then(|(_, index)| index).or_else(|| facts.units.first_open_index()),
        }
    }
}

impl Statistics {
    fn of(engine: &Engine) -> Self {
        let view = engine.view();
        let (facts, units) = (view.facts, &view.facts.units);
        let total = units.total.unwrap_or(units.attempted);
        let finished = units.approved + units.rejected + units.failed;
        Self {
            total_units: total,
            units_attempted: units.attempted,
            units_approved: units.approved,
            units_rejected: units.rejected,
            units_failed: units.failed,
            units_remaining: total.saturating_sub(finished),
            total_attempts: units.attempts,
            retry_rate: facts.retry_rate(),
            reject_rate: facts.reject_rate(),
            consecutive_fails: units.consecutive_fails,
            iterations: facts.iterations,
            tokens: facts.spent.tokens(false),
            cost_usd: facts.spent.cost_usd(),
            cost_known: facts.spent.is_cost_known(),
            unpriced_iterations: facts.spent.unpriced,
            active_time: words::duration(view.now.active).to_string(),
            active_ms: crate::time::millis(view.now.active),
        }
    }
}

/// Whether it is not the limit that was reached, but nobody can tell how far it is.
pub fn is_unmetered(decision: &Decision, engine: &Engine) -> bool {
    let Some(winner) = decision.rule.as_ref().map(|rule| rule.index) else { return false };
    let condition = engine.policy().all_rules().nth(winner).map(|rule| &rule.when);
    matches!(condition, Some(Condition::MaxCost(_) | Condition::MaxTokens(_)))
        && decision.unknown.iter().any(|rule| rule.rule == winner)
}

const UNMETERED: &str = "{detail}, so nobody can tell how near the limit is: {value|nothing} of \
    {threshold|it} is all that is known to be used. `--unmetered allow` goes on without this limit.";

/// What is known of the run, to be filled into the reason's texts.
pub fn values(run: RunId, decision: &Decision, engine: &Engine) -> Values {
    let mut values = Values::new()
        .with("run", run)
        .with("iterations", engine.facts().iterations)
        .with("detail", detail(decision, engine))
        .with("until", help::until(decision, engine).unwrap_or_default())
        .with("help", help::of(decision, engine).unwrap_or_default());
    let Some(figures) = Figures::of_winner(decision, engine.policy()) else { return values };
    if let Some(value) = decision.value {
        values = values.with("value", figures.text(value));
    }
    if let Some(threshold) = decision.threshold {
        values = values.with("threshold", figures.text(threshold));
        // Room from where the run stands, not only from where the limit was.
        let raised = figures.raised(decision.value.unwrap_or(threshold).max(threshold));
        values = values.with("raised", raised + &raised_too(decision, engine));
    }
    values
}

/// What must be raised beside the limit that won, as it follows that one in a command: a run that goes
/// on would else stop at the next one at once.
fn raised_too(decision: &Decision, engine: &Engine) -> String {
    let limits = engine.policy().raisable();
    let is_raised = |code: &str| limits.iter().any(|limit| limit.code == reason::limit_code(code));
    let candidates = decision.also_met.iter().filter(|met| {
        let ends = matches!(met.verdict, Verdict::Stop | Verdict::Kill | Verdict::Fail);
        ends && !met.shadow && met.threshold.is_some() && is_raised(&met.reason)
    });
    let candidates: Vec<_> = candidates.collect();
    if candidates.is_empty() {
        return String::new();
    }
    // Who goes on has seen it: streaks count anew from there, totals do not.
    let mut resumed = engine.clone();
    let now = resumed.view().now;
    resumed.handle_event(&Event::new(Resumed::default()).at(now.at), now.at);
    let then = resumed.poll_decision(now);
    let still_fires = |rule: usize| {
        then.rule.as_ref().is_some_and(|winner| winner.index == rule)
            || then.also_met.iter().any(|met| met.rule == rule)
    };
    let mut named: Vec<&str> =
        decision.reason.iter().map(|code| reason::limit_code(code)).collect();
    let mut text = String::new();
    for met in candidates.into_iter().filter(|met| still_fires(met.rule)) {
        let code = reason::limit_code(&met.reason);
        if named.contains(&code) {
            continue;
        }
        named.push(code);
        let Some(figures) = Figures::of(met.rule, engine.policy()) else { continue };
        let threshold = met.threshold.unwrap_or_default();
        let raised = figures.raised(met.value.unwrap_or(threshold).max(threshold));
        text.push_str(&format!(" --raise {}={raised}", reason::limit_name(code)));
    }
    text
}

/// What the world said: the last error where the reason is one, else the decision's own words.
fn detail(decision: &Decision, engine: &Engine) -> String {
    let error = engine.facts().errors.last.as_ref().map(|error| error.message.as_str());
    let said = match (decision.reason.as_deref(), error) {
        (Some("error" | "critical_failure"), Some(message)) => first_line(message),
        _ => &decision.message,
    };
    said.trim_end_matches(['.', ' ']).to_owned()
}

/// How the figures of a condition are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figures {
    Count,
    /// A count whose reason has other meters too, so that it names its unit.
    Iterations,
    Milliseconds,
    Dollars,
    Share,
}

impl Figures {
    fn of_winner(decision: &Decision, policy: &Policy) -> Option<Self> {
        Self::of(decision.rule.as_ref().map_or(usize::MAX, |rule| rule.index), policy)
    }

    /// Those of the rule with this number; none for what counts how often something happened, which
    /// says nothing of how much.
    fn of(rule: usize, policy: &Policy) -> Option<Self> {
        Some(match policy.all_rules().nth(rule).map(|rule| &rule.when) {
            Some(Condition::Worker(_)) => return None,
            Some(Condition::NoProgress(_)) => Self::Iterations,
            Some(
                Condition::MaxDuration(_)
                | Condition::Stagnation(_)
                | Condition::Cooldown(_)
                | Condition::Unresolved(_),
            ) => Self::Milliseconds,
            Some(Condition::MaxCost(_)) => Self::Dollars,
            Some(
                Condition::ContextUsage(_)
                | Condition::RetryRate(_)
                | Condition::RejectRate(_)
                | Condition::ErrorRate(_)
                | Condition::Health(_)
                | Condition::TopicDrift(_)
                | Condition::DiminishingReturns(_)
                | Condition::Quota(_),
            ) => Self::Share,
            _ => Self::Count,
        })
    }

    fn text(self, figure: f64) -> String {
        match self {
            Self::Count => words::grouped(whole(figure)).to_string(),
            Self::Iterations => {
                words::counted(whole(figure), "iteration", "iterations").to_string()
            }
            Self::Milliseconds => words::duration(Duration::from_millis(whole(figure))).to_string(),
            Self::Dollars => words::dollars(figure).to_string(),
            Self::Share => words::percent(figure).to_string(),
        }
    }

    /// A limit that leaves room again, as `--raise` takes it.
    fn raised(self, reached: f64) -> String {
        match self {
            Self::Count | Self::Iterations => whole(reached * 2.0).to_string(),
            Self::Milliseconds => words::duration(Duration::from_millis(whole(reached * 2.0)))
                .to_string()
                .replace(' ', ""),
            Self::Dollars => dollars_and_cents(reached * 2.0).to_string(),
            Self::Share => rounded(f64::midpoint(reached, 1.0).min(1.0), 4).to_string(),
        }
    }
}

/// Whole cents, where there are any.
fn dollars_and_cents(dollars: f64) -> f64 {
    let decimals = if dollars < 0.1 { 6 } else { 2 };
    let whole = rounded(dollars, decimals);
    if whole > 0.0 { whole } else { dollars }
}

fn rounded(figure: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    (figure * unit).round() / unit
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it asks about so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are not negative, and `as` holds large ones at the border"
)]
fn whole(figure: f64) -> u64 {
    figure.round() as u64
}

/// The type of the condition that was met; in the pipeline dialect by the name that its users know.
fn condition_name(decision: &Decision, policy: &Policy) -> Option<String> {
    let rule = policy.all_rules().nth(decision.rule.as_ref()?.index)?;
    let name = rule.when.type_name();
    Some(match (policy.dialect, &rule.when) {
        (Some(Dialect::Pipeline), Condition::MaxAttempts(_)) => "CIRCUIT_BREAKER".to_owned(),
        (
            Some(Dialect::Pipeline),
            Condition::ConsecutiveFails(_) | Condition::RejectRate(_) | Condition::RetryRate(_),
        ) => name.to_uppercase(),
        _ => name.to_owned(),
    })
}

#[cfg(test)]
mod tests;
