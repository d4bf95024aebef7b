//! Waiting until there is something new.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backstop_core::id::RunId;
use sqlx::Row as _;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::client::{Client, Limit};
use super::fault::{self, Fault};
use super::sql::sql;
use crate::StoreError;
use crate::encode::number;
use crate::row::Cells as _;
use crate::unique;

/// Tells those who wait for a run. Sent after the commit and not with it: the server lets only one
/// transaction at a time commit an announcement, and would have all appends wait for each other's
/// disk writes.
pub fn announcement(run: RunId) -> String {
    // A run's name has letters and digits only.
    format!("NOTIFY {CHANNEL}, '{run}'")
}

/// Hears what is announced, on one connection for all who wait. It is opened when the first one
/// waits, and closed with the store.
#[derive(Debug, Default)]
pub struct Ear {
    listening: Mutex<Option<Listening>>,
}

#[derive(Debug)]
struct Listening {
    heard: broadcast::Sender<Arc<str>>,
    task: JoinHandle<()>,
}

impl Ear {
    /// Returns when a run's journal holds more than this event, or its inbox has something without
    /// an answer.
    pub async fn wait(
        &self,
        client: &Client,
        run: RunId,
        after: u64,
        at_most: Duration,
    ) -> Result<(), StoreError> {
        let end = Instant::now() + at_most;
        // Before looking, so that nothing slips in between.
        let mut heard = self.subscribe(client);
        loop {
            if has_news(client, run, after).await.map_err(Fault::of_read)? || Instant::now() >= end
            {
                return Ok(());
            }
            // Nobody listens through a pooler, and who died after a commit announced nothing: so it
            // looks now and then all the same.
            let look = end.min(Instant::now() + LOOK);
            loop {
                match timeout_at(look, heard.recv()).await {
                    Ok(Ok(name)) if &*name != run.as_str() => {}
                    Ok(Err(broadcast::error::RecvError::Closed)) => {
                        tokio::time::sleep_until(look).await;
                        break;
                    }
                    _ => break,
                }
            }
        }
    }

    fn subscribe(&self, client: &Client) -> broadcast::Receiver<Arc<str>> {
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        match &*listening {
            // A task that ended did so with its runtime.
            Some(listening) if !listening.task.is_finished() => listening.heard.subscribe(),
            _ => {
                let (heard, receiver) = broadcast::channel(HEARD);
                let task = tokio::spawn(listen(client.clone(), heard.clone()));
                *listening = Some(Listening { heard, task });
                receiver
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens for as long as the store is open. While it can't, those who wait look by themselves.
async fn listen(client: Client, heard: broadcast::Sender<Arc<str>>) {
    loop {
        let pause = match hear(&client, &heard).await {
            Ok(Session::Lent) => LOOK_FOR_ITS_OWN,
            // The connection has ended, or there was none.
            Ok(Session::Own) | Err(_) => RETRY,
        };
        sleep(pause).await;
    }
}

/// Whose session was listened in.
enum Session {
    Own,
    /// A pooler's: nothing was listened to.
    Lent,
}

/// Listens until the connection ends, if it is one of our own.
///
/// What listens is a session of the server's. A pooler lends it to others between two transactions,
/// and what is announced would reach them: they would take it for a breach of the protocol. So
/// nothing is listened to before the session has told that it was begun by us, which it knows by a
/// parameter that came with the connection. A pooler drops that, refuses it, or keeps such a session
/// for us alone.
async fn hear(
    client: &Client,
    heard: &broadcast::Sender<Arc<str>>,
) -> Result<Session, sqlx::Error> {
    let mark = unique::name();
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(RETRY)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(client.options().clone().options([(MARK, &mark)]));
    let mut listener = match PgListener::connect_with(&pool).await {
        Err(error) if fault::is_refused_for_good(&error) => return Ok(Session::Lent),
        connected => connected?,
    };
    // A new connection would have to tell it anew.
    listener.eager_reconnect(false);
    let told = sqlx::raw_sql(ASK_FOR_MARK).fetch_one(&mut listener).await?;
    if told.try_get::<Option<&str>, _>(0)? != Some(mark.as_str()) {
        return Ok(Session::Lent);
    }
    listener.listen(CHANNEL).await?;
    while let Some(announced) = listener.try_recv().await? {
        // Nobody may be waiting.
        heard.send(Arc::from(announced.payload())).ok();
    }
    Ok(Session::Own)
}

async fn has_news(client: &Client, run: RunId, after: u64) -> Result<bool, Fault> {
    let query = sql(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE run = $1 AND answer IS NULL) \
         OR EXISTS (SELECT 1 FROM events, journals \
             WHERE journals.run = $1 AND place = (number << 36) + $2 + 1) AS news",
        &[run.as_str().into(), number(after).min(1 << 36).into()],
    );
    let rows = client.read(&query?, Limit::ORDINARY).await?;
    Ok(rows.first().map(|row| row.flag("news")).transpose()?.unwrap_or(false))
}

const CHANNEL: &str = "backstop";
const HEARD: usize = 1_024;
const LOOK: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(5);
/// A pooler stays one for as long as most programs run.
const LOOK_FOR_ITS_OWN: Duration = Duration::from_secs(600);
const MARK: &str = "backstop.ear";
const ASK_FOR_MARK: &str = "SELECT current_setting('backstop.ear', TRUE)";
