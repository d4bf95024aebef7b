//! The engine for many machines passes the suite of all engines.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::Arc;

use backstop_store::testing::postgres;
use backstop_store::{PostgresStore, ServerUrl, Store, conformance_cases};

conformance_cases!(match fresh() {
    Some(open) => open,
    None => return,
});

/// Opens one database, which goes when the opener does; none where there is no server.
fn fresh() -> Option<impl AsyncFn() -> Arc<dyn Store>> {
    let database = postgres::shared()?.database();
    Some(async move || {
        let url = ServerUrl::parse(&database.url()).unwrap();
        Arc::new(PostgresStore::open(&url).await.unwrap()) as Arc<dyn Store>
    })
}
