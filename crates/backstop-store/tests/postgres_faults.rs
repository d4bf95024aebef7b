//! A PostgreSQL server that is killed, stopped, made read-only or cut off loses and invents nothing.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use backstop_store::audit::{AuditFilter, NewAuditRow, verify};
use backstop_store::testing::postgres::{self, Database, Server};
use backstop_store::testing::sample;
use backstop_store::{
    Activation, Batch, HaltOrder, Lease, PolicyScope, PostgresStore, ServerUrl, Store, StoreError,
    Writer,
};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_is_killed_under_load_loses_nothing_acknowledged() {
    let Some(server) = Server::start() else { return };
    let database = server.database();
    let store = open(&database).await;
    let load = Load::start(&store).await;
    for _ in 0..3 {
        load.wait_for_more(20).await;
        server.kill();
        server.restart().unwrap();
    }
    load.wait_for_more(20).await;
    load.end_and_check(&open(&database).await).await;
    server.stop();
    let lease = Lease { run: sample::run_id(0), epoch: 1 };
    let batch = sample::events(&lease, [1]);
    let (opened, read, written) =
        tokio::join!(open_error(&database), store.run_fetch(lease.run), store.append(&batch));
    assert!(matches!(opened, StoreError::Open { .. }), "{opened:?}");
    assert!(matches!(read, Err(StoreError::Read(_))), "{read:?}");
    assert!(matches!(written, Err(StoreError::Write(_))), "{written:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_are_cut_under_load_lose_nothing_acknowledged() {
    let Some(server) = postgres::shared() else { return };
    let database = Arc::new(server.database());
    let store = open(&database).await;
    let load = Load::start(&store).await;
    for _ in 0..10 {
        load.wait_for_more(5).await;
        let database = Arc::clone(&database);
        spawn_blocking(move || database.cut_connections()).await.unwrap();
    }
    load.wait_for_more(5).await;
    load.end_and_check(&open(&database).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_people_order_is_done_once_whatever_becomes_of_the_connection() {
    let Some(server) = postgres::shared() else { return };
    let database = Arc::new(server.database());
    let store = open(&database).await;
    let end = Arc::new(AtomicBool::new(false));
    let cutting = spawn_blocking({
        let (database, end) = (Arc::clone(&database), Arc::clone(&end));
        move || {
            while !end.load(Ordering::SeqCst) {
                database.cut_connections();
            }
        }
    });
    for round in 0..ROUNDS {
        let (by, at) = ("ann".to_owned(), Timestamp::from_nanos(1_000 + round));
        let labels = BTreeMap::from([("round".to_owned(), round.to_string())]);
        let order = HaltOrder { number: 0, labels, why: None, by: by.clone(), at };
        store.halt_order(&order).await.unwrap();
        let released = store.halt_release(Some(&order.labels), "bob", at).await.unwrap();
        assert_eq!(released, 1, "the order was given twice, or not at all");
        let scope = PolicyScope::Global;
        store.policy_activate(&Activation { scope, policy_hash: None, by, at }).await.unwrap();
    }
    end.store(true, Ordering::SeqCst);
    cutting.await.unwrap();
    let history = store.policy_history(None, None, 10_000).await.unwrap();
    assert_eq!(history.len(), usize::try_from(ROUNDS).unwrap());
}

const ROUNDS: i64 = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_only_server_is_said_to_be_one() {
    let Some(server) = Server::start() else { return };
    let database = server.database();
    let store = open(&database).await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, [1])).await.unwrap();
    server.set_read_only(true);
    let refused = store.append(&sample::events(&lease, [2])).await;
    assert!(
        matches!(&refused, Err(StoreError::Write(why)) if why.contains("read-only")),
        "{refused:?}"
    );
    let refused = store.audit_append(&[sample::audit_row(1)]).await;
    assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
    let refused = open_error(&database).await;
    assert!(refused.to_string().contains("read-only"), "{refused}");
    assert_eq!(store.event_list(lease.run, 0, 9).await.unwrap().len(), 1);
    server.set_read_only(false);
    store.append(&sample::events(&lease, [2])).await.unwrap();
    assert_eq!(store.event_list(lease.run, 0, 9).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_holders_the_one_that_slept_never_writes_again() {
    let Some(server) = postgres::shared() else { return };
    let database = server.database();
    let (sleeper, heir) = (open(&database).await, open(&database).await);
    let run = with_run(&sleeper).await;
    let mut seq = 0;
    for epoch in 1..=5 {
        let moment = Duration::from_millis(50);
        let slept = sleeper.lease_acquire(run, &sample::holder(1), moment, None).await.unwrap();
        assert_eq!(slept.epoch, epoch * 2 - 1);
        seq += 1;
        sleeper.append(&sample::events(&slept, [seq])).await.unwrap();
        // By the server's clock alone the lease is over.
        let taken = loop {
            match heir.lease_acquire(run, &sample::holder(2), HOUR, None).await {
                Ok(lease) => break lease,
                Err(StoreError::LeaseHeld { .. }) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        };
        // Both at once: only the heir's can be there.
        let batch = sample::events(&slept, [seq + 1]);
        let late = tokio::spawn({
            let sleeper = Arc::clone(&sleeper);
            async move { sleeper.append(&batch).await }
        });
        seq += 1;
        heir.append(&sample::events(&taken, [seq])).await.unwrap();
        let late = late.await.unwrap();
        assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
        heir.lease_release(&taken).await.unwrap();
    }
    assert_eq!(heir.event_list(run, 0, 99).await.unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tables_are_made_once_however_many_open_at_once() {
    let Some(server) = postgres::shared() else { return };
    let database = Arc::new(server.database());
    let mut openers = JoinSet::new();
    for _ in 0..8 {
        let url = ServerUrl::parse(&database.url()).unwrap();
        openers.spawn(async move { PostgresStore::open(&url).await.map(drop) });
    }
    for opened in openers.join_all().await {
        opened.unwrap();
    }
    let alone = server.database();
    open(&alone).await;
    let version = "SELECT count(*), max(version) FROM backstop_schema";
    assert_eq!(database.query(version).unwrap(), alone.query(version).unwrap());
    database.query("UPDATE backstop_schema SET version = 99").unwrap();
    let newer = open_error(&database).await;
    assert!(matches!(newer, StoreError::Newer { found: 99, .. }), "{newer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_left_on_a_connection() {
    let Some(server) = postgres::shared() else { return };
    let database = server.database();
    let store = open(&database).await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, [1])).await.unwrap();
    store.append(&sample::events(&lease, [7])).await.unwrap_err();
    store.audit_append(&[sample::audit_row(1)]).await.unwrap();
    // Somebody who has lost patience, in the middle of it.
    let batch = sample::events(&lease, [2]);
    let impatient = store.append(&batch);
    tokio::time::timeout(Duration::from_micros(300), impatient).await.ok();
    store.event_list(lease.run, 0, 10).await.unwrap();
    let left = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND state LIKE 'idle in transaction%'";
    while database.query(left).unwrap().trim() != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    while database.query(locks).unwrap().trim() != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Appends to a journal and to the audit until it is told to end, and remembers what was
/// acknowledged.
struct Load {
    end: Arc<AtomicBool>,
    store: Arc<dyn Store>,
    journal: JoinHandle<u64>,
    audit: JoinHandle<BTreeSet<String>>,
}

impl Load {
    async fn start(store: &Arc<dyn Store>) -> Self {
        let lease = with_lease(store).await;
        let end = Arc::new(AtomicBool::new(false));
        Self {
            journal: tokio::spawn(journal(Arc::clone(store), lease, Arc::clone(&end))),
            audit: tokio::spawn(audit(Arc::clone(store), Arc::clone(&end))),
            store: Arc::clone(store),
            end,
        }
    }

    /// Waits until that many more events are in the journal.
    async fn wait_for_more(&self, events: u64) {
        let count = async || {
            let listed = self.store.event_list(sample::run_id(0), 0, u32::MAX).await;
            listed.map_or(0, |events| events.len() as u64)
        };
        let start = count().await;
        while count().await < start + events {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end_and_check(self, store: &Arc<dyn Store>) {
        self.end.store(true, Ordering::SeqCst);
        let (acknowledged, requests) = (self.journal.await.unwrap(), self.audit.await.unwrap());
        let events = store.event_list(sample::run_id(0), 0, u32::MAX).await.unwrap();
        assert_eq!(events.len() as u64, acknowledged, "lost or invented");
        for (event, seq) in events.iter().zip(1..) {
            assert_eq!((event.seq, &event.body), (seq, &sample::event(seq).body));
        }
        let verified = verify(&**store, None, |_| {}).await.unwrap();
        assert_eq!(verified.finding, None);
        let filter = AuditFilter { limit: u32::MAX, ..AuditFilter::default() };
        let rows = store.audit_list(&filter).await.unwrap();
        let kept: Vec<_> = rows.iter().map(|row| row.row.request_id.clone()).collect();
        let distinct: BTreeSet<_> = kept.iter().cloned().collect();
        assert_eq!(distinct.len(), kept.len(), "a row is there twice");
        assert!(requests.is_subset(&distinct), "a row is lost");
    }
}

/// What could not be written is tried again: that it is not there twice is the store's to see.
async fn journal(store: Arc<dyn Store>, lease: Lease, end: Arc<AtomicBool>) -> u64 {
    let mut acknowledged = 0;
    while !end.load(Ordering::SeqCst) {
        let next = acknowledged + 1;
        let batch = Batch {
            events: vec![sample::event(next)],
            audit: next.is_multiple_of(5).then(|| sample::audit_row(next)).into_iter().collect(),
            ..Batch::new(lease.run, Writer::Supervisor(lease.clone()))
        };
        match store.append(&batch).await {
            Ok(()) => acknowledged = next,
            Err(StoreError::Write(_)) => {
                // A failure is final for a journal; here a reader finds out what became of it.
                let listed = loop {
                    match store.event_list(lease.run, 0, u32::MAX).await {
                        Ok(events) => break events.len() as u64,
                        Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                    }
                };
                assert!(listed == acknowledged || listed == next, "{listed} of {next}");
                acknowledged = listed;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    acknowledged
}

async fn audit(store: Arc<dyn Store>, end: Arc<AtomicBool>) -> BTreeSet<String> {
    let mut acknowledged = BTreeSet::new();
    let mut n = 0;
    while !end.load(Ordering::SeqCst) {
        n += 1;
        let request_id = format!("own-{n}");
        let row = NewAuditRow { request_id: request_id.clone(), ..sample::audit_row(n) };
        match store.audit_append(&[row]).await {
            Ok(_) => {
                acknowledged.insert(request_id);
            }
            Err(StoreError::Write(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    acknowledged
}

async fn open(database: &Database<'_>) -> Arc<dyn Store> {
    let url = ServerUrl::parse(&database.url()).unwrap();
    Arc::new(PostgresStore::open(&url).await.unwrap())
}

async fn open_error(database: &Database<'_>) -> StoreError {
    let url = ServerUrl::parse(&database.url()).unwrap();
    PostgresStore::open(&url).await.unwrap_err()
}

async fn with_run(store: &Arc<dyn Store>) -> RunId {
    store.policy_put(&sample::policy()).await.unwrap();
    let run = sample::run(0);
    store.run_create(&run).await.unwrap();
    run.id
}

async fn with_lease(store: &Arc<dyn Store>) -> Lease {
    let run = with_run(store).await;
    store.lease_acquire(run, &sample::holder(1), HOUR, None).await.unwrap()
}

const HOUR: Duration = Duration::from_secs(3_600);
