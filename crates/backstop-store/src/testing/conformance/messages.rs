//! Cases: the inbox.

use std::sync::Arc;

use super::{with_lease, with_run};
use crate::record::InboxMessage;
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn messages_wait_for_an_answer(open: impl AsyncFn() -> Arc<dyn Store>) {
    let (store, other) = (open().await, open().await);
    let lease = with_lease(&store).await;
    let elsewhere = with_run(&store, 1).await;
    let stop = other.inbox_post(lease.run, None, "{\"stop\":1}").await.unwrap();
    other.inbox_post(elsewhere.id, None, "not for us").await.unwrap();
    let raise = other.inbox_post(lease.run, None, "raise").await.unwrap();
    let message = |number, body: &str| InboxMessage { number, body: body.to_owned() };
    let expected = [message(stop, "{\"stop\":1}"), message(raise, "raise")];
    assert_eq!(store.inbox_list(&lease).await.unwrap(), expected);
    assert_eq!(other.inbox_answer_fetch(stop).await.unwrap(), None);
    store.inbox_answer(stop, "done").await.unwrap();
    assert_eq!(other.inbox_answer_fetch(stop).await.unwrap(), Some("done".to_owned()));
    assert_eq!(store.inbox_list(&lease).await.unwrap(), expected[1..]);
    // The first answer counts.
    store.inbox_answer(stop, "again").await.unwrap();
    assert_eq!(other.inbox_answer_fetch(stop).await.unwrap(), Some("done".to_owned()));
}

pub async fn a_message_to_no_run_is_refused(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let refused = store.inbox_post(sample::run_id(0), None, "hello").await;
    assert!(matches!(refused, Err(StoreError::NoRun(_))), "{refused:?}");
}
