//! Failures of pull requests' jobs, and deliveries that were taken.

use backstop_core::time::Timestamp;
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Durability, Writer};
use crate::StoreError;
use crate::clock::now;
use crate::encode::number;
use crate::reruns::{CheckFailure, CheckPass, Delivery, FailureSignal, LEFT_ALONE, PullRequest};
use crate::row::{FromRow as _, count};

pub async fn put(writer: &Mutex<Writer>, signal: &FailureSignal) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO failure_signals \
             (owner, repo, pr_number, job, workflow_run_id, attempt, hash, class, at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
    )
    .bind(&signal.pull_request.owner)
    .bind(&signal.pull_request.repo)
    .bind(number(signal.pull_request.number))
    .bind(&signal.job)
    .bind(number(signal.workflow_run_id))
    .bind(number(signal.attempt))
    .bind(&signal.hash)
    .bind(&signal.class)
    .bind(signal.at.as_nanos());
    let mut writer = writer.lock().await;
    writer.run(Durability::Synced, query).await.map(drop).map_err(Fault::of_write)
}

/// Numbers the failure in the statement that keeps it: two that come at once are two, and one that
/// comes twice is one.
pub async fn put_check(writer: &Mutex<Writer>, failure: &CheckFailure) -> Result<u64, StoreError> {
    let query = sqlx::query(
        "INSERT INTO failure_signals AS known (owner, repo, pr_number, job, workflow_run_id, \
             attempt, hash, class, at, check_run, ended_at) \
         SELECT ?1, ?2, ?3, ?4, ?5, 1 + coalesce(max(attempt), 0), ?6, ?7, ?8, ?9, ?10 \
             FROM failure_signals WHERE owner = ?1 AND repo = ?2 AND pr_number = ?3 \
                 AND job = ?4 AND workflow_run_id = ?5 \
         ON CONFLICT (owner, repo, workflow_run_id, job, pr_number, check_run, ended_at) \
             WHERE check_run IS NOT NULL DO UPDATE SET attempt = known.attempt \
         RETURNING attempt",
    )
    .bind(&failure.pull_request.owner)
    .bind(&failure.pull_request.repo)
    .bind(number(failure.pull_request.number))
    .bind(&failure.check)
    .bind(number(failure.suite))
    .bind(&failure.hash)
    .bind(&failure.class)
    .bind(failure.at.as_nanos())
    .bind(number(failure.check_run))
    .bind(failure.ended_at.as_nanos());
    let mut writer = writer.lock().await;
    let rows = writer.run(Durability::Synced, query).await.map_err(Fault::of_write)?;
    let row = rows.first().ok_or_else(|| StoreError::Write("nothing was kept".to_owned()))?;
    count(row, "attempt").map_err(|error| Fault::from(error).of_read())
}

pub async fn outdate(writer: &Mutex<Writer>, passed: &CheckPass) -> Result<(), StoreError> {
    let query = sqlx::query(
        "UPDATE failure_signals SET outdated = 1 \
         WHERE owner = ?1 AND repo = ?2 AND workflow_run_id = ?3 AND job = ?4 \
             AND check_run IS NOT NULL AND ended_at < ?5",
    )
    .bind(&passed.owner)
    .bind(&passed.repo)
    .bind(number(passed.suite))
    .bind(&passed.check)
    .bind(passed.ended_at.as_nanos());
    let mut writer = writer.lock().await;
    writer.run(Durability::Synced, query).await.map(drop).map_err(Fault::of_write)
}

pub async fn list(
    readers: &Readers,
    pull_request: &PullRequest,
    job: Option<&str>,
    limit: u32,
) -> Result<Vec<FailureSignal>, StoreError> {
    let query = sqlx::query(
        "SELECT * FROM (SELECT * FROM failure_signals \
             WHERE owner = ?1 AND repo = ?2 AND pr_number = ?3 AND (?4 IS NULL OR job = ?4) \
             ORDER BY number DESC LIMIT ?5) ORDER BY number",
    )
    .bind(&pull_request.owner)
    .bind(&pull_request.repo)
    .bind(number(pull_request.number))
    .bind(job)
    .bind(limit);
    readers.all(query).await
}

pub async fn take(
    writer: &Mutex<Writer>,
    delivery: &str,
    by: &str,
    at: Timestamp,
) -> Result<Delivery, StoreError> {
    let query = sqlx::query(
        // An update that changes nothing, so that it is answered how it stands.
        "INSERT INTO deliveries AS known (id, at, taken_by) VALUES (?1, ?2, ?3) \
         ON CONFLICT (id) DO UPDATE SET (at, taken_by) = (SELECT \
             CASE WHEN lost THEN ?2 ELSE known.at END, \
             CASE WHEN lost THEN ?3 ELSE known.taken_by END \
             FROM (SELECT known.at <= ?4 AND known.taken_by IS NOT NULL AND NOT EXISTS ( \
                 SELECT 1 FROM services \
                 WHERE services.id = known.taken_by AND expires_at > ?5) \
             AS lost) AS looked) \
         RETURNING taken_by IS NULL AS done, at = ?2 AND taken_by = ?3 AS taken",
    );
    let query = query
        .bind(delivery)
        .bind(at.as_nanos())
        .bind(by)
        .bind(at.minus(LEFT_ALONE).as_nanos())
        .bind(now().as_nanos());
    let mut writer = writer.lock().await;
    let rows = writer.run(Durability::Synced, query).await.map_err(Fault::of_write)?;
    let row = rows.first().ok_or_else(|| StoreError::Write("nothing was taken".to_owned()))?;
    Delivery::from_row(row).map_err(|error| Fault::from(error).of_read())
}

pub async fn finish(writer: &Mutex<Writer>, delivery: &str) -> Result<(), StoreError> {
    let query = sqlx::query("UPDATE deliveries SET taken_by = NULL WHERE id = ?1").bind(delivery);
    let mut writer = writer.lock().await;
    writer.run(Durability::Synced, query).await.map(drop).map_err(Fault::of_write)
}

pub async fn forget(writer: &Mutex<Writer>, delivery: &str) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM deliveries WHERE id = ?1").bind(delivery);
    let mut writer = writer.lock().await;
    writer.run(Durability::Synced, query).await.map(drop).map_err(Fault::of_write)
}
