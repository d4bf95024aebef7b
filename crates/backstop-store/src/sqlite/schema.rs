//! Which tables there are: migrations, from the first version on.

use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::fault::Fault;
use crate::StoreError;

/// The version that this program writes.
pub const CURRENT: i64 = MIGRATIONS.len() as i64;

/// Makes sure that a database has today's tables, and that the library is one that can be trusted.
pub async fn prepare(connection: &mut SqliteConnection, place: &str) -> Result<(), StoreError> {
    let found = Found::read(connection).await.map_err(|fault| fault.of_open(place))?;
    check_library(&found.library)?;
    if found.is_current() {
        return Ok(());
    }
    use_write_ahead_log(connection).await.map_err(|fault| fault.of_open(place))?;
    migrate(connection, place).await
}

/// What a database says of itself.
struct Found {
    version: i64,
    application: i64,
    tables: i64,
    library: String,
}

impl Found {
    async fn read(connection: &mut SqliteConnection) -> Result<Self, Fault> {
        let row = sqlx::query(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema), \
             sqlite_version() FROM pragma_user_version, pragma_application_id",
        )
        .fetch_one(connection)
        .await?;
        Ok(Self {
            version: row.try_get(0)?,
            application: row.try_get(1)?,
            tables: row.try_get(2)?,
            library: row.try_get(3)?,
        })
    }

    fn is_current(&self) -> bool {
        self.version == CURRENT && self.application == APPLICATION
    }

    /// The number of migrations that the database has had.
    fn migrations(&self, place: &str) -> Result<usize, StoreError> {
        let foreign = self.application != APPLICATION && (self.tables > 0 || self.version != 0);
        match usize::try_from(self.version) {
            _ if foreign => Err(StoreError::Location {
                place: place.to_owned(),
                why: "it is a database of another program".to_owned(),
            }),
            Ok(version) if version <= MIGRATIONS.len() => Ok(version),
            Ok(_) => Err(StoreError::Newer {
                place: place.to_owned(),
                found: self.version,
                known: CURRENT,
            }),
            Err(_) => Err(StoreError::Damaged(format!(
                "`{place}`: there is no version {} of its tables",
                self.version
            ))),
        }
    }
}

/// Older libraries have a fault that can damage a database in write-ahead mode.
fn check_library(version: &str) -> Result<(), StoreError> {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    if (next(), next(), next()) < NEEDED {
        let (major, minor, patch) = NEEDED;
        return Err(StoreError::OldLibrary {
            found: version.to_owned(),
            needed: format!("{major}.{minor}.{patch}"),
        });
    }
    Ok(())
}

/// Changing the mode needs the database for oneself, and SQLite does not wait for that by itself.
async fn use_write_ahead_log(connection: &mut SqliteConnection) -> Result<(), Fault> {
    let mut attempts = 0;
    loop {
        match connection.execute("PRAGMA journal_mode = WAL").await.map_err(Fault::from) {
            Err(fault) if fault.is_busy() && attempts < MODE_ATTEMPTS => attempts += 1,
            result => return result.map(drop),
        }
        tokio::time::sleep(MODE_PAUSE).await;
    }
}

/// Whoever comes first does it; the others wait for the write lock and find it done.
async fn migrate(connection: &mut SqliteConnection, place: &str) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| Fault::from(error).of_open(place);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    let found = Found::read(&mut transaction).await.map_err(|fault| fault.of_open(place))?;
    for migration in &MIGRATIONS[found.migrations(place)?..] {
        transaction.execute(*migration).await.map_err(failed)?;
    }
    let mark = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {CURRENT}");
    transaction.execute(AssertSqlSafe(mark)).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// In the order in which they are applied. Append only: what was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_runs.sql"),
    include_str!("../../migrations/sqlite/0002_journal_order.sql"),
    include_str!("../../migrations/sqlite/0003_service.sql"),
    include_str!("../../migrations/sqlite/0004_services.sql"),
    include_str!("../../migrations/sqlite/0005_unfinished.sql"),
    include_str!("../../migrations/sqlite/0006_checks.sql"),
];

/// Marks a database as ours: the letters `bkst`.
const APPLICATION: i64 = 0x626B_7374;

const NEEDED: (u32, u32, u32) = (3, 51, 3);

const MODE_ATTEMPTS: u32 = 1_000;
const MODE_PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn journals_of_the_first_version_are_kept() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        connection.execute(MIGRATIONS[0]).await.unwrap();
        connection
            .execute(
                "INSERT INTO policies VALUES ('p', NULL, '{}', NULL, 'p', 'ann', 0);
                 INSERT INTO runs VALUES ('B', 1, 1, '/', '[]', '{}', 'p', 'running', '{}', '{}', 1, 0);
                 INSERT INTO runs VALUES ('A', 2, 2, '/', '[]', '{}', 'p', 'running', '{}', '{}', 1, 0);
                 INSERT INTO events VALUES ('A', 1, 5, 'noted', 'a1', 7), ('B', 1, 5, 'noted', 'b1', 8),
                     ('B', 2, 6, 'noted', 'b2', 9);",
            )
            .await
            .unwrap();
        for migration in &MIGRATIONS[1..] {
            connection.execute(*migration).await.unwrap();
        }
        let rows = sqlx::query(
            "SELECT place >> 36, place & 0xFFFFFFFFF, run, seq, body, checksum FROM events ORDER BY place",
        );
        let kept: Vec<(i64, i64, String, i64, String, i64)> = rows
            .fetch_all(&mut connection)
            .await
            .unwrap()
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4), row.get(5)))
            .collect();
        let row = |number, seq, run: &str, body: &str, checksum| {
            (number, seq, run.to_owned(), seq, body.to_owned(), checksum)
        };
        assert_eq!(
            kept,
            [row(1, 1, "B", "b1", 8), row(1, 2, "B", "b2", 9), row(2, 1, "A", "a1", 7)]
        );
    }

    #[test]
    fn old_libraries_are_refused() {
        for (version, good) in [
            ("3.51.2", false),
            ("3.9.9", false),
            ("3.51.3", true),
            ("3.52.0", true),
            ("4.0.0", true),
        ] {
            assert_eq!(check_library(version).is_ok(), good, "{version}");
        }
    }
}
