//! Cases: runs that nobody supervises.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use tokio::task::JoinSet;

use super::{HOUR, seqs, with_lease, with_run};
use crate::lease::Lease;
use crate::record::{Batch, Unsupervised, Writer};
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn an_unsupervised_append_sees_snapshot_and_later_events(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let store = open().await;
    let run = with_run(&store, 0).await;
    let lease = store.lease_acquire(run.id, &sample::holder(1), HOUR, None).await.unwrap();
    let batch = Batch { snapshot: Some(sample::snapshot(2)), ..sample::events(&lease, [1, 2]) };
    store.append(&batch).await.unwrap();
    store.append(&sample::events(&lease, [3, 4])).await.unwrap();
    store.lease_release(&lease).await.unwrap();
    let (sender, seen) = mpsc::channel();
    let decide = move |given: Unsupervised| {
        let batch = Batch {
            decisions: vec![sample::decision(5)],
            snapshot: Some(sample::snapshot(5)),
            update: Some(sample::update(RunStatus::Completed)),
            ..unsupervised(given.run.id, [5])
        };
        sender.send(given).unwrap();
        batch
    };
    store.append_unsupervised(run.id, Box::new(decide)).await.unwrap();
    let given = seen.recv().unwrap();
    assert_eq!((given.run, given.policy), (run.clone(), sample::policy()));
    assert_eq!(given.snapshot, Some(sample::snapshot(2)));
    let later: Vec<_> = given.events.iter().map(|event| event.seq).collect();
    assert_eq!(later, [3, 4]);
    assert_eq!(seqs(&store, run.id).await, [1, 2, 3, 4, 5]);
    assert_eq!(store.snapshot_fetch(run.id).await.unwrap(), Some(sample::snapshot(5)));
    assert_eq!(store.decision_list(run.id).await.unwrap(), [sample::decision(5)]);
    assert_eq!(store.run_fetch(run.id).await.unwrap().unwrap().status, RunStatus::Completed);
    let nowhere = store
        .append_unsupervised(sample::run_id(7), Box::new(|given| unsupervised(given.run.id, [1])));
    let nowhere = nowhere.await;
    assert!(matches!(nowhere, Err(StoreError::NoRun(_))), "{nowhere:?}");
}

pub async fn an_unsupervised_append_is_refused_while_somebody_supervises(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let refused = append_next(&store, lease.run).await;
    assert!(matches!(refused, Err(StoreError::LeaseHeld { epoch: 1, .. })), "{refused:?}");
    // The journal's holder is not disturbed by it, and the way around is closed.
    store.append(&sample::events(&lease, [1])).await.unwrap();
    let around = store.append(&unsupervised(lease.run, [2])).await;
    assert!(matches!(around, Err(StoreError::Write(_))), "{around:?}");
    assert_eq!(seqs(&store, lease.run).await, [1]);
}

pub async fn an_unsupervised_append_fences_a_holder_that_slept(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let store = open().await;
    let run = with_run(&store, 0).await.id;
    let lease = store.lease_acquire(run, &sample::holder(1), Duration::ZERO, None).await.unwrap();
    append_next(&store, run).await.unwrap();
    let late = store.append(&sample::events(&lease, [2])).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(
        store.lease_acquire(run, &sample::holder(1), HOUR, None).await.unwrap(),
        Lease { run, epoch: 2 }
    );
}

pub async fn unsupervised_appends_of_many_are_never_lost(open: impl AsyncFn() -> Arc<dyn Store>) {
    let run = with_run(&open().await, 0).await.id;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let store = open().await;
        writers.spawn(async move {
            for _ in 0..APPENDS {
                append_next(&store, run).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let expected: Vec<_> = (1..=WRITERS * APPENDS).collect();
    assert_eq!(seqs(&open().await, run).await, expected);
}

/// Reports that come together may share a transaction; what is refused to one, or breaks, is no
/// matter of the others.
pub async fn unsupervised_appends_fail_each_for_itself(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let (run, other) = (with_run(&store, 0).await.id, with_run(&store, 1).await.id);
    let mut reports = JoinSet::new();
    for number in 0..WRITERS {
        let store = Arc::clone(&store);
        reports.spawn(async move {
            let decide = |given: Unsupervised| unsupervised(given.run.id, [100]);
            match number % 4 {
                0 => append_next(&store, run).await.is_ok(),
                1 => append_next(&store, other).await.is_ok(),
                2 => append_next(&store, sample::run_id(7)).await.is_err(),
                // A journal with a gap.
                _ => store.append_unsupervised(run, Box::new(decide)).await.is_err(),
            }
        });
    }
    assert!(reports.join_all().await.into_iter().all(|as_expected| as_expected));
    let expected: Vec<_> = (1..=WRITERS / 4).collect();
    assert_eq!(seqs(&store, run).await, expected);
    assert_eq!(seqs(&store, other).await, expected);
}

/// Appends the event that comes next, as `emit` does.
pub async fn append_next(store: &Arc<dyn Store>, run: RunId) -> Result<(), StoreError> {
    let decide = |given: Unsupervised| {
        let snapshot = given.snapshot.map_or(0, |snapshot| snapshot.seq);
        let next = given.events.last().map_or(snapshot, |event| event.seq) + 1;
        // Only now and then, so that both ways are used.
        let snapshot = next.is_multiple_of(3).then(|| sample::snapshot(next));
        Batch { snapshot, ..unsupervised(given.run.id, [next]) }
    };
    store.append_unsupervised(run, Box::new(decide)).await
}

fn unsupervised(run: RunId, seqs: impl IntoIterator<Item = u64>) -> Batch {
    let nobody = Lease { run, epoch: 0 };
    Batch { writer: Writer::Unsupervised, ..sample::events(&nobody, seqs) }
}

const WRITERS: u64 = 8;
const APPENDS: u64 = 25;
