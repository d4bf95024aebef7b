//! What is written to journals.

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use tokio::sync::Mutex;

use super::fault::Fault;
use super::writer::{Durability, Patience, Writer};
use super::{audit, events};
use crate::StoreError;
use crate::checksum::{checksum, checksum_of_decision};
use crate::encode::{json, number};
use crate::lease::LeaseRecord;
use crate::record::{Batch, Decide, Run, Snapshot, StoredPolicy, Unsupervised};
use crate::row::FromRow;

/// Appends for the holder of a lease.
pub async fn supervised(writer: &Mutex<Writer>, batch: &Batch) -> Result<(), StoreError> {
    let lease = batch.lease()?;
    let mut writer = writer.lock().await;
    if batch.audit.is_empty() {
        let statement = statement(batch.run, Some(lease.epoch), batch)?;
        return match writer.run(Durability::Synced, statement).await {
            Ok(_) => Ok(()),
            Err(fault) => Err(of_append(fault, batch)),
        };
    }
    let mut patience = Patience::default();
    loop {
        let statement = statement(batch.run, Some(lease.epoch), batch)?;
        match audited(&mut writer, statement, batch).await {
            Err(fault) if patience.lasts(&fault) => {}
            Err(fault) => return Err(of_append(writer.remember(fault), batch)),
            Ok(()) => return Ok(()),
        }
    }
}

/// Appends with what goes into the audit, all or nothing.
async fn audited(
    writer: &mut Writer,
    statement: Query<'static, Sqlite, SqliteArguments>,
    batch: &Batch,
) -> Result<(), Fault> {
    let mut transaction = writer.begin().await?;
    statement.execute(&mut *transaction).await?;
    audit::insert(&mut transaction, &batch.audit).await?;
    transaction.commit().await?;
    Ok(())
}

/// What an append failed with.
fn of_append(fault: Fault, batch: &Batch) -> StoreError {
    match &batch.receipt {
        Some(receipt) if fault.is_of_receipt() => {
            StoreError::Repeated { run: batch.run, key: receipt.key.clone() }
        }
        _ => fault.of_write_for(batch.run),
    }
}

/// Appends for whoever comes, to a run that nobody supervises.
pub async fn unsupervised(
    writer: &Mutex<Writer>,
    run: RunId,
    decide: Decide,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut writer = writer.lock().await;
    let mut decide = Some(decide);
    let mut patience = Patience::default();
    loop {
        match attempt(&mut writer, run, &mut decide, now).await {
            Err(Trouble::Fault(fault)) if decide.is_some() && patience.lasts(&fault) => {}
            Err(Trouble::Fault(fault)) => return Err(writer.remember(fault).of_write_for(run)),
            Err(Trouble::Refusal(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
}

/// Why nothing was appended.
enum Trouble {
    Fault(Fault),
    Refusal(StoreError),
}

impl<E: Into<Fault>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

async fn attempt(
    writer: &mut Writer,
    run: RunId,
    decide: &mut Option<Decide>,
    now: Timestamp,
) -> Result<(), Trouble> {
    let mut transaction = writer.begin().await?;
    let lease = "SELECT * FROM leases WHERE run = ?1 AND released = 0";
    if let Some(record) = one::<LeaseRecord>(&mut transaction, lease, run).await? {
        if record.expires_at > now {
            return Err(Trouble::Refusal(record.refusal()));
        }
        // Should its holder wake up, it must not go on where somebody else has written.
        let release = sqlx::query("UPDATE leases SET released = 1 WHERE run = ?1");
        release.bind(run.as_str()).execute(&mut *transaction).await?;
    }
    let current = read(&mut transaction, run).await?;
    let current = current.ok_or(Trouble::Refusal(StoreError::NoRun(run)))?;
    let Some(decide) = decide.take() else { return Ok(()) };
    let batch = decide(current);
    let statement = statement(run, None, &batch).map_err(Trouble::Refusal)?;
    let written = statement.execute(&mut *transaction).await.map_err(Fault::from);
    written.map_err(|fault| match fault.is_of_receipt() {
        true => Trouble::Refusal(of_append(fault, &batch)),
        false => Trouble::Fault(fault),
    })?;
    if !batch.audit.is_empty() {
        audit::insert(&mut transaction, &batch.audit).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn read(
    connection: &mut SqliteConnection,
    run: RunId,
) -> Result<Option<Unsupervised>, Fault> {
    let known: Option<Run> = one(connection, "SELECT * FROM runs WHERE id = ?1", run).await?;
    let Some(known) = known else { return Ok(None) };
    let policy = sqlx::query("SELECT * FROM policies WHERE hash = ?1").bind(&known.policy_hash);
    let policy = StoredPolicy::from_row(&policy.fetch_one(&mut *connection).await?)?;
    let snapshot: Option<Snapshot> =
        one(connection, "SELECT seq, facts, checksum FROM snapshots WHERE run = ?1", run).await?;
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let events = events::list(connection, run, after, u32::MAX).await?;
    Ok(Some(Unsupervised { run: known, policy, snapshot, events }))
}

async fn one<T: FromRow>(
    connection: &mut SqliteConnection,
    select: &'static str,
    run: RunId,
) -> Result<Option<T>, Fault> {
    let row = sqlx::query(select).bind(run.as_str()).fetch_optional(connection).await?;
    Ok(row.as_ref().map(T::from_row).transpose()?)
}

/// A batch as one statement: see the trigger behind it.
fn statement(
    run: RunId,
    epoch: Option<u64>,
    batch: &Batch,
) -> Result<Query<'static, Sqlite, SqliteArguments>, StoreError> {
    batch.check()?;
    let events: Vec<_> = (batch.events.iter())
        .map(|event| {
            let sum = checksum(event.seq, &event.body);
            (event.seq, event.at.as_nanos(), event.kind, &event.body, sum)
        })
        .collect();
    let decisions: Vec<_> = (batch.decisions.iter())
        .map(|decision| {
            let (reason, policy_hash) = (&decision.reason, &decision.policy_hash);
            let at = decision.at.as_nanos();
            let sum = checksum_of_decision(decision);
            (decision.seq, at, &decision.verdict, reason, policy_hash, &decision.body, sum)
        })
        .collect();
    let (snapshot, update) = (batch.snapshot.as_ref(), batch.update.as_ref());
    Ok(sqlx::query(
        "INSERT INTO appends VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )
    .bind(run.as_str().to_owned())
    .bind(epoch.map(number))
    .bind(json(&events)?)
    .bind(json(&decisions)?)
    .bind(snapshot.map(|snapshot| number(snapshot.seq)))
    .bind(snapshot.map(|snapshot| snapshot.facts.clone()))
    .bind(snapshot.map(|snapshot| checksum(snapshot.seq, &snapshot.facts)))
    .bind(update.map(|update| update.at.as_nanos()))
    .bind(update.map(|update| update.status.as_str()))
    .bind(update.map(|update| json(&update.state)).transpose()?)
    .bind(update.map(|update| update.policy_hash.clone()))
    .bind(batch.receipt.as_ref().map(|receipt| receipt.key.clone()))
    .bind(batch.receipt.as_ref().map(|receipt| receipt.answer.clone())))
}
