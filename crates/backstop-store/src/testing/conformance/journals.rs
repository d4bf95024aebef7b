//! Cases: what the holder of a lease writes, and how it is read.

use std::sync::Arc;

use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;

use super::{HOUR, seqs, with_lease, with_run};
use crate::record::{Batch, NewEvent, Run, StoredEvent};
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn a_journal_reads_back_in_order_and_in_pages(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, 1..=3)).await.unwrap();
    store.append(&sample::events(&lease, 4..=300)).await.unwrap();
    let expected: Vec<_> = (1..=300)
        .map(sample::event)
        .map(|event| StoredEvent { seq: event.seq, body: event.body })
        .collect();
    assert_eq!(store.event_list(lease.run, 0, u32::MAX).await.unwrap(), expected);
    assert_eq!(store.event_list(lease.run, 2, 3).await.unwrap(), expected[2..5]);
    assert_eq!(store.event_list(lease.run, 298, 10).await.unwrap(), expected[298..]);
    assert_eq!(store.event_list(lease.run, 300, 10).await.unwrap(), []);
    assert_eq!(store.event_list(lease.run, u64::MAX, 10).await.unwrap(), []);
    assert_eq!(store.event_list(lease.run, 0, 0).await.unwrap(), []);
}

pub async fn an_event_that_does_not_follow_is_refused(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    for (wrong, right) in [([2, 3], [1, 2]), ([2, 3], [3, 4]), ([5, 7], [5, 6]), ([6, 5], [7, 8])] {
        let refused = store.append(&sample::events(&lease, wrong)).await;
        assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
        store.append(&sample::events(&lease, right)).await.unwrap();
    }
    assert_eq!(seqs(&store, lease.run).await, (1..=8).collect::<Vec<_>>());
}

pub async fn journals_of_other_runs_stay_apart(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let one = with_lease(&store).await;
    let other = with_run(&store, 1).await;
    let other = store.lease_acquire(other.id, &sample::holder(2), HOUR, None).await.unwrap();
    store.append(&sample::events(&one, [1, 2])).await.unwrap();
    store.append(&sample::events(&other, [1])).await.unwrap();
    store.append(&sample::events(&one, [3])).await.unwrap();
    assert_eq!(seqs(&store, one.run).await, [1, 2, 3]);
    assert_eq!(seqs(&store, other.run).await, [1]);
}

pub async fn a_batch_is_written_whole(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let large = NewEvent {
        body: format!("{{\"note\":\"{}\"}}", "ü\\n".repeat(50_000)),
        ..sample::event(3)
    };
    let batch = Batch {
        events: vec![sample::event(1), sample::event(2), large.clone()],
        decisions: vec![sample::decision(1), sample::decision(2)],
        snapshot: Some(sample::snapshot(2)),
        update: Some(sample::update(RunStatus::Stopped)),
        ..sample::events(&lease, [])
    };
    store.append(&batch).await.unwrap();
    let events = store.event_list(lease.run, 0, 10).await.unwrap();
    let bodies: Vec<_> = events.iter().map(|event| &event.body).collect();
    assert_eq!(bodies, [&sample::event(1).body, &sample::event(2).body, &large.body]);
    assert_eq!(store.decision_list(lease.run).await.unwrap(), batch.decisions);
    assert_eq!(store.snapshot_fetch(lease.run).await.unwrap(), batch.snapshot);
    let update = sample::update(RunStatus::Stopped);
    let expected =
        Run { status: update.status, state: update.state, updated_at: update.at, ..sample::run(0) };
    assert_eq!(store.run_fetch(lease.run).await.unwrap(), Some(expected));
}

pub async fn a_batch_is_all_or_nothing(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let first = Batch { decisions: vec![sample::decision(2)], ..sample::events(&lease, [1, 2]) };
    store.append(&first).await.unwrap();
    let batch = Batch {
        events: vec![sample::event(3)],
        // The last one is there already.
        decisions: vec![sample::decision(3), sample::decision(2)],
        snapshot: Some(sample::snapshot(3)),
        update: Some(sample::update(RunStatus::Stopped)),
        ..sample::events(&lease, [])
    };
    let refused = store.append(&batch).await;
    assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
    assert_eq!(seqs(&store, lease.run).await, [1, 2]);
    assert_eq!(store.decision_list(lease.run).await.unwrap(), first.decisions);
    assert_eq!(store.snapshot_fetch(lease.run).await.unwrap(), None);
    assert_eq!(store.run_fetch(lease.run).await.unwrap(), Some(sample::run(0)));
    store.append(&sample::events(&lease, [3])).await.unwrap();
}

pub async fn a_snapshot_replaces_the_one_before(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    for seq in [1, 2] {
        let batch =
            Batch { snapshot: Some(sample::snapshot(seq)), ..sample::events(&lease, [seq]) };
        store.append(&batch).await.unwrap();
    }
    store.append(&sample::events(&lease, [3])).await.unwrap();
    assert_eq!(store.snapshot_fetch(lease.run).await.unwrap(), Some(sample::snapshot(2)));
}

pub async fn another_handle_sees_what_was_acknowledged(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let lease = with_lease(&store).await;
    for seq in 1..=20 {
        store.append(&sample::events(&lease, [seq])).await.unwrap();
        assert_eq!(seqs(&other, lease.run).await.len() as u64, seq);
    }
    drop(store);
    let third = open().await;
    assert_eq!(seqs(&third, lease.run).await, (1..=20).collect::<Vec<_>>());
}

pub async fn old_journals_are_pruned_and_runs_stay(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    store.policy_put(&sample::policy()).await.unwrap();
    let later = Timestamp::from_nanos(sample::TIME.as_nanos() + 1_000);
    // Old and ended; ended just now; old and running; old and ended, but held by somebody.
    let runs = [
        Run { status: RunStatus::Stopped, updated_at: sample::TIME, ..sample::run(0) },
        Run { status: RunStatus::Completed, updated_at: later, ..sample::run(1) },
        Run { status: RunStatus::Running, updated_at: sample::TIME, ..sample::run(2) },
        Run { status: RunStatus::Held, updated_at: sample::TIME, ..sample::run(3) },
    ];
    for (n, run) in runs.iter().enumerate() {
        store.run_create(run).await.unwrap();
        let lease = store.lease_acquire(run.id, &sample::holder(1), HOUR, None).await.unwrap();
        let batch = Batch {
            decisions: vec![sample::decision(1)],
            snapshot: Some(sample::snapshot(1)),
            ..sample::events(&lease, [1, 2])
        };
        store.append(&batch).await.unwrap();
        if n != 3 {
            store.lease_release(&lease).await.unwrap();
        }
    }
    assert_eq!(store.run_prune(later).await.unwrap(), [runs[0].id]);
    assert_eq!(store.run_prune(later).await.unwrap(), [], "a second time there is nothing left");
    assert_eq!(seqs(&store, runs[0].id).await, [0; 0]);
    assert_eq!(store.snapshot_fetch(runs[0].id).await.unwrap(), None);
    let pruned = Run { pruned: true, ..runs[0].clone() };
    assert_eq!(store.run_fetch(runs[0].id).await.unwrap(), Some(pruned));
    assert_eq!(store.decision_list(runs[0].id).await.unwrap(), [sample::decision(1)]);
    for run in &runs[1..] {
        assert_eq!(seqs(&store, run.id).await, [1, 2]);
        assert_eq!(store.run_fetch(run.id).await.unwrap().as_ref(), Some(run));
    }
}

pub async fn health_counts_and_finds_nothing(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, 1..=10)).await.unwrap();
    let health = store.health().await.unwrap();
    assert_eq!(health.problems, [] as [String; 0]);
    assert_eq!((health.runs, health.events), (1, 10));
    assert!(health.bytes > 0 && health.schema > 0, "{health:?}");
}
