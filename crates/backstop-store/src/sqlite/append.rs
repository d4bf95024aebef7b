//! What is written to journals.

use rusqlite::types::ValueRef;
use tokio::sync::Mutex;

use super::appender::Appender;
use super::audit;
use super::fault::Fault;
use super::values::{self, integer, text};
use super::writer::Writer;
use crate::StoreError;
use crate::checksum::{checksum, checksum_of_decision};
use crate::encode::{json, number};
use crate::record::Batch;

/// Appends for the holder of a lease.
pub async fn supervised(writer: &Mutex<Writer>, batch: &Batch) -> Result<(), StoreError> {
    let append = Append::new(Some(batch.lease()?.epoch), batch)?;
    let mut writer = writer.lock().await;
    let appended = match batch.audit.is_empty() {
        true => writer.append(|appender| append.execute(appender)),
        // With what goes into the audit, all or nothing.
        false => writer.append(|appender| {
            appender.transaction(|| {
                append.execute(appender)?;
                audit::insert(appender, &batch.audit).map(drop)
            })
        }),
    };
    appended.map_err(|fault| of_append(fault, batch))
}

/// What an append failed with.
pub fn of_append(fault: Fault, batch: &Batch) -> StoreError {
    match &batch.receipt {
        Some(receipt) if fault.is_of_receipt() => {
            StoreError::Repeated { run: batch.run, key: receipt.key.clone() }
        }
        _ => fault.of_write_for(batch.run),
    }
}

/// A batch as the values of one statement: see the trigger behind it.
pub struct Append<'a> {
    batch: &'a Batch,
    epoch: Option<u64>,
    events: String,
    decisions: String,
    state: Option<String>,
}

impl<'a> Append<'a> {
    pub fn new(epoch: Option<u64>, batch: &'a Batch) -> Result<Self, StoreError> {
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
        let state = batch.update.as_ref().map(|update| json(&update.state)).transpose()?;
        let (events, decisions) = (json(&events)?, json(&decisions)?);
        Ok(Self { batch, epoch, events, decisions, state })
    }

    fn values(&self) -> [ValueRef<'_>; 13] {
        let Batch { run, snapshot, update, receipt, .. } = self.batch;
        let (snapshot, update, receipt) = (snapshot.as_ref(), update.as_ref(), receipt.as_ref());
        [
            text(Some(run.as_str())),
            integer(self.epoch.map(number)),
            text(Some(&self.events)),
            text(Some(&self.decisions)),
            integer(snapshot.map(|snapshot| number(snapshot.seq))),
            text(snapshot.map(|snapshot| snapshot.facts.as_str())),
            integer(snapshot.map(|snapshot| checksum(snapshot.seq, &snapshot.facts))),
            integer(update.map(|update| update.at.as_nanos())),
            text(update.map(|update| update.status.as_str())),
            text(self.state.as_deref()),
            text(update.map(|update| update.policy_hash.as_str())),
            text(receipt.map(|receipt| receipt.key.as_str())),
            text(receipt.map(|receipt| receipt.answer.as_str())),
        ]
    }

    pub fn execute(&self, appender: &Appender) -> Result<(), Fault> {
        appender.execute(APPEND, |statement| values::bind(statement, 0, &self.values()))
    }
}

const APPEND: &str =
    "INSERT INTO appends VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
