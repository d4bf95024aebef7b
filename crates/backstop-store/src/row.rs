//! From rows of the tables to what they mean, whatever engine keeps them.

mod audit;
mod service;

use std::fmt::Display;
use std::str::FromStr;

use backstop_core::time::Timestamp;
use serde::de::DeserializeOwned;

pub use self::audit::written;
use crate::checksum::{checksum, checksum_of_decision};
use crate::lease::{Lease, LeaseRecord};
use crate::record::{DecisionRecord, InboxMessage, Intervention, Run, Snapshot, StoredPolicy};

/// A row of some engine's.
pub trait Cells {
    fn text(&self, column: &str) -> Result<&str, Unreadable>;
    fn optional_text(&self, column: &str) -> Result<Option<&str>, Unreadable>;
    fn number(&self, column: &str) -> Result<i64, Unreadable>;
    fn optional_number(&self, column: &str) -> Result<Option<i64>, Unreadable>;
    fn flag(&self, column: &str) -> Result<bool, Unreadable>;
    fn bytes(&self, column: &str) -> Result<Vec<u8>, Unreadable>;
}

/// A row holds what nobody can have written there.
#[derive(Clone, Debug)]
pub struct Unreadable(pub String);

impl Unreadable {
    pub fn of_content(column: &str, content: &dyn Display) -> Self {
        Self(format!("`{column}` can't be `{content}`"))
    }
}

/// The cells of a row of sqlx's: they differ in their types alone.
macro_rules! cells_of {
    ($row:ty) => {
        impl $crate::row::Cells for $row {
            fn text(&self, column: &str) -> Result<&str, $crate::row::Unreadable> {
                $crate::row::got(column, sqlx::Row::try_get(self, column))
            }

            fn optional_text(&self, column: &str) -> Result<Option<&str>, $crate::row::Unreadable> {
                $crate::row::got(column, sqlx::Row::try_get(self, column))
            }

            fn number(&self, column: &str) -> Result<i64, $crate::row::Unreadable> {
                $crate::row::got(column, sqlx::Row::try_get(self, column))
            }

            fn optional_number(
                &self,
                column: &str,
            ) -> Result<Option<i64>, $crate::row::Unreadable> {
                $crate::row::got(column, sqlx::Row::try_get(self, column))
            }

            fn flag(&self, column: &str) -> Result<bool, $crate::row::Unreadable> {
                $crate::row::got(column, sqlx::Row::try_get(self, column))
            }

            fn bytes(&self, column: &str) -> Result<Vec<u8>, $crate::row::Unreadable> {
                $crate::row::got(column, sqlx::Row::try_get(self, column))
            }
        }
    };
}
pub(crate) use cells_of;

pub fn got<T>(column: &str, cell: Result<T, sqlx::Error>) -> Result<T, Unreadable> {
    cell.map_err(|error| match error {
        sqlx::Error::ColumnDecode { source, .. } => Unreadable(format!("`{column}`: {source}")),
        other => Unreadable(other.to_string()),
    })
}

/// Something that a query gives, one per row.
pub trait FromRow: Sized {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable>;
}

impl FromRow for Run {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            id: parsed(row, "id")?,
            created_at: time(row, "created_at")?,
            updated_at: time(row, "updated_at")?,
            cwd: owned(row, "cwd")?,
            command: json(row, "command")?,
            labels: json(row, "labels")?,
            policy_hash: owned(row, "policy_hash")?,
            status: parsed(row, "status")?,
            state: json(row, "state")?,
            launch: json(row, "launch")?,
            supervised: row.flag("supervised")?,
            pruned: row.flag("pruned")?,
        })
    }
}

impl FromRow for StoredPolicy {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            hash: owned(row, "hash")?,
            label: optional(row, "label")?,
            json: owned(row, "json")?,
            source: optional(row, "source")?,
            source_name: owned(row, "source_name")?,
            put_by: owned(row, "put_by")?,
            put_at: time(row, "put_at")?,
        })
    }
}

impl FromRow for LeaseRecord {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            lease: Lease { run: parsed(row, "run")?, epoch: count(row, "epoch")? },
            holder: json(row, "holder")?,
            expires_at: time(row, "expires_at")?,
            released: row.flag("released")?,
        })
    }
}

impl FromRow for Snapshot {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        let snapshot = Self { seq: count(row, "seq")?, facts: owned(row, "facts")? };
        check(row, snapshot.seq, checksum(snapshot.seq, &snapshot.facts))?;
        Ok(snapshot)
    }
}

impl FromRow for DecisionRecord {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        let decision = Self {
            seq: count(row, "seq")?,
            at: time(row, "at")?,
            verdict: owned(row, "verdict")?,
            reason: optional(row, "reason")?,
            policy_hash: owned(row, "policy_hash")?,
            body: owned(row, "body")?,
        };
        check(row, decision.seq, checksum_of_decision(&decision))?;
        Ok(decision)
    }
}

impl FromRow for Intervention {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            run: parsed(row, "run")?,
            seq: count(row, "seq")?,
            asked_at: time(row, "asked_at")?,
            asked: owned(row, "asked")?,
            answered_at: optional_time(row, "answered_at")?,
            answered: optional(row, "answered")?,
        })
    }
}

impl FromRow for InboxMessage {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self { number: row.number("number")?, body: owned(row, "body")? })
    }
}

fn check(row: &impl Cells, seq: u64, sum: i64) -> Result<(), Unreadable> {
    if row.number("checksum")? == sum {
        return Ok(());
    }
    Err(Unreadable(format!("what is kept for event {seq} has changed")))
}

pub fn count(row: &impl Cells, column: &str) -> Result<u64, Unreadable> {
    let number = row.number(column)?;
    u64::try_from(number).map_err(|_| Unreadable::of_content(column, &number))
}

pub fn time(row: &impl Cells, column: &str) -> Result<Timestamp, Unreadable> {
    Ok(Timestamp::from_nanos(row.number(column)?))
}

pub fn optional_time(row: &impl Cells, column: &str) -> Result<Option<Timestamp>, Unreadable> {
    Ok(row.optional_number(column)?.map(Timestamp::from_nanos))
}

pub fn owned(row: &impl Cells, column: &str) -> Result<String, Unreadable> {
    row.text(column).map(str::to_owned)
}

pub fn optional(row: &impl Cells, column: &str) -> Result<Option<String>, Unreadable> {
    Ok(row.optional_text(column)?.map(str::to_owned))
}

pub fn json<T: DeserializeOwned>(row: &impl Cells, column: &str) -> Result<T, Unreadable> {
    let text = row.text(column)?;
    serde_json::from_str(text).map_err(|_| Unreadable::of_content(column, &text))
}

pub fn parsed<T: FromStr>(row: &impl Cells, column: &str) -> Result<T, Unreadable> {
    let text = row.text(column)?;
    text.parse().map_err(|_| Unreadable::of_content(column, &text))
}
