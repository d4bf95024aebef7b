//! A store that is moved from engine to engine stays what it was.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use backstop_core::state::RunStatus;
use backstop_store::access::{Scope, TokenRecord};
use backstop_store::audit::{Hash, verify};
use backstop_store::testing::{postgres, sample};
use backstop_store::{
    Activation, Batch, CheckFailure, CheckPass, CopyError, FailureSignal, HaltOrder, NewEvent,
    PolicyScope, PostgresStore, PullRequest, RawRow, Receipt, Run, ServerUrl, Store, TABLES, copy,
};
use sqlx::{Connection as _, Executor as _};

use support::{HOUR, check_journal, open, with_lease};

#[tokio::test]
async fn there_and_back_again_nothing_has_changed() {
    let Some(server) = postgres::shared() else { return };
    let database = server.database();
    let url = ServerUrl::parse(&database.url()).unwrap();
    let (first, last) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = open(first.path()).await;
    fill(&source).await;
    let middle: Arc<dyn Store> = Arc::new(PostgresStore::open(&url).await.unwrap());
    let target = open(last.path()).await;
    let mut told = BTreeSet::new();
    let there = copy(&*source, &*middle, |table, _| {
        told.insert(table);
    })
    .await
    .unwrap();
    let back = copy(&*middle, &*target, |_, _| {}).await.unwrap();
    assert_eq!(there, back);
    assert!(
        there.tables.iter().all(|(table, rows)| *rows > 0 && told.contains(table)),
        "{there:?}"
    );
    assert_eq!(everything(&source).await, everything(&target).await);
    assert_eq!(source.audit_head().await.unwrap(), target.audit_head().await.unwrap());
    // Each of them goes on from there.
    for store in [&middle, &target] {
        assert_eq!(store.health().await.unwrap().problems, [""; 0]);
        let run = sample::run_id(0);
        let lease = store.lease_acquire(run, &sample::holder(3), HOUR, Some(1)).await.unwrap();
        assert_eq!(lease.epoch, 2);
        store.append(&sample::events(&lease, [EVENTS + 1])).await.unwrap();
        assert_eq!(check_journal(store).await, EVENTS + 1);
        let before = source.inbox_list(&lease).await.unwrap();
        let message = store.inbox_post(run, None, "more").await.unwrap();
        assert!(before.iter().all(|known| known.number < message));
        store.run_create(&Run { ..sample::run(5) }).await.unwrap();
        store.audit_append(&[sample::audit_row(99)]).await.unwrap();
        assert_eq!(verify(&**store, None, |_| {}).await.unwrap().finding, None);
        assert_eq!(store.audit_analytics().await.unwrap(), source.audit_analytics().await.unwrap());
    }
}

#[tokio::test]
async fn a_target_with_something_in_it_is_refused() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (source, target) = (open(first.path()).await, open(second.path()).await);
    fill(&source).await;
    target.audit_append(&[sample::audit_row(1)]).await.unwrap();
    let refused = copy(&*source, &*target, |_, _| {}).await;
    assert!(
        matches!(refused, Err(CopyError::NotEmpty { table: "stop_decision_audit" })),
        "{refused:?}"
    );
    let refused = copy(&*target, &*source, |_, _| {}).await;
    assert!(matches!(refused, Err(CopyError::NotEmpty { table: "policies" })), "{refused:?}");
}

#[tokio::test]
async fn a_source_that_was_tampered_with_leaves_the_target_empty() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (source, target) = (open(first.path()).await, open(second.path()).await);
    fill(&source).await;
    let url = format!("sqlite://{}", first.path().join("backstop.db").display());
    let mut intruder = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let change = "DROP TRIGGER stop_decision_audit_is_not_updated; \
         UPDATE stop_decision_audit SET actor = 'nobody' WHERE number = 3";
    intruder.execute(change).await.unwrap();
    let refused = copy(&*source, &*target, |_, _| {}).await;
    assert!(matches!(refused, Err(CopyError::Audit { .. })), "{refused:?}");
    assert!(everything(&target).await.iter().all(Vec::is_empty));
}

/// Something in every table, and more than a page of events.
async fn fill(store: &Arc<dyn Store>) {
    let lease = with_lease(store).await;
    let run = lease.run;
    store.append(&sample::events(&lease, 1..=EVENTS - 3)).await.unwrap();
    let event = |seq, kind| NewEvent { kind, ..sample::event(seq) };
    let batch = Batch {
        events: vec![
            event(EVENTS - 2, "asked"),
            event(EVENTS - 1, "answered"),
            event(EVENTS, "asked"),
        ],
        decisions: vec![sample::decision(1), sample::decision(2)],
        snapshot: Some(sample::snapshot(EVENTS)),
        update: Some(sample::update(RunStatus::Held)),
        audit: (1..=20).map(sample::audit_row).collect(),
        receipt: Some(Receipt { key: "ä'\\".to_owned(), answer: "{}".to_owned() }),
        ..sample::events(&lease, [])
    };
    store.append(&batch).await.unwrap();
    // One that is pruned: what it asked is known all the same.
    let old = Run { status: RunStatus::Stopped, supervised: false, ..sample::run(1) };
    store.run_create(&old).await.unwrap();
    let held = store.lease_acquire(old.id, &sample::holder(2), HOUR, None).await.unwrap();
    let mut batch = sample::events(&held, []);
    batch.events = vec![event(1, "asked")];
    store.append(&batch).await.unwrap();
    store.lease_release(&held).await.unwrap();
    assert_eq!(store.run_prune(sample::now()).await.unwrap(), [old.id]);
    store.inbox_post(run, Some("key"), "stop").await.unwrap();
    let answered = store.inbox_post(run, None, "raise").await.unwrap();
    store.inbox_answer(answered, "done").await.unwrap();
    let scope = PolicyScope::Label("a".to_owned(), "b".to_owned());
    let by = "ann".to_owned();
    let activation = Activation { scope, policy_hash: None, by: by.clone(), at: sample::TIME };
    store.policy_activate(&activation).await.unwrap();
    let token = TokenRecord {
        id: "t".to_owned(),
        name: "build".to_owned(),
        hash: Hash([0xA7; 32]),
        scopes: BTreeSet::from([Scope::Read]),
        created_by: by.clone(),
        created_at: sample::TIME,
        expires_at: None,
        revoked_at: Some(sample::TIME),
    };
    store.token_put(&token).await.unwrap();
    let signal = FailureSignal {
        pull_request: PullRequest::new("acme", "app", 7),
        job: "build".to_owned(),
        workflow_run_id: 5,
        attempt: 1,
        hash: "h".to_owned(),
        class: None,
        at: sample::TIME,
        is_outdated: false,
    };
    store.signal_put(&signal).await.unwrap();
    let failure = CheckFailure {
        pull_request: signal.pull_request,
        check: "lint".to_owned(),
        suite: 6,
        check_run: 9,
        ended_at: sample::TIME,
        hash: "h".to_owned(),
        class: Some("lint error".to_owned()),
        at: sample::TIME,
    };
    store.signal_put_check(&failure).await.unwrap();
    let passed = CheckPass::new("acme", "app", failure.check, 6, sample::now());
    store.signal_outdate(&passed).await.unwrap();
    store.delivery_take("d", "service", sample::TIME).await.unwrap();
    let order = HaltOrder { number: 0, labels: BTreeMap::new(), why: None, by, at: sample::TIME };
    store.halt_order(&order).await.unwrap();
    store.halt_release(None, "bob", sample::TIME).await.unwrap();
}

async fn everything(store: &Arc<dyn Store>) -> Vec<Vec<RawRow>> {
    let mut tables = Vec::new();
    for table in TABLES {
        tables.push(store.rows_export(table, None, u32::MAX).await.unwrap());
    }
    tables
}

const EVENTS: u64 = 1_203;
