//! What is written to journals.

use backstop_core::id::RunId;

use super::change::announcement;
use super::client::{Again, Client, Limit, Transaction};
use super::fault::Fault;
use super::sql::{Value, sql};
use super::{audit, events};
use crate::StoreError;
use crate::checksum::{checksum, checksum_of_decision};
use crate::encode::{json, number};
use crate::lease::LeaseRecord;
use crate::record::{Batch, Decide, Run, Snapshot, StoredPolicy, Unsupervised};
use crate::row::{Cells as _, FromRow as _};

/// Appends for the holder of a lease.
pub async fn supervised(client: &Client, batch: &Batch) -> Result<(), StoreError> {
    let lease = batch.lease()?;
    let statement = statement(batch.run, Some(lease.epoch), batch)?;
    let (client, batch) = (client.clone(), batch.clone());
    // To its end, so that nobody who goes away leaves it half done.
    let written = tokio::spawn(async move { keep_trying(&client, &statement, &batch).await });
    written.await.unwrap_or_else(|error| Err(StoreError::Write(error.to_string())))
}

/// Sends a batch until it is known to be there or to be refused. The order of events makes that
/// safe: what is there already does not follow itself.
async fn keep_trying(client: &Client, statement: &str, batch: &Batch) -> Result<(), StoreError> {
    let mut unknown = false;
    for _ in 0..ATTEMPTS {
        let fault = match attempt(client, statement, batch, unknown).await {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        };
        let may_be_there = unknown && (fault.is_of_order() || fault.is_of_receipt());
        if !(fault.is_unknown() || may_be_there) {
            return Err(of_append(fault, batch));
        }
        unknown = true;
        match (landed(client, batch).await, fault.is_unknown()) {
            (Ok(Some(true)), _) => return Ok(()),
            // A second time changes nothing, or is refused if the first one comes in late.
            (Ok(Some(false)), true) => {}
            _ => return Err(of_append(fault, batch)),
        }
    }
    Err(Fault::of_silence().of_write())
}

async fn attempt(
    client: &Client,
    statement: &str,
    batch: &Batch,
    fresh: bool,
) -> Result<(), Fault> {
    let announcement = announcement(batch.run);
    if batch.audit.is_empty() {
        return client.write_once(statement, &announcement, fresh).await;
    }
    let (transaction, _) = client.begin(statement).await?;
    audited(transaction, batch, &announcement).await
}

async fn audited(transaction: Transaction, batch: &Batch, announcement: &str) -> Result<(), Fault> {
    let (transaction, head) = audit::turn(transaction).await?;
    let (insert, _) = audit::insert(head, &batch.audit)?;
    transaction.commit(&insert, announcement).await.map(drop)
}

/// Whether a batch whose answer was lost is there. None if nothing in it would tell.
async fn landed(client: &Client, batch: &Batch) -> Result<Option<bool>, Fault> {
    let run = batch.run.as_str();
    let (query, expected) = if let Some(event) = batch.events.last() {
        let place = [run.into(), number(event.seq).into()];
        let query = "SELECT body AS kept FROM events \
             WHERE place = (SELECT (number << 36) | $2 FROM journals WHERE run = $1)";
        (sql(query, &place), &event.body)
    } else if let Some(decision) = batch.decisions.last() {
        let place = [run.into(), number(decision.seq).into()];
        (
            sql("SELECT body AS kept FROM decisions WHERE run = $1 AND seq = $2", &place),
            &decision.body,
        )
    } else if let Some(receipt) = &batch.receipt {
        let place = [run.into(), (&receipt.key).into()];
        (
            sql("SELECT answer AS kept FROM receipts WHERE run = $1 AND key = $2", &place),
            &receipt.answer,
        )
    } else {
        return Ok(batch.audit.is_empty().then_some(false));
    };
    let rows = client.read(&query?, Limit::ORDINARY).await?;
    match rows.first() {
        Some(row) => Ok(Some(row.text("kept")? == expected)),
        None => Ok(Some(false)),
    }
}

/// What an append failed with.
fn of_append(fault: Fault, batch: &Batch) -> StoreError {
    match &batch.receipt {
        Some(receipt) if fault.is_of_receipt() => {
            StoreError::Repeated { run: batch.run, key: receipt.key.clone() }
        }
        _ => fault.of_write_for(batch.run),
    }
}

/// Appends for whoever comes, to a run that nobody supervises.
pub async fn unsupervised(client: &Client, run: RunId, decide: Decide) -> Result<(), StoreError> {
    let client = client.clone();
    let written = tokio::spawn(async move { take_turn(&client, run, decide).await });
    written.await.unwrap_or_else(|error| Err(StoreError::Write(error.to_string())))
}

async fn take_turn(client: &Client, run: RunId, decide: Decide) -> Result<(), StoreError> {
    let failed = |fault: Fault| fault.of_write_for(run);
    let begun = begin(client, run).await.map_err(failed)?;
    let (transaction, current) = match begun {
        Turn::Held(record) => return Err(record.refusal()),
        Turn::NoRun => return Err(StoreError::NoRun(run)),
        Turn::Ours(transaction, current) => (transaction, *current),
    };
    let batch = decide(current);
    let statement = statement(run, None, &batch)?;
    let announcement = announcement(run);
    let written = if batch.audit.is_empty() {
        transaction.commit(&statement, &announcement).await.map(drop)
    } else {
        match transaction.run(statement).await {
            Ok((transaction, _)) => audited(transaction, &batch, &announcement).await,
            Err(fault) => Err(fault),
        }
    };
    match written {
        // Others may have written since, and what was decided would no longer be right: if it is
        // not there, it is not written again.
        Err(fault) if fault.is_unknown() => match settled(client, run, &batch).await {
            Ok(true) => Ok(()),
            _ => Err(of_append(fault, &batch)),
        },
        Err(fault) => Err(of_append(fault, &batch)),
        Ok(()) => Ok(()),
    }
}

/// Whether a batch is there, once the transaction that wrote it is over.
async fn settled(client: &Client, run: RunId, batch: &Batch) -> Result<bool, Fault> {
    let turn = sql("SELECT 1 FROM journals WHERE run = $1 FOR UPDATE", &[run.as_str().into()]);
    client.write(Again::Harmless, turn).await?;
    Ok(landed(client, batch).await? == Some(true))
}

enum Turn {
    Held(LeaseRecord),
    NoRun,
    Ours(Transaction, Box<Unsupervised>),
}

/// Waits for the run to be ours for the length of a transaction, and reads it.
async fn begin(client: &Client, run: RunId) -> Result<Turn, Fault> {
    let name = [run.as_str().into()];
    let (transaction, rows) = client.begin(&sql("SELECT * FROM backstop_turn($1)", &name)?).await?;
    if let Some(row) = rows.first()
        && row.flag("held")?
    {
        transaction.roll_back().await;
        return Ok(Turn::Held(LeaseRecord::from_row(row)?));
    }
    let (transaction, rows) = transaction.run(sql(STATE, &name)?).await?;
    let [known, policy, snapshot @ ..] = rows.as_slice() else {
        transaction.roll_back().await;
        return Ok(Turn::NoRun);
    };
    let known = Run::from_row(known)?;
    let policy = StoredPolicy::from_row(policy)?;
    let snapshot = snapshot.first().map(Snapshot::from_row).transpose()?;
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let (transaction, events) = events::list_within(transaction, run, after).await?;
    let current = Unsupervised { run: known, policy, snapshot, events };
    Ok(Turn::Ours(transaction, Box::new(current)))
}

/// A batch as one call: see the function behind it.
fn statement(run: RunId, epoch: Option<u64>, batch: &Batch) -> Result<String, StoreError> {
    batch.check()?;
    let (events, decisions) = (&batch.events, &batch.decisions);
    let (snapshot, update) = (batch.snapshot.as_ref(), batch.update.as_ref());
    let state = update.map(|update| json(&update.state)).transpose()?;
    let values = [
        run.as_str().into(),
        epoch.map(number).into(),
        numbers(events, |event| number(event.seq)),
        numbers(events, |event| event.at.as_nanos()),
        texts(events, |event| Some(event.kind)),
        texts(events, |event| Some(&event.body)),
        numbers(events, |event| checksum(event.seq, &event.body)),
        numbers(decisions, |decision| number(decision.seq)),
        numbers(decisions, |decision| decision.at.as_nanos()),
        texts(decisions, |decision| Some(&decision.verdict)),
        texts(decisions, |decision| decision.reason.as_deref()),
        texts(decisions, |decision| Some(&decision.policy_hash)),
        texts(decisions, |decision| Some(&decision.body)),
        numbers(decisions, checksum_of_decision),
        snapshot.map(|snapshot| number(snapshot.seq)).into(),
        snapshot.map(|snapshot| &snapshot.facts).into(),
        snapshot.map(|snapshot| checksum(snapshot.seq, &snapshot.facts)).into(),
        update.map(|update| update.at.as_nanos()).into(),
        update.map(|update| update.status.as_str()).into(),
        state.as_ref().into(),
        update.map(|update| &update.policy_hash).into(),
        batch.receipt.as_ref().map(|receipt| &receipt.key).into(),
        batch.receipt.as_ref().map(|receipt| &receipt.answer).into(),
    ];
    sql(APPEND, &values).map_err(Fault::of_write)
}

fn numbers<T>(records: &[T], get: impl Fn(&T) -> i64) -> Value<'_> {
    Value::Numbers(records.iter().map(|record| Some(get(record))).collect())
}

fn texts<T>(records: &[T], get: impl Fn(&T) -> Option<&str>) -> Value<'_> {
    Value::Texts(records.iter().map(get).collect())
}

const APPEND: &str = "SELECT backstop_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
     $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)";

/// One row for the run, one for its policy, one for its snapshot if it has one.
const STATE: &str = "SELECT * FROM runs WHERE id = $1; \
     SELECT policies.* FROM policies JOIN runs ON hash = policy_hash WHERE id = $1; \
     SELECT seq, facts, checksum FROM snapshots WHERE run = $1";

const ATTEMPTS: u32 = 4;
