//! Group commit: rows that come while the disk is busy are written together.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::row::NewAuditRow;
use crate::{Store, StoreError};

/// A handle to the one thread that appends to the audit. When the last handle goes, it ends.
#[derive(Clone, Debug)]
pub struct AuditWriter {
    rows: mpsc::Sender<(NewAuditRow, Answer)>,
}

type Answer = oneshot::Sender<Result<(), Arc<StoreError>>>;

impl AuditWriter {
    /// Starts the writer beside the tasks of the current runtime: on a thread of its own, since
    /// everybody waits for it, and a task would stand in line behind those who wait.
    pub fn start(store: Arc<dyn Store>) -> Self {
        let (rows, waiting) = mpsc::channel(WAITING);
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || runtime.block_on(write(store, waiting)));
        Self { rows }
    }

    /// Returns when the row is on disk.
    ///
    /// # Errors
    /// It could not be written. The next one may be: a row that was not acknowledged may still be
    /// there, which is one answer too many on record and none too few.
    pub async fn append(&self, row: NewAuditRow) -> Result<(), Arc<StoreError>> {
        let ended = || Arc::new(StoreError::Write("the audit's writer has ended".to_owned()));
        let (sender, written) = oneshot::channel();
        self.rows.send((row, sender)).await.map_err(|_| ended())?;
        written.await.unwrap_or_else(|_| Err(ended()))
    }
}

async fn write(store: Arc<dyn Store>, mut waiting: mpsc::Receiver<(NewAuditRow, Answer)>) {
    let mut gathered = Vec::with_capacity(TOGETHER);
    while waiting.recv_many(&mut gathered, TOGETHER).await > 0 {
        let (rows, answers): (Vec<_>, Vec<_>) = gathered.drain(..).unzip();
        let result = store.audit_append(&rows).await.map(drop).map_err(Arc::new);
        for answer in answers {
            // Who asked may have gone away; the row stays.
            answer.send(result.clone()).ok();
        }
    }
}

/// How many may wait before more have to wait for their turn to wait.
const WAITING: usize = 1_024;
/// How many are written together at most. With more, all who ask would wait for the same commit, and
/// then the disk for all of them.
const TOGETHER: usize = 64;
