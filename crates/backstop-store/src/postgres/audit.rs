//! The audit: a chain that grows at its end.

use sqlx::postgres::PgRow;

use super::client::{Client, Transaction, task};
use super::fault::Fault;
use super::sql::{Value, sql};
use crate::StoreError;
use crate::audit::{AuditFilter, AuditHead, AuditRow, Count, HaltCount, NewAuditRow, ORIGIN, hash};
use crate::encode::number;
use crate::row::{FromRow as _, written};

/// A time as the embedded engine keeps it; one that nobody can have written, in other words.
macro_rules! moment {
    ($column:literal) => {
        concat!(
            "CASE WHEN ",
            $column,
            " BETWEEN '1678-01-01Z' AND '2262-01-01Z' THEN to_char(",
            $column,
            " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') ELSE ",
            $column,
            "::text END AS ",
            $column
        )
    };
}
/// Appends rows in a transaction of their own.
pub async fn append(client: &Client, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
    let (client, rows) = (client.clone(), rows.to_vec());
    task(async move {
        // What was tried and may be there.
        let mut tried = None;
        for _ in 0..ATTEMPTS {
            match attempt(&client, &rows, &mut tried).await {
                Err(fault) if fault.is_unknown() => {}
                result => return result,
            }
        }
        Err(Fault::of_silence())
    })
    .await
    .map_err(Fault::of_write)
}

async fn attempt(
    client: &Client,
    rows: &[NewAuditRow],
    tried: &mut Option<AuditHead>,
) -> Result<AuditHead, Fault> {
    // Who has the turn is alone: the attempt before has succeeded by now, or never will.
    let (mut transaction, found) = client.begin(TURN).await?;
    let last = head_of(found.first())?;
    if let Some(before) = *tried {
        let found;
        (transaction, found) = transaction.run(at(before.number)?).await?;
        if head_of(found.first())? == before {
            transaction.roll_back().await;
            return Ok(before);
        }
    }
    let (insert, head) = insert(last, rows)?;
    *tried = Some(head).filter(|head| *head != last);
    transaction.commit(&insert, "").await?;
    Ok(head)
}

/// Takes the turn inside a transaction: nobody else appends until its end.
pub async fn turn(transaction: Transaction) -> Result<(Transaction, AuditHead), Fault> {
    let (transaction, rows) = transaction.run(TURN.to_owned()).await?;
    let head = head_of(rows.first())?;
    Ok((transaction, head))
}

/// The last row, or what stands before the first.
fn head_of(row: Option<&PgRow>) -> Result<AuditHead, Fault> {
    let head = row.map(AuditHead::from_row).transpose()?;
    Ok(head.unwrap_or(AuditHead { number: 0, hash: ORIGIN }))
}

/// One statement for all rows, and what the last one will be.
pub fn insert(mut head: AuditHead, rows: &[NewAuditRow]) -> Result<(String, AuditHead), Fault> {
    let mut chained = Vec::with_capacity(rows.len());
    for row in rows {
        let next = head.number + 1;
        let hash = hash(head.hash, next, row);
        chained.push((next, row, written(row.created_at), head.hash, hash));
        head = AuditHead { number: next, hash };
    }
    let column =
        |get: fn(&NewAuditRow) -> Option<&str>| Value::Texts(rows.iter().map(get).collect());
    let numbers = |get: fn(&NewAuditRow) -> Option<u64>| {
        Value::Numbers(rows.iter().map(|row| get(row).map(number)).collect())
    };
    let values = [
        Value::Numbers(chained.iter().map(|(next, ..)| Some(number(*next))).collect()),
        column(|row| row.resource_owner.as_deref()),
        column(|row| row.resource_repo.as_deref()),
        numbers(|row| row.pr_number),
        numbers(|row| row.workflow_run_id),
        column(|row| Some(&row.request_id)),
        column(|row| Some(&row.decision)),
        column(|row| row.reason_code.as_deref()),
        column(|row| Some(row.reasons.as_str())),
        column(|row| Some(&row.recommended_next_step)),
        column(|row| row.failure_class.as_deref()),
        numbers(|row| row.current_job_attempts),
        numbers(|row| row.total_pr_attempts),
        column(|row| row.lawbook_hash.as_deref()),
        column(|row| row.lawbook_version.as_deref()),
        column(|row| Some(row.applied_rules.as_str())),
        column(|row| Some(row.evidence.as_str())),
        Value::Texts(chained.iter().map(|(_, _, time, ..)| Some(time.as_str())).collect()),
        column(|row| row.run.as_ref().map(backstop_core::id::RunId::as_str)),
        numbers(|row| row.run_seq),
        column(|row| Some(&row.actor)),
        Value::ManyBytes(chained.iter().map(|(.., previous, _)| &previous.0[..]).collect()),
        Value::ManyBytes(chained.iter().map(|(.., hash)| &hash.0[..]).collect()),
    ];
    if rows.is_empty() {
        return Ok((String::new(), head));
    }
    Ok((sql(INSERT, &values)?, head))
}

pub async fn head(client: &Client) -> Result<Option<AuditHead>, StoreError> {
    client.one(Ok(HEAD.to_owned())).await
}

pub async fn list(client: &Client, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
    let select = if filter.newest_first { NEWEST_FIRST } else { OLDEST_FIRST };
    let run = filter.run.map(|run| run.as_str().to_owned());
    let codes = match &filter.reason_codes[..] {
        [] => Value::Null,
        codes => Value::Texts(codes.iter().map(|code| Some(code.as_str())).collect()),
    };
    let values = [
        filter.cursor.map(number).into(),
        filter.owner.as_ref().into(),
        filter.repo.as_ref().into(),
        filter.pr_number.map(number).into(),
        filter.request_id.as_ref().into(),
        filter.decision.as_ref().into(),
        codes,
        run.as_ref().into(),
        filter.limit.into(),
    ];
    client.all(sql(select, &values)).await
}

pub async fn halts(
    client: &Client,
    (after, last): (u64, u64),
) -> Result<Vec<HaltCount>, StoreError> {
    let query = sql(
        "SELECT reason_code, count(*) AS halts FROM stop_decision_audit \
         WHERE number > $1 AND number <= $2 AND run IS NOT NULL GROUP BY reason_code",
        &[number(after).into(), number(last).into()],
    );
    client.all(query).await
}

pub async fn analytics(client: &Client) -> Result<Vec<Count>, StoreError> {
    let query = concat!(
        "SELECT decision, reason_code, decision_count, ",
        moment!("last_occurred_at"),
        " FROM stop_decision_analytics"
    );
    client.all(Ok(query.to_owned())).await
}

fn at(place: u64) -> Result<String, Fault> {
    sql("SELECT number, hash FROM stop_decision_audit WHERE number = $1", &[number(place).into()])
}

macro_rules! select {
    ($cursor:literal, $order:literal) => {
        concat!(
            "SELECT number, resource_owner, resource_repo, pr_number, workflow_run_id, request_id, \
             decision, reason_code, reasons::text AS reasons, recommended_next_step, \
             failure_class, current_job_attempts, total_pr_attempts, lawbook_hash, \
             lawbook_version, applied_rules::text AS applied_rules, evidence::text AS evidence, ",
            moment!("created_at"),
            ", run, run_seq, actor, previous_hash, hash FROM stop_decision_audit \
             WHERE ($1 IS NULL OR number ",
            $cursor,
            " $1) \
             AND ($2 IS NULL OR lower(resource_owner) = lower($2)) \
             AND ($3 IS NULL OR lower(resource_repo) = lower($3)) \
             AND ($4 IS NULL OR pr_number = $4) AND ($5 IS NULL OR request_id = $5) \
             AND ($6 IS NULL OR decision = $6) AND ($7 IS NULL OR reason_code = ANY($7)) \
             AND ($8 IS NULL OR run = $8) ORDER BY number ",
            $order,
            " LIMIT $9"
        )
    };
}

const OLDEST_FIRST: &str = select!(">", "ASC");
const NEWEST_FIRST: &str = select!("<", "DESC");

const TURN: &str = "SELECT * FROM backstop_audit_turn()";
const HEAD: &str = "SELECT number, hash FROM stop_decision_audit ORDER BY number DESC LIMIT 1";

const INSERT: &str = "INSERT INTO stop_decision_audit \
     SELECT number, resource_owner, resource_repo, pr_number, workflow_run_id, request_id, \
         decision, reason_code, reasons::json, recommended_next_step, failure_class, \
         current_job_attempts, total_pr_attempts, lawbook_hash, lawbook_version, \
         applied_rules::json, evidence::json, created_at::timestamptz, run, run_seq, actor, \
         previous_hash, hash \
     FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
         $19, $20, $21, $22, $23) \
     AS added (number, resource_owner, resource_repo, pr_number, workflow_run_id, request_id, \
         decision, reason_code, reasons, recommended_next_step, failure_class, \
         current_job_attempts, total_pr_attempts, lawbook_hash, lawbook_version, applied_rules, \
         evidence, created_at, run, run_seq, actor, previous_hash, hash) ORDER BY number";

const ATTEMPTS: u32 = 4;
