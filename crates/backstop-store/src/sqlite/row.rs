//! From rows of the tables to what they mean.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use backstop_core::time::Timestamp;

use super::fault::Fault;
use crate::lease::{Lease, LeaseRecord};
use crate::record::{DecisionRecord, InboxMessage, Intervention, Run, Snapshot, StoredPolicy};

/// Something that a query gives, one per row.
pub trait FromRow: Sized {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault>;
}

impl FromRow for Run {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        Ok(Self {
            id: parsed(row, "id")?,
            created_at: time(row, "created_at")?,
            updated_at: time(row, "updated_at")?,
            cwd: row.try_get("cwd")?,
            command: json(row, "command")?,
            labels: json(row, "labels")?,
            policy_hash: row.try_get("policy_hash")?,
            status: parsed(row, "status")?,
            state: json(row, "state")?,
            launch: json(row, "launch")?,
            supervised: row.try_get("supervised")?,
            pruned: row.try_get("pruned")?,
        })
    }
}

impl FromRow for StoredPolicy {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        Ok(Self {
            hash: row.try_get("hash")?,
            label: row.try_get("label")?,
            json: row.try_get("json")?,
            source: row.try_get("source")?,
            source_name: row.try_get("source_name")?,
            put_by: row.try_get("put_by")?,
            put_at: time(row, "put_at")?,
        })
    }
}

impl FromRow for LeaseRecord {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        Ok(Self {
            lease: Lease { run: parsed(row, "run")?, epoch: count(row, "epoch")? },
            holder: json(row, "holder")?,
            expires_at: time(row, "expires_at")?,
            released: row.try_get("released")?,
        })
    }
}

impl FromRow for Snapshot {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        let snapshot = Self { seq: count(row, "seq")?, facts: row.try_get("facts")? };
        check(row, snapshot.seq, checksum(snapshot.seq, &snapshot.facts))?;
        Ok(snapshot)
    }
}

impl FromRow for DecisionRecord {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        let decision = Self {
            seq: count(row, "seq")?,
            at: time(row, "at")?,
            verdict: row.try_get("verdict")?,
            reason: row.try_get("reason")?,
            policy_hash: row.try_get("policy_hash")?,
            body: row.try_get("body")?,
        };
        check(row, decision.seq, checksum_of_decision(&decision))?;
        Ok(decision)
    }
}

impl FromRow for Intervention {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        let answered_at: Option<i64> = row.try_get("answered_at")?;
        Ok(Self {
            run: parsed(row, "run")?,
            seq: count(row, "seq")?,
            asked_at: time(row, "asked_at")?,
            asked: row.try_get("asked")?,
            answered_at: answered_at.map(Timestamp::from_nanos),
            answered: row.try_get("answered")?,
        })
    }
}

impl FromRow for InboxMessage {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        Ok(Self { number: row.try_get("number")?, body: row.try_get("body")? })
    }
}

/// What is kept beside a text, so that a change of it is noticed.
pub fn checksum(seq: u64, text: &str) -> i64 {
    xxh3_64_with_seed(text.as_bytes(), seq).cast_signed()
}

/// The same of everything that a decision's row says.
pub fn checksum_of_decision(decision: &DecisionRecord) -> i64 {
    let DecisionRecord { seq, at, verdict, reason, policy_hash, body } = decision;
    let reason = reason.as_deref().unwrap_or_default();
    checksum(*seq, &format!("{} {verdict} {reason} {policy_hash} {body}", at.as_nanos()))
}

fn check(row: &SqliteRow, seq: u64, sum: i64) -> Result<(), Fault> {
    if row.try_get::<i64, _>("checksum")? == sum {
        return Ok(());
    }
    Err(Fault::of_damage(format!("what is kept for event {seq} has changed")))
}

pub fn count(row: &SqliteRow, column: &str) -> Result<u64, Fault> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| Fault::of_content(column, &number))
}

pub fn time(row: &SqliteRow, column: &str) -> Result<Timestamp, Fault> {
    Ok(Timestamp::from_nanos(row.try_get(column)?))
}

pub fn json<T: DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, Fault> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|_| Fault::of_content(column, &text))
}

pub fn parsed<T: FromStr>(row: &SqliteRow, column: &str) -> Result<T, Fault> {
    let text: &str = row.try_get(column)?;
    text.parse().map_err(|_| Fault::of_content(column, &text))
}
