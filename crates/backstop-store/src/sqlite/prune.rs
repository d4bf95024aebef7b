//! Taking old journals away.

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Patience, Writer};
use crate::StoreError;
use crate::encode::json;
use crate::row::{Cells, FromRow, Unreadable, parsed};

/// Removes journals, one run per transaction, so that nobody waits long for the write lock.
pub async fn run(
    writer: &Mutex<Writer>,
    readers: &Readers,
    halted_before: Timestamp,
    now: Timestamp,
) -> Result<Vec<RunId>, StoreError> {
    let halted: Vec<_> = RunStatus::ALL
        .iter()
        .filter(|status| status.is_halted())
        .map(|status| status.as_str())
        .collect();
    let halted = json(&halted)?;
    let query = sqlx::query(CANDIDATES).bind(&halted).bind(halted_before.as_nanos());
    let candidates: Vec<Name> = readers.all(query.bind(now.as_nanos())).await?;
    let mut pruned = Vec::new();
    for Name(run) in candidates {
        let mut writer = writer.lock().await;
        let mut patience = Patience::default();
        loop {
            match remove(&mut writer, run, &halted, halted_before, now).await {
                Err(fault) if patience.lasts(&fault) => {}
                Err(fault) => return Err(writer.remember(fault).of_write()),
                Ok(true) => break pruned.push(run),
                Ok(false) => break,
            }
        }
    }
    Ok(pruned)
}

/// False if the run has gone on in the meantime.
async fn remove(
    writer: &mut Writer,
    run: RunId,
    halted: &str,
    halted_before: Timestamp,
    now: Timestamp,
) -> Result<bool, Fault> {
    let mut transaction = writer.begin().await?;
    let marked = sqlx::query(MARK)
        .bind(halted)
        .bind(halted_before.as_nanos())
        .bind(now.as_nanos())
        .bind(run.as_str())
        .execute(&mut *transaction)
        .await?;
    if marked.rows_affected() == 0 {
        return Ok(false);
    }
    for table in REMOVALS {
        sqlx::query(*table).bind(run.as_str()).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(true)
}

struct Name(RunId);

impl FromRow for Name {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        parsed(row, "id").map(Self)
    }
}

macro_rules! is_old {
    () => {
        "pruned = 0 AND status IN (SELECT value FROM json_each(?1)) AND updated_at < ?2 \
         AND NOT EXISTS (SELECT 1 FROM leases \
             WHERE leases.run = runs.id AND released = 0 AND expires_at > ?3)"
    };
}

const CANDIDATES: &str =
    concat!("SELECT id FROM runs WHERE ", is_old!(), " ORDER BY created_at, id");
const MARK: &str = concat!("UPDATE runs SET pruned = 1 WHERE id = ?4 AND ", is_old!());
const REMOVALS: &[&str] = &[
    "DELETE FROM events \
     WHERE place > (SELECT number << 36 FROM journals WHERE run = ?1) \
       AND place < (SELECT (number + 1) << 36 FROM journals WHERE run = ?1)",
    "DELETE FROM snapshots WHERE run = ?1",
    "DELETE FROM inbox WHERE run = ?1",
];
