//! The halt of a run whose store has become full: the one thing that is still written of it.

use backstop_core::event::{Event, Halted};
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::{Moment, millis};
use backstop_store::{Batch, Lease, NewEvent, RunFolder, RunUpdate, Store, StoreError, Writer};

use crate::clock::wall_time;
use crate::dispatcher::unrecorded;
use crate::{journalled, loading, recovery};

/// Writes that the run has failed, after what its journal has of it. What did not fit in was rolled
/// back, so that the journal has no gap.
///
/// # Errors
/// There is no room for this either. Then nobody halted the run, as after a crash.
pub(crate) async fn write(
    store: &dyn Store,
    folder: &RunFolder,
    lease: &Lease,
    why: &StoreError,
) -> Result<(), StoreError> {
    let loaded = loading::load(store, lease.run).await?;
    if recovery::has_halted(store, &loaded).await? {
        // What did not fit in came after it; whoever looks at the run next finishes the rest.
        return store.lease_release(lease).await;
    }
    let (mut engine, seq) = (loaded.engine, loaded.last_seq + 1);
    let now = Moment { at: wall_time(), active: engine.facts().active() };
    let decided = engine.poll_decision(now);
    let decision = unrecorded(decided, &why.to_string(), &engine);
    let status = RunStatus::Failed;
    let halted = Halted {
        reason: decision.reason.clone(),
        status: Some(status.to_string()),
        message: Some(decision.message.clone()),
    };
    let mut event = Event::new(halted).at(now.at).active_ms(millis(now.active));
    event.seq = Some(seq);
    engine.handle_event(&event, now.at);
    let state = RunState::halted(lease.run, status, &decision, &engine);
    let kind = event.kind.type_name();
    let update = RunUpdate {
        at: now.at,
        status,
        state: serde_json::to_value(&state).unwrap_or_default(),
        policy_hash: state.policy_hash.clone(),
    };
    store
        .append(&Batch {
            events: vec![NewEvent { seq, at: now.at, kind, body: event.to_json() }],
            update: Some(update),
            audit: vec![journalled::audited(&decision, lease.run, seq)],
            ..Batch::new(lease.run, Writer::Supervisor(lease.clone()))
        })
        .await?;
    // The store has it.
    let _no_room = folder.write_state(&state);
    store.lease_release(lease).await
}
