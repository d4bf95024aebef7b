//! What several tests need.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backstop_store::testing::sample;
use backstop_store::{Home, Lease, SqliteStore, Store};

pub async fn open(directory: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(&Home::new(directory)).await.unwrap())
}

/// Creates a run in a store, and takes its lease.
pub async fn with_lease(store: &Arc<dyn Store>) -> Lease {
    store.policy_put(&sample::policy()).await.unwrap();
    let run = sample::run(0);
    store.run_create(&run).await.unwrap();
    store.lease_acquire(run.id, &sample::holder(1), HOUR, None).await.unwrap()
}

/// Checks that a journal is whole: no event missing, none changed. Answers with how many there are.
pub async fn check_journal(store: &Arc<dyn Store>) -> u64 {
    let events = store.event_list(sample::run_id(0), 0, u32::MAX).await.unwrap();
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!((event.seq, &event.body), (seq, &sample::event(seq).body));
    }
    events.len() as u64
}

pub const HOUR: Duration = Duration::from_secs(3_600);
