//! The way round a socket that can't be reached: messages in the store, which the supervisor is
//! told of, or looks for once a second. They are an operator's lines, so a child can do nothing
//! more by this way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use backstop_store::{Lease, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::answer::Answer;
use super::client::{event_order, hooked_order, order_line};
use super::connection::{ask, refuse};
use super::protocol::{Order, Source, What, error_line, read_operation};
use super::server::Settings;
use crate::clock::wall_time;
use crate::halt_order;
use crate::unsupervised::ReportKey;

/// A message as it lies in the inbox.
#[derive(Debug, Serialize, Deserialize)]
struct Letter {
    /// After this nobody waits for the answer, nor asks for it again. A stop that was meant for
    /// yesterday's supervisor must not end today's.
    expires_at: Timestamp,
    request: Json,
    /// Of the report that it is a part of, if that has a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// Why a message was not answered.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the run's supervisor gave no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("{0}")]
    Refused(String),
    #[error("the key was used for another report to run {run}")]
    KeyUsed { run: RunId },
}

/// Leaves an order for a run's supervisor and waits for its answer.
pub async fn order(
    store: &dyn Store,
    run: RunId,
    order: &Order,
    patience: Duration,
) -> Result<Answer, InboxError> {
    post(store, run, &order_line(order), patience).await
}

/// Leaves an event for a run's supervisor and waits for its decision.
pub async fn event(
    store: &dyn Store,
    run: RunId,
    event: &Event,
    patience: Duration,
) -> Result<Answer, InboxError> {
    post(store, run, &event_order(event), patience).await
}

/// The same for what a hook of the agent tells.
pub async fn hooked(
    store: &dyn Store,
    run: RunId,
    event: &Event,
    patience: Duration,
) -> Result<Answer, InboxError> {
    post(store, run, &hooked_order(event), patience).await
}

/// Leaves several events for a run's supervisor, all or none, and waits until the last one is
/// decided about. With a key, those that were left under it before are not left again.
pub async fn events(
    store: &dyn Store,
    run: RunId,
    events: &[Event],
    key: Option<&ReportKey>,
    patience: Duration,
) -> Result<Answer, InboxError> {
    let digest = key.map(|key| key.digest.as_str());
    let lines = events.iter().map(event_order);
    let letters: Vec<_> = lines.map(|line| letter(&line, digest, patience)).collect();
    let key_name = key.map(|key| key.key.as_str());
    let posted = store.inbox_post_all(run, key_name, &letters).await?;
    if let Some(key) = key
        && !posted.iter().all(|message| is_of_report(&message.body, &key.digest))
    {
        return Err(InboxError::KeyUsed { run });
    }
    let since = Instant::now();
    let mut last = Err(InboxError::NoAnswer(patience));
    for message in posted {
        last = Ok(answer_to(store, message.number, since, patience).await?);
    }
    last
}

async fn post(
    store: &dyn Store,
    run: RunId,
    line: &str,
    patience: Duration,
) -> Result<Answer, InboxError> {
    let number = store.inbox_post(run, None, &letter(line, None, patience)).await?;
    answer_to(store, number, Instant::now(), patience).await
}

fn letter(line: &str, digest: Option<&str>, patience: Duration) -> String {
    let request = serde_json::from_str(line).expect("an order is an object");
    // Who reports by a key is told to do so again until there is an answer: what lies under it is
    // taken in whenever its supervisor goes on, and counts once.
    let lasts = if digest.is_some() { REPORTS_LAST } else { patience };
    let expires_at = wall_time().plus(lasts);
    let letter = Letter { expires_at, request, digest: digest.map(str::to_owned) };
    serde_json::to_string(&letter).expect("a letter has only string keys")
}

/// Whether a letter that lies under a key is of the same report. Earlier versions did not say.
fn is_of_report(body: &str, digest: &str) -> bool {
    let kept = serde_json::from_str::<Letter>(body).ok().and_then(|letter| letter.digest);
    kept.is_none_or(|kept| kept == digest)
}

async fn answer_to(
    store: &dyn Store,
    number: i64,
    posted: Instant,
    patience: Duration,
) -> Result<Answer, InboxError> {
    loop {
        if let Some(text) = store.inbox_answer_fetch(number).await? {
            let answer = Answer::read(&text).ok_or_else(|| InboxError::Refused(text.clone()))?;
            return match answer.error() {
                Some(message) => Err(InboxError::Refused(message.to_owned())),
                None => Ok(answer),
            };
        }
        if posted.elapsed() > patience {
            return Err(InboxError::NoAnswer(patience));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Looks into a run's inbox when there is something new, and at least once a second, until the run
/// ends. Answers what is there in the same way as what comes by a socket, and obeys orders to halt
/// that cover the run's labels. Ends with the error of a store that can't be read.
pub async fn serve(
    store: Arc<dyn Store>,
    lease: Lease,
    labels: BTreeMap<String, String>,
    settings: Settings,
) -> StoreError {
    let mut obeyed = 0;
    // Before the first look too: it costs a connection, and a run has better things to do while it
    // starts.
    tokio::time::sleep(BETWEEN_DRAINS).await;
    loop {
        let round = async {
            obey(&*store, &labels, &settings, &mut obeyed).await?;
            drain(&*store, &lease, &settings).await?;
            store.changed(lease.run, u64::MAX, BETWEEN_DRAINS).await
        };
        if let Err(error) = round.await {
            return error;
        }
    }
}

/// Stops the run for the newest order to halt that covers it, once.
async fn obey(
    store: &dyn Store,
    labels: &BTreeMap<String, String>,
    settings: &Settings,
    obeyed: &mut u64,
) -> Result<(), StoreError> {
    let orders = store.halt_list().await?;
    let new = orders.iter().rev().find(|order| order.number > *obeyed && order.covers(labels));
    if let Some(order) = new {
        *obeyed = order.number;
        // Who pulls the emergency brake does not wait for iterations to finish.
        let stop = Order::Stop { now: true, by: halt_order::in_words(order) };
        ask(settings, Source::Operator, What::Order(stop)).await;
    }
    Ok(())
}

/// Answers every message that waits, and says how many there were.
pub async fn drain(
    store: &dyn Store,
    lease: &Lease,
    settings: &Settings,
) -> Result<usize, StoreError> {
    let messages = store.inbox_list(lease).await?;
    for message in &messages {
        let answer = answer(&message.body, settings).await;
        store.inbox_answer(message.number, &answer).await?;
    }
    Ok(messages.len())
}

async fn answer(body: &str, settings: &Settings) -> String {
    let Ok(letter) = serde_json::from_str::<Letter>(body) else {
        return error_line("this is not a message");
    };
    if letter.expires_at < wall_time() {
        return error_line("too late: nobody waits for the answer any more");
    }
    match read_operation(letter.request.to_string().as_bytes()) {
        Ok(what) => ask(settings, Source::Operator, what).await,
        Err(refusal) => refuse(settings, Source::Operator, refusal).await,
    }
}

const REPORTS_LAST: Duration = Duration::from_secs(30 * 24 * 3600);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
const BETWEEN_DRAINS: Duration = Duration::from_secs(1);

/// How long a command waits for a supervisor that must find its message first.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
