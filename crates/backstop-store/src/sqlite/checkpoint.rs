//! Moves what the log holds into the database, beside the writer instead of in its way: a writer that
//! does so itself keeps everybody waiting for several syncs of the disk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::runtime::Handle;

use super::fault::Fault;

/// Decides when it is time for a checkpoint, and has it made.
#[derive(Debug)]
pub struct Checkpoints {
    options: SqliteConnectOptions,
    /// What was written since the last one began, in pages, by a rough estimate.
    pages: u64,
    state: Arc<State>,
    /// On which one is made: who writes may be on a thread that has none.
    runtime: Handle,
}

#[derive(Debug, Default)]
struct State {
    is_running: AtomicBool,
    /// What the disk said when it failed.
    failure: Mutex<Option<Fault>>,
}

impl Checkpoints {
    pub fn new(options: SqliteConnectOptions, runtime: Handle) -> Self {
        Self { options, pages: 0, state: Arc::default(), runtime }
    }

    /// What a writer sets, so that it makes one itself only if the log has grown far too long: while
    /// somebody writes without a pause, a log can't be begun anew by anybody else.
    pub fn left_to_others(options: SqliteConnectOptions) -> SqliteConnectOptions {
        options.pragma("wal_autocheckpoint", LONGEST_LOG.to_string())
    }

    /// So much more was written. Begins a checkpoint if it is time, and does not wait for it.
    pub fn count(&mut self, pages: u64) {
        self.pages += pages;
        if self.pages < OFTEN || self.state.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        self.pages = 0;
        let running = Running(Arc::clone(&self.state));
        let options = self.options.clone();
        self.runtime.spawn(async move {
            if let Err(fault) = checkpoint(&options).await
                && fault.is_of_disk()
            {
                *running.0.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
            }
        });
    }

    /// What the disk said when one failed. Nothing is lost by it, but a disk that can't sync is not
    /// to be trusted with the next write either.
    pub fn failure(&self) -> Option<Fault> {
        self.state.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// However it ends, the next one may begin.
struct Running(Arc<State>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

async fn checkpoint(options: &SqliteConnectOptions) -> Result<(), Fault> {
    let mut connection = options.connect().await?;
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").await?;
    connection.close().await?;
    Ok(())
}

/// After so many pages (64 MiB) the log is moved: pages that changed often are moved once then.
const OFTEN: u64 = 16_384;
/// A log of 256 MiB: it grows so long only while somebody writes without a pause.
pub const LONGEST_LOG: u32 = 65_536;
/// What the appender keeps of the database, so that indexes need not be read again and again.
pub const KIB_KEPT: u32 = 16 << 10;
