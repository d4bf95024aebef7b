//! From what happened to facts, journal and decisions.

use std::sync::Arc;

use backstop_core::decision::Decision;
use backstop_core::event::{Event, EventKind, Note, Noted};
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::millis;
use backstop_core::verdict::Verdict;
use backstop_store::audit::NewAuditRow;
use backstop_store::{Entry, NewEvent, RunUpdate, Snapshot};

use super::{Dispatcher, RunError};
use crate::journalled;
use crate::secrets;

/// The last decision that was journalled, to see whether another one is worth a line.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    verdict: Option<Verdict>,
    fired: Vec<usize>,
    decision_seq: u64,
}

impl Seen {
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }
}

impl Dispatcher {
    /// Takes in something that happened now: facts, journal, those who watch. Answers with its
    /// sequence number.
    pub(crate) fn take(&mut self, kind: impl Into<EventKind>) -> u64 {
        self.take_with(kind, Vec::new())
    }

    /// The same for an event with which a decision halts or holds the run: both are kept or
    /// neither.
    pub(crate) fn take_audited(&mut self, kind: impl Into<EventKind>, decision: &Decision) -> u64 {
        let row = journalled::audited(decision, self.run, self.seq + 1);
        self.take_with(kind, vec![row])
    }

    fn take_with(&mut self, kind: impl Into<EventKind>, audit: Vec<NewAuditRow>) -> u64 {
        let now = self.clock.now();
        self.seq += 1;
        let mut event = Event::new(kind).at(now.at).active_ms(millis(now.active));
        event.seq = Some(self.seq);
        let (event, body) = secrets::clean(&self.redactor, event);
        self.engine.handle_event(&event, now.at);
        if self.watchers.receiver_count() > 0 {
            // Nobody may have stayed; that is no failure.
            let _ = self.watchers.send(Arc::from(body.as_str()));
        }
        let text = self.reporter.event(&event, &self.engine);
        if !text.is_empty() {
            self.pump.print(text);
        }
        let new = NewEvent { seq: self.seq, at: now.at, kind: event.kind.type_name(), body };
        let snapshot = (self.seq - self.snapshot_seq >= SNAPSHOT_EVERY).then(|| self.snapshot());
        self.journal.append(Entry { events: vec![new], snapshot, audit, ..Entry::default() });
        self.seq
    }

    pub(crate) fn take_all<K: Into<EventKind>>(&mut self, kinds: impl IntoIterator<Item = K>) {
        for kind in kinds {
            self.take(kind);
        }
    }

    pub(crate) fn note(&mut self, what: Note, detail: impl Into<String>) -> u64 {
        self.take(Noted { what, detail: detail.into() })
    }

    /// What to do now; journalled where it differs from what was decided before.
    pub(crate) fn decide(&mut self) -> Verdict {
        let ruling = self.engine.decide(self.clock.now());
        if let Some(latched) = self.stronger_than(ruling.verdict) {
            return latched.verdict;
        }
        let changed = self.seen.verdict != Some(ruling.verdict)
            || !self.engine.fired().eq(self.seen.fired.iter().copied());
        if changed {
            self.decision();
        }
        ruling.verdict
    }

    /// What would be decided now; nothing is journalled.
    pub(crate) fn verdict_now(&mut self) -> Verdict {
        let verdict = self.engine.decide(self.clock.now()).verdict;
        self.stronger_than(verdict).map_or(verdict, |latched| latched.verdict)
    }

    /// The stop that was decided before and outweighs this verdict. A rate that recovers or a streak
    /// that ends does not take a stop back; only a person does, by raising the limit.
    pub(crate) fn stronger_than(&self, verdict: Verdict) -> Option<&Decision> {
        self.latched.as_ref().filter(|latched| latched.verdict.severity() > verdict.severity())
    }

    /// What to do now, with its grounds; journalled always.
    pub(crate) fn decision(&mut self) -> Decision {
        let decision = self.engine.poll_decision(self.clock.now());
        self.record(&decision);
        decision
    }

    /// Journals a decision. Answers with its sequence number.
    pub(crate) fn record(&mut self, decision: &Decision) -> u64 {
        self.seen.verdict = Some(decision.verdict);
        if decision.verdict.ends_the_run() && self.stronger_than(decision.verdict).is_none() {
            self.latched = Some(decision.clone());
        }
        self.seen.fired = self.engine.fired().collect();
        let seq = self.take(journalled::decided(decision, self.engine.policy()));
        self.seen.decision_seq = seq;
        if decision.verdict != Verdict::Continue {
            let record = journalled::record(decision, seq);
            self.journal.append(Entry { decisions: vec![record], ..Entry::default() });
        }
        let text = self.reporter.decided(decision, &self.engine);
        if !text.is_empty() {
            self.pump.print(text);
        }
        self.tell_warnings(decision);
        seq
    }

    /// Waits until the last decision is on disk: only then may it be acted on.
    pub(crate) async fn decision_on_disk(&mut self) -> Result<(), RunError> {
        self.durable(self.seen.decision_seq).await
    }

    /// Keeps where a running run stands.
    pub(crate) fn mark(&mut self, status: RunStatus) {
        let state = RunState::going_on(self.run, status, &self.engine);
        self.update(status, &state);
    }

    pub(crate) fn update(&mut self, status: RunStatus, state: &RunState) {
        let update = RunUpdate {
            at: self.clock.now().at,
            status,
            state: serde_json::to_value(state).unwrap_or_default(),
            policy_hash: self.engine.policy_hash().to_owned(),
        };
        let snapshot = Some(self.snapshot());
        self.journal.append(Entry { snapshot, update: Some(update), ..Entry::default() });
    }

    fn snapshot(&mut self) -> Snapshot {
        self.snapshot_seq = self.seq;
        let facts = serde_json::to_string(self.engine.facts()).unwrap_or_default();
        Snapshot { seq: self.seq, facts }
    }

    /// The iteration that runs, or would run next.
    pub(crate) fn iteration_number(&self) -> u64 {
        self.engine.facts().iterations() + 1
    }
}

/// Often enough that a resumption reads little, seldom enough that nobody notices.
const SNAPSHOT_EVERY: u64 = 5_000;
