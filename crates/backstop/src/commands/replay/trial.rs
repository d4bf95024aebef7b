//! A policy on trial: every event is folded, and every change of what it says is kept.

use std::time::Duration;

use backstop_adapters::Outcome;
use backstop_core::decision::Decision;
use backstop_core::engine::{Engine, Ruling};
use backstop_core::event::{ErrorCategory, Event, EventKind, WorkerStatus};
use backstop_core::policy::Policy;
use backstop_core::repetition::StepKind;
use backstop_core::time::{Timestamp, millis};
use backstop_core::verdict::Verdict;
use backstop_runner::journalled::Stance;
use serde::Serialize;

/// What a policy says of a run, event by event. It goes on where it would have stopped the run, so
/// that the figures are of the whole.
#[derive(Debug)]
pub struct Trial {
    engine: Engine,
    stance: Stance,
    /// What the last decision came from, to see cheaply that nothing changed.
    ruling: (Ruling, Vec<usize>),
    pub events: u64,
    pub launches: u64,
    pub actions: u64,
    pub errors: Vec<SeenError>,
    pub decisions: Vec<WouldDecide>,
    /// Where the run would have ended.
    pub end: Option<End>,
    /// How the last launch ended.
    pub outcome: Outcome,
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeenError {
    pub event: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub iteration: u64,
    pub category: ErrorCategory,
    /// The provider took no more for a while, which is no failure of the work.
    pub rate_limited: bool,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// What the policy would have decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WouldDecide {
    /// The event after which it would have, counted from 1.
    pub event: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub iteration: u64,
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub rule: Option<String>,
    pub message: String,
}

/// The first decision that would have ended the run, and what was used until then.
#[derive(Clone, Debug)]
pub struct End {
    pub decision: WouldDecide,
    pub exit_code: u8,
    pub used: Used,
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Used {
    /// Those that were begun: one that is stopped on its way is not saved.
    pub iterations: u64,
    pub active_ms: u64,
    pub tokens: u64,
    pub cost_usd: f64,
}

impl Trial {
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            stance: Stance::START,
            ruling: (Ruling { verdict: Verdict::Continue, rule: None }, Vec::new()),
            events: 0,
            launches: 0,
            actions: 0,
            errors: Vec::new(),
            decisions: Vec::new(),
            end: None,
            outcome: Outcome::CutOff,
        }
    }

    pub fn policy(&self) -> &Policy {
        self.engine.policy()
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Takes in an event. `now` stands in for the time of one that carries none.
    pub fn take(&mut self, event: &Event, now: Timestamp) {
        self.events = event.seq.unwrap_or(self.events + 1);
        self.engine.handle_event(event, now);
        match &event.kind {
            EventKind::IterationStarted(_) => self.launches += 1,
            kind if is_step(kind) => self.actions += 1,
            _ => self.note_error(event),
        }
        self.decide(event, now);
    }

    /// What was used so far.
    pub fn used(&self) -> Used {
        let facts = self.engine.view().to_json();
        Used {
            iterations: self.launches,
            active_ms: millis(self.engine.facts().active()),
            tokens: facts["tokens"].as_u64().unwrap_or_default(),
            cost_usd: facts["cost_usd"].as_f64().unwrap_or_default(),
        }
    }

    fn note_error(&mut self, event: &Event) {
        let (category, message, retry_at) = match &event.kind {
            EventKind::ErrorSeen(error) => (error.category, error.message.clone(), error.retry_at),
            EventKind::Worker(worker) if worker.status == WorkerStatus::RateLimited => {
                let message = worker.detail.clone().unwrap_or_default();
                (ErrorCategory::Transient, message, worker.retry_at)
            }
            _ => return,
        };
        if self.errors.len() < MOST_KEPT {
            self.errors.push(SeenError {
                event: self.events,
                at: event.at,
                iteration: self.launches,
                category,
                rate_limited: matches!(event.kind, EventKind::Worker(_)),
                message,
                retry_at,
            });
        }
    }

    fn decide(&mut self, event: &Event, now: Timestamp) {
        let moment = self.engine.moment(event.at.unwrap_or(now));
        let ruling = self.engine.decide(moment);
        let has_changed =
            ruling != self.ruling.0 || !self.engine.fired().eq(self.ruling.1.iter().copied());
        // A rule that stands may have another reason than before: another part of it is met.
        if !has_changed && ruling.verdict == Verdict::Continue {
            return;
        }
        self.ruling = (ruling, self.engine.fired().collect());
        let decision = self.engine.poll_decision(moment);
        let stance = Stance::of(&decision);
        let is_end = matches!(event.kind, EventKind::IterationFinished(_));
        let is_worth_telling =
            stance != self.stance || (is_end && decision.verdict != Verdict::Continue);
        self.stance = stance;
        if is_worth_telling {
            self.tell(event, &decision);
        }
    }

    fn tell(&mut self, event: &Event, decision: &Decision) {
        let would = WouldDecide {
            event: self.events,
            at: event.at,
            iteration: self.launches,
            verdict: decision.verdict,
            reason: decision.reason.clone(),
            rule: decision.rule.as_ref().map(|rule| rule.name.clone()),
            message: decision.message.clone(),
        };
        if self.end.is_none() && ends_the_run(decision.verdict) {
            let exit_code = decision.exit_code(self.engine.policy());
            self.end = Some(End { decision: would.clone(), exit_code, used: self.used() });
        }
        if self.decisions.len() < MOST_KEPT {
            self.decisions.push(would);
        }
    }
}

impl Used {
    /// What came after an earlier time.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            iterations: self.iterations.saturating_sub(earlier.iterations),
            active_ms: self.active_ms.saturating_sub(earlier.active_ms),
            tokens: self.tokens.saturating_sub(earlier.tokens),
            cost_usd: (self.cost_usd - earlier.cost_usd).max(0.0),
        }
    }

    pub fn active(self) -> Duration {
        Duration::from_millis(self.active_ms)
    }
}

/// Whether it is something that the agent did, not something that it or somebody else said.
pub fn is_step(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Action(action) if StepKind::from(&*action.kind) == StepKind::Action)
}

/// Whether nothing goes on after it unless somebody lets it.
pub fn ends_the_run(verdict: Verdict) -> bool {
    verdict.severity() >= Verdict::Hold.severity()
}

/// Against a file that is all errors.
const MOST_KEPT: usize = 10_000;
