//! Which tables there are: migrations, from the first version on.

use super::client::Client;
use super::fault::Fault;
use super::sql::sql;
use crate::StoreError;
use crate::row::Cells as _;

/// The version that this program writes.
pub const CURRENT: i64 = MIGRATIONS.len() as i64;

/// Makes sure that a database has today's tables, and that the server is one that knows them.
pub async fn prepare(client: &Client, place: &str) -> Result<(), StoreError> {
    let failed = |fault: Fault| fault.of_open(place);
    let found = found(client).await.map_err(failed)?;
    if found.server < NEEDED_SERVER {
        return Err(StoreError::Open {
            place: place.to_owned(),
            cause: format!("PostgreSQL 14 or newer is needed, and this is {}", found.name),
        });
    }
    if let Some(version) = found.version
        && remaining(version, place)?.is_empty()
    {
        return Ok(());
    }
    migrate(client, place).await
}

struct Found {
    server: i64,
    name: String,
    version: Option<i64>,
}

async fn found(client: &Client) -> Result<Found, Fault> {
    let server = "SELECT current_setting('server_version_num')::bigint AS server, \
         current_setting('server_version') AS name";
    let rows = client.read(server, super::client::Limit::ORDINARY).await?;
    let row = rows.first().ok_or_else(Fault::of_silence)?;
    let (server, name) = (row.number("server")?, row.text("name")?.to_owned());
    Ok(Found { server, name, version: version(client).await? })
}

async fn version(client: &Client) -> Result<Option<i64>, Fault> {
    match client.read(VERSION, super::client::Limit::ORDINARY).await {
        Ok(rows) => Ok(rows.first().map(|row| row.number("version")).transpose()?),
        Err(fault) if fault.is_missing_table() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Whether a database has tables of ours.
pub async fn has_version(client: &Client) -> Result<bool, Fault> {
    Ok(version(client).await?.is_some())
}

/// Whoever comes first does it, in one transaction; the others wait for it and find it done.
async fn migrate(client: &Client, place: &str) -> Result<(), StoreError> {
    let failed = |fault: Fault| fault.of_open(place);
    let (transaction, _) = client.begin(LOCK).await.map_err(failed)?;
    // Only now, since a statement sees what was there when it began.
    let (transaction, rows) = transaction.run(VERSION.to_owned()).await.map_err(failed)?;
    let version = rows.first().map(|row| row.number("version")).transpose();
    let version = version.map_err(|error| failed(error.into()))?.unwrap_or(0);
    let remaining = match remaining(version, place) {
        Ok(remaining) => remaining,
        Err(error) => {
            transaction.roll_back().await;
            return Err(error);
        }
    };
    let mark = sql(
        "; TRUNCATE backstop_schema; INSERT INTO backstop_schema VALUES ($1)",
        &[CURRENT.into()],
    );
    let last = remaining.join(";\n") + &mark.map_err(failed)?;
    transaction.commit(&last, "").await.map(drop).map_err(failed)
}

/// The migrations that a database has not had yet.
fn remaining(version: i64, place: &str) -> Result<&'static [&'static str], StoreError> {
    let done = usize::try_from(version).ok();
    match done.and_then(|done| MIGRATIONS.get(done..)) {
        Some(remaining) => Ok(remaining),
        None if version > CURRENT => {
            Err(StoreError::Newer { place: place.to_owned(), found: version, known: CURRENT })
        }
        None => Err(StoreError::Damaged(format!(
            "`{place}`: there is no version {version} of its tables"
        ))),
    }
}

const VERSION: &str = "SELECT version FROM backstop_schema";

const LOCK: &str = "SELECT pg_advisory_xact_lock(1651209076, 0); \
     CREATE TABLE IF NOT EXISTS backstop_schema (version BIGINT NOT NULL)";

/// In the order in which they are applied. Append only: what was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_store.sql"),
    include_str!("../../migrations/postgres/0002_services.sql"),
    include_str!("../../migrations/postgres/0003_unfinished.sql"),
    include_str!("../../migrations/postgres/0004_audit_order.sql"),
    include_str!("../../migrations/postgres/0005_checks.sql"),
];

const NEEDED_SERVER: i64 = 140_000;
