//! Reports to runs that nobody supervises, from callers who take all threads of their runtime.

use std::sync::Arc;
use std::time::Duration;

use backstop_store::testing::sample;
use backstop_store::{Batch, Home, Lease, SqliteStore, Store, Unsupervised, Writer};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

#[test]
fn reports_are_taken_in_while_every_thread_of_the_runtime_waits_for_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(1).max_blocking_threads(2).enable_all();
    let runtime = runtime.build().unwrap();
    let store = runtime.block_on(async {
        let store = SqliteStore::open(&Home::new(directory.path())).await.unwrap();
        store.policy_put(&sample::policy()).await.unwrap();
        store.run_create(&sample::run(0)).await.unwrap();
        Arc::new(store)
    });
    let mut reports = JoinSet::new();
    for _ in 0..REPORTS {
        let (store, handle) = (Arc::clone(&store), runtime.handle().clone());
        let append = async move {
            store
                .append_unsupervised(sample::run_id(0), Box::new(|given| next(&given)))
                .await
                .unwrap();
        };
        reports.spawn_blocking_on(move || handle.block_on(append), runtime.handle());
    }
    let all = async { tokio::time::timeout(LONG, reports.join_all()).await };
    let taken = runtime.block_on(all);
    let kept = taken.map(|_| runtime.block_on(store.event_list(sample::run_id(0), 0, 99)));
    // Threads that wait for ever must not keep the test.
    runtime.shutdown_background();
    assert_eq!(kept.unwrap().unwrap().len(), REPORTS);
}

/// The log is moved into the database when it has grown, whoever's report it was.
#[tokio::test]
async fn reports_go_on_when_the_log_has_grown() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&Home::new(directory.path())).await.unwrap();
    store.policy_put(&sample::policy()).await.unwrap();
    for number in 0..RUNS {
        store.run_create(&sample::run(number)).await.unwrap();
    }
    for _ in 0..REPORTS_TO_EACH {
        for number in 0..RUNS {
            let run = sample::run_id(number);
            store.append_unsupervised(run, Box::new(|given| next(&given))).await.unwrap();
        }
    }
    let kept = store.event_list(sample::run_id(RUNS - 1), 0, 999).await.unwrap();
    assert_eq!(kept.len(), REPORTS_TO_EACH);
}

fn next(given: &Unsupervised) -> Batch {
    let nobody = Lease { run: given.run.id, epoch: 0 };
    let seq = given.events.last().map_or(0, |event| event.seq) + 1;
    Batch { writer: Writer::Unsupervised, ..sample::events(&nobody, [seq]) }
}

const REPORTS: usize = 8;
/// So many reports in all that the log is moved once, by what is reckoned for each.
const RUNS: u32 = 10;
const REPORTS_TO_EACH: usize = 100;
const LONG: Duration = Duration::from_secs(20);
