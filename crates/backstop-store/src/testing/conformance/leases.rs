//! Cases: who may write.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{HOUR, seqs, with_lease, with_run};
use crate::lease::Lease;
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn epochs_count_up(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = with_run(&store, 0).await.id;
    for epoch in 1..=3 {
        let lease = store.lease_acquire(run, &sample::holder(9), HOUR, None).await.unwrap();
        assert_eq!(lease, Lease { run, epoch });
        let record = store.lease_fetch(run).await.unwrap().unwrap();
        assert_eq!((record.lease.clone(), record.released), (lease.clone(), false));
        assert_eq!(record.holder, sample::holder(9));
        store.lease_release(&lease).await.unwrap();
        assert!(store.lease_fetch(run).await.unwrap().unwrap().released);
    }
}

pub async fn a_held_lease_is_refused_with_its_holder(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let record = store.lease_fetch(lease.run).await.unwrap().unwrap();
    let refused = store.lease_acquire(lease.run, &sample::holder(2), HOUR, None).await.unwrap_err();
    match &refused {
        StoreError::LeaseHeld { run, epoch, expires_at, holder } => {
            assert_eq!((*run, *epoch), (lease.run, 1));
            // The clocks of an engine and of who asks may differ, but not by half of an hour here.
            let (one, other) = (*expires_at, record.expires_at);
            assert!(one.since(other).max(other.since(one)) < HOUR / 2, "{one} {other}");
            assert!(holder.contains('1') && holder.contains("here"), "{holder}");
        }
        other => panic!("{other:?}"),
    }
    let after = store.lease_fetch(lease.run).await.unwrap().unwrap();
    assert_eq!((after.lease, after.holder), (record.lease, record.holder));
}

pub async fn a_dead_holder_can_be_named(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let taken = store.lease_acquire(lease.run, &sample::holder(2), HOUR, Some(lease.epoch)).await;
    assert_eq!(taken.unwrap().epoch, 2);
    // Who knew only the first holder to be dead does not know the second one to be.
    let refused = store.lease_acquire(lease.run, &sample::holder(3), HOUR, Some(lease.epoch)).await;
    assert!(matches!(refused, Err(StoreError::LeaseHeld { epoch: 2, .. })), "{refused:?}");
}

pub async fn an_expired_lease_can_be_taken(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = with_run(&store, 0).await.id;
    let first = store.lease_acquire(run, &sample::holder(1), Duration::ZERO, None).await.unwrap();
    // As long as nobody takes it, its holder may prolong it.
    store.lease_renew(&first, HOUR).await.unwrap();
    let refused = store.lease_acquire(run, &sample::holder(2), HOUR, None).await;
    assert!(matches!(refused, Err(StoreError::LeaseHeld { .. })), "{refused:?}");
    store.lease_renew(&first, Duration::ZERO).await.unwrap();
    let second = store.lease_acquire(run, &sample::holder(2), HOUR, None).await.unwrap();
    assert_eq!(second.epoch, 2);
    let late = store.lease_renew(&first, HOUR).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
}

pub async fn a_lease_of_no_run_is_refused(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = sample::run_id(0);
    let refused = store.lease_acquire(run, &sample::holder(1), HOUR, None).await;
    assert!(matches!(refused, Err(StoreError::NoRun(named)) if named == run), "{refused:?}");
    let lease = Lease { run, epoch: 1 };
    let refused = store.append(&sample::events(&lease, [1])).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
}

pub async fn of_many_contenders_one_wins(open: impl AsyncFn() -> Arc<dyn Store>) {
    let mut stores = Vec::new();
    for _ in 0..CONTENDERS {
        stores.push(open().await);
    }
    let run = with_run(&stores[0], 0).await.id;
    for round in 1..=ROUNDS {
        let mut contenders = JoinSet::new();
        for (pid, store) in stores.iter().enumerate() {
            let store = Arc::clone(store);
            let holder = sample::holder(u32::try_from(pid).unwrap());
            // Half of them believe the last holder to be dead; it has given the lease back anyway.
            let dead = (pid % 2 == 0).then_some(round - 1);
            contenders.spawn(async move { store.lease_acquire(run, &holder, HOUR, dead).await });
        }
        let mut winners = Vec::new();
        for result in contenders.join_all().await {
            match result {
                Ok(lease) => winners.push(lease),
                Err(StoreError::LeaseHeld { epoch, .. }) => assert_eq!(epoch, round),
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(winners, [Lease { run, epoch: round }]);
        stores[0].lease_release(&winners[0]).await.unwrap();
    }
}

pub async fn a_holder_that_was_replaced_can_write_no_more(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let mut holder = with_lease(&store).await;
    let mut seq = 0;
    for _ in 0..ROUNDS {
        seq += 1;
        store.append(&sample::events(&holder, [seq])).await.unwrap();
        let (dead, heir) = (Some(holder.epoch), sample::holder(2));
        let next = other.lease_acquire(holder.run, &heir, HOUR, dead).await.unwrap();
        // At once, and also after the new one has written.
        for _ in 0..2 {
            let late = store.append(&sample::events(&holder, [seq + 1])).await;
            assert!(
                matches!(late, Err(StoreError::Fenced { run }) if run == holder.run),
                "{late:?}"
            );
            seq += 1;
            other.append(&sample::events(&next, [seq])).await.unwrap();
        }
        let late = store.lease_renew(&holder, HOUR).await;
        assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
        holder = next;
    }
    assert_eq!(seqs(&store, holder.run).await, (1..=seq).collect::<Vec<_>>());
}

pub async fn a_released_lease_writes_nothing(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, [1])).await.unwrap();
    store.lease_release(&lease).await.unwrap();
    let late = store.append(&sample::events(&lease, [2])).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    let late = store.lease_renew(&lease, HOUR).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(seqs(&store, lease.run).await, [1]);
}

pub async fn a_later_holder_is_not_released_by_an_earlier_one(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let store = open().await;
    let first = with_lease(&store).await;
    let second = store.lease_acquire(first.run, &sample::holder(2), HOUR, Some(1)).await.unwrap();
    store.lease_release(&first).await.unwrap();
    store.append(&sample::events(&second, [1])).await.unwrap();
    assert!(!store.lease_fetch(first.run).await.unwrap().unwrap().released);
}

const CONTENDERS: usize = 8;
const ROUNDS: u64 = 50;
