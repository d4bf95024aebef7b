//! The simplest service that acknowledges events: it takes a line, commits it, answers.

use std::path::Path;
use std::process::{Child, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;
use tokio::task::LocalSet;

use crate::supervised::part_alone;

/// A service that runs until this is dropped.
pub struct PlainService {
    process: Child,
}

impl PlainService {
    pub fn start(socket: &Path, database: &Path) -> anyhow::Result<Self> {
        // One of an earlier round may have left its own.
        std::fs::remove_file(socket).ok();
        let mut command = part_alone("acknowledge-each")?;
        command.arg(socket).arg(database).stdout(Stdio::null());
        let service = Self { process: command.spawn()? };
        let until = Instant::now() + PATIENCE;
        while !socket.exists() {
            ensure!(Instant::now() < until, "the plain service does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(service)
    }
}

impl Drop for PlainService {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The service's own process.
pub fn serve(socket: &Path, database: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let database = Rc::new(Mutex::new(open(database).await?));
        let listener = UnixListener::bind(socket)?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::task::spawn_local(answer_all(stream, Rc::clone(&database)));
        }
    })
}

async fn answer_all(
    stream: UnixStream,
    database: Rc<Mutex<SqliteConnection>>,
) -> anyhow::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    while let Some(line) = lines.next_line().await? {
        let event: serde_json::Value = serde_json::from_str(&line)?;
        insert(&mut *database.lock().await, event.to_string()).await?;
        writing.write_all(b"{\"verdict\":\"continue\"}\n").await?;
    }
    Ok(())
}

/// A durable database of events.
pub async fn open(database: &Path) -> anyhow::Result<SqliteConnection> {
    let mut connection = SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging()
        .connect()
        .await?;
    connection
        .execute("CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, body TEXT)")
        .await?;
    Ok(connection)
}

/// An insert is a commit.
pub async fn insert(connection: &mut SqliteConnection, body: String) -> anyhow::Result<()> {
    let insert = sqlx::query("INSERT INTO events (body) VALUES (?1)").bind(body);
    insert.execute(connection).await?;
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(10);
