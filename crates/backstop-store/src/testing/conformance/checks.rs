//! Cases: failures of checks, which nobody but the store numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use backstop_core::time::Timestamp;

use crate::Store;
use crate::reruns::{CheckFailure, CheckPass, FailureSignal, PullRequest};
use crate::testing::sample;

/// How a check of pull request 7 of `acme/app` failed.
fn failed_check(check: &str, suite: u64, check_run: u64, second: i64) -> CheckFailure {
    CheckFailure {
        pull_request: PullRequest::new("Acme", "App", 7),
        check: check.to_owned(),
        suite,
        check_run,
        ended_at: after(second),
        hash: format!("h{check_run}"),
        class: Some("lint error".to_owned()),
        at: after(99),
    }
}

pub async fn failures_of_a_check_are_numbered_as_they_come(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let put = async |of: &Arc<dyn Store>, failure: &CheckFailure| {
        of.signal_put_check(failure).await.unwrap()
    };
    let first = failed_check("lint", 5, 1, 1);
    assert_eq!(put(&store, &first).await, 1);
    assert_eq!(put(&other, &failed_check("lint", 5, 2, 2)).await, 2);
    // However often it is told.
    assert_eq!(put(&other, &first).await, 1);
    assert_eq!(put(&store, &failed_check("lint", 5, 2, 2)).await, 2);
    // The same check run may fail again, and others are others.
    assert_eq!(put(&store, &failed_check("lint", 5, 1, 3)).await, 3);
    assert_eq!(put(&store, &failed_check("lint", 6, 1, 1)).await, 1);
    assert_eq!(put(&store, &failed_check("unit", 5, 1, 1)).await, 1);
    let elsewhere = PullRequest::new("acme", "app", 8);
    let elsewhere = CheckFailure { pull_request: elsewhere, ..first.clone() };
    assert_eq!(put(&store, &elsewhere).await, 1);
    let listed = other.signal_list(&first.pull_request, Some("lint"), 10).await.unwrap();
    let kept: Vec<_> =
        listed.iter().map(|one| (one.workflow_run_id, one.attempt, one.hash.as_str())).collect();
    assert_eq!(kept, [(5, 1, "h1"), (5, 2, "h2"), (5, 3, "h1"), (6, 1, "h1")]);
    let signal = FailureSignal {
        pull_request: first.pull_request,
        job: "lint".to_owned(),
        workflow_run_id: 5,
        attempt: 1,
        hash: "h1".to_owned(),
        class: Some("lint error".to_owned()),
        at: after(99),
        is_outdated: false,
    };
    assert_eq!(listed[0], signal);
}

pub async fn failures_of_a_check_at_once_get_a_number_each(open: impl AsyncFn() -> Arc<dyn Store>) {
    let stores = [open().await, open().await];
    // Each is told twice, by whoever hears of it.
    let told = (1..13).flat_map(|check_run| stores.iter().map(move |store| (check_run, store)));
    let told = told.map(|(check_run, store)| {
        let (store, failure) = (Arc::clone(store), failed_check("lint", 5, check_run, 1));
        tokio::spawn(async move { (check_run, store.signal_put_check(&failure).await) })
    });
    let mut numbers = BTreeMap::new();
    for told in told.collect::<Vec<_>>() {
        let (check_run, number) = told.await.unwrap();
        let number = number.unwrap();
        assert_eq!(*numbers.entry(check_run).or_insert(number), number, "{check_run}");
    }
    let given: BTreeSet<_> = numbers.into_values().collect();
    assert_eq!(given, (1..=12).collect());
}

pub async fn a_check_that_passes_outdates_how_it_failed_before(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let (store, other) = (open().await, open().await);
    for failure in [
        failed_check("lint", 5, 1, 1),
        failed_check("lint", 5, 2, 3),
        failed_check("lint", 6, 3, 1),
        failed_check("unit", 5, 4, 1),
    ] {
        store.signal_put_check(&failure).await.unwrap();
    }
    let job = FailureSignal {
        pull_request: PullRequest::new("acme", "app", 7),
        job: "lint".to_owned(),
        workflow_run_id: 5,
        attempt: 9,
        hash: "job".to_owned(),
        class: None,
        at: after(1),
        is_outdated: false,
    };
    store.signal_put(&job).await.unwrap();
    let outdated = async || -> Vec<String> {
        let listed = store.signal_list(&job.pull_request, None, 10).await.unwrap();
        let outdated = listed.into_iter().filter(|signal| signal.is_outdated);
        outdated.map(|signal| signal.hash).collect()
    };
    let pass = async |repo, suite, second| {
        let passed = CheckPass::new("ACME", repo, "lint".to_owned(), suite, after(second));
        other.signal_outdate(&passed).await.unwrap();
    };
    pass("other", 5, 9).await;
    pass("App", 7, 9).await;
    pass("App", 5, 1).await;
    assert_eq!(outdated().await, [""; 0]);
    // It may be told late: what failed since is not touched.
    pass("App", 5, 2).await;
    assert_eq!(outdated().await, ["h1"]);
    pass("App", 5, 4).await;
    assert_eq!(outdated().await, ["h1", "h2"]);
    // Attempts count on.
    let again = failed_check("lint", 5, 5, 5);
    assert_eq!(store.signal_put_check(&again).await.unwrap(), 10);
    assert_eq!(outdated().await, ["h1", "h2"]);
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(sample::TIME.as_nanos() + seconds * 1_000_000_000)
}
