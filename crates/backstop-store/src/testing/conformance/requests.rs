//! Cases: requests that may come again, questions to people, and waiting for news.

use std::sync::Arc;
use std::time::Duration;

use super::unsupervised::append_next;
use super::{HOUR, seqs, with_lease, with_run};
use crate::record::{Batch, Intervention, NewEvent, Receipt, Unsupervised, Writer};
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn a_request_is_taken_in_once(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let batch = |seq, key: &str, answer: &str| Batch {
        receipt: Some(receipt(key, answer)),
        ..sample::events(&lease, [seq])
    };
    store.append(&batch(1, "k'1", "first")).await.unwrap();
    let repeated = store.append(&batch(2, "k'1", "second")).await;
    assert!(
        matches!(&repeated, Err(StoreError::Repeated { key, .. }) if key == "k'1"),
        "{repeated:?}"
    );
    store.append(&batch(2, "k2", "other")).await.unwrap();
    assert_eq!(seqs(&store, lease.run).await, [1, 2]);
    assert_eq!(store.receipt_fetch(lease.run, "k'1").await.unwrap(), Some("first".to_owned()));
    assert_eq!(store.receipt_fetch(lease.run, "k3").await.unwrap(), None);
    // The key is the run's own.
    let elsewhere = with_run(&store, 1).await;
    assert_eq!(store.receipt_fetch(elsewhere.id, "k'1").await.unwrap(), None);
}

pub async fn an_unsupervised_request_is_taken_in_once(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = with_run(&store, 0).await.id;
    let request = async |answer: &str| {
        let answer = answer.to_owned();
        let decide = move |given: Unsupervised| {
            let next = given.events.last().map_or(0, |event| event.seq) + 1;
            Batch {
                events: vec![sample::event(next)],
                audit: vec![sample::audit_row(next)],
                receipt: Some(receipt("k", &answer)),
                ..Batch::new(run, Writer::Unsupervised)
            }
        };
        store.append_unsupervised(run, Box::new(decide)).await
    };
    request("first").await.unwrap();
    let repeated = request("second").await;
    assert!(matches!(repeated, Err(StoreError::Repeated { .. })), "{repeated:?}");
    assert_eq!(seqs(&store, run).await, [1]);
    assert_eq!(store.audit_head().await.unwrap().unwrap().number, 1);
    assert_eq!(store.receipt_fetch(run, "k").await.unwrap(), Some("first".to_owned()));
}

pub async fn a_message_with_a_key_is_left_once(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let elsewhere = with_run(&store, 1).await.id;
    let first = store.inbox_post(lease.run, Some("k"), "stop").await.unwrap();
    assert_eq!(store.inbox_post(lease.run, Some("k"), "again").await.unwrap(), first);
    let others = [
        store.inbox_post(elsewhere, Some("k"), "stop").await.unwrap(),
        store.inbox_post(lease.run, Some("k2"), "stop").await.unwrap(),
        store.inbox_post(lease.run, None, "stop").await.unwrap(),
        store.inbox_post(lease.run, None, "stop").await.unwrap(),
    ];
    assert!(others.iter().all(|number| *number > first), "{others:?}");
    let left = store.inbox_list(&lease).await.unwrap();
    assert_eq!(left.len(), 4);
    assert_eq!(left[0].body, "stop");
}

pub async fn messages_are_left_together_or_not_at_all(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let bodies = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let post = async |key, texts: &[&str]| {
        let posted = store.inbox_post_all(lease.run, key, &bodies(texts)).await.unwrap();
        posted.into_iter().map(|message| message.body).collect::<Vec<_>>()
    };
    assert_eq!(post(Some("k"), &["a", "b"]).await, ["a", "b"]);
    assert_eq!(post(Some("k"), &["a", "b"]).await, ["a", "b"]);
    assert_eq!(post(Some("k"), &["x", "y", "z"]).await, ["a", "b"], "none of them is left");
    assert_eq!(post(Some("k"), &["x"]).await, ["a"]);
    assert_eq!(post(None, &["c", "d"]).await, ["c", "d"]);
    let left = store.inbox_list(&lease).await.unwrap();
    let left: Vec<_> = left.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(left, ["a", "b", "c", "d"]);
}

pub async fn questions_and_answers_are_told_apart(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let other = with_run(&store, 1).await;
    let other = store.lease_acquire(other.id, &sample::holder(2), HOUR, None).await.unwrap();
    let event = |seq, kind| NewEvent { kind, ..sample::event(seq) };
    let asked = |run, seq| Intervention {
        run,
        seq,
        asked_at: sample::event(seq).at,
        asked: sample::event(seq).body,
        answered_at: None,
        answered: None,
    };
    let mut batch = sample::events(&lease, []);
    batch.events = vec![event(1, "asked"), event(2, "progress")];
    store.append(&batch).await.unwrap();
    let mut batch = sample::events(&other, []);
    batch.events = vec![event(1, "progress"), event(2, "progress"), event(3, "asked")];
    store.append(&batch).await.unwrap();
    let open_ones = [asked(lease.run, 1), asked(other.run, 3)];
    assert_eq!(store.intervention_list(None, true).await.unwrap(), open_ones);
    let mut batch = sample::events(&lease, []);
    batch.events = vec![event(3, "answered"), event(4, "asked")];
    store.append(&batch).await.unwrap();
    let answered = Intervention {
        answered_at: Some(sample::event(3).at),
        answered: Some(sample::event(3).body),
        ..asked(lease.run, 1)
    };
    let all = [answered, asked(other.run, 3), asked(lease.run, 4)];
    assert_eq!(store.intervention_list(None, false).await.unwrap(), all);
    assert_eq!(store.intervention_list(None, true).await.unwrap(), all[1..]);
    let ours = store.intervention_list(Some(lease.run), false).await.unwrap();
    assert_eq!(ours, [all[0].clone(), all[2].clone()]);
}

pub async fn who_waits_is_told_of_what_others_write(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let run = with_run(&store, 0).await.id;
    append_next(&other, run).await.unwrap();
    // Without anything new, it ends by itself; with something, at once.
    store.changed(run, 1, Duration::from_millis(20)).await.unwrap();
    store.changed(run, 0, HOUR).await.unwrap();
    let wait = |after| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.changed(run, after, HOUR).await })
    };
    let waiting = wait(1);
    append_next(&other, run).await.unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(seqs(&store, run).await, [1, 2]);
    let waiting = wait(2);
    let message = other.inbox_post(run, None, "stop").await.unwrap();
    waiting.await.unwrap().unwrap();
    other.inbox_answer(message, "done").await.unwrap();
    store.changed(run, 2, Duration::from_millis(20)).await.unwrap();
}

fn receipt(key: &str, answer: &str) -> Receipt {
    Receipt { key: key.to_owned(), answer: answer.to_owned() }
}
