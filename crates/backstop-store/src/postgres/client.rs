//! The way to the server: connections, time-outs and second attempts.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow, Postgres};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tokio::time::{Instant, sleep, timeout};

use super::fault::Fault;
use crate::StoreError;
use crate::row::{FromRow, cells_of};

/// Talks to the server. Nothing is left behind on a connection between two transactions: no prepared
/// statement, no setting, no lock. So it may be one that a pooler lends.
#[derive(Clone, Debug)]
pub struct Client {
    pool: PgPool,
    options: PgConnectOptions,
}

/// Whether a write may be sent again if the connection broke before the answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// A second time changes nothing.
    Harmless,
    Never,
}

/// Whether a write may have been done before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MayBeDone(pub bool);

impl Client {
    /// Connects when something is asked.
    pub fn new(options: PgConnectOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(CONNECTING)
            .idle_timeout(IDLE)
            .test_before_acquire(false)
            .connect_lazy_with(options.clone());
        Self { pool, options }
    }

    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    pub async fn all<T: FromRow>(&self, sql: Result<String, Fault>) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(sql).await?;
        let read = rows.iter().map(T::from_row).collect::<Result<_, _>>();
        read.map_err(|error| Fault::from(error).of_read())
    }

    pub async fn one<T: FromRow>(
        &self,
        sql: Result<String, Fault>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.rows(sql).await?;
        let read = rows.first().map(T::from_row).transpose();
        read.map_err(|error| Fault::from(error).of_read())
    }

    pub async fn rows(&self, sql: Result<String, Fault>) -> Result<Vec<PgRow>, StoreError> {
        self.read(&sql.map_err(Fault::of_read)?, Limit::ORDINARY).await.map_err(Fault::of_read)
    }

    /// Reads; once more on a fresh connection, if the one at hand is broken.
    pub async fn read(&self, sql: &str, limit: Limit) -> Result<Vec<PgRow>, Fault> {
        let message = format!("SET LOCAL statement_timeout = {}; {sql}", limit.millis());
        let mut attempts = Attempts::default();
        loop {
            let result = match self.connection(attempts.is_first()).await {
                Ok(mut connection) => execute(connection.get(), message.clone(), limit).await,
                Err(fault) => Err(fault),
            };
            match result {
                Err(fault) if attempts.go_on(&fault, Again::Harmless).await => {}
                result => return result,
            }
        }
    }

    /// Runs one statement as its own transaction, on disk when this returns. It is not cut short if
    /// the caller goes away.
    pub async fn write(
        &self,
        again: Again,
        sql: Result<String, Fault>,
    ) -> Result<Vec<PgRow>, Fault> {
        self.write_and(again, sql, "").await
    }

    /// The same for a write that must not be done twice: it is told whether it may have been done
    /// before, since the connection broke before the answer came, and finds that out by itself then.
    pub async fn write_surely(
        &self,
        sql: impl Fn(MayBeDone) -> Result<String, Fault>,
    ) -> Result<Vec<PgRow>, Fault> {
        match self.write(Again::Never, sql(MayBeDone(false))).await {
            Err(fault) if fault.is_unknown() => {
                self.write(Again::Harmless, sql(MayBeDone(true))).await
            }
            result => result,
        }
    }

    /// The same with a statement that follows when all is on disk.
    pub async fn write_and(
        &self,
        again: Again,
        sql: Result<String, Fault>,
        then: &str,
    ) -> Result<Vec<PgRow>, Fault> {
        let message = format!("{BEGIN}{}; COMMIT; {then}", sql?);
        let client = self.clone();
        task(async move {
            let mut attempts = Attempts::default();
            loop {
                match client.attempt(&message, attempts.is_first(), again).await {
                    Err(fault) if attempts.go_on(&fault, again).await => {}
                    result => return result,
                }
            }
        })
        .await
    }

    /// The same for a caller that finds out by itself what became of it if the connection breaks,
    /// and asks for a fresh one then. One message there and one back.
    pub async fn write_once(&self, sql: &str, then: &str, fresh: bool) -> Result<(), Fault> {
        let message = format!("{BEGIN}{sql}; COMMIT; {then}");
        let mut attempts = Attempts::default();
        loop {
            let result = match self.connection(!fresh && attempts.is_first()).await {
                Ok(connection) => connection.send(message.clone()).await.map(drop),
                Err(fault) => Err(fault),
            };
            match result {
                Err(fault) if attempts.go_on(&fault, Again::Never).await => {}
                result => return result,
            }
        }
    }

    async fn attempt(
        &self,
        message: &str,
        pooled: bool,
        again: Again,
    ) -> Result<Vec<PgRow>, Fault> {
        let mut connection = self.connection(pooled).await?;
        if again == Again::Never && pooled && !connection.lives().await {
            connection.end();
            connection = self.connection(false).await?;
        }
        connection.send(message.to_owned()).await
    }

    /// Begins a transaction with its first statement; again on a fresh connection, if the one at
    /// hand is broken, since nothing is done before the commit.
    pub async fn begin(&self, sql: &str) -> Result<(Transaction, Vec<PgRow>), Fault> {
        let message = format!("{BEGIN}{sql}");
        let mut attempts = Attempts::default();
        loop {
            let result = match self.connection(attempts.is_first()).await {
                Ok(connection) => {
                    Transaction { connection: Some(connection) }.run(message.clone()).await
                }
                Err(fault) => Err(fault),
            };
            match result {
                Err(fault) if attempts.go_on(&fault, Again::Harmless).await => {}
                result => return result,
            }
        }
    }

    async fn connection(&self, pooled: bool) -> Result<Connection, Fault> {
        if pooled {
            let connection = self.pool.acquire().await.map_err(Fault::of_connecting)?;
            return Ok(Connection::Pooled(connection));
        }
        match timeout(CONNECTING, self.options.connect()).await {
            Ok(connection) => Ok(Connection::Fresh(connection.map_err(Fault::of_connecting)?)),
            Err(_) => Err(Fault::of_connecting(sqlx::Error::PoolTimedOut)),
        }
    }
}

/// A transaction of several statements, of which each is answered before the next. Dropped without
/// an end, its connection goes with it.
#[derive(Debug)]
pub struct Transaction {
    connection: Option<Connection>,
}

impl Transaction {
    /// Runs a statement. If it fails, all that was done is void.
    pub async fn run(mut self, sql: String) -> Result<(Self, Vec<PgRow>), Fault> {
        let Some(mut connection) = self.connection.take() else { return Err(Fault::of_silence()) };
        match execute(connection.get(), sql, Limit::ORDINARY).await {
            Ok(rows) => Ok((Self { connection: Some(connection) }, rows)),
            Err(fault) => {
                connection.clean_up(&fault).await;
                Err(fault)
            }
        }
    }

    /// Runs the last statement, and one that follows when all is on disk.
    pub async fn commit(self, sql: &str, then: &str) -> Result<Vec<PgRow>, Fault> {
        let separator = if sql.is_empty() { "" } else { "; " };
        let (mut ended, rows) = self.run(format!("{sql}{separator}COMMIT; {then}")).await?;
        // It can be lent again.
        drop(ended.connection.take());
        Ok(rows)
    }

    /// Makes void what was done.
    pub async fn roll_back(mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.roll_back().await;
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.end();
        }
    }
}

/// Does something to its end, also if nobody waits for it any more: a transaction that is left in
/// its middle would be found by the connection's next user.
pub async fn task<T: Send + 'static>(
    work: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::of_text(error.to_string())),
    }
}

#[derive(Debug)]
enum Connection {
    Pooled(PoolConnection<Postgres>),
    /// For what a broken one could not do.
    Fresh(PgConnection),
}

impl Connection {
    fn get(&mut self) -> &mut PgConnection {
        match self {
            Self::Pooled(connection) => connection,
            Self::Fresh(connection) => connection,
        }
    }

    /// Runs a whole transaction.
    async fn send(mut self, message: String) -> Result<Vec<PgRow>, Fault> {
        let result = execute(self.get(), message, Limit::ORDINARY).await;
        if let Err(fault) = &result {
            self.clean_up(fault).await;
        }
        result
    }

    async fn lives(&mut self) -> bool {
        matches!(timeout(CONNECTING, self.get().ping()).await, Ok(Ok(())))
    }

    /// After a failure: as if nothing had been begun, or gone for good.
    async fn clean_up(mut self, fault: &Fault) {
        if fault.is_refusal() {
            self.roll_back().await;
        } else {
            self.end();
        }
    }

    async fn roll_back(&mut self) {
        let rolled_back = execute(self.get(), "ROLLBACK".to_owned(), Limit::ORDINARY).await;
        if rolled_back.is_err() {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Self::Pooled(connection) = self {
            connection.close_on_drop();
        }
    }
}

/// How often something is tried while the server is away: over some seconds, which is what a restart
/// takes.
#[derive(Debug)]
struct Attempts {
    made: usize,
    until: Instant,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { made: 0, until: Instant::now() + TRYING }
    }
}

impl Attempts {
    fn is_first(&self) -> bool {
        self.made == 0
    }

    /// Whether it is worth another attempt; waits before it.
    async fn go_on(&mut self, fault: &Fault, again: Again) -> bool {
        let may = fault.is_unreachable() || again == Again::Harmless && fault.is_unknown();
        let in_time = Instant::now() < self.until;
        let Some(pause) = PAUSES.get(self.made).filter(|_| may && in_time) else { return false };
        self.made += 1;
        sleep(*pause).await;
        true
    }
}

/// How long the server may take for a statement. It ends the statement itself; only if it says
/// nothing at all, the connection is given up somewhat later.
#[derive(Clone, Copy, Debug)]
pub struct Limit(Duration);

impl Limit {
    pub const ORDINARY: Self = Self(Duration::from_secs(30));
    /// For what reads whole tables.
    pub const LONG: Self = Self(Duration::from_secs(1_800));

    fn millis(self) -> u128 {
        self.0.as_millis()
    }
}

async fn execute(
    connection: &mut PgConnection,
    message: String,
    limit: Limit,
) -> Result<Vec<PgRow>, Fault> {
    let rows = sqlx::raw_sql(AssertSqlSafe(message)).fetch_all(connection);
    match timeout(limit.0 + CONNECTING, rows).await {
        Ok(rows) => Ok(rows?),
        Err(_) => Err(Fault::of_silence()),
    }
}

cells_of!(PgRow);

/// What is acknowledged is on disk, whatever the server's own settings are; and a client that stops
/// in the middle does not keep the others waiting.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; \
     SET LOCAL statement_timeout = 30000; SET LOCAL idle_in_transaction_session_timeout = 30000; ";

const CONNECTIONS: u32 = 8;
const CONNECTING: Duration = Duration::from_secs(5);
/// For how long a new attempt is begun.
const TRYING: Duration = Duration::from_secs(8);
const IDLE: Duration = Duration::from_secs(300);

const PAUSES: [Duration; 7] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1_600),
];
