//! What a crash has left undone: runs whose supervisor is gone, and halts that stand in the
//! journal but nowhere else.

use backstop_core::decision::Decision;
use backstop_core::event::{Answer, Event, EventKind, Halted};
use backstop_core::id::RunId;
use backstop_core::reason::ReasonCode;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;
use backstop_store::{
    Batch, Home, LeaseRecord, Run, RunUpdate, Store, StoreError, Unsupervised, Writer,
};

use crate::clock::wall_time;
use crate::final_report;
use crate::loading::{self, Loaded};
use crate::tree::identity::{Life, life};

/// Whether a run goes on for the store, but its supervisor is gone.
///
/// One that lives on this machine and only stands still (Ctrl-Z) is not gone, even if its lease has
/// expired meanwhile.
pub fn is_interrupted(run: &Run, lease: Option<&LeaseRecord>, now: Timestamp) -> bool {
    if !run.supervised || run.status.is_halted() {
        return false;
    }
    match lease {
        // It may be about to take one.
        None => now.since(run.created_at) > TIME_TO_BEGIN,
        Some(lease) => !is_held(lease, now),
    }
}

/// Whether somebody holds a lease and is there to use it.
pub fn is_held(lease: &LeaseRecord, now: Timestamp) -> bool {
    !lease.released
        && match life(&lease.holder) {
            Life::Alive => true,
            Life::Dead => false,
            Life::Elsewhere => lease.expires_at > now,
        }
}

/// Finishes a halt that a crash has cut short: the journal says that the run halted, but its row or
/// its `state.json` does not. Answers with the run as it stands now.
///
/// A run that somebody supervises is left alone, and so is one that nobody halted.
///
/// # Errors
/// The store can't be read or written. A `state.json` that can't be written is no error: the store
/// has everything that it would say.
pub async fn finish_halt(store: &dyn Store, home: &Home, run: RunId) -> Result<Run, StoreError> {
    let mut found = store.run_fetch(run).await?.ok_or(StoreError::NoRun(run))?;
    let lease = store.lease_fetch(run).await?;
    if lease.is_some_and(|lease| is_held(&lease, wall_time())) {
        return Ok(found);
    }
    let undone = match found.status.is_halted() || found.pruned {
        true => None,
        false => Some(loading::load(store, run).await?),
    };
    if let Some(loaded) = undone
        && let Some((halted, at)) = halt_in_journal(store, run, loaded.last_seq).await?
    {
        let state = halted_state(loaded, &halted, at);
        let update = RunUpdate {
            at,
            status: state.run_status,
            policy_hash: state.policy_hash.clone(),
            state: serde_json::to_value(&state)
                .expect("a state has only string keys and finite numbers"),
        };
        found.status = update.status;
        found.state = update.state.clone();
        match store.append_unsupervised(run, Box::new(|start| finishing(&start, update))).await {
            // The lease of the dead is not over yet, or somebody else goes on with the run now.
            Ok(()) | Err(StoreError::LeaseHeld { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if found.status.is_halted() && !found.pruned {
        let folder = home.run(run);
        let stored: Option<RunState> = serde_json::from_value(found.state.clone()).ok();
        if let Some(stored) = stored
            && folder.read_state().ok().flatten().as_ref() != Some(&stored)
        {
            let _the_store_has_it = folder.write_state(&stored);
            let _the_journal_has_it = final_report::write(store, &folder, run).await;
        } else if !folder.report_markdown().exists() {
            let _the_journal_has_it = final_report::write(store, &folder, run).await;
        }
    }
    Ok(found)
}

/// Whether a run has halted, by its row or by its journal alone.
pub(crate) async fn has_halted(store: &dyn Store, loaded: &Loaded) -> Result<bool, StoreError> {
    let Loaded { run, last_seq, .. } = loaded;
    Ok(run.status.is_halted() || halt_in_journal(store, run.id, *last_seq).await?.is_some())
}

/// The halt with which a journal ends; none if the run went on after it.
async fn halt_in_journal(
    store: &dyn Store,
    run: RunId,
    last: u64,
) -> Result<Option<(Halted, Timestamp)>, StoreError> {
    let mut halt = None;
    for stored in store.event_list(run, last.saturating_sub(LOOK_BACK), PAGE).await? {
        let Ok(event) = Event::from_json(stored.body.as_bytes()) else { continue };
        match event.kind {
            EventKind::Halted(halted) => halt = Some((halted, event.at.unwrap_or_default())),
            EventKind::Resumed(_) | EventKind::Released(_) | EventKind::IterationStarted(_) => {
                halt = None;
            }
            // A run without a supervisor goes on with the answer.
            EventKind::Answered(answered) if answered.answer != Answer::Abort => halt = None,
            _ => {}
        }
    }
    Ok(halt)
}

/// Where the run stands by what its journal says.
fn halted_state(loaded: Loaded, halted: &Halted, at: Timestamp) -> RunState {
    let Loaded { run, mut engine, .. } = loaded;
    let status = halted.status.as_deref().and_then(|status| status.parse().ok());
    let status = status.unwrap_or(RunStatus::Stopped);
    let decided = engine.poll_decision(engine.moment(at));
    let code = halted.reason.clone().unwrap_or_else(|| match status {
        RunStatus::Completed => ReasonCode::Completed.as_str().to_owned(),
        _ => ReasonCode::ConditionMet.as_str().to_owned(),
    });
    let decision = if decided.reason.as_deref() == Some(&*code) {
        Decision { decided_at: at, ..decided }
    } else {
        // No rule led to it: a person did, or the runner.
        Decision {
            verdict: verdict(status),
            message: halted.message.clone().unwrap_or_default(),
            next_step: engine.policy().reason(&code).next_step(),
            reason: Some(code),
            rule: None,
            value: None,
            threshold: None,
            decided_at: at,
            ..decided
        }
    };
    RunState::halted(run.id, status, &decision, &engine)
}

/// The verdict that leaves a run like this.
const fn verdict(status: RunStatus) -> Verdict {
    match status {
        RunStatus::Completed => Verdict::Complete,
        RunStatus::Failed => Verdict::Fail,
        RunStatus::Held => Verdict::Hold,
        RunStatus::Running | RunStatus::Paused | RunStatus::Stopped => Verdict::Stop,
    }
}

/// Nothing, if somebody else has finished it meanwhile.
fn finishing(start: &Unsupervised, update: RunUpdate) -> Batch {
    Batch {
        update: (!start.run.status.is_halted()).then_some(update),
        ..Batch::new(start.run.id, Writer::Unsupervised)
    }
}

/// How long a run may be without a lease before it has begun.
const TIME_TO_BEGIN: std::time::Duration = std::time::Duration::from_secs(10);
/// What may follow a halt in the same transaction.
const LOOK_BACK: u64 = 100;
const PAGE: u32 = 200;
