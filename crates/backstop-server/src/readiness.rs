//! Whether the store can be written: found out by writing.

use std::time::{Duration, Instant};

use backstop_core::time::Timestamp;
use backstop_store::{Store, StoreError};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::problem::Problem;

/// What was found out last. Anybody may ask, as often as they like, so that it is believed for a
/// moment: however many ask, the store has one write to do.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// Held while it is found out, so that who asks meanwhile waits for the same answer.
    last: Mutex<Option<(Instant, Result<(), Problem>)>>,
}

impl Readiness {
    pub(crate) async fn look(&self, store: &dyn Store, now: Timestamp) -> Result<(), Problem> {
        let mut last = self.last.lock().await;
        if let Some((looked, found)) = &*last
            && looked.elapsed() < BELIEVED
        {
            return found.clone();
        }
        let found = match timeout(PATIENCE, write(store, now)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Problem::store(&error)),
            Err(_late) => Err(Problem::busy("the store does not answer")),
        };
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

/// Writes something that leaves nothing behind: a delivery that nobody sends, taken and forgotten.
/// If it was left behind all the same, forgetting it is what writes. The audit is looked at too,
/// without which no decision can be recorded.
async fn write(store: &dyn Store, now: Timestamp) -> Result<(), StoreError> {
    store.delivery_take(NOBODYS_DELIVERY, NOBODYS_DELIVERY, now).await?;
    store.delivery_forget(NOBODYS_DELIVERY).await?;
    store.audit_head().await.map(drop)
}

/// No name that GitHub gives.
const NOBODYS_DELIVERY: &str = "backstop:is-ready";
const BELIEVED: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(5);
