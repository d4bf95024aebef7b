//! The engine for many machines: a database on a PostgreSQL server.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;

mod append;
mod audit;
mod change;
mod client;
mod events;
mod fault;
mod health;
mod open;
mod policies;
mod runs;
mod schema;
mod service;
mod sql;
mod transfer;

use self::change::Ear;
use self::client::Client;
use self::fault::Fault;
pub use self::open::ServerUrl;
use self::sql::sql;
use crate::access::TokenRecord;
use crate::audit::{AuditFilter, AuditHead, AuditRow, Count, HaltCount, Hash, NewAuditRow};
use crate::clock::now;
use crate::halting::HaltOrder;
use crate::lease::{Holder, Lease, LeaseRecord};
use crate::record::{
    Batch, DecisionRecord, Health, InboxMessage, Intervention, Run, RunFilter, Snapshot,
    StoredEvent, StoredPolicy, Unsupervised,
};
use crate::reruns::{CheckFailure, CheckPass, Delivery, FailureSignal, PullRequest};
use crate::row::Cells as _;
use crate::scope::{Activation, PastActivation, PolicyScope};
use crate::table::{RawRow, Table};
use crate::{Store, StoreError};

/// A store on a server.
#[derive(Debug)]
pub struct PostgresStore {
    place: String,
    client: Client,
    ear: Ear,
}

impl PostgresStore {
    fn new(place: String, client: Client) -> Self {
        Self { place, client, ear: Ear::default() }
    }

    /// One column of the one row that there may be.
    async fn cell(
        &self,
        query: Result<String, Fault>,
        column: &str,
    ) -> Result<Option<String>, StoreError> {
        let rows = self.client.rows(query).await?;
        let cell = rows.first().map(|row| row.optional_text(column)).transpose();
        let cell = cell.map_err(|error| Fault::from(error).of_read())?;
        Ok(cell.flatten().map(str::to_owned))
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn policy_put(&self, policy: &StoredPolicy) -> Result<(), StoreError> {
        policies::put(&self.client, policy).await
    }

    async fn policy_fetch(&self, hash: &str) -> Result<Option<StoredPolicy>, StoreError> {
        policies::fetch(&self.client, hash).await
    }

    async fn policy_list(
        &self,
        before: Option<&str>,
        limit: u32,
    ) -> Result<Vec<StoredPolicy>, StoreError> {
        policies::list(&self.client, before, limit).await
    }

    async fn policy_activate(&self, activation: &Activation) -> Result<(), StoreError> {
        policies::activate(&self.client, activation).await
    }

    async fn policy_active(&self, scopes: &[PolicyScope]) -> Result<Vec<Activation>, StoreError> {
        policies::active(&self.client, scopes).await
    }

    async fn policy_history(
        &self,
        scope: Option<&PolicyScope>,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<PastActivation>, StoreError> {
        policies::history(&self.client, scope, before, limit).await
    }

    async fn run_create(&self, run: &Run) -> Result<(), StoreError> {
        runs::create(&self.client, run).await
    }

    async fn run_fetch(&self, run: RunId) -> Result<Option<Run>, StoreError> {
        self.client.one(sql("SELECT * FROM runs WHERE id = $1", &[run.as_str().into()])).await
    }

    async fn run_list(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        runs::list(&self.client, filter).await
    }

    async fn lease_acquire(
        &self,
        run: RunId,
        holder: &Holder,
        duration: Duration,
        even_if_held_by: Option<u64>,
    ) -> Result<Lease, StoreError> {
        runs::acquire(&self.client, run, holder, duration, even_if_held_by).await
    }

    async fn lease_renew(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        runs::renew(&self.client, lease, duration).await
    }

    async fn lease_release(&self, lease: &Lease) -> Result<(), StoreError> {
        runs::release(&self.client, lease).await
    }

    async fn lease_fetch(&self, run: RunId) -> Result<Option<LeaseRecord>, StoreError> {
        // What is left of it, told in the clock of whoever asks: only the server's counts, and the
        // two may differ.
        let select = sql(
            "SELECT run, epoch, holder, expires_at - backstop_now() + $2 AS expires_at, released \
             FROM leases WHERE run = $1",
            &[run.as_str().into(), now().as_nanos().into()],
        );
        self.client.one(select).await
    }

    async fn append(&self, batch: &Batch) -> Result<(), StoreError> {
        append::supervised(&self.client, batch).await
    }

    async fn append_unsupervised(
        &self,
        run: RunId,
        decide: Box<dyn FnOnce(Unsupervised) -> Batch + Send>,
    ) -> Result<(), StoreError> {
        append::unsupervised(&self.client, run, decide).await
    }

    async fn event_list(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        events::list(&self.client, run, after, limit).await.map_err(Fault::of_read)
    }

    async fn snapshot_fetch(&self, run: RunId) -> Result<Option<Snapshot>, StoreError> {
        let query = "SELECT seq, facts, checksum FROM snapshots WHERE run = $1";
        self.client.one(sql(query, &[run.as_str().into()])).await
    }

    async fn decision_list(&self, run: RunId) -> Result<Vec<DecisionRecord>, StoreError> {
        let query = "SELECT * FROM decisions WHERE run = $1 ORDER BY seq";
        self.client.all(sql(query, &[run.as_str().into()])).await
    }

    async fn intervention_list(
        &self,
        run: Option<RunId>,
        only_open: bool,
    ) -> Result<Vec<Intervention>, StoreError> {
        let run = run.map(|run| run.as_str().to_owned());
        let query = "SELECT * FROM interventions \
             WHERE ($1 IS NULL OR run = $1) AND (NOT $2 OR answered_at IS NULL) \
             ORDER BY asked_at, run, seq";
        self.client.all(sql(query, &[run.as_ref().into(), only_open.into()])).await
    }

    async fn receipt_fetch(&self, run: RunId, key: &str) -> Result<Option<String>, StoreError> {
        let query = "SELECT answer FROM receipts WHERE run = $1 AND key = $2";
        self.cell(sql(query, &[run.as_str().into(), key.into()]), "answer").await
    }

    async fn changed(&self, run: RunId, after: u64, at_most: Duration) -> Result<(), StoreError> {
        self.ear.wait(&self.client, run, after, at_most).await
    }

    async fn inbox_post_all(
        &self,
        run: RunId,
        key: Option<&str>,
        bodies: &[String],
    ) -> Result<Vec<InboxMessage>, StoreError> {
        runs::post(&self.client, run, key, bodies).await
    }

    async fn inbox_list(&self, lease: &Lease) -> Result<Vec<InboxMessage>, StoreError> {
        let query =
            "SELECT number, body FROM inbox WHERE run = $1 AND answer IS NULL ORDER BY number";
        self.client.all(sql(query, &[lease.run.as_str().into()])).await
    }

    async fn inbox_answer(&self, message: i64, answer: &str) -> Result<(), StoreError> {
        runs::answer(&self.client, message, answer).await
    }

    async fn inbox_answer_fetch(&self, message: i64) -> Result<Option<String>, StoreError> {
        let query = "SELECT answer FROM inbox WHERE number = $1";
        self.cell(sql(query, &[message.into()]), "answer").await
    }

    async fn audit_append(&self, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
        audit::append(&self.client, rows).await
    }

    async fn audit_list(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        audit::list(&self.client, filter).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        audit::head(&self.client).await
    }

    async fn audit_halts(&self, range: (u64, u64)) -> Result<Vec<HaltCount>, StoreError> {
        audit::halts(&self.client, range).await
    }

    async fn audit_analytics(&self) -> Result<Vec<Count>, StoreError> {
        audit::analytics(&self.client).await
    }

    async fn token_put(&self, token: &TokenRecord) -> Result<(), StoreError> {
        service::put_token(&self.client, token).await
    }

    async fn token_list(&self) -> Result<Vec<TokenRecord>, StoreError> {
        service::list_tokens(&self.client).await
    }

    async fn token_fetch(&self, hash: &Hash) -> Result<Option<TokenRecord>, StoreError> {
        service::fetch_token(&self.client, hash).await
    }

    async fn token_revoke(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        service::revoke_token(&self.client, id, at).await
    }

    async fn signal_put(&self, signal: &FailureSignal) -> Result<(), StoreError> {
        service::put_signal(&self.client, signal).await
    }

    async fn signal_put_check(&self, failure: &CheckFailure) -> Result<u64, StoreError> {
        service::put_check(&self.client, failure).await
    }

    async fn signal_outdate(&self, passed: &CheckPass) -> Result<(), StoreError> {
        service::outdate_signals(&self.client, passed).await
    }

    async fn signal_list(
        &self,
        pull_request: &PullRequest,
        job: Option<&str>,
        limit: u32,
    ) -> Result<Vec<FailureSignal>, StoreError> {
        service::list_signals(&self.client, pull_request, job, limit).await
    }

    async fn delivery_take(
        &self,
        id: &str,
        by: &str,
        at: Timestamp,
    ) -> Result<Delivery, StoreError> {
        service::take_delivery(&self.client, id, by, at).await
    }

    async fn delivery_done(&self, id: &str) -> Result<(), StoreError> {
        service::finish_delivery(&self.client, id).await
    }

    async fn delivery_forget(&self, id: &str) -> Result<(), StoreError> {
        service::forget_delivery(&self.client, id).await
    }

    async fn halt_order(&self, order: &HaltOrder) -> Result<HaltOrder, StoreError> {
        service::order_halt(&self.client, order).await
    }

    async fn halt_list(&self) -> Result<Vec<HaltOrder>, StoreError> {
        service::list_halts(&self.client).await
    }

    async fn halt_release(
        &self,
        labels: Option<&BTreeMap<String, String>>,
        by: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        service::release_halts(&self.client, labels, by, at).await
    }

    async fn service_attend(&self, id: &str, duration: Duration) -> Result<(), StoreError> {
        service::attend(&self.client, id, duration).await
    }

    async fn service_attends(&self, beside: Option<&str>) -> Result<bool, StoreError> {
        service::attends(&self.client, beside).await
    }

    async fn run_prune(&self, halted_before: Timestamp) -> Result<Vec<RunId>, StoreError> {
        runs::prune(&self.client, halted_before).await
    }

    async fn rows_export(
        &self,
        table: &'static Table,
        after: Option<&RawRow>,
        limit: u32,
    ) -> Result<Vec<RawRow>, StoreError> {
        transfer::export(&self.client, table, after, limit).await
    }

    async fn rows_import(&self, table: &'static Table, rows: &[RawRow]) -> Result<(), StoreError> {
        transfer::import(&self.client, table, rows).await
    }

    async fn health(&self) -> Result<Health, StoreError> {
        health::look(&self.place, &self.client).await
    }
}
