//! The writer of a supervised run: order, group commits, acknowledgement, failure.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backstop_core::state::RunStatus;
use backstop_store::testing::{FailingStore, Failure, FailureKind, sample};
use backstop_store::{Entry, Home, Journal, Lease, NewEvent, SqliteStore, Store, StoreError};
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;
use tokio::task::JoinSet;

#[tokio::test]
async fn everything_is_kept_in_order() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    journal.append(Entry {
        decisions: vec![sample::decision(1)],
        snapshot: Some(sample::snapshot(1)),
        update: Some(sample::update(RunStatus::Paused)),
        ..events([1])
    });
    journal.append(events([2, 3]));
    journal.append(Entry {
        decisions: vec![sample::decision(4)],
        snapshot: Some(sample::snapshot(4)),
        update: Some(sample::update(RunStatus::Stopped)),
        ..events([4])
    });
    journal.flush().await.unwrap();
    assert_eq!(bed.seqs().await, [1, 2, 3, 4]);
    let run = bed.lease.run;
    assert_eq!(
        bed.store.decision_list(run).await.unwrap(),
        [sample::decision(1), sample::decision(4)]
    );
    assert_eq!(bed.store.snapshot_fetch(run).await.unwrap(), Some(sample::snapshot(4)));
    assert_eq!(bed.store.run_fetch(run).await.unwrap().unwrap().status, RunStatus::Stopped);
}

#[tokio::test]
async fn what_comes_together_is_one_commit() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    for seq in 1..=500 {
        journal.append(events([seq]));
    }
    journal.durable(500).await.unwrap();
    assert_eq!(journal.commits(), 1);
    journal.flush().await.unwrap();
    journal.durable(17).await.unwrap();
    assert_eq!(journal.commits(), 1, "there was nothing left to write");
    assert_eq!(bed.seqs().await.len(), 500);
}

#[tokio::test]
async fn nobody_has_to_wait_for_an_event_to_be_kept() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    journal.append(events([1]));
    bed.until_kept(1).await;
    // The writer is still there afterwards.
    journal.append(events([2]));
    bed.until_kept(2).await;
}

#[tokio::test]
async fn what_was_handed_over_last_is_kept_when_the_journal_goes() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    let other = journal.clone();
    journal.append(events([1]));
    drop(journal);
    other.append(events([2]));
    drop(other);
    bed.until_kept(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acknowledged_is_on_disk_for_each_of_many() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    let next = Arc::new(Mutex::new(0));
    let mut reporters = JoinSet::new();
    for _ in 0..16 {
        let (journal, next, run) = (journal.clone(), Arc::clone(&next), bed.lease.run);
        let reader = bed.open().await;
        reporters.spawn(async move {
            for _ in 0..25 {
                let seq = {
                    let mut next = next.lock().unwrap();
                    *next += 1;
                    journal.append(events([*next]));
                    *next
                };
                journal.durable(seq).await.unwrap();
                let found = reader.event_list(run, seq - 1, 1).await.unwrap();
                assert_eq!(found.len(), 1, "event {seq} was acknowledged");
            }
        });
    }
    reporters.join_all().await;
    assert_eq!(bed.seqs().await, (1..=400).collect::<Vec<_>>());
    assert!(journal.commits() < 400, "{} commits", journal.commits());
}

#[tokio::test]
async fn who_comes_while_the_disk_is_busy_shares_the_next_commit() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    let url = format!("sqlite://{}", bed.directory.path().join("backstop.db").display());
    let mut busy = SqliteConnection::connect(&url).await.unwrap();
    busy.execute("BEGIN IMMEDIATE").await.unwrap();
    let mut reporters = JoinSet::new();
    for seq in 1..=64 {
        journal.append(events([seq]));
        let journal = journal.clone();
        reporters.spawn(async move { journal.durable(seq).await });
        tokio::task::yield_now().await;
    }
    busy.execute("ROLLBACK").await.unwrap();
    for told in reporters.join_all().await {
        told.unwrap();
    }
    assert_eq!(bed.seqs().await.len(), 64);
    // What the writer had begun with, and all the others.
    assert!(journal.commits() <= 2, "{} commits", journal.commits());
}

#[tokio::test]
async fn an_event_that_is_yet_to_come_is_waited_for() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    let waiter = tokio::spawn({
        let journal = journal.clone();
        async move { journal.durable(2).await }
    });
    journal.append(events([1]));
    journal.durable(1).await.unwrap();
    assert!(!waiter.is_finished());
    journal.append(events([2]));
    waiter.await.unwrap().unwrap();
    assert_eq!(bed.seqs().await, [1, 2]);
}

#[tokio::test]
async fn who_gives_up_waiting_disturbs_nobody() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    for seq in 1..=50 {
        journal.append(events([seq]));
        // Dropped when it has asked, long before there can be an answer.
        let impatient = tokio::time::timeout(Duration::ZERO, journal.durable(seq)).await;
        assert!(impatient.is_err() || bed.seqs().await.contains(&seq));
    }
    journal.flush().await.unwrap();
    assert_eq!(bed.seqs().await, (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_first_failure_is_the_last_word() {
    for kind in FailureKind::ALL {
        let bed = Bed::new().await;
        // Only the second append fails, so nothing but the journal itself keeps the third away.
        let failure = Failure { call: 2, kind, lasting: false };
        let failing = Arc::new(FailingStore::new(Arc::clone(&bed.store), Some(failure)));
        let journal = Journal::start(Arc::clone(&failing) as Arc<dyn Store>, bed.lease.clone());
        journal.append(events([1]));
        journal.flush().await.unwrap();
        assert!(journal.failure().is_none());
        let watcher = tokio::spawn({
            let journal = journal.clone();
            async move { journal.failed().await }
        });
        journal.append(events([2]));
        let error = journal.durable(2).await.unwrap_err();
        journal.append(events([3]));
        assert_eq!(journal.flush().await.unwrap_err().to_string(), error.to_string());
        journal.durable(1).await.expect("what is on disk stays there");
        assert_eq!(watcher.await.unwrap().to_string(), error.to_string());
        assert!(journal.failure().is_some());
        journal.room().await;
        assert_eq!((failing.calls(), journal.commits()), (2, 1));
        assert_eq!(bed.seqs().await, [1]);
    }
}

#[tokio::test]
async fn a_journal_whose_lease_was_taken_fails() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    journal.append(events([1]));
    journal.flush().await.unwrap();
    let hour = Duration::from_secs(3_600);
    let epoch = Some(bed.lease.epoch);
    bed.store.lease_acquire(bed.lease.run, &sample::holder(2), hour, epoch).await.unwrap();
    journal.append(events([2]));
    let error = journal.flush().await.unwrap_err();
    assert!(matches!(*error, StoreError::Fenced { .. }), "{error:?}");
    assert_eq!(bed.seqs().await, [1]);
}

#[tokio::test]
async fn who_asks_for_room_never_runs_far_ahead() {
    let bed = Bed::new().await;
    let journal = bed.journal();
    let large =
        |seq| NewEvent { body: format!("\"{}\"", "x".repeat(1 << 20)), ..sample::event(seq) };
    for seq in 1..=40 {
        journal.room().await;
        journal.append(Entry { events: vec![large(seq)], ..Entry::default() });
    }
    // 40 MiB were handed over: most of it must have gone to disk for the last to have had room.
    assert!(bed.seqs().await.len() >= 25, "{:?}", bed.seqs().await);
    journal.flush().await.unwrap();
    assert_eq!(bed.seqs().await, (1..=40).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_writer_that_is_ended_leaves_nobody_waiting() {
    let bed = Bed::new().await;
    let other = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let journal = {
        let _inside = other.enter();
        bed.journal()
    };
    let waiter = tokio::spawn({
        let journal = journal.clone();
        async move { journal.durable(7).await }
    });
    tokio::task::yield_now().await;
    other.shutdown_background();
    let error = waiter.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("writer has ended"), "{error}");
    assert!(journal.flush().await.is_err());
}

/// A store with a run whose lease we hold.
struct Bed {
    directory: TempDir,
    store: Arc<dyn Store>,
    lease: Lease,
}

impl Bed {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&Home::new(directory.path())).await.unwrap());
        store.policy_put(&sample::policy()).await.unwrap();
        let run = sample::run(0);
        store.run_create(&run).await.unwrap();
        let hour = Duration::from_secs(3_600);
        let lease = store.lease_acquire(run.id, &sample::holder(1), hour, None).await.unwrap();
        Self { directory, store, lease }
    }

    async fn open(&self) -> SqliteStore {
        SqliteStore::open(&Home::new(self.directory.path())).await.unwrap()
    }

    fn journal(&self) -> Journal {
        Journal::start(Arc::clone(&self.store), self.lease.clone())
    }

    async fn seqs(&self) -> Vec<u64> {
        let events = self.store.event_list(self.lease.run, 0, u32::MAX).await.unwrap();
        events.iter().map(|event| event.seq).collect()
    }

    async fn until_kept(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.seqs().await.len() < count {
            assert!(Instant::now() < deadline, "nothing was kept");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn events(seqs: impl IntoIterator<Item = u64>) -> Entry {
    Entry { events: seqs.into_iter().map(sample::event).collect(), ..Entry::default() }
}
