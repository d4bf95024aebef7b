//! A store that fails on demand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;

use crate::access::TokenRecord;
use crate::audit::{AuditFilter, AuditHead, AuditRow, Count, HaltCount, Hash, NewAuditRow};
use crate::halting::HaltOrder;
use crate::lease::{Holder, Lease, LeaseRecord};
use crate::record::{
    Batch, DecisionRecord, Health, InboxMessage, Intervention, Run, RunFilter, Snapshot,
    StoredEvent, StoredPolicy, Unsupervised,
};
use crate::reruns::{CheckFailure, CheckPass, Delivery, FailureSignal, PullRequest};
use crate::scope::{Activation, PastActivation, PolicyScope};
use crate::table::{RawRow, Table};
use crate::{Store, StoreError};

/// Makes the stores that a program opens fail: `CALL KIND once|lasting PATH`. The file is created
/// when the failure comes, so that who waits for it knows whether there were enough calls.
pub const FAILURE_VARIABLE: &str = "BACKSTOP_TESTING_FAILURE";

/// Passes calls on to another store, counts them, and fails where it was told to.
#[derive(Debug)]
pub struct FailingStore {
    inner: Arc<dyn Store>,
    failure: Option<Failure>,
    calls: AtomicU64,
    /// From now on, whatever the number of the call.
    switched: Mutex<Option<FailureKind>>,
    tells: Option<PathBuf>,
}

/// Which call fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Counted from 1.
    pub call: u64,
    pub kind: FailureKind,
    /// All later calls fail too.
    pub lasting: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Full,
    Write,
    Read,
    ReadOnly,
}

impl FailingStore {
    pub fn new(inner: Arc<dyn Store>, failure: Option<Failure>) -> Self {
        let (calls, switched) = (AtomicU64::new(0), Mutex::default());
        Self { inner, failure, calls, switched, tells: None }
    }

    /// Lets every call fail from now on: for those who can't know how many there were, since others
    /// ask too.
    pub fn fail_from_now_on(&self, kind: FailureKind) {
        *self.switched.lock().unwrap_or_else(PoisonError::into_inner) = Some(kind);
    }

    /// How many calls there were, the failed ones included.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn unless_switched(&self) -> Result<(), StoreError> {
        let switched = *self.switched.lock().unwrap_or_else(PoisonError::into_inner);
        switched.map_or(Ok(()), |kind| Err(kind.error()))
    }

    /// The store to pass this call on to, unless it is to fail.
    fn next(&self) -> Result<&dyn Store, StoreError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.unless_switched()?;
        match self.failure {
            Some(failure) if call == failure.call || failure.lasting && call > failure.call => {
                if let Some(path) = &self.tells {
                    std::fs::write(path, "").expect("a test can write where it says");
                }
                Err(failure.kind.error())
            }
            _ => Ok(&*self.inner),
        }
    }
}

/// The store itself, unless [`FAILURE_VARIABLE`] is set.
pub(crate) fn fail_as_the_environment_says(store: Arc<dyn Store>) -> Arc<dyn Store> {
    let Ok(text) = std::env::var(FAILURE_VARIABLE) else { return store };
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_default();
    let call = word().parse().expect("the number of a call");
    let kind = FailureKind::named(word()).expect("full, write, read or read-only");
    let failure = Failure { call, kind, lasting: word() == "lasting" };
    let tells = Some(PathBuf::from(word()));
    Arc::new(FailingStore { tells, ..FailingStore::new(store, Some(failure)) })
}

impl FailureKind {
    pub const ALL: [Self; 4] = [Self::Full, Self::Write, Self::Read, Self::ReadOnly];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Write => "write",
            Self::Read => "read",
            Self::ReadOnly => "read-only",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn error(self) -> StoreError {
        match self {
            Self::Full => StoreError::Full("database or disk is full".to_owned()),
            Self::Write => StoreError::Write("disk I/O error".to_owned()),
            Self::Read => StoreError::Read("disk I/O error".to_owned()),
            Self::ReadOnly => {
                StoreError::ReadOnly("attempt to write a readonly database".to_owned())
            }
        }
    }
}

#[async_trait]
impl Store for FailingStore {
    async fn policy_put(&self, policy: &StoredPolicy) -> Result<(), StoreError> {
        self.next()?.policy_put(policy).await
    }

    async fn policy_fetch(&self, hash: &str) -> Result<Option<StoredPolicy>, StoreError> {
        self.next()?.policy_fetch(hash).await
    }

    async fn run_create(&self, run: &Run) -> Result<(), StoreError> {
        self.next()?.run_create(run).await
    }

    async fn run_fetch(&self, run: RunId) -> Result<Option<Run>, StoreError> {
        self.next()?.run_fetch(run).await
    }

    async fn run_list(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        self.next()?.run_list(filter).await
    }

    async fn lease_acquire(
        &self,
        run: RunId,
        holder: &Holder,
        duration: Duration,
        even_if_held_by: Option<u64>,
    ) -> Result<Lease, StoreError> {
        self.next()?.lease_acquire(run, holder, duration, even_if_held_by).await
    }

    async fn lease_renew(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        self.next()?.lease_renew(lease, duration).await
    }

    async fn lease_release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.next()?.lease_release(lease).await
    }

    async fn lease_fetch(&self, run: RunId) -> Result<Option<LeaseRecord>, StoreError> {
        self.next()?.lease_fetch(run).await
    }

    async fn append(&self, batch: &Batch) -> Result<(), StoreError> {
        self.next()?.append(batch).await
    }

    async fn append_unsupervised(
        &self,
        run: RunId,
        decide: Box<dyn FnOnce(Unsupervised) -> Batch + Send>,
    ) -> Result<(), StoreError> {
        self.next()?.append_unsupervised(run, decide).await
    }

    async fn event_list(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.next()?.event_list(run, after, limit).await
    }

    async fn snapshot_fetch(&self, run: RunId) -> Result<Option<Snapshot>, StoreError> {
        self.next()?.snapshot_fetch(run).await
    }

    async fn decision_list(&self, run: RunId) -> Result<Vec<DecisionRecord>, StoreError> {
        self.next()?.decision_list(run).await
    }

    async fn inbox_post_all(
        &self,
        run: RunId,
        key: Option<&str>,
        bodies: &[String],
    ) -> Result<Vec<InboxMessage>, StoreError> {
        self.next()?.inbox_post_all(run, key, bodies).await
    }

    async fn inbox_list(&self, lease: &Lease) -> Result<Vec<InboxMessage>, StoreError> {
        self.next()?.inbox_list(lease).await
    }

    async fn inbox_answer(&self, message: i64, answer: &str) -> Result<(), StoreError> {
        self.next()?.inbox_answer(message, answer).await
    }

    async fn inbox_answer_fetch(&self, message: i64) -> Result<Option<String>, StoreError> {
        self.next()?.inbox_answer_fetch(message).await
    }

    async fn policy_list(
        &self,
        before: Option<&str>,
        limit: u32,
    ) -> Result<Vec<StoredPolicy>, StoreError> {
        self.next()?.policy_list(before, limit).await
    }

    async fn policy_activate(&self, activation: &Activation) -> Result<(), StoreError> {
        self.next()?.policy_activate(activation).await
    }

    async fn policy_active(&self, scopes: &[PolicyScope]) -> Result<Vec<Activation>, StoreError> {
        self.next()?.policy_active(scopes).await
    }

    async fn policy_history(
        &self,
        scope: Option<&PolicyScope>,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<PastActivation>, StoreError> {
        self.next()?.policy_history(scope, before, limit).await
    }

    async fn intervention_list(
        &self,
        run: Option<RunId>,
        only_open: bool,
    ) -> Result<Vec<Intervention>, StoreError> {
        self.next()?.intervention_list(run, only_open).await
    }

    async fn receipt_fetch(&self, run: RunId, key: &str) -> Result<Option<String>, StoreError> {
        self.next()?.receipt_fetch(run, key).await
    }

    async fn changed(&self, run: RunId, after: u64, at_most: Duration) -> Result<(), StoreError> {
        self.next()?.changed(run, after, at_most).await
    }

    async fn audit_append(&self, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
        self.next()?.audit_append(rows).await
    }

    async fn audit_list(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        self.next()?.audit_list(filter).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.next()?.audit_head().await
    }

    async fn audit_halts(&self, range: (u64, u64)) -> Result<Vec<HaltCount>, StoreError> {
        self.next()?.audit_halts(range).await
    }

    async fn audit_analytics(&self) -> Result<Vec<Count>, StoreError> {
        self.next()?.audit_analytics().await
    }

    async fn token_put(&self, token: &TokenRecord) -> Result<(), StoreError> {
        self.next()?.token_put(token).await
    }

    async fn token_list(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.next()?.token_list().await
    }

    async fn token_fetch(&self, hash: &Hash) -> Result<Option<TokenRecord>, StoreError> {
        self.next()?.token_fetch(hash).await
    }

    async fn token_revoke(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        self.next()?.token_revoke(id, at).await
    }

    async fn signal_put(&self, signal: &FailureSignal) -> Result<(), StoreError> {
        self.next()?.signal_put(signal).await
    }

    async fn signal_put_check(&self, failure: &CheckFailure) -> Result<u64, StoreError> {
        self.next()?.signal_put_check(failure).await
    }

    async fn signal_outdate(&self, passed: &CheckPass) -> Result<(), StoreError> {
        self.next()?.signal_outdate(passed).await
    }

    async fn signal_list(
        &self,
        pull_request: &PullRequest,
        job: Option<&str>,
        limit: u32,
    ) -> Result<Vec<FailureSignal>, StoreError> {
        self.next()?.signal_list(pull_request, job, limit).await
    }

    async fn delivery_take(
        &self,
        id: &str,
        by: &str,
        at: Timestamp,
    ) -> Result<Delivery, StoreError> {
        self.next()?.delivery_take(id, by, at).await
    }

    async fn delivery_done(&self, id: &str) -> Result<(), StoreError> {
        self.next()?.delivery_done(id).await
    }

    async fn delivery_forget(&self, id: &str) -> Result<(), StoreError> {
        self.next()?.delivery_forget(id).await
    }

    async fn halt_order(&self, order: &HaltOrder) -> Result<HaltOrder, StoreError> {
        self.next()?.halt_order(order).await
    }

    async fn halt_list(&self) -> Result<Vec<HaltOrder>, StoreError> {
        self.next()?.halt_list().await
    }

    async fn halt_release(
        &self,
        labels: Option<&BTreeMap<String, String>>,
        by: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        self.next()?.halt_release(labels, by, at).await
    }

    async fn service_attend(&self, id: &str, duration: Duration) -> Result<(), StoreError> {
        // A service says so at times of its own. To count it would move failures from their places.
        self.unless_switched()?;
        self.inner.service_attend(id, duration).await
    }

    async fn service_attends(&self, beside: Option<&str>) -> Result<bool, StoreError> {
        self.next()?.service_attends(beside).await
    }

    async fn run_prune(&self, halted_before: Timestamp) -> Result<Vec<RunId>, StoreError> {
        self.next()?.run_prune(halted_before).await
    }

    async fn rows_export(
        &self,
        table: &'static Table,
        after: Option<&RawRow>,
        limit: u32,
    ) -> Result<Vec<RawRow>, StoreError> {
        self.next()?.rows_export(table, after, limit).await
    }

    async fn rows_import(&self, table: &'static Table, rows: &[RawRow]) -> Result<(), StoreError> {
        self.next()?.rows_import(table, rows).await
    }

    async fn health(&self) -> Result<Health, StoreError> {
        self.next()?.health().await
    }
}
