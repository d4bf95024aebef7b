//! The audit: a chain that grows at its end.

use sqlx::sqlite::SqliteConnection;
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Patience, Writer};
use crate::StoreError;
use crate::audit::{AuditFilter, AuditHead, AuditRow, Count, NewAuditRow, ORIGIN, hash};
use crate::encode::number;
use crate::row::{FromRow as _, written};

/// Appends rows in a transaction of their own.
pub async fn append(writer: &Mutex<Writer>, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError> {
    let mut writer = writer.lock().await;
    let mut patience = Patience::default();
    loop {
        match attempt(&mut writer, rows).await {
            Err(fault) if patience.lasts(&fault) => {}
            Err(fault) => return Err(writer.remember(fault).of_write()),
            Ok(head) => return Ok(head),
        }
    }
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
    for row in rows {
        let number_of_row = head.number + 1;
        let hash = hash(head.hash, number_of_row, row);
        sqlx::query(INSERT)
            .bind(number(number_of_row))
            .bind(&row.resource_owner)
            .bind(&row.resource_repo)
            .bind(row.pr_number.map(number))
            .bind(row.workflow_run_id.map(number))
            .bind(&row.request_id)
            .bind(&row.decision)
            .bind(&row.reason_code)
            .bind(row.reasons.as_str())
            .bind(&row.recommended_next_step)
            .bind(&row.failure_class)
            .bind(row.current_job_attempts.map(number))
            .bind(row.total_pr_attempts.map(number))
            .bind(&row.lawbook_hash)
            .bind(&row.lawbook_version)
            .bind(row.applied_rules.as_str())
            .bind(row.evidence.as_str())
            .bind(written(row.created_at))
            .bind(row.run.map(|run| run.as_str().to_owned()))
            .bind(row.run_seq.map(number))
            .bind(&row.actor)
            .bind(head.hash.0.as_slice())
            .bind(hash.0.as_slice())
            .execute(&mut *connection)
            .await?;
        head = AuditHead { number: number_of_row, hash };
    }
    Ok(head)
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

pub async fn analytics(readers: &Readers) -> Result<Vec<Count>, StoreError> {
    readers.all(sqlx::query("SELECT * FROM stop_decision_analytics")).await
}

const HEAD: &str = "SELECT number, hash FROM stop_decision_audit ORDER BY number DESC LIMIT 1";

const INSERT: &str = "INSERT INTO stop_decision_audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
     ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)";

macro_rules! select {
    ($cursor:literal, $order:literal) => {
        concat!(
            "SELECT * FROM stop_decision_audit WHERE (?1 IS NULL OR number ",
            $cursor,
            " ?1) \
             AND (?2 IS NULL OR resource_owner = ?2) AND (?3 IS NULL OR resource_repo = ?3) \
             AND (?4 IS NULL OR pr_number = ?4) AND (?5 IS NULL OR request_id = ?5) \
             AND (?6 IS NULL OR decision = ?6) AND (?7 IS NULL OR reason_code = ?7) \
             AND (?8 IS NULL OR run = ?8) ORDER BY number ",
            $order,
            " LIMIT ?9"
        )
    };
}

const OLDEST_FIRST: &str = select!(">", "ASC");
const NEWEST_FIRST: &str = select!("<", "DESC");
