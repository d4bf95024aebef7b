//! One transaction on a run without a supervisor: the engine as it was left, what is added to it,
//! and what is to be written.

use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::{Asked, Event, Halted, Note, Noted, Signal, SignalKind};
use backstop_core::facts::Facts;
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::redact::Redactor;
use backstop_core::state::{RunState, RunStatus, Statistics};
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;
use backstop_store::{
    Batch, HaltOrder, Run, RunUpdate, Snapshot, StoreError, StoredPolicy, Unsupervised, Writer,
};
use serde_json::Value as Json;

use super::{Outcome, UnsupervisedError};
use crate::halt_order;
use crate::journalled::{self, Stance, new_event};
use crate::launch::Launch;
use crate::notify::Warned;
use crate::prompt::question_of;
use crate::proof::Proof;
use crate::secrets;
use crate::socket::Answer;

/// A run while its next events are put together.
pub(super) struct Session {
    run: Run,
    status: RunStatus,
    engine: Engine,
    redactor: Redactor,
    now: Timestamp,
    seq: u64,
    /// What was decided after the last event that is stored.
    before: Stance,
    /// What warned then.
    warned: Warned,
    /// Where the run stands, if this call or an earlier one halted it.
    halted: Option<RunState>,
    halted_now: bool,
    batch: Batch,
}

impl Session {
    pub(super) fn open(start: Unsupervised, now: Timestamp) -> Result<Self, StoreError> {
        let policy = loaded(&start.policy)?;
        let (mut seq, facts) = match &start.snapshot {
            Some(snapshot) => {
                let facts = serde_json::from_str::<Facts>(&snapshot.facts)
                    .map_err(|error| damaged("the facts", &error))?;
                (snapshot.seq, facts)
            }
            None => (0, Facts::default()),
        };
        let redactor = secrets::redactor(&policy);
        let mut engine = journalled::engine(policy, facts);
        for stored in &start.events {
            let event = Event::from_json(stored.body.as_bytes())
                .map_err(|error| damaged(&format!("event {}", stored.seq), &error))?;
            engine.handle_event(&event, now);
            seq = stored.seq;
        }
        let last = engine.moment(Timestamp::from_nanos(i64::MIN));
        let (before, warned) = match seq {
            0 => (Stance::START, Warned::default()),
            _ => {
                let decision = engine.poll_decision(last);
                (Stance::of(&decision), Warned::by(&decision))
            }
        };
        let status = start.run.status;
        let halted = match status.is_halted() {
            true => Some(
                serde_json::from_value(start.run.state.clone())
                    .map_err(|error| damaged("the state", &error))?,
            ),
            false => None,
        };
        let batch = nothing(start.run.id);
        let run = start.run;
        Ok(Self {
            run,
            status,
            engine,
            redactor,
            now,
            seq,
            before,
            warned,
            halted,
            halted_now: false,
            batch,
        })
    }

    /// Takes in an event, at the time that it says unless that is still to come.
    pub(super) fn add(&mut self, mut event: Event) {
        self.seq += 1;
        event.seq = Some(self.seq);
        event.at = Some(event.at.map_or(self.now, |at| at.min(self.now)));
        let (event, _) = secrets::clean(&self.redactor, event);
        self.engine.handle_event(&event, self.now);
        self.batch.events.push(new_event(&event));
    }

    /// Orders to halt are a person's wish for every run that they cover. Says whether there is one.
    pub(super) fn obey(&mut self, orders: &[HaltOrder]) -> bool {
        let order = orders.iter().find(|order| order.covers(&self.run.labels));
        let Some(order) = order.filter(|_| !self.is_halted()) else { return false };
        let by = halt_order::in_words(order);
        self.add(Event::new(Signal { kind: SignalKind::Stop, by }));
        true
    }

    /// Who wants the run to end, in one sentence.
    pub(super) fn stop_in_words(&self) -> String {
        self.engine.facts().stop_in_words()
    }

    /// What the policy says now.
    pub(super) fn decision(&mut self) -> Decision {
        self.engine.poll_decision(self.engine.moment(self.now))
    }

    /// Claims that the work is done are as if their rules had not fired, unless they are proven.
    pub(super) fn refuse_claims(&mut self, proof: Proof) {
        if self.is_halted() {
            return;
        }
        let mut decision = self.decision();
        while let Some(refusal) = proof.refuses(self.engine.policy(), &decision) {
            // Only what was put to the test is worth a note.
            if proof != Proof::default() {
                let detail = format!("{}: {}", decision.message, refusal.why);
                self.add(Event::new(Noted { what: Note::ClaimRefused, detail }));
            }
            self.engine.refuse_claim(refusal.rule);
            decision = self.decision();
        }
    }

    /// Decides, journals a decision that differs from the one before, and halts the run if it says
    /// so. In a halted run nothing follows from it.
    pub(super) fn conclude(&mut self) -> Decision {
        let decision = self.decision();
        if self.is_halted() {
            return decision;
        }
        if RunStatus::after(decision.verdict).is_halted() {
            return self.halt(decision);
        }
        if Stance::of(&decision) != self.before {
            self.journal(&decision);
        }
        decision
    }

    /// Ends the run with this decision.
    pub(super) fn halt(&mut self, decision: Decision) -> Decision {
        self.journal(&decision);
        // Nobody waits for the answer here, so the run is held until there is one.
        if decision.verdict == Verdict::Ask {
            let question = question_of(&decision, self.engine.facts());
            self.add(Event::new(Asked { question, unheard: false }));
        }
        self.status = RunStatus::after(decision.verdict);
        self.add(Event::new(Halted {
            reason: decision.reason.clone(),
            status: Some(self.status.as_str().to_owned()),
            message: Some(decision.message.clone()),
        }));
        self.batch.audit.push(journalled::audited(&decision, self.run.id, self.seq));
        self.halted = Some(RunState::halted(self.run.id, self.status, &decision, &self.engine));
        self.halted_now = true;
        decision
    }

    fn journal(&mut self, decision: &Decision) {
        self.add(Event::new(journalled::decided(decision, self.engine.policy())));
        self.batch.decisions.push(journalled::record(decision, self.seq));
        self.before = Stance::of(decision);
    }

    pub(super) fn is_halted(&self) -> bool {
        self.status.is_halted()
    }

    pub(super) fn set_status(&mut self, status: RunStatus) {
        self.status = status;
        self.halted = None;
    }

    /// A run that a script drives goes on at once; a loop waits for its supervisor.
    pub(super) fn let_go(&mut self) {
        self.set_status(if self.run.supervised { RunStatus::Stopped } else { RunStatus::Running });
    }

    /// What a person is asked.
    pub(super) fn question(&self) -> Option<String> {
        self.engine.facts().question().map(str::to_owned)
    }

    pub(super) fn replace_policy(&mut self, policy: Policy) {
        self.run.policy_hash = policy.hash();
        self.engine = journalled::engine(policy, self.engine.facts().clone());
    }

    /// Whether the run said at its beginning how many units there are.
    pub(super) fn announced_units(&self) -> bool {
        let launch = serde_json::from_value::<Launch>(self.run.launch.clone());
        launch.is_ok_and(|launch| launch.total_units.is_some())
    }

    pub(super) fn state(&self) -> RunState {
        let now = RunState::going_on(self.run.id, self.status, &self.engine);
        let Some(state) = &self.halted else { return now };
        let halted = RunState { policy_hash: self.run.policy_hash.clone(), ..state.clone() };
        if self.batch.events.is_empty() {
            return halted;
        }
        // What is told late counts; the time that passes does not.
        let Statistics { active_time, active_ms, .. } = halted.statistics.clone();
        RunState {
            resume_from: now.resume_from,
            statistics: Statistics { active_time, active_ms, ..now.statistics },
            ..halted
        }
    }

    pub(super) fn refuse_if_supervised(&self) -> Result<(), UnsupervisedError> {
        if self.run.supervised {
            let (run, status) = (self.run.id, self.status);
            return Err(UnsupervisedError::NeedsSupervisor { run, status });
        }
        Ok(())
    }

    pub(super) fn refuse_if_halted(&self) -> Result<(), UnsupervisedError> {
        match &self.halted {
            Some(state) => Err(UnsupervisedError::Halted {
                run: self.run.id,
                status: self.status,
                reason: state.stop_reason.as_ref().map(|reason| reason.code.clone()),
            }),
            None => Ok(()),
        }
    }

    pub(super) fn refuse_if_going_on(&self) -> Result<(), UnsupervisedError> {
        if self.is_halted() { Ok(()) } else { Err(UnsupervisedError::GoesOn { run: self.run.id }) }
    }

    pub(super) fn refuse_if_not_held(&self) -> Result<(), UnsupervisedError> {
        let (run, status) = (self.run.id, self.status);
        let is_held = status == RunStatus::Held;
        if is_held { Ok(()) } else { Err(UnsupervisedError::NotHeld { run, status }) }
    }

    /// The rules that have begun to warn, as people are told of them.
    fn begin_to_warn(&self, decision: &Decision) -> Vec<RunState> {
        let news = self.warned.news(decision);
        let state =
            |news: &Decision| RunState::halted(self.run.id, self.status, news, &self.engine);
        news.iter().map(state).collect()
    }

    /// What is to be written, and what the caller is told.
    pub(super) fn close(
        mut self,
        decision: &Decision,
    ) -> (Batch, Result<Outcome, UnsupervisedError>) {
        let state = self.state();
        let exit_code = decision.exit_code(self.engine.policy());
        let facts = serde_json::to_string(self.engine.facts());
        self.batch.snapshot = facts.ok().map(|facts| Snapshot { seq: self.seq, facts });
        self.batch.update = Some(RunUpdate {
            at: self.now,
            status: self.status,
            state: json(&state),
            policy_hash: self.run.policy_hash.clone(),
        });
        let answer = Answer::decided(decision, exit_code, self.seq);
        let news =
            if state.run_status.is_halted() { Vec::new() } else { self.begin_to_warn(decision) };
        let outcome = Outcome {
            answer,
            state,
            halted_now: self.halted_now,
            news,
            warnings: Vec::new(),
            annotation: None,
        };
        (self.batch, Ok(outcome))
    }
}

/// A batch that changes nothing.
pub(super) fn nothing(run: RunId) -> Batch {
    Batch::new(run, Writer::Unsupervised)
}

pub(super) fn json(state: &RunState) -> Json {
    serde_json::to_value(state).expect("a state has only string keys and finite numbers")
}

/// The policy as it was pinned.
fn loaded(stored: &StoredPolicy) -> Result<Policy, StoreError> {
    Policy::load(stored.json.as_bytes(), Syntax::Json).map(|loaded| loaded.policy).map_err(
        |findings| {
            let first = findings.first().map_or("", |finding| finding.message.as_str());
            damaged(&format!("policy {}", stored.hash), &first)
        },
    )
}

fn damaged(what: &str, cause: &dyn std::fmt::Display) -> StoreError {
    StoreError::Damaged(format!("{what} can't be read: {cause}"))
}
