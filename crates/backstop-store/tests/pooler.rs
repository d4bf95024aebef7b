//! The PostgreSQL store through a pooler that lends connections by transaction: it does all that it
//! does without one, and nobody disturbs the others.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backstop_store::testing::pooler::{Pooler, Unknown};
use backstop_store::testing::postgres::{self, Database};
use backstop_store::testing::sample;
use backstop_store::{Lease, PostgresStore, ServerUrl, Store, conformance_cases};
use tokio::task::JoinSet;

conformance_cases!(match fresh() {
    Some(open) => open,
    None => return,
});

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_waits_disturbs_nobody_else() {
    for unknown in [Unknown::Refused, Unknown::Dropped] {
        let Some((database, pooler)) = beginning(unknown) else { return };
        let store = open(&database, pooler).await;
        store.policy_put(&sample::policy()).await.unwrap();
        let mut work = JoinSet::new();
        for n in 0..4 {
            let store = open(&database, pooler).await;
            store.run_create(&sample::run(n)).await.unwrap();
            let run = sample::run_id(n);
            let lease = store.lease_acquire(run, &sample::holder(n), HOUR, None).await.unwrap();
            work.spawn(follow(Arc::clone(&store), lease.clone()));
            work.spawn(write(store, lease));
        }
        // A failure of any of them ends the test.
        while let Some(done) = work.join_next().await {
            done.unwrap();
        }
        // Announcements come as packets of this name, to whoever has the session that listens.
        let log = pooler.log().unwrap();
        assert!(!log.contains("packet 'A'"), "somebody listens: {log}");
    }
}

/// Waits for each event, as a supervisor and a stream of events do.
async fn follow(store: Arc<dyn Store>, lease: Lease) {
    let mut seen = 0;
    while seen < EVENTS {
        store.changed(lease.run, seen, Duration::from_secs(1)).await.unwrap();
        seen += store.event_list(lease.run, seen, 100).await.unwrap().len() as u64;
        for message in store.inbox_list(&lease).await.unwrap() {
            store.inbox_answer(message.number, "done").await.unwrap();
        }
    }
}

/// Everything that tells those who wait.
async fn write(store: Arc<dyn Store>, lease: Lease) {
    for seq in 1..=EVENTS {
        store.inbox_post(lease.run, None, "pause").await.unwrap();
        store.append(&sample::events(&lease, [seq])).await.unwrap();
        store.lease_renew(&lease, HOUR).await.unwrap();
    }
}

/// Opens one database through the pooler; none where there is no server, or none before it.
fn fresh() -> Option<impl AsyncFn() -> Arc<dyn Store>> {
    let (database, pooler) = beginning(Unknown::Dropped)?;
    Some(async move || open(&database, pooler).await)
}

fn beginning(unknown: Unknown) -> Option<(Database<'static>, &'static Pooler)> {
    static REFUSING: OnceLock<Option<Pooler>> = OnceLock::new();
    static DROPPING: OnceLock<Option<Pooler>> = OnceLock::new();
    let server = postgres::shared()?;
    let pooler = if unknown == Unknown::Refused { &REFUSING } else { &DROPPING };
    let pooler = pooler.get_or_init(|| Pooler::start(server, unknown)).as_ref()?;
    Some((server.database(), pooler))
}

async fn open(database: &Database<'_>, pooler: &Pooler) -> Arc<dyn Store> {
    let url = ServerUrl::parse(&pooler.url(database)).unwrap();
    Arc::new(PostgresStore::open(&url).await.unwrap())
}

const EVENTS: u64 = 40;
const HOUR: Duration = Duration::from_secs(3_600);
