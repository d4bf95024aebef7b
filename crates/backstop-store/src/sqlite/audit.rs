//! The audit: a chain that grows at its end.

use std::sync::OnceLock;

use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Durability, Patience, Writer};
use crate::StoreError;
use crate::audit::{
    AuditFilter, AuditHead, AuditRow, Count, HaltCount, Hash, NewAuditRow, ORIGIN, hash,
};
use crate::encode::number;
use crate::row::{FromRow as _, written};

/// Appends rows, all or none.
pub async fn append(writer: &Mutex<Writer>, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
    let mut writer = writer.lock().await;
    writer.count_pages(PAGES_OF_A_ROW * rows.len() as u64);
    if let Some(head) = at_known_end(&mut writer, rows).await.map_err(Fault::of_write)? {
        return Ok(head);
    }
    let mut patience = Patience::default();
    loop {
        match attempt(&mut writer, rows).await {
            Err(fault) if patience.lasts(&fault) => {}
            Err(fault) => return Err(writer.remember(fault).of_write()),
            Ok(head) => {
                writer.audit_head = Some(head);
                return Ok(head);
            }
        }
    }
}

/// Appends behind the row that was the last when this process wrote it: one statement, for which
/// nothing need be read. If others have appended since, the database refuses it,
/// and the answer is none. The same if there are more rows than a statement takes.
async fn at_known_end(
    writer: &mut Writer,
    rows: &[NewAuditRow],
) -> Result<Option<AuditHead>, Fault> {
    let Some(head) = writer.audit_head.take().filter(|_| rows.len() <= TOGETHER) else {
        return Ok(None);
    };
    let (statement, head) = statement(head, rows)?;
    match writer.run(Durability::Synced, statement).await {
        Ok(_) => writer.audit_head = Some(head),
        Err(fault) if fault.is_of_audit_order() => return Ok(None),
        Err(fault) => return Err(fault),
    }
    Ok(Some(head))
}

async fn attempt(writer: &mut Writer, rows: &[NewAuditRow]) -> Result<AuditHead, Fault> {
    let mut transaction = writer.begin().await?;
    let head = insert(&mut transaction, rows).await?;
    transaction.commit().await?;
    Ok(head)
}

/// Appends rows inside a transaction that holds the write lock: nobody else appends meanwhile.
pub async fn insert(
    connection: &mut SqliteConnection,
    rows: &[NewAuditRow],
) -> Result<AuditHead, Fault> {
    let last = sqlx::query(HEAD).fetch_optional(&mut *connection).await?;
    let mut head = match last {
        Some(row) => AuditHead::from_row(&row)?,
        None => AuditHead { number: 0, hash: ORIGIN },
    };
    for rows in rows.chunks(TOGETHER) {
        let statement;
        (statement, head) = self::statement(head, rows)?;
        statement.execute(&mut *connection).await?;
    }
    Ok(head)
}

/// One statement for so many rows at most, and what the last one will be.
fn statement(
    mut head: AuditHead,
    rows: &[NewAuditRow],
) -> Result<(Query<'static, Sqlite, SqliteArguments>, AuditHead), Fault> {
    let mut arguments = SqliteArguments::default();
    for row in rows {
        let next = head.number + 1;
        let hash = hash(head.hash, next, row);
        bind(&mut arguments, next, row, [head.hash, hash]).map_err(sqlx::Error::Encode)?;
        head = AuditHead { number: next, hash };
    }
    Ok((sqlx::query_with(insert_statement(rows.len()), arguments), head))
}

fn bind(
    arguments: &mut SqliteArguments,
    next: u64,
    row: &NewAuditRow,
    [before, hash]: [Hash; 2],
) -> Result<(), BoxDynError> {
    arguments.add(number(next))?;
    arguments.add(row.resource_owner.clone())?;
    arguments.add(row.resource_repo.clone())?;
    arguments.add(row.pr_number.map(number))?;
    arguments.add(row.workflow_run_id.map(number))?;
    arguments.add(row.request_id.clone())?;
    arguments.add(row.decision.clone())?;
    arguments.add(row.reason_code.clone())?;
    arguments.add(row.reasons.as_str().to_owned())?;
    arguments.add(row.recommended_next_step.clone())?;
    arguments.add(row.failure_class.clone())?;
    arguments.add(row.current_job_attempts.map(number))?;
    arguments.add(row.total_pr_attempts.map(number))?;
    arguments.add(row.lawbook_hash.clone())?;
    arguments.add(row.lawbook_version.clone())?;
    arguments.add(row.applied_rules.as_str().to_owned())?;
    arguments.add(row.evidence.as_str().to_owned())?;
    arguments.add(written(row.created_at))?;
    arguments.add(row.run.map(|run| run.as_str().to_owned()))?;
    arguments.add(row.run_seq.map(number))?;
    arguments.add(row.actor.clone())?;
    arguments.add(before.0.to_vec())?;
    arguments.add(hash.0.to_vec())
}

/// The statement for so many rows. There is one for each power of two, so that all of them stay
/// prepared: what is not bound is NULL, and a row without a number is no row.
fn insert_statement(rows: usize) -> &'static str {
    static FOR_POWERS: [OnceLock<String>; POWERS] = [const { OnceLock::new() }; POWERS];
    let power = rows.max(1).next_power_of_two().ilog2() as usize;
    FOR_POWERS[power].get_or_init(|| {
        let row = format!("({})", ["?"; COLUMNS].join(","));
        let rows = vec![row; 1 << power].join(",");
        format!(
            "INSERT INTO stop_decision_audit SELECT * FROM (VALUES {rows}) \
             WHERE column1 IS NOT NULL"
        )
    })
}

pub async fn head(readers: &Readers) -> Result<Option<AuditHead>, StoreError> {
    readers.one(sqlx::query(HEAD)).await
}

pub async fn list(readers: &Readers, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
    let select = if filter.newest_first { NEWEST_FIRST } else { OLDEST_FIRST };
    let query = sqlx::query(select)
        .bind(filter.cursor.map(number))
        .bind(&filter.owner)
        .bind(&filter.repo)
        .bind(filter.pr_number.map(number))
        .bind(&filter.request_id)
        .bind(&filter.decision)
        .bind(&filter.reason_code)
        .bind(filter.run.map(|run| run.as_str().to_owned()))
        .bind(filter.limit);
    readers.all(query).await
}

pub async fn halts(
    readers: &Readers,
    (after, last): (u64, u64),
) -> Result<Vec<HaltCount>, StoreError> {
    let query = sqlx::query(
        "SELECT reason_code, count(*) AS halts FROM stop_decision_audit \
         WHERE number > ?1 AND number <= ?2 AND run IS NOT NULL GROUP BY reason_code",
    );
    readers.all(query.bind(number(after)).bind(number(last))).await
}

pub async fn analytics(readers: &Readers) -> Result<Vec<Count>, StoreError> {
    readers.all(sqlx::query("SELECT * FROM stop_decision_analytics")).await
}

const HEAD: &str = "SELECT number, hash FROM stop_decision_audit ORDER BY number DESC LIMIT 1";

/// Each index has its own place for a row.
const PAGES_OF_A_ROW: u64 = 4;
/// The columns of the table.
const COLUMNS: usize = 23;
/// How many powers of two there are up to the most rows of a statement.
const POWERS: usize = 9;
/// The most rows of a statement: of 1,424 SQLite could bind all values.
const TOGETHER: usize = 1 << (POWERS - 1);

macro_rules! select {
    ($cursor:literal, $order:literal) => {
        concat!(
            "SELECT * FROM stop_decision_audit WHERE number ",
            $cursor,
            " \
             AND (?2 IS NULL OR lower(resource_owner) = lower(?2)) \
             AND (?3 IS NULL OR lower(resource_repo) = lower(?3)) \
             AND (?4 IS NULL OR pr_number = ?4) AND (?5 IS NULL OR request_id = ?5) \
             AND (?6 IS NULL OR decision = ?6) AND (?7 IS NULL OR reason_code = ?7) \
             AND (?8 IS NULL OR run = ?8) ORDER BY number ",
            $order,
            " LIMIT ?9"
        )
    };
}

const OLDEST_FIRST: &str = select!("> coalesce(?1, 0)", "ASC");
const NEWEST_FIRST: &str = select!("< coalesce(?1, 9223372036854775807)", "DESC");
