//! Cases: policies and runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use backstop_core::state::RunStatus;

use super::with_run;
use crate::record::{Run, RunFilter, StoredPolicy};
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn policies_are_kept_by_hash(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let (first, other) = (
        sample::policy(),
        StoredPolicy { hash: "other".to_owned(), label: None, source: None, ..sample::policy() },
    );
    store.policy_put(&first).await.unwrap();
    store.policy_put(&other).await.unwrap();
    // The same hash again is the same policy: who put it first stays known.
    store.policy_put(&StoredPolicy { put_by: "late".to_owned(), ..first.clone() }).await.unwrap();
    assert_eq!(store.policy_fetch(&first.hash).await.unwrap(), Some(first));
    assert_eq!(store.policy_fetch("other").await.unwrap(), Some(other));
}

pub async fn a_run_reads_back_as_it_was_written(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = with_run(&store, 0).await;
    assert_eq!(store.run_fetch(run.id).await.unwrap(), Some(run));
    let unsupervised = Run { supervised: false, status: RunStatus::Held, ..sample::run(1) };
    store.run_create(&unsupervised).await.unwrap();
    assert_eq!(store.run_fetch(unsupervised.id).await.unwrap(), Some(unsupervised));
}

pub async fn a_run_needs_its_policy_and_a_name_of_its_own(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let refused = store.run_create(&sample::run(0)).await;
    assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
    assert_eq!(store.run_fetch(sample::run(0).id).await.unwrap(), None);
    let run = with_run(&store, 0).await;
    let again = store.run_create(&Run { cwd: "/elsewhere".to_owned(), ..run.clone() }).await;
    assert!(matches!(again, Err(StoreError::Write(_))), "{again:?}");
    assert_eq!(store.run_fetch(run.id).await.unwrap(), Some(run));
}

pub async fn runs_are_listed_newest_first(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    for n in [2, 0, 3, 1] {
        with_run(&store, n).await;
    }
    let expected: Vec<_> = [3, 2, 1, 0].map(sample::run).into();
    assert_eq!(store.run_list(&RunFilter::default()).await.unwrap(), expected);
    let two = RunFilter { limit: Some(2), ..RunFilter::default() };
    assert_eq!(store.run_list(&two).await.unwrap(), expected[..2]);
    let next = RunFilter { before: Some(expected[1].id), ..two };
    assert_eq!(store.run_list(&next).await.unwrap(), expected[2..]);
    let none = RunFilter { before: Some(expected[3].id), ..RunFilter::default() };
    assert_eq!(store.run_list(&none).await.unwrap(), []);
}

pub async fn runs_are_found_by_prefix(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let names: Vec<_> =
        [with_run(&store, 0).await, with_run(&store, 1).await].map(|run| run.id).into();
    let differ =
        (1..=13).find(|length| names[0].as_str()[..*length] != names[1].as_str()[..*length]);
    let length = differ.unwrap();
    let found = async |prefix: &str| {
        let filter = RunFilter { prefix: Some(prefix.to_owned()), ..RunFilter::default() };
        let runs = store.run_list(&filter).await.unwrap();
        runs.iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(found(&names[0].as_str()[..length]).await, [names[0]]);
    assert_eq!(found(names[1].as_str()).await, [names[1]]);
    assert_eq!(found(&names[0].as_str()[..length - 1]).await, [names[1], names[0]]);
    // What means something in patterns means itself here.
    for nothing in ["%", "_", "*", "?", "ZZZZ", "'"] {
        assert_eq!(found(nothing).await, [], "{nothing}");
    }
}

pub async fn runs_are_filtered_by_directory_status_and_labels(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let store = open().await;
    store.policy_put(&sample::policy()).await.unwrap();
    let labels = |pairs: &[(&str, &str)]| -> BTreeMap<_, _> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let runs = [
        Run { labels: labels(&[]), ..sample::run(0) },
        Run { cwd: "/b".to_owned(), status: RunStatus::Held, ..sample::run(1) },
        Run {
            status: RunStatus::Completed,
            labels: labels(&[("team", "blue"), ("a.b\"$", "%")]),
            ..sample::run(2)
        },
    ];
    for run in &runs {
        store.run_create(run).await.unwrap();
    }
    let matching = async |filter: RunFilter| {
        let found = store.run_list(&filter).await.unwrap();
        found
            .iter()
            .map(|run| runs.iter().position(|known| known == run).unwrap())
            .collect::<Vec<_>>()
    };
    let all = RunFilter::default();
    let in_b = RunFilter { cwd: Some("/b".to_owned()), ..all.clone() };
    assert_eq!(matching(in_b.clone()).await, [1]);
    let ended = RunFilter { statuses: vec![RunStatus::Held, RunStatus::Completed], ..all.clone() };
    assert_eq!(matching(ended).await, [2, 1]);
    assert_eq!(
        matching(RunFilter { labels: labels(&[("team", "blue")]), ..all.clone() }).await,
        [2, 1]
    );
    let both = labels(&[("team", "blue"), ("a.b\"$", "%")]);
    assert_eq!(matching(RunFilter { labels: both, ..all.clone() }).await, [2]);
    assert_eq!(matching(RunFilter { labels: labels(&[("team", "red")]), ..all }).await, [0; 0]);
    let none = RunFilter { statuses: vec![RunStatus::Running], ..in_b };
    assert_eq!(matching(none).await, [0; 0]);
}

pub async fn what_is_not_there_is_none(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = sample::run_id(0);
    assert_eq!(store.policy_fetch("nothing").await.unwrap(), None);
    assert_eq!(store.run_fetch(run).await.unwrap(), None);
    assert_eq!(store.run_list(&RunFilter::default()).await.unwrap(), []);
    assert_eq!(store.lease_fetch(run).await.unwrap(), None);
    assert_eq!(store.event_list(run, 0, 10).await.unwrap(), []);
    assert_eq!(store.snapshot_fetch(run).await.unwrap(), None);
    assert_eq!(store.decision_list(run).await.unwrap(), []);
    assert_eq!(store.inbox_answer_fetch(7).await.unwrap(), None);
}
