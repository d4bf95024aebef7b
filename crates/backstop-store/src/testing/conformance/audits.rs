//! Cases: the audit.

use std::sync::Arc;

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use tokio::task::JoinSet;

use super::{seqs, with_lease};
use crate::audit::{AuditFilter, AuditHead, AuditRow, Count, NewAuditRow, verify};
use crate::record::Batch;
use crate::testing::sample;
use crate::{Store, StoreError};

pub async fn audit_rows_read_back_in_a_chain(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    assert_eq!(store.audit_head().await.unwrap(), None);
    assert_eq!(list(&store, AuditFilter::default()).await, []);
    let full = sample::audit_row(1);
    let bare = NewAuditRow { created_at: sample::TIME_OF_AUDIT, ..NewAuditRow::default() };
    let first = store.audit_append(std::slice::from_ref(&full)).await.unwrap();
    assert_eq!(first.number, 1);
    // Nothing to append changes nothing.
    assert_eq!(store.audit_append(&[]).await.unwrap(), first);
    let last = store.audit_append(&[bare.clone(), sample::audit_row(3)]).await.unwrap();
    assert_eq!(store.audit_head().await.unwrap(), Some(last));
    let rows = list(&store, AuditFilter::default()).await;
    let said: Vec<_> = rows.iter().map(|row| row.row.clone()).collect();
    assert_eq!(said, [full, bare, sample::audit_row(3)]);
    assert_eq!(rows.last().map(head_of), Some(last));
    for pair in rows.windows(2) {
        assert_eq!(pair[1].previous_hash, pair[0].hash);
    }
    let verified = verify(&*store, None, |_| {}).await.unwrap();
    assert_eq!((verified.rows, verified.head, verified.finding), (3, Some(last), None));
}

/// A time is kept to the microsecond, and a number no further than a database counts.
pub async fn what_an_audit_row_can_not_keep_does_not_break_the_chain(
    open: impl AsyncFn() -> Arc<dyn Store>,
) {
    let store = open().await;
    let row = NewAuditRow {
        created_at: sample::TIME,
        pr_number: Some(u64::MAX),
        actor: "' \\ \u{1F600} \r\n".to_owned(),
        ..sample::audit_row(1)
    };
    store.audit_append(&[row]).await.unwrap();
    assert_eq!(verify(&*store, None, |_| {}).await.unwrap().finding, None);
    let rows = list(&store, AuditFilter::default()).await;
    assert_eq!(rows[0].row.created_at, sample::TIME_OF_AUDIT);
    assert_eq!(rows[0].row.pr_number, Some(i64::MAX.cast_unsigned()));
}

pub async fn audit_rows_are_filtered_and_paged(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let run = sample::run_id(3);
    let plain = |n| NewAuditRow { run: None, ..sample::audit_row(n) };
    let rows = [
        plain(1),
        NewAuditRow { resource_repo: Some("Other".to_owned()), ..plain(2) },
        NewAuditRow {
            pr_number: Some(9),
            reason_code: Some("max_attempts".to_owned()),
            ..plain(3)
        },
        NewAuditRow { decision: "KILL".to_owned(), ..plain(4) },
        NewAuditRow { reason_code: None, resource_owner: None, ..plain(5) },
        NewAuditRow { run: Some(run), request_id: "it's".to_owned(), ..plain(6) },
    ];
    store.audit_append(&rows).await.unwrap();
    let numbers = async |filter: AuditFilter| -> Vec<u64> {
        list(&store, filter).await.iter().map(|row| row.number).collect()
    };
    let all = AuditFilter::default();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(numbers(AuditFilter { repo: text("other"), ..all.clone() }).await, [2]);
    assert_eq!(numbers(AuditFilter { repo: text("Other"), ..all.clone() }).await, [2]);
    assert_eq!(numbers(AuditFilter { owner: text("Acme"), ..all.clone() }).await, [1, 2, 3, 4, 6]);
    assert_eq!(numbers(AuditFilter { pr_number: Some(9), ..all.clone() }).await, [3]);
    assert_eq!(numbers(AuditFilter { decision: text("KILL"), ..all.clone() }).await, [4]);
    let coded = |codes: &[&str]| AuditFilter {
        reason_codes: codes.iter().map(|code| (*code).to_owned()).collect(),
        ..all.clone()
    };
    assert_eq!(numbers(coded(&["MAX_ATTEMPTS"])).await, [1, 2, 4, 6]);
    assert_eq!(numbers(coded(&["it's \"\\\"", "max_attempts"])).await, [3]);
    assert_eq!(numbers(coded(&["max_attempts", "MAX_ATTEMPTS"])).await, [1, 2, 3, 4, 6]);
    assert_eq!(numbers(coded(&["max_att%"])).await, [0; 0]);
    assert_eq!(numbers(AuditFilter { request_id: text("it's"), ..all.clone() }).await, [6]);
    assert_eq!(numbers(AuditFilter { run: Some(run), ..all.clone() }).await, [6]);
    let page = AuditFilter { cursor: Some(2), limit: 2, ..all.clone() };
    assert_eq!(list_as_is(&store, &page).await, [3, 4]);
    let newest = AuditFilter { newest_first: true, limit: 2, ..all.clone() };
    assert_eq!(list_as_is(&store, &newest).await, [6, 5]);
    let older = AuditFilter { newest_first: true, cursor: Some(5), limit: 2, ..all };
    assert_eq!(list_as_is(&store, &older).await, [4, 3]);
}

pub async fn audit_halts_are_counted_by_their_reasons(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let row = |run: Option<RunId>, code: Option<&str>| NewAuditRow {
        run,
        reason_code: code.map(str::to_owned),
        ..sample::audit_row(1)
    };
    let run = Some(sample::run_id(1));
    let rows = [
        row(run, Some("a")),
        row(run, Some("a")),
        row(None, Some("a")),
        row(run, Some("b")),
        row(run, None),
        row(run, Some("a")),
    ];
    store.audit_append(&rows).await.unwrap();
    let counted = async |range| {
        let counts = store.audit_halts(range).await.unwrap().into_iter();
        let mut counts: Vec<_> = counts.map(|one| (one.reason_code, one.count)).collect();
        counts.sort();
        counts
    };
    let (a, b) = (Some("a".to_owned()), Some("b".to_owned()));
    assert_eq!(counted((0, 6)).await, [(None, 1), (a.clone(), 3), (b.clone(), 1)]);
    assert_eq!(counted((1, 4)).await, [(a, 1), (b, 1)]);
    assert_eq!(counted((6, 6)).await, []);
}

pub async fn audit_analytics_count_the_last_week(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let now = sample::now();
    let ago = |hours: i64| {
        let nanos = now.as_nanos() - hours * 3_600_000_000_000;
        Timestamp::from_nanos(nanos / 1_000 * 1_000)
    };
    let row = |hours, decision: &str, code: Option<&str>| NewAuditRow {
        created_at: ago(hours),
        decision: decision.to_owned(),
        reason_code: code.map(str::to_owned),
        ..sample::audit_row(1)
    };
    let rows = [
        row(24 * 7 + 1, "HOLD", Some("A")),
        row(24 * 7 - 1, "HOLD", Some("A")),
        row(3, "HOLD", Some("A")),
        row(2, "HOLD", Some("A")),
        row(5, "CONTINUE", None),
        row(4, "CONTINUE", None),
        row(1, "KILL", Some("B")),
    ];
    store.audit_append(&rows[..3]).await.unwrap();
    store.audit_append(&rows[3..]).await.unwrap();
    let counts = store.audit_analytics().await.unwrap();
    let found: Vec<_> = counts
        .iter()
        .map(|count| {
            let Count { decision, reason_code, decision_count, last_occurred_at } = count;
            (decision.as_str(), reason_code.as_deref(), *decision_count, *last_occurred_at)
        })
        .collect();
    let expected = [
        ("HOLD", Some("A"), 3, ago(2)),
        ("CONTINUE", None, 2, ago(4)),
        ("KILL", Some("B"), 1, ago(1)),
    ];
    assert_eq!(found, expected);
}

pub async fn audit_rows_of_a_batch_are_all_or_nothing(open: impl AsyncFn() -> Arc<dyn Store>) {
    let store = open().await;
    let lease = with_lease(&store).await;
    let audited = |seq| Batch {
        decisions: vec![sample::decision(seq)],
        update: Some(sample::update(RunStatus::Held)),
        audit: vec![sample::audit_row(seq), sample::audit_row(seq + 10)],
        ..sample::events(&lease, [seq])
    };
    store.append(&audited(1)).await.unwrap();
    let head = store.audit_head().await.unwrap().unwrap();
    assert_eq!(head.number, 2);
    // Refused by the journal: nothing goes into the audit.
    let refused = store.append(&audited(1)).await;
    assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
    let again = Batch { decisions: vec![sample::decision(1)], ..audited(2) };
    assert!(store.append(&again).await.is_err());
    store.lease_release(&lease).await.unwrap();
    let late = store.append(&audited(2)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(store.audit_head().await.unwrap(), Some(head));
    assert_eq!(seqs(&store, lease.run).await, [1]);
    assert_eq!(verify(&*store, None, |_| {}).await.unwrap().finding, None);
}

pub async fn audits_of_many_make_one_chain(open: impl AsyncFn() -> Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = open().await;
        writers.spawn(async move {
            for n in 0..APPENDS {
                let rows = [sample::audit_row(writer * 100 + n), sample::audit_row(n)];
                store.audit_append(&rows).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let verified = verify(&*open().await, None, |_| {}).await.unwrap();
    assert_eq!((verified.rows, verified.finding), (WRITERS * APPENDS * 2, None));
}

async fn list(store: &Arc<dyn Store>, filter: AuditFilter) -> Vec<AuditRow> {
    store.audit_list(&AuditFilter { limit: 1_000, ..filter }).await.unwrap()
}

async fn list_as_is(store: &Arc<dyn Store>, filter: &AuditFilter) -> Vec<u64> {
    store.audit_list(filter).await.unwrap().iter().map(|row| row.number).collect()
}

fn head_of(row: &AuditRow) -> AuditHead {
    AuditHead { number: row.number, hash: row.hash }
}

const WRITERS: u64 = 6;
const APPENDS: u64 = 10;
