//! A run from the store, replayed from its journal.

use backstop_adapters::{Agent, Outcome};
use backstop_core::event::{Event, EventKind, SignalKind};
use backstop_core::facts::Facts;
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_runner::journalled;
use backstop_store::{Run, StoreError};

use super::trial::Trial;
use crate::error::Error;
use crate::store::Opened;

/// Who was run.
pub fn agent(run: &Run) -> &'static str {
    Agent::of_command(&run.command).unwrap_or(Agent::Generic).name()
}

/// Folds the run's journal under another policy, a page at a time.
pub fn replay(opened: &Opened, run: &Run, policy: Policy) -> Result<Trial, Error> {
    if run.pruned {
        let message = format!("the journal of run {} was removed by age", run.id);
        return Err(Error::NotNow(message));
    }
    let mut trial = Trial::new(journalled::engine(policy, Facts::default()));
    let mut after = 0;
    loop {
        let stored = opened.wait(opened.store.event_list(run.id, after, PAGE))?;
        for stored in &stored {
            after = stored.seq;
            let event = Event::from_json(stored.body.as_bytes()).map_err(|error| {
                let what = format!("event {after} of run {} can't be read: {error}", run.id);
                StoreError::Damaged(what)
            })?;
            if is_of_the_world(&event.kind) {
                trial.outcome = outcome(&event.kind).unwrap_or(trial.outcome);
                // Every event of a journal has a time of its own.
                trial.take(&event, Timestamp::default());
            }
        }
        if stored.len() < PAGE as usize {
            return Ok(trial);
        }
    }
}

/// Whether it would have happened under any policy. What backstop did, and what people did about
/// that, belongs to the policy that was in force.
fn is_of_the_world(kind: &EventKind) -> bool {
    match kind {
        EventKind::Decided(_)
        | EventKind::Held(_)
        | EventKind::Released(_)
        | EventKind::Halted(_)
        | EventKind::Resumed(_)
        | EventKind::Recovered(_)
        | EventKind::Asked(_)
        | EventKind::Answered(_)
        | EventKind::Raised(_)
        | EventKind::Noted(_) => false,
        EventKind::Signal(signal) => !matches!(signal.kind, SignalKind::Stop | SignalKind::Kill),
        _ => true,
    }
}

/// How the present iteration stands after an event.
fn outcome(kind: &EventKind) -> Option<Outcome> {
    match kind {
        EventKind::IterationStarted(_) => Some(Outcome::CutOff),
        EventKind::IterationFinished(end) if end.exit_code == Some(0) => Some(Outcome::Succeeded),
        EventKind::IterationFinished(_) => Some(Outcome::Failed),
        _ => None,
    }
}

const PAGE: u32 = 10_000;
