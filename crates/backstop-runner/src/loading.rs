//! A run as its journal left it: the policy that was pinned, and the facts of all its events.

use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::facts::Facts;
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_store::{Run, Store, StoreError, StoredPolicy};

use crate::journalled;

/// A run and what is known of it.
#[derive(Debug)]
pub struct Loaded {
    pub run: Run,
    /// It has taken in every event, and has not decided yet.
    pub engine: Engine,
    /// The number of the last event; 0 if there is none.
    pub last_seq: u64,
    /// The number of the event up to which the facts came from a snapshot; 0 if there was none.
    pub snapshot_seq: u64,
}

/// Reads a run's policy and facts. Only what came after the last snapshot is folded, a page of
/// events at a time, so that neither memory nor time depends on the length of the journal alone.
///
/// # Errors
/// There is no such run, or what is stored of it can't be read.
pub async fn load(store: &dyn Store, run: RunId) -> Result<Loaded, StoreError> {
    let run = store.run_fetch(run).await?.ok_or(StoreError::NoRun(run))?;
    let stored = store.policy_fetch(&run.policy_hash).await?.ok_or_else(|| {
        StoreError::Damaged(format!("the policy {} of run {} is gone", run.policy_hash, run.id))
    })?;
    let (snapshot_seq, facts) = match store.snapshot_fetch(run.id).await? {
        Some(snapshot) => {
            let facts = serde_json::from_str::<Facts>(&snapshot.facts)
                .map_err(|error| damaged(run.id, "the facts", &error))?;
            (snapshot.seq, facts)
        }
        None => (0, Facts::default()),
    };
    let mut engine = journalled::engine(policy(&stored)?, facts);
    let mut last_seq = snapshot_seq;
    loop {
        let events = store.event_list(run.id, last_seq, PAGE).await?;
        for stored in &events {
            let event = Event::from_json(stored.body.as_bytes())
                .map_err(|error| damaged(run.id, &format!("event {}", stored.seq), &error))?;
            // Every event of a journal has a time of its own.
            engine.handle_event(&event, Timestamp::default());
            last_seq = stored.seq;
        }
        if events.len() < PAGE as usize {
            break;
        }
    }
    Ok(Loaded { run, engine, last_seq, snapshot_seq })
}

/// The policy as it was pinned.
///
/// # Errors
/// It can't be loaded, though only what could be is ever stored.
pub fn policy(stored: &StoredPolicy) -> Result<Policy, StoreError> {
    match Policy::load(stored.json.as_bytes(), Syntax::Json) {
        Ok(loaded) => Ok(loaded.policy),
        Err(findings) => {
            let first = findings.first().map_or("", |finding| finding.message.as_str());
            Err(StoreError::Damaged(format!("policy {} can't be loaded: {first}", stored.hash)))
        }
    }
}

/// The same, if it still has the hash under which it is stored.
///
/// # Errors
/// It can't be loaded, or is another one.
pub fn unchanged_policy(stored: &StoredPolicy) -> Result<Policy, StoreError> {
    let policy = policy(stored)?;
    if policy.hash() == stored.hash {
        return Ok(policy);
    }
    let hash = &stored.hash;
    Err(StoreError::Damaged(format!("policy {hash} was changed: its text does not have its hash")))
}

fn damaged(run: RunId, what: &str, error: &impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(format!("{what} of run {run} can't be read: {error}"))
}

/// Large enough that asking for pages costs nothing, small enough for any memory.
const PAGE: u32 = 10_000;
