//! The embedded engine passes the suite of all engines.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::Arc;

use backstop_store::{Home, SqliteStore, Store, conformance_cases};

conformance_cases!(fresh());

/// Opens one database, which goes when the opener does.
fn fresh() -> impl AsyncFn() -> Arc<dyn Store> {
    let directory = tempfile::tempdir().unwrap();
    async move || {
        let store = SqliteStore::open(&Home::new(directory.path())).await.unwrap();
        Arc::new(store) as Arc<dyn Store>
    }
}
