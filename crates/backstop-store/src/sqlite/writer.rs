//! Who writes, one statement or transaction at a time, over one of two connections: that for what is
//! appended and that for everything else.

use std::mem;

use futures_util::TryStreamExt as _;
use sqlx::Either;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions as _, Connection as _, Execute as _, Executor as _, Transaction};
use tokio::runtime::Handle;

use super::appender::Appender;
use super::checkpoint::Checkpoints;
use super::fault::Fault;
use super::files::Files;
use super::log;
use super::open::BUSY_TIMEOUT;
use crate::audit::AuditHead;

/// Writes to the database. Behind a lock, so that this process never competes with itself.
#[derive(Debug)]
pub struct Writer {
    connection: SqliteConnection,
    /// What the connection was last told to do; none while it is being told.
    durability: Option<Durability>,
    /// What the disk said when it failed. Nothing is written after that.
    broken: Option<Fault>,
    /// The connection does not know what became of its last transaction: another one is needed.
    is_spent: bool,
    options: SqliteConnectOptions,
    files: Files,
    checkpoints: Checkpoints,
    /// Opened when it is first needed.
    appender: Option<Appender>,
    /// The last row of the audit, if this has written it. Others may have appended since.
    pub audit_head: Option<AuditHead>,
}

/// Whether a write waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives a power cut when it is acknowledged.
    Synced,
    /// It survives the death of this process at once, and a power cut with the next synced write
    /// of anybody, since all go through one log. Enough for what a power cut makes void anyway
    /// (leases), and for what means nothing without the append that follows (a run without events).
    Ordered,
}

impl Writer {
    /// A writer whose checkpoints are made on the current runtime.
    pub fn new(connection: SqliteConnection, options: SqliteConnectOptions, files: Files) -> Self {
        Self {
            connection,
            durability: None,
            broken: None,
            is_spent: false,
            checkpoints: Checkpoints::new(options.clone(), Handle::current()),
            options,
            files,
            appender: None,
            audit_head: None,
        }
    }

    /// Runs one statement as its own transaction.
    pub async fn run(
        &mut self,
        durability: Durability,
        mut query: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<Vec<SqliteRow>, Fault> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?.unwrap_or_default();
        let sql = query.sql();
        let mut patience = Patience::default();
        loop {
            let query = sqlx::query_with(sql.clone(), arguments.clone());
            let connection = self.connection(durability).await?;
            match finished(connection, query).await.map_err(Fault::from) {
                Err(fault) if patience.lasts(&fault) => {}
                result => return result.map_err(|fault| self.remember(fault)),
            }
        }
    }

    /// Appends by one transaction, synced, on this thread: for those who have one to themselves. It
    /// is done again while others keep the database busy.
    pub fn append<T>(&mut self, work: impl Fn(&Appender) -> Result<T, Fault>) -> Result<T, Fault> {
        self.check_disk()?;
        self.checkpoints.count(PAGES_OF_A_WRITE);
        let mut patience = Patience::default();
        loop {
            let appended = self.appender().and_then(&work);
            // What was written to a file that nobody will find again is not written.
            match appended.and_then(|done| self.files.check().map(|()| done)) {
                Err(fault) if patience.lasts(&fault) => {}
                result => return result.map_err(|fault| self.remember(fault)),
            }
        }
    }

    fn appender(&mut self) -> Result<&Appender, Fault> {
        Ok(match &mut self.appender {
            Some(appender) => appender,
            none => none.insert(Appender::open(self.options.get_filename(), BUSY_TIMEOUT)?),
        })
    }

    /// Begins a synced transaction that holds the write lock from its first moment on: only this
    /// can find the database busy, and nothing that follows in the transaction.
    pub async fn begin(&mut self) -> Result<Transaction<'_, Sqlite>, Fault> {
        let connection = self.connection(Durability::Synced).await?;
        Ok(connection.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Tells of a write that touches more pages than most.
    pub fn count_pages(&mut self, pages: u64) {
        self.checkpoints.count(pages);
    }

    /// Keeps a failure of the disk in mind, so that nothing is written after it. A disk that was
    /// full may have room later.
    pub fn remember(&mut self, fault: Fault) -> Fault {
        self.is_spent |= fault.is_of_room();
        if fault.is_of_disk() && self.broken.is_none() {
            self.broken = Some(fault.clone());
        }
        fault
    }

    async fn connection(&mut self, durability: Durability) -> Result<&mut SqliteConnection, Fault> {
        match self.prepare(durability).await {
            Ok(()) => Ok(&mut self.connection),
            Err(fault) => Err(self.remember(fault)),
        }
    }

    /// Nothing is written after a failure of the disk.
    fn check_disk(&self) -> Result<(), Fault> {
        let failure = self.broken.clone().or_else(|| self.checkpoints.failure());
        failure.map_or(Ok(()), Err)
    }

    async fn prepare(&mut self, durability: Durability) -> Result<(), Fault> {
        self.check_disk()?;
        self.files.check()?;
        self.checkpoints.count(PAGES_OF_A_WRITE);
        if self.is_spent {
            let mut fresh = self.options.connect().await?;
            log::keep_room(&mut fresh, self.options.get_filename()).await?;
            let spent = mem::replace(&mut self.connection, fresh);
            (self.is_spent, self.durability) = (false, None);
            // It holds nothing that counts any more.
            spent.close().await.ok();
        }
        // Another connection for what need not be synced would take longer to open than a run may
        // take to start.
        if self.durability != Some(durability) {
            self.durability = None;
            self.connection.execute(durability.pragma()).await?;
            self.durability = Some(durability);
        }
        Ok(())
    }
}

/// The rows of one statement, as soon as it is done: not when nothing more is to come, which the
/// connection's thread would say by waking this one again.
async fn finished(
    connection: &mut SqliteConnection,
    query: Query<'_, Sqlite, SqliteArguments>,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    let mut told = connection.fetch_many(query);
    let mut rows = Vec::new();
    while let Some(Either::Right(row)) = told.try_next().await? {
        rows.push(row);
    }
    Ok(rows)
}

impl Durability {
    const fn pragma(self) -> &'static str {
        match self {
            Self::Synced => "PRAGMA synchronous = FULL",
            Self::Ordered => "PRAGMA synchronous = NORMAL",
        }
    }
}

/// How often something is tried while others keep the database busy. Each attempt waits for
/// SQLite's own time-out first.
#[derive(Debug, Default)]
pub struct Patience {
    attempts: u32,
}

impl Patience {
    pub fn lasts(&mut self, fault: &Fault) -> bool {
        self.attempts += 1;
        fault.is_busy() && self.attempts < ATTEMPTS
    }
}

const ATTEMPTS: u32 = 6;
/// A few rows, with the indexes over them.
const PAGES_OF_A_WRITE: u64 = 6;
