//! The connection for what is appended while somebody waits for it: journals and the audit.
//!
//! It writes on the thread that asks, and keeps that one waiting for the disk: to hand a statement
//! to another thread and to be woken by it takes as long again as the disk does.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Statement};

use super::checkpoint::{KIB_KEPT, LONGEST_LOG};
use super::fault::Fault;
use super::log::Log;

/// Appends, one statement and one commit at a time.
#[derive(Debug)]
pub struct Appender {
    connection: Connection,
}

impl Appender {
    /// Opens a database that is there and up to date.
    pub fn open(database: &Path, busy_timeout: Duration) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(database, flags)?;
        connection.busy_timeout(busy_timeout)?;
        connection.execute_batch(&format!(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; \
             PRAGMA wal_autocheckpoint = {LONGEST_LOG}; PRAGMA cache_size = -{KIB_KEPT}"
        ))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let mut log = Log::new(database);
        // What can't be done costs a little time and nothing else: no commit is turned back.
        connection.commit_hook(Some(move || {
            log.look_after().ok();
            false
        }))?;
        Ok(Self { connection })
    }

    /// Does something as one transaction that holds the write lock from its first moment on: only
    /// its beginning can find the database busy. On disk when this returns.
    pub fn transaction<T>(&self, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        self.say("BEGIN IMMEDIATE")?;
        let result = work().and_then(|done| self.say("COMMIT").map(|()| done));
        // Some failures undo everything by themselves.
        if result.is_err() && !self.connection.is_autocommit() {
            self.say("ROLLBACK")?;
        }
        result
    }

    /// Does something that is undone if it fails, in the middle of a transaction that goes on.
    pub fn part<T, E: From<Fault>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.say("SAVEPOINT part")?;
        let result = work();
        if result.is_err() && !self.connection.is_autocommit() {
            self.say("ROLLBACK TO part")?;
        }
        if !self.connection.is_autocommit() {
            self.say("RELEASE part")?;
        }
        result
    }

    /// Whether SQLite has ended the transaction by itself, as it does for want of memory or when it
    /// is interrupted: what follows would be one of its own.
    pub fn has_undone_all(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// To read in a transaction.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn say(&self, sql: &str) -> Result<(), Fault> {
        self.execute(sql, |_| Ok(()))
    }

    /// Executes a statement, as its own transaction if there is none: on disk then when this
    /// returns.
    pub fn execute(
        &self,
        sql: &str,
        bind: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement)?;
        statement.raw_execute()?;
        Ok(())
    }
}

/// One for journals, those for what is read before one is written, and those for so many rows of
/// the audit.
const STATEMENTS: usize = 32;
