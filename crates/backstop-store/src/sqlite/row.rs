//! From rows of the tables to what they mean.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use backstop_core::time::Timestamp;

use super::fault::Fault;
use crate::lease::{Lease, LeaseRecord};
use crate::record::{DecisionRecord, InboxMessage, Run, Snapshot, StoredEvent, StoredPolicy};

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

impl FromRow for StoredEvent {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        let (seq, body) = checked(row, "body")?;
        Ok(Self { seq, body })
    }
}

impl FromRow for Snapshot {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        let (seq, facts) = checked(row, "facts")?;
        Ok(Self { seq, facts })
    }
}

impl FromRow for DecisionRecord {
    fn from_row(row: &SqliteRow) -> Result<Self, Fault> {
        let (seq, body) = checked(row, "body")?;
        Ok(Self {
            seq,
            at: time(row, "at")?,
            verdict: row.try_get("verdict")?,
            reason: row.try_get("reason")?,
            policy_hash: row.try_get("policy_hash")?,
            body,
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

/// A text with its sequence number.
fn checked(row: &SqliteRow, column: &str) -> Result<(u64, String), Fault> {
    let (seq, text): (_, String) = (count(row, "seq")?, row.try_get(column)?);
    if row.try_get::<i64, _>("checksum")? != checksum(seq, &text) {
        return Err(Fault::of_content(column, &format_args!("what is kept for {seq}")));
    }
    Ok((seq, text))
}

pub fn count(row: &SqliteRow, column: &str) -> Result<u64, Fault> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| Fault::of_content(column, &number))
}

fn time(row: &SqliteRow, column: &str) -> Result<Timestamp, Fault> {
    Ok(Timestamp::from_nanos(row.try_get(column)?))
}

fn json<T: DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, Fault> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|_| Fault::of_content(column, &text))
}

pub fn parsed<T: FromStr>(row: &SqliteRow, column: &str) -> Result<T, Fault> {
    let text: &str = row.try_get(column)?;
    text.parse().map_err(|_| Fault::of_content(column, &text))
}
