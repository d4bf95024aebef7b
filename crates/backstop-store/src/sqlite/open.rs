//! Opening a store: fast if all is well, clear if not.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::sync::Mutex;

use super::arrivals::Arrivals;
use super::checkpoint::Checkpoints;
use super::fault::Fault;
use super::files::Files;
use super::reader::Readers;
use super::writer::Writer;
use super::{SqliteStore, log, schema};
use crate::StoreError;
use crate::home::{Home, create_private};

impl SqliteStore {
    /// Opens the store of a state directory, and creates what is missing. When this returns, the
    /// store can be written.
    ///
    /// # Errors
    /// A place that can't be written, a database that is damaged, foreign or from a newer version.
    pub async fn open(home: &Home) -> Result<Self, StoreError> {
        let place = home.root().display().to_string();
        let unusable =
            |error: io::Error| StoreError::Open { place: place.clone(), cause: error.to_string() };
        create_private(home.root()).map_err(unusable)?;
        // A name that is absolute is never taken for a URL.
        let database = std::path::absolute(home.database()).map_err(unusable)?;
        refuse_emptied(home, &database)?;
        let options = options(&database);
        let writing = Checkpoints::left_to_others(options.clone());
        let connection = connect(&writing, home, &database, &place).await?;
        let files = Files::of(&database);
        // From now on a database that is missing was removed.
        let (writing, reading) =
            (writing.create_if_missing(false), options.create_if_missing(false));
        Ok(Self {
            home: home.clone(),
            writer: Arc::new(Mutex::new(Writer::new(connection, writing, files.clone()))),
            arrivals: Arrivals::default(),
            readers: Readers::new(reading, files),
        })
    }
}

fn options(database: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(true)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
}

async fn connect(
    options: &SqliteConnectOptions,
    home: &Home,
    database: &Path,
    place: &str,
) -> Result<SqliteConnection, StoreError> {
    let failed = |error: sqlx::Error| match Fault::from(error).of_open(place) {
        StoreError::Open { place, cause } => {
            let cause = why_unusable(home, database).unwrap_or(cause);
            StoreError::Open { place, cause }
        }
        other => other,
    };
    let mut connection = options.connect().await.map_err(failed)?;
    keep_private(database);
    schema::prepare(&mut connection, place).await?;
    // Takes the write lock, for which the log and its index must be writable, and changes nothing.
    connection.execute("BEGIN IMMEDIATE; ROLLBACK").await.map_err(failed)?;
    log::keep_room(&mut connection, database).await.map_err(failed)?;
    Ok(connection)
}

/// A state directory may have been there before, open to others. The files that SQLite adds take
/// after the database; one that is not new stays as its owner wants it.
fn keep_private(database: &Path) {
    if fs::metadata(database).is_ok_and(|data| data.len() == 0) {
        // The store is no worse for it if the file system has no modes.
        fs::set_permissions(database, fs::Permissions::from_mode(0o600)).ok();
    }
}

/// An empty file would be taken for a new database (by SQLite also one of a single byte). If there
/// are runs, it was a full one.
fn refuse_emptied(home: &Home, database: &Path) -> Result<(), StoreError> {
    let has_runs = fs::read_dir(home.runs()).is_ok_and(|mut entries| entries.next().is_some());
    if has_runs && fs::metadata(database).is_ok_and(|data| data.len() <= 1) {
        return Err(StoreError::Damaged(format!("`{}` is empty", database.display())));
    }
    Ok(())
}

/// SQLite says only that it can't open a file. The file itself must not be opened here: closing
/// it would drop the locks that another connection of this process holds on it.
fn why_unusable(home: &Home, database: &Path) -> Option<String> {
    if fs::metadata(database).is_ok_and(|data| !data.is_file()) {
        return Some(format!("`{}` is not a file", database.display()));
    }
    if fs::metadata(database).is_ok_and(|data| data.permissions().readonly()) {
        return Some(format!("`{}` is read-only", database.display()));
    }
    let probe = home.root().join(format!(".probe-{}", std::process::id()));
    match fs::File::create_new(&probe) {
        Ok(_) => {
            fs::remove_file(&probe).ok();
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

pub const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
