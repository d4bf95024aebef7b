//! The audit: a chain that grows at its end.

use std::sync::OnceLock;

use backstop_core::id::RunId;
use rusqlite::types::ValueRef;
use tokio::sync::Mutex;

use super::appender::Appender;
use super::fault::Fault;
use super::reader::Readers;
use super::values::{self, integer, text};
use super::writer::Writer;
use crate::StoreError;
use crate::audit::{
    AuditFilter, AuditHead, AuditRow, Count, HaltCount, Hash, JsonText, NewAuditRow, ORIGIN, hash,
};
use crate::encode::number;
use crate::row::{FromRow as _, written};

/// Appends rows, all or none.
pub async fn append(writer: &Mutex<Writer>, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
    let mut writer = writer.lock().await;
    writer.count_pages(PAGES_OF_A_ROW * rows.len() as u64);
    let head = match at_known_end(&mut writer, rows) {
        Ok(Some(head)) => Ok(head),
        Ok(None) => writer.append(|appender| appender.transaction(|| insert(appender, rows))),
        Err(fault) => Err(fault),
    };
    writer.audit_head = head.as_ref().ok().copied();
    head.map_err(Fault::of_write)
}

/// Appends behind the row that was the last when this process wrote it: one statement, for which
/// nothing need be read. If others have appended since, the database refuses it,
/// and the answer is none. The same if there are more rows than a statement takes.
fn at_known_end(writer: &mut Writer, rows: &[NewAuditRow]) -> Result<Option<AuditHead>, Fault> {
    let Some(head) = writer.audit_head.take().filter(|_| rows.len() <= TOGETHER) else {
        return Ok(None);
    };
    let (chained, head) = chain(head, rows);
    match writer.append(|appender| write(appender, &chained)) {
        Ok(()) => Ok(Some(head)),
        Err(fault) if fault.is_of_audit_order() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Appends rows inside a transaction that holds the write lock: nobody else appends meanwhile.
pub fn insert(appender: &Appender, rows: &[NewAuditRow]) -> Result<AuditHead, Fault> {
    let mut select = appender.connection().prepare_cached(HEAD)?;
    let mut last = select.query(())?;
    let mut head = match last.next()? {
        Some(row) => AuditHead::from_row(row)?,
        None => AuditHead { number: 0, hash: ORIGIN },
    };
    for rows in rows.chunks(TOGETHER) {
        let chained;
        (chained, head) = chain(head, rows);
        write(appender, &chained)?;
    }
    Ok(head)
}

/// Writes so many rows as a statement takes.
fn write(appender: &Appender, chained: &[Chained<'_>]) -> Result<(), Fault> {
    appender.execute(insert_statement(chained.len()), |statement| {
        (0..).zip(chained).try_for_each(|(row, chained)| {
            values::bind(statement, row * COLUMNS, &chained.values())
        })
    })
}

/// A row with its place in the chain.
struct Chained<'a> {
    row: &'a NewAuditRow,
    number: u64,
    created_at: String,
    before: Hash,
    hash: Hash,
}

/// The rows behind a head, and what the last one is then.
fn chain(mut head: AuditHead, rows: &[NewAuditRow]) -> (Vec<Chained<'_>>, AuditHead) {
    let chained = rows.iter().map(|row| {
        let (before, number) = (head.hash, head.number + 1);
        head = AuditHead { number, hash: hash(before, number, row) };
        Chained { row, number, created_at: written(row.created_at), before, hash: head.hash }
    });
    (chained.collect(), head)
}

impl Chained<'_> {
    fn values(&self) -> [ValueRef<'_>; COLUMNS] {
        let row = self.row;
        [
            integer(Some(number(self.number))),
            text(row.resource_owner.as_deref()),
            text(row.resource_repo.as_deref()),
            integer(row.pr_number.map(number)),
            integer(row.workflow_run_id.map(number)),
            text(Some(&row.request_id)),
            text(Some(&row.decision)),
            text(row.reason_code.as_deref()),
            text(Some(row.reasons.as_str())),
            text(Some(&row.recommended_next_step)),
            text(row.failure_class.as_deref()),
            integer(row.current_job_attempts.map(number)),
            integer(row.total_pr_attempts.map(number)),
            text(row.lawbook_hash.as_deref()),
            text(row.lawbook_version.as_deref()),
            text(Some(row.applied_rules.as_str())),
            text(Some(row.evidence.as_str())),
            text(Some(&self.created_at)),
            text(row.run.as_ref().map(RunId::as_str)),
            integer(row.run_seq.map(number)),
            text(Some(&row.actor)),
            ValueRef::Blob(&self.before.0),
            ValueRef::Blob(&self.hash.0),
        ]
    }
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
    let codes = &filter.reason_codes;
    let codes = (!codes.is_empty()).then(|| JsonText::of(codes).as_str().to_owned());
    let query = sqlx::query(select)
        .bind(filter.cursor.map(number))
        .bind(&filter.owner)
        .bind(&filter.repo)
        .bind(filter.pr_number.map(number))
        .bind(&filter.request_id)
        .bind(&filter.decision)
        .bind(codes)
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

/// Rows lie together, and so do their entries in the indexes by time; that by pull request has a page
/// for nearly each.
const PAGES_OF_A_ROW: u64 = 2;
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
             AND (?6 IS NULL OR decision = ?6) AND (?7 IS NULL OR \
             reason_code IN (SELECT value FROM json_each(?7))) \
             AND (?8 IS NULL OR run = ?8) ORDER BY number ",
            $order,
            " LIMIT ?9"
        )
    };
}

const OLDEST_FIRST: &str = select!("> coalesce(?1, 0)", "ASC");
const NEWEST_FIRST: &str = select!("< coalesce(?1, 9223372036854775807)", "DESC");
