//! The connections that read.

use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnectOptions, SqlitePoolOptions, SqliteRow};

use super::fault::Fault;
use super::files::Files;
use crate::StoreError;
use crate::row::{FromRow, cells_of};

/// Reads the database, a few at a time. Readers don't disturb the writer, nor the other way round.
#[derive(Debug)]
pub struct Readers {
    pool: SqlitePool,
    files: Files,
}

type Select<'a> = Query<'a, Sqlite, SqliteArguments>;

impl Readers {
    /// Connects when somebody reads, so that opening a store costs no more than its writer.
    pub fn new(options: SqliteConnectOptions, files: Files) -> Self {
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(TIMEOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_lazy_with(options.pragma("query_only", "ON"));
        Self { pool, files }
    }

    pub async fn connection(&self) -> Result<PoolConnection<Sqlite>, Fault> {
        self.files.check()?;
        Ok(self.pool.acquire().await?)
    }

    pub async fn all<T: FromRow>(&self, query: Select<'_>) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(query).await?;
        rows.iter()
            .map(T::from_row)
            .collect::<Result<_, _>>()
            .map_err(|error| Fault::from(error).of_read())
    }

    pub async fn one<T: FromRow>(&self, query: Select<'_>) -> Result<Option<T>, StoreError> {
        let row = self.row(query).await?;
        row.as_ref().map(T::from_row).transpose().map_err(|error| Fault::from(error).of_read())
    }

    pub async fn rows(&self, query: Select<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        let read = async {
            self.files.check()?;
            Ok(query.fetch_all(&self.pool).await?)
        };
        read.await.map_err(Fault::of_read)
    }

    pub async fn row(&self, query: Select<'_>) -> Result<Option<SqliteRow>, StoreError> {
        let read = async {
            self.files.check()?;
            Ok(query.fetch_optional(&self.pool).await?)
        };
        read.await.map_err(Fault::of_read)
    }
}

cells_of!(SqliteRow);

const CONNECTIONS: u32 = 4;
const TIMEOUT: Duration = Duration::from_secs(60);
