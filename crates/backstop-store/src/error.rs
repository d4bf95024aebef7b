//! What can go wrong with a store.

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;

/// Why a store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("can't open the store `{place}`: {cause}")]
    Open { place: String, cause: String },
    #[error(
        "the store `{place}` was written by a newer version of backstop ({found}; this one knows {known})"
    )]
    Newer { place: String, found: i64, known: i64 },
    #[error("the SQLite library is too old: {found}, and {needed} is needed")]
    OldLibrary { found: String, needed: String },
    #[error("the store is full: {0}")]
    Full(String),
    #[error("the store can't be written: {0}")]
    Write(String),
    /// Nobody may write it, so that nothing was written.
    #[error("the store can't be written: {0}")]
    ReadOnly(String),
    #[error("the store can't be read: {0}")]
    Read(String),
    #[error("the store is damaged: {0}")]
    Damaged(String),
    #[error("run {run} is supervised by {holder} until {expires_at}")]
    LeaseHeld { run: RunId, holder: String, epoch: u64, expires_at: Timestamp },
    #[error("run {run} is no longer ours: another supervisor has taken it")]
    Fenced { run: RunId },
    #[error("run {run} has taken in the request `{key}` before")]
    Repeated { run: RunId, key: String },
    #[error("there is no store at `{0}`")]
    Missing(String),
    #[error("there is no run {0}")]
    NoRun(RunId),
    #[error("`{place}` is not a store: {why}")]
    Location { place: String, why: String },
}
