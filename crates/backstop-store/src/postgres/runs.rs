//! Runs, their leases and their inboxes.

use std::time::Duration;

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;

use super::change::announcement;
use super::client::{Again, Client};
use super::fault::Fault;
use super::sql::{Value, sql};
use crate::StoreError;
use crate::encode::{json, number};
use crate::lease::{Holder, Lease, LeaseRecord};
use crate::record::{InboxMessage, Run, RunFilter, keys_of_messages};
use crate::row::{Cells as _, FromRow as _};
use crate::unique;

pub async fn create(client: &Client, run: &Run) -> Result<(), StoreError> {
    let (command, labels) = (json(&run.command)?, json(&run.labels)?);
    let (state, launch) = (json(&run.state)?, json(&run.launch)?);
    let values = [
        run.id.as_str().into(),
        run.created_at.as_nanos().into(),
        run.updated_at.as_nanos().into(),
        (&run.cwd).into(),
        (&command).into(),
        (&labels).into(),
        (&run.policy_hash).into(),
        run.status.as_str().into(),
        (&state).into(),
        (&launch).into(),
        run.supervised.into(),
        run.pruned.into(),
    ];
    let insert = sql(
        "INSERT INTO runs (id, created_at, updated_at, cwd, command, labels, policy_hash, \
         status, state, launch, supervised, pruned) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (id) DO UPDATE SET id = excluded.id \
         WHERE (runs.created_at, runs.updated_at, runs.cwd, runs.launch, runs.policy_hash) = \
             (excluded.created_at, excluded.updated_at, excluded.cwd, excluded.launch, \
              excluded.policy_hash) \
         RETURNING id",
        &values,
    );
    // The very same one again is the one of which the answer was lost.
    match client.write(Again::Harmless, insert).await {
        Ok(rows) if rows.is_empty() => {
            Err(StoreError::Write(format!("there is a run {} already", run.id)))
        }
        Ok(_) => Ok(()),
        Err(fault) if fault.is_missing_reference() => Err(StoreError::Write(format!(
            "the policy {} of run {} is not in the store",
            run.policy_hash, run.id
        ))),
        Err(fault) => Err(fault.of_write()),
    }
}

pub async fn list(client: &Client, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
    let statuses = filter.statuses.iter().map(|status| Some(status.as_str()));
    let labels = json(&filter.labels)?;
    let values = [
        filter.prefix.as_ref().into(),
        filter.cwd.as_ref().into(),
        Value::Texts(statuses.collect()),
        (&labels).into(),
        filter.limit.into(),
        filter.before.as_ref().map(RunId::as_str).into(),
    ];
    let select = sql(
        "SELECT * FROM runs \
         WHERE ($1 IS NULL OR starts_with(id, $1)) \
         AND ($2 IS NULL OR cwd = $2) \
         AND (cardinality($3) = 0 OR status = ANY ($3)) \
         AND NOT EXISTS ( \
             SELECT 1 FROM json_each_text($4) AS wanted WHERE NOT EXISTS ( \
                 SELECT 1 FROM json_each_text(runs.labels::json) AS present \
                 WHERE present.key = wanted.key AND present.value = wanted.value)) \
         AND ($6 IS NULL OR (created_at, id) < (SELECT created_at, id FROM runs WHERE id = $6)) \
         ORDER BY created_at DESC, id DESC LIMIT $5",
        &values,
    );
    client.all(select).await
}

pub async fn acquire(
    client: &Client,
    run: RunId,
    holder: &Holder,
    duration: Duration,
    even_if_held_by: Option<u64>,
) -> Result<Lease, StoreError> {
    let text = json(holder)?;
    let values = [
        run.as_str().into(),
        (&text).into(),
        nanoseconds(duration).into(),
        even_if_held_by.map(number).into(),
    ];
    let call = || sql("SELECT * FROM backstop_acquire($1, $2, $3, $4)", &values);
    let first = client.write(Again::Never, call()).await;
    let is_again = first.as_ref().is_err_and(Fault::is_unknown);
    let written = if is_again { client.write(Again::Harmless, call()).await } else { first };
    let rows = written.map_err(|fault| fault.of_write_for(run))?;
    let damaged = |error| Fault::from(error).of_read();
    let row = rows.first().ok_or(StoreError::NoRun(run))?;
    let record = LeaseRecord::from_row(row).map_err(damaged)?;
    // A holder that asks again since the answer was lost has it by then.
    let is_ours = row.flag("taken").map_err(damaged)? || is_again && record.holder == *holder;
    if is_ours { Ok(record.lease) } else { Err(record.refusal()) }
}

pub async fn renew(client: &Client, lease: &Lease, duration: Duration) -> Result<(), StoreError> {
    let values =
        [lease.run.as_str().into(), number(lease.epoch).into(), nanoseconds(duration).into()];
    let update = sql(
        "UPDATE leases SET expires_at = backstop_now() + $3 \
         WHERE run = $1 AND epoch = $2 AND NOT released RETURNING epoch",
        &values,
    );
    let rows = client.write(Again::Harmless, update).await.map_err(Fault::of_write)?;
    if rows.is_empty() { Err(StoreError::Fenced { run: lease.run }) } else { Ok(()) }
}

pub async fn release(client: &Client, lease: &Lease) -> Result<(), StoreError> {
    let update = sql(
        "UPDATE leases SET released = TRUE WHERE run = $1 AND epoch = $2",
        &[lease.run.as_str().into(), number(lease.epoch).into()],
    );
    client.write(Again::Harmless, update).await.map(drop).map_err(Fault::of_write)
}

/// Leaves messages, all or none; under a key that was used before, none.
pub async fn post(
    client: &Client,
    run: RunId,
    key: Option<&str>,
    bodies: &[String],
) -> Result<Vec<InboxMessage>, StoreError> {
    // Without a key of the sender's they have one of their own, so that they can be sent again if
    // the answer is lost. With a blank, which no sender's has.
    let key = key.map_or_else(|| format!("own {}", unique::name()), str::to_owned);
    let keys = keys_of_messages(&key, bodies.len());
    let insert = sql(
        "INSERT INTO inbox (run, key, body) SELECT $1, key, body \
         FROM unnest($2, $3) WITH ORDINALITY AS given (key, body, place) ORDER BY place \
         RETURNING number, body",
        &[run.as_str().into(), texts(&keys), texts(bodies)],
    );
    let read = match client.write_and(Again::Harmless, insert, &announcement(run)).await {
        Ok(rows) => rows.iter().map(InboxMessage::from_row).collect::<Result<_, _>>(),
        Err(fault) if fault.is_of_unique_key() => {
            let select = "SELECT number, body FROM inbox WHERE run = $1 AND key = ANY ($2)";
            let left = [run.as_str().into(), texts(&keys)];
            client.all(sql(select, &left)).await.map(Ok)?
        }
        Err(fault) => return Err(fault.of_write_for(run)),
    };
    let mut messages: Vec<InboxMessage> = read.map_err(|error| Fault::from(error).of_read())?;
    messages.sort_by_key(|message| message.number);
    Ok(messages)
}

pub async fn answer(client: &Client, message: i64, answer: &str) -> Result<(), StoreError> {
    let update = sql(
        "UPDATE inbox SET answer = $2 WHERE number = $1 AND answer IS NULL",
        &[message.into(), answer.into()],
    );
    client.write(Again::Harmless, update).await.map(drop).map_err(Fault::of_write)
}

/// Removes old journals, one run per transaction, so that nobody waits long for a lock.
pub async fn prune(client: &Client, before: Timestamp) -> Result<Vec<RunId>, StoreError> {
    let halted = RunStatus::ALL.iter().filter(|status| status.is_halted());
    let halted = Value::Texts(halted.map(|status| Some(status.as_str())).collect());
    let select = sql(
        "SELECT * FROM runs WHERE NOT pruned AND status = ANY ($1) AND updated_at < $2 \
         ORDER BY created_at, id",
        &[halted.clone(), before.as_nanos().into()],
    );
    let candidates: Vec<Run> = client.all(select).await?;
    let mut pruned = Vec::new();
    for Run { id, .. } in candidates {
        let values = [id.as_str().into(), halted.clone(), before.as_nanos().into()];
        // A second time finds that it is done.
        let call = sql(
            "SELECT backstop_prune($1, $2, $3) \
                 OR EXISTS (SELECT 1 FROM runs WHERE id = $1 AND pruned) AS pruned",
            &values,
        );
        let rows = client.write(Again::Harmless, call).await.map_err(Fault::of_write)?;
        let done = rows.first().map(|row| row.flag("pruned")).transpose();
        if done.map_err(|error| Fault::from(error).of_read())?.unwrap_or(false) {
            pruned.push(id);
        }
    }
    Ok(pruned)
}

/// A century, to which this is cut, is as good as for ever.
pub fn nanoseconds(duration: Duration) -> i64 {
    let century = Duration::from_secs(100 * 366 * 24 * 3_600);
    i64::try_from(duration.min(century).as_nanos()).unwrap_or(i64::MAX / 4)
}

fn texts(texts: &[String]) -> Value<'_> {
    Value::Texts(texts.iter().map(|text| Some(text.as_str())).collect())
}
