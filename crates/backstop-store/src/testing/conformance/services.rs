//! Cases: policies in force, tokens, failures, deliveries, orders to halt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use backstop_core::time::Timestamp;

use crate::access::{Scope, TokenRecord};
use crate::audit::Hash;
use crate::halting::HaltOrder;
use crate::record::StoredPolicy;
use crate::reruns::{Delivery, FailureSignal, PullRequest};
use crate::scope::{Activation, PolicyScope};
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn policies_are_listed_newest_first(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let policy = |hash: &str, second| StoredPolicy {
        hash: hash.to_owned(),
        put_at: after(second),
        ..sample::policy()
    };
    // Two of the same moment: their hashes order them.
    let put = [policy("b", 1), policy("a", 2), policy("B", 2), policy("d", 3)];
    for policy in &put {
        store.policy_put(policy).await.unwrap();
    }
    let hashes = async |before: Option<&str>, limit| -> Vec<String> {
        let listed = store.policy_list(before, limit).await.unwrap();
        listed.into_iter().map(|policy| policy.hash).collect()
    };
    assert_eq!(hashes(None, 10).await, ["d", "a", "B", "b"]);
    assert_eq!(hashes(None, 2).await, ["d", "a"]);
    assert_eq!(hashes(Some("a"), 10).await, ["B", "b"]);
    assert_eq!(hashes(Some("b"), 10).await, [""; 0]);
    assert_eq!(hashes(Some("nothing"), 10).await, [""; 0]);
}

pub async fn the_last_policy_put_in_force_is_in_force(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    store.policy_put(&sample::policy()).await.unwrap();
    let label = PolicyScope::Label("team".to_owned(), "b'l\"ue".to_owned());
    let repository = PolicyScope::Repository("acme".to_owned(), "app".to_owned());
    let activation = |scope: &PolicyScope, hash: Option<String>, second| Activation {
        scope: scope.clone(),
        policy_hash: hash,
        by: "ann".to_owned(),
        at: after(second),
    };
    let hash = Some(sample::policy().hash);
    let made = [
        activation(&PolicyScope::Global, hash.clone(), 1),
        activation(&label, hash.clone(), 2),
        activation(&label, None, 3),
        activation(&PolicyScope::Global, hash, 4),
    ];
    for activation in &made {
        store.policy_activate(activation).await.unwrap();
    }
    let missing = activation(&repository, Some("nothing".to_owned()), 5);
    let refused = store.policy_activate(&missing).await;
    assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
    let asked = [repository.clone(), label.clone(), PolicyScope::Global];
    let expected = [made[2].clone(), made[3].clone()];
    assert_eq!(store.policy_active(&asked).await.unwrap(), expected);
    assert_eq!(store.policy_active(&[]).await.unwrap(), []);
    let mut newest_first = made.to_vec();
    newest_first.reverse();
    let history = async |scope: Option<&PolicyScope>, before, limit| {
        let past = store.policy_history(scope, before, limit).await.unwrap();
        let numbers: Vec<_> = past.iter().map(|one| one.number).collect();
        let made: Vec<_> = past.into_iter().map(|one| one.activation).collect();
        (numbers, made)
    };
    let (numbers, all) = history(None, None, 10).await;
    assert_eq!(all, newest_first);
    assert!(numbers.is_sorted_by(|later, earlier| later > earlier), "{numbers:?}");
    assert_eq!(history(None, None, 1).await.1, newest_first[..1]);
    assert_eq!(history(Some(&label), None, 10).await.1, newest_first[1..3]);
    assert_eq!(history(Some(&repository), None, 10).await.1, []);
    // A page begins behind the one before, also where more was put in force since.
    assert_eq!(history(None, Some(numbers[1]), 1).await.1, newest_first[2..3]);
    assert_eq!(history(Some(&label), Some(numbers[0]), 10).await.1, newest_first[1..3]);
    assert_eq!(history(Some(&label), Some(numbers[1]), 10).await.1, newest_first[2..3]);
    assert_eq!(history(None, Some(numbers[3]), 10).await.1, []);
    assert_eq!(history(None, Some(u64::MAX), 10).await.1, newest_first);
}

pub async fn tokens_are_found_by_hash_until_revoked(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let token = |n: u8, scopes: &[Scope]| TokenRecord {
        id: format!("t{n}"),
        name: "build".to_owned(),
        hash: Hash([n; 32]),
        scopes: scopes.iter().copied().collect::<BTreeSet<_>>(),
        created_by: "ann".to_owned(),
        created_at: after(i64::from(n)),
        expires_at: (n > 1).then(|| after(99)),
        revoked_at: None,
    };
    let (first, second) = (token(1, &Scope::ALL), token(2, &[Scope::Read]));
    store.token_put(&second).await.unwrap();
    store.token_put(&first).await.unwrap();
    assert!(store.token_put(&first).await.is_err(), "a name is given once");
    let twin = TokenRecord { id: "t3".to_owned(), ..first.clone() };
    assert!(store.token_put(&twin).await.is_err(), "a hash is given once");
    assert_eq!(store.token_list().await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(store.token_fetch(&second.hash).await.unwrap(), Some(second.clone()));
    assert_eq!(store.token_fetch(&Hash([9; 32])).await.unwrap(), None);
    assert!(store.token_revoke("t2", after(5)).await.unwrap());
    assert!(!store.token_revoke("t2", after(6)).await.unwrap());
    assert!(!store.token_revoke("t9", after(6)).await.unwrap());
    let revoked = TokenRecord { revoked_at: Some(after(5)), ..second };
    assert_eq!(store.token_fetch(&revoked.hash).await.unwrap(), Some(revoked));
}

pub async fn failures_are_kept_once_and_listed_in_order(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let pull_request = PullRequest::new("Acme", "App", 7);
    let signal = |job: &str, attempt| FailureSignal {
        pull_request: pull_request.clone(),
        job: job.to_owned(),
        workflow_run_id: 5,
        attempt,
        hash: format!("h{attempt}"),
        class: (attempt > 1).then(|| "flaky".to_owned()),
        at: after(1),
        is_outdated: false,
    };
    let kept = [signal("build", 1), signal("test", 1), signal("build", 2)];
    for signal in &kept {
        store.signal_put(signal).await.unwrap();
    }
    store.signal_put(&FailureSignal { hash: "late".to_owned(), ..kept[0].clone() }).await.unwrap();
    let list = async |job: Option<&str>, limit| {
        store.signal_list(&pull_request, job, limit).await.unwrap()
    };
    assert_eq!(list(None, 10).await, kept);
    assert_eq!(list(None, 2).await, kept[1..]);
    assert_eq!(list(Some("build"), 10).await, [kept[0].clone(), kept[2].clone()]);
    let other = PullRequest::new("acme", "app", 8);
    assert_eq!(store.signal_list(&other, None, 10).await.unwrap(), []);
}

pub async fn a_delivery_is_taken_once(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let take = async |of: &Arc<dyn Store>, id: &str, by: &str, second| {
        of.delivery_take(id, by, after(second)).await.unwrap()
    };
    assert_eq!(take(&store, "d1", "one", 1).await, Delivery::Taken);
    assert_eq!(take(&other, "d1", "two", 2).await, Delivery::UnderWay);
    assert_eq!(take(&store, "d1", "one", 3).await, Delivery::UnderWay);
    assert_eq!(take(&other, "d2", "two", 2).await, Delivery::Taken);
    store.delivery_forget("d1").await.unwrap();
    store.delivery_forget("never").await.unwrap();
    assert_eq!(take(&other, "d1", "two", 3).await, Delivery::Taken);
    other.delivery_done("d1").await.unwrap();
    other.delivery_done("never").await.unwrap();
    assert_eq!(take(&store, "d1", "one", 99).await, Delivery::Done);
}

pub async fn a_delivery_that_was_left_unfinished_is_taken_anew(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let (store, other) = (open().await, open().await);
    let take = async |by: &str, second| other.delivery_take("d1", by, after(second)).await.unwrap();
    store.service_attend("one", Duration::from_secs(3600)).await.unwrap();
    assert_eq!(take("one", 1).await, Delivery::Taken);
    assert_eq!(take("two", 99).await, Delivery::UnderWay, "it is heard of");
    store.service_attend("one", Duration::ZERO).await.unwrap();
    assert_eq!(take("two", 5).await, Delivery::UnderWay, "it may only just have begun");
    assert_eq!(take("two", 99).await, Delivery::Taken);
    assert_eq!(take("one", 100).await, Delivery::UnderWay);
    other.delivery_done("d1").await.unwrap();
    assert_eq!(take("one", 999).await, Delivery::Done);
}

pub async fn orders_to_halt_are_in_force_until_released(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let labels = |pairs: &[(&str, &str)]| -> BTreeMap<_, _> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let order = |labels: BTreeMap<String, String>| HaltOrder {
        number: 0,
        labels,
        why: Some("cost's".to_owned()),
        by: "ann".to_owned(),
        at: after(1),
    };
    let blue = labels(&[("team", "blue"), ("a\"", "b")]);
    let mut given = Vec::new();
    for labels in [labels(&[]), blue.clone(), blue.clone()] {
        let made = store.halt_order(&order(labels.clone())).await.unwrap();
        assert_eq!(made, HaltOrder { number: made.number, ..order(labels) });
        given.push(made);
    }
    assert!(given[0].number < given[1].number && given[1].number < given[2].number);
    assert_eq!(other.halt_list().await.unwrap(), given);
    let red = labels(&[("team", "red")]);
    assert_eq!(other.halt_release(Some(&red), "bob", after(2)).await.unwrap(), 0);
    assert_eq!(other.halt_release(Some(&blue), "bob", after(2)).await.unwrap(), 2);
    assert_eq!(store.halt_list().await.unwrap(), given[..1]);
    assert_eq!(other.halt_release(None, "bob", after(3)).await.unwrap(), 1);
    assert_eq!(other.halt_release(None, "bob", after(3)).await.unwrap(), 0);
    assert_eq!(store.halt_list().await.unwrap(), []);
}

pub async fn a_service_attends_until_it_ends_or_is_not_heard_of(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let (store, other) = (open().await, open().await);
    let [hour, none] = [Duration::from_secs(3600), Duration::ZERO];
    assert!(!store.service_attends(None).await.unwrap());
    store.service_attend("one", hour).await.unwrap();
    store.service_attend("one", hour).await.unwrap();
    store.service_attend("two", hour).await.unwrap();
    assert!(other.service_attends(None).await.unwrap());
    assert!(other.service_attends(Some("one")).await.unwrap(), "two is beside it");
    other.service_attend("one", none).await.unwrap();
    assert!(other.service_attends(None).await.unwrap(), "the other one does still");
    assert!(!other.service_attends(Some("two")).await.unwrap(), "there is nobody beside it");
    // One that was not heard of for long enough may as well be gone.
    store.service_attend("two", Duration::from_nanos(1)).await.unwrap();
    assert!(!other.service_attends(None).await.unwrap());
    other.service_attend("two", none).await.unwrap();
    other.service_attend("none", none).await.unwrap();
    assert!(!store.service_attends(None).await.unwrap());
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(sample::TIME.as_nanos() + seconds * 1_000_000_000)
}
