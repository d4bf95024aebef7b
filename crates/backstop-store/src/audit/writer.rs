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

/// The row comes back with what became of it: memory is cheaper to free where it was taken than on
/// the writer's thread.
type Answer = oneshot::Sender<(Result<(), Arc<StoreError>>, NewAuditRow)>;

impl AuditWriter {
    /// Starts the writer beside the tasks of the current runtime: on a thread of its own, since
    /// everybody waits for it, and a task would stand in line behind those who wait.
    pub fn start(store: Arc<dyn Store>) -> Self {
        let (rows, waiting) = mpsc::channel(WAITING);
        let (settled, settling) = mpsc::unbounded_channel();
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || runtime.block_on(write(store, waiting, settled)));
        tokio::spawn(tell(settling));
        Self { rows }
    }

    /// Returns when the row is on disk. A row for which nobody waits any more when its turn comes is
    /// not written.
    ///
    /// # Errors
    /// It could not be written. The next one may be: a row that was not acknowledged may still be
    /// there, which is one answer too many on record and none too few.
    pub async fn append(&self, row: NewAuditRow) -> Result<(), Arc<StoreError>> {
        let ended = || Arc::new(StoreError::Write("the audit's writer has ended".to_owned()));
        let (sender, written) = oneshot::channel();
        self.rows.reserve().await.map_err(|_| ended())?.send((row, sender));
        written.await.map_or_else(|_| Err(ended()), |(result, _row)| result)
    }
}

/// What became of rows that were written together.
struct Settled {
    result: Result<(), Arc<StoreError>>,
    rows: Vec<NewAuditRow>,
    answers: Vec<Answer>,
}

async fn write(
    store: Arc<dyn Store>,
    mut waiting: mpsc::Receiver<(NewAuditRow, Answer)>,
    settled: mpsc::UnboundedSender<Settled>,
) {
    let mut gathered = Vec::with_capacity(TOGETHER);
    while waiting.recv_many(&mut gathered, TOGETHER).await > 0 {
        let waited_for = gathered.drain(..).filter(|(_, answer)| !answer.is_closed());
        let (rows, answers): (Vec<_>, Vec<_>) = waited_for.unzip();
        if rows.is_empty() {
            continue;
        }
        let result = store.audit_append(&rows).await.map(drop).map_err(Arc::new);
        if settled.send(Settled { result, rows, answers }).is_err() {
            // Nobody can be told any more: the runtime ends.
            return;
        }
    }
}

/// Tells all who waited, on a thread of the runtime: the writer wakes one task for all of them, and
/// need not wake another thread for each. There is never more to tell than was waiting.
async fn tell(mut settling: mpsc::UnboundedReceiver<Settled>) {
    while let Some(Settled { result, rows, answers }) = settling.recv().await {
        for (answer, row) in answers.into_iter().zip(rows) {
            // Who asked may have gone away; the row stays.
            answer.send((result.clone(), row)).ok();
        }
    }
}

/// How many may wait before more have to wait for their turn to wait.
const WAITING: usize = 1_024;
/// How many are written together at most. With more, all who ask would wait for the same commit,
/// and then the disk for all of them.
const TOGETHER: usize = 64;
