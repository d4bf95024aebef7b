//! The embedded engine: one SQLite database in the state directory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use sqlx::{AssertSqlSafe, Row as _};
use tokio::sync::Mutex;

mod access;
mod append;
mod appender;
mod arrivals;
mod attendance;
mod audit;
mod change;
mod checkpoint;
mod events;
mod fault;
mod files;
mod halting;
mod health;
mod inbox;
mod log;
mod look;
mod open;
mod policies;
mod prune;
mod reader;
mod reruns;
mod schema;
mod transfer;
mod values;
mod writer;

use self::arrivals::Arrivals;
use self::fault::Fault;
use self::reader::Readers;
use self::writer::{Durability, Writer};
use crate::access::TokenRecord;
use crate::audit::{AuditFilter, AuditHead, AuditRow, Count, HaltCount, Hash, NewAuditRow};
use crate::clock::now;
use crate::encode::{json, number};
use crate::halting::HaltOrder;
use crate::home::Home;
use crate::lease::{Holder, Lease, LeaseRecord};
use crate::record::{
    Batch, DecisionRecord, Health, InboxMessage, Intervention, Run, RunFilter, Snapshot,
    StoredEvent, StoredPolicy, Unsupervised,
};
use crate::reruns::{CheckFailure, CheckPass, Delivery, FailureSignal, PullRequest};
use crate::row::count;
use crate::scope::{Activation, PastActivation, PolicyScope};
use crate::table::{RawRow, Table};
use crate::{Store, StoreError};

/// A store in a state directory.
#[derive(Debug)]
pub struct SqliteStore {
    home: Home,
    writer: Arc<Mutex<Writer>>,
    arrivals: Arrivals,
    readers: Readers,
}

#[async_trait]
impl Store for SqliteStore {
    async fn policy_put(&self, policy: &StoredPolicy) -> Result<(), StoreError> {
        policies::put(&self.writer, policy).await
    }

    async fn policy_fetch(&self, hash: &str) -> Result<Option<StoredPolicy>, StoreError> {
        self.readers.one(sqlx::query("SELECT * FROM policies WHERE hash = ?1").bind(hash)).await
    }

    async fn policy_list(
        &self,
        before: Option<&str>,
        limit: u32,
    ) -> Result<Vec<StoredPolicy>, StoreError> {
        policies::list(&self.readers, before, limit).await
    }

    async fn policy_activate(&self, activation: &Activation) -> Result<(), StoreError> {
        policies::activate(&self.writer, activation).await
    }

    async fn policy_active(&self, scopes: &[PolicyScope]) -> Result<Vec<Activation>, StoreError> {
        policies::active(&self.readers, scopes).await
    }

    async fn policy_history(
        &self,
        scope: Option<&PolicyScope>,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<PastActivation>, StoreError> {
        policies::history(&self.readers, scope, before, limit).await
    }

    async fn run_create(&self, run: &Run) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO runs (id, created_at, updated_at, cwd, command, labels, policy_hash, \
             status, state, launch, supervised, pruned) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )
        .bind(run.id.as_str())
        .bind(run.created_at.as_nanos())
        .bind(run.updated_at.as_nanos())
        .bind(&run.cwd)
        .bind(json(&run.command)?)
        .bind(json(&run.labels)?)
        .bind(&run.policy_hash)
        .bind(run.status.as_str())
        .bind(json(&run.state)?)
        .bind(json(&run.launch)?)
        .bind(run.supervised)
        .bind(run.pruned);
        let mut writer = self.writer.lock().await;
        match writer.run(Durability::Ordered, query).await {
            Ok(_) => Ok(()),
            Err(fault) if fault.is_missing_reference() => Err(StoreError::Write(format!(
                "the policy {} of run {} is not in the store",
                run.policy_hash, run.id
            ))),
            Err(fault) => Err(fault.of_write()),
        }
    }

    async fn run_fetch(&self, run: RunId) -> Result<Option<Run>, StoreError> {
        self.readers.one(sqlx::query("SELECT * FROM runs WHERE id = ?1").bind(run.as_str())).await
    }

    async fn run_list(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
        // Names are letters and digits. They are in the order of an index, which SQLite uses only
        // where there is nothing else that the condition could mean.
        let named = match filter.prefix {
            Some(_) => "id >= ?1 AND id < ?1 || '~'",
            None => "?1 IS NULL",
        };
        let query = sqlx::query(AssertSqlSafe(format!(
            "SELECT * FROM runs WHERE {named} \
             AND (?2 IS NULL OR cwd = ?2) \
             AND (?3 = '[]' OR status IN (SELECT value FROM json_each(?3))) \
             AND NOT EXISTS ( \
                 SELECT 1 FROM json_each(?4) AS wanted WHERE NOT EXISTS ( \
                     SELECT 1 FROM json_each(runs.labels) AS present \
                     WHERE present.key = wanted.key AND present.value = wanted.value)) \
             AND (?6 IS NULL \
                 OR (created_at, id) < (SELECT created_at, id FROM runs WHERE id = ?6)) \
             ORDER BY created_at DESC, id DESC LIMIT ?5"
        )))
        .bind(&filter.prefix)
        .bind(&filter.cwd)
        .bind(json(&statuses)?)
        .bind(json(&filter.labels)?)
        // Below zero there is no limit.
        .bind(filter.limit.map_or(-1, i64::from))
        .bind(filter.before.as_ref().map(RunId::as_str));
        self.readers.all(query).await
    }

    async fn lease_acquire(
        &self,
        run: RunId,
        holder: &Holder,
        duration: Duration,
        even_if_held_by: Option<u64>,
    ) -> Result<Lease, StoreError> {
        let now = now();
        let query = sqlx::query(
            "INSERT INTO leases (run, epoch, holder, expires_at, released) \
             VALUES (?1, 1, ?2, ?3, 0) \
             ON CONFLICT (run) DO UPDATE SET epoch = epoch + 1, holder = excluded.holder, \
                 expires_at = excluded.expires_at, released = 0 \
             WHERE released <> 0 OR expires_at <= ?4 OR epoch = ?5 \
             RETURNING epoch",
        )
        .bind(run.as_str())
        .bind(json(holder)?)
        .bind(now.plus(duration).as_nanos())
        .bind(now.as_nanos())
        .bind(even_if_held_by.map(number));
        let rows = {
            let mut writer = self.writer.lock().await;
            let result = writer.run(Durability::Ordered, query).await;
            result.map_err(|fault| fault.of_write_for(run))?
        };
        match rows.first() {
            Some(row) => {
                let epoch = count(row, "epoch").map_err(|error| Fault::from(error).of_read())?;
                Ok(Lease { run, epoch })
            }
            None => Err(self.lease_held(run).await?),
        }
    }

    async fn lease_renew(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
        let query = sqlx::query(
            "UPDATE leases SET expires_at = ?3 \
             WHERE run = ?1 AND epoch = ?2 AND released = 0 RETURNING epoch",
        )
        .bind(lease.run.as_str())
        .bind(number(lease.epoch))
        .bind(now().plus(duration).as_nanos());
        let mut writer = self.writer.lock().await;
        let rows = writer.run(Durability::Ordered, query).await.map_err(Fault::of_write)?;
        if rows.is_empty() { Err(StoreError::Fenced { run: lease.run }) } else { Ok(()) }
    }

    async fn lease_release(&self, lease: &Lease) -> Result<(), StoreError> {
        let query = sqlx::query("UPDATE leases SET released = 1 WHERE run = ?1 AND epoch = ?2")
            .bind(lease.run.as_str())
            .bind(number(lease.epoch));
        let mut writer = self.writer.lock().await;
        writer.run(Durability::Ordered, query).await.map(drop).map_err(Fault::of_write)
    }

    async fn lease_fetch(&self, run: RunId) -> Result<Option<LeaseRecord>, StoreError> {
        let query = sqlx::query("SELECT * FROM leases WHERE run = ?1").bind(run.as_str());
        self.readers.one(query).await
    }

    async fn append(&self, batch: &Batch) -> Result<(), StoreError> {
        append::supervised(&self.writer, batch).await
    }

    async fn append_unsupervised(
        &self,
        run: RunId,
        decide: Box<dyn FnOnce(Unsupervised) -> Batch + Send>,
    ) -> Result<(), StoreError> {
        self.arrivals.append(&self.writer, run, decide, now()).await
    }

    async fn event_list(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let mut connection = self.readers.connection().await.map_err(Fault::of_read)?;
        events::list(&mut connection, run, after, limit).await.map_err(Fault::of_read)
    }

    async fn snapshot_fetch(&self, run: RunId) -> Result<Option<Snapshot>, StoreError> {
        let query = sqlx::query("SELECT seq, facts, checksum FROM snapshots WHERE run = ?1");
        self.readers.one(query.bind(run.as_str())).await
    }

    async fn decision_list(&self, run: RunId) -> Result<Vec<DecisionRecord>, StoreError> {
        let query = sqlx::query("SELECT * FROM decisions WHERE run = ?1 ORDER BY seq");
        self.readers.all(query.bind(run.as_str())).await
    }

    async fn intervention_list(
        &self,
        run: Option<RunId>,
        only_open: bool,
    ) -> Result<Vec<Intervention>, StoreError> {
        let query = sqlx::query(
            "SELECT * FROM interventions \
             WHERE (?1 IS NULL OR run = ?1) AND (NOT ?2 OR answered_at IS NULL) \
             ORDER BY asked_at, run, seq",
        );
        self.readers.all(query.bind(run.map(|run| run.as_str().to_owned())).bind(only_open)).await
    }

    async fn receipt_fetch(&self, run: RunId, key: &str) -> Result<Option<String>, StoreError> {
        let query = sqlx::query("SELECT answer FROM receipts WHERE run = ?1 AND key = ?2");
        let row = self.readers.row(query.bind(run.as_str()).bind(key)).await?;
        let answer = row.map(|row| row.try_get("answer")).transpose();
        answer.map_err(|error| Fault::from(error).of_read())
    }

    async fn changed(&self, run: RunId, after: u64, at_most: Duration) -> Result<(), StoreError> {
        change::wait(&self.readers, run, after, at_most).await
    }

    async fn inbox_post_all(
        &self,
        run: RunId,
        key: Option<&str>,
        bodies: &[String],
    ) -> Result<Vec<InboxMessage>, StoreError> {
        inbox::post(&self.writer, run, key, bodies).await
    }

    async fn inbox_list(&self, lease: &Lease) -> Result<Vec<InboxMessage>, StoreError> {
        let query = sqlx::query(
            "SELECT number, body FROM inbox WHERE run = ?1 AND answer IS NULL ORDER BY number",
        );
        self.readers.all(query.bind(lease.run.as_str())).await
    }

    async fn inbox_answer(&self, message: i64, answer: &str) -> Result<(), StoreError> {
        let query =
            sqlx::query("UPDATE inbox SET answer = ?2 WHERE number = ?1 AND answer IS NULL")
                .bind(message)
                .bind(answer);
        let mut writer = self.writer.lock().await;
        writer.run(Durability::Ordered, query).await.map(drop).map_err(Fault::of_write)
    }

    async fn inbox_answer_fetch(&self, message: i64) -> Result<Option<String>, StoreError> {
        let query = sqlx::query("SELECT answer FROM inbox WHERE number = ?1").bind(message);
        let row = self.readers.row(query).await?;
        let answer = row.map(|row| row.try_get("answer")).transpose();
        answer.map(Option::flatten).map_err(|error| Fault::from(error).of_read())
    }

    async fn audit_append(&self, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
        audit::append(&self.writer, rows).await
    }

    async fn audit_list(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        audit::list(&self.readers, filter).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        audit::head(&self.readers).await
    }

    async fn audit_halts(&self, range: (u64, u64)) -> Result<Vec<HaltCount>, StoreError> {
        audit::halts(&self.readers, range).await
    }

    async fn audit_analytics(&self) -> Result<Vec<Count>, StoreError> {
        audit::analytics(&self.readers).await
    }

    async fn token_put(&self, token: &TokenRecord) -> Result<(), StoreError> {
        access::put(&self.writer, token).await
    }

    async fn token_list(&self) -> Result<Vec<TokenRecord>, StoreError> {
        access::list(&self.readers).await
    }

    async fn token_fetch(&self, hash: &Hash) -> Result<Option<TokenRecord>, StoreError> {
        access::fetch(&self.readers, hash).await
    }

    async fn token_revoke(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        access::revoke(&self.writer, id, at).await
    }

    async fn signal_put(&self, signal: &FailureSignal) -> Result<(), StoreError> {
        reruns::put(&self.writer, signal).await
    }

    async fn signal_put_check(&self, failure: &CheckFailure) -> Result<u64, StoreError> {
        reruns::put_check(&self.writer, failure).await
    }

    async fn signal_outdate(&self, passed: &CheckPass) -> Result<(), StoreError> {
        reruns::outdate(&self.writer, passed).await
    }

    async fn signal_list(
        &self,
        pull_request: &PullRequest,
        job: Option<&str>,
        limit: u32,
    ) -> Result<Vec<FailureSignal>, StoreError> {
        reruns::list(&self.readers, pull_request, job, limit).await
    }

    async fn delivery_take(
        &self,
        id: &str,
        by: &str,
        at: Timestamp,
    ) -> Result<Delivery, StoreError> {
        reruns::take(&self.writer, id, by, at).await
    }

    async fn delivery_done(&self, id: &str) -> Result<(), StoreError> {
        reruns::finish(&self.writer, id).await
    }

    async fn delivery_forget(&self, id: &str) -> Result<(), StoreError> {
        reruns::forget(&self.writer, id).await
    }

    async fn halt_order(&self, order: &HaltOrder) -> Result<HaltOrder, StoreError> {
        halting::order(&self.writer, order).await
    }

    async fn halt_list(&self) -> Result<Vec<HaltOrder>, StoreError> {
        halting::list(&self.readers).await
    }

    async fn halt_release(
        &self,
        labels: Option<&BTreeMap<String, String>>,
        by: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        halting::release(&self.writer, labels, by, at).await
    }

    async fn service_attend(&self, id: &str, duration: Duration) -> Result<(), StoreError> {
        attendance::attend(&self.writer, id, duration).await
    }

    async fn service_attends(&self, beside: Option<&str>) -> Result<bool, StoreError> {
        attendance::attends(&self.readers, beside).await
    }

    async fn run_prune(&self, halted_before: Timestamp) -> Result<Vec<RunId>, StoreError> {
        prune::run(&self.writer, &self.readers, halted_before, now()).await
    }

    async fn rows_export(
        &self,
        table: &'static Table,
        after: Option<&RawRow>,
        limit: u32,
    ) -> Result<Vec<RawRow>, StoreError> {
        transfer::export(&self.readers, table, after, limit).await
    }

    async fn rows_import(&self, table: &'static Table, rows: &[RawRow]) -> Result<(), StoreError> {
        transfer::import(&self.writer, table, rows).await
    }

    async fn health(&self) -> Result<Health, StoreError> {
        health::look(&self.home, &self.readers).await
    }
}

impl SqliteStore {
    async fn lease_held(&self, run: RunId) -> Result<StoreError, StoreError> {
        Ok(match self.lease_fetch(run).await? {
            Some(record) => record.refusal(),
            None => StoreError::NoRun(run),
        })
    }
}
