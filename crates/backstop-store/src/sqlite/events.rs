//! How journals are read.

use backstop_core::id::RunId;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::fault::Fault;
use crate::checksum::checksum;
use crate::encode::number;
use crate::record::StoredEvent;

/// Events after a sequence number. An event that is missing or has changed is a fault.
pub async fn list(
    connection: &mut SqliteConnection,
    run: RunId,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredEvent>, Fault> {
    let mut events = Vec::new();
    let mut left = limit;
    while left > 0 {
        let size = left.min(PAGE);
        let found = page(connection, run, after.saturating_add(events.len() as u64), size).await?;
        let ended = found.len() < size as usize;
        // The first page is mostly the only one.
        if events.is_empty() {
            events = found;
        } else {
            events.extend(found);
        }
        if ended {
            break;
        }
        left -= size;
    }
    Ok(events)
}

/// A page comes as one row: handing rows over one by one costs more than reading them.
async fn page(
    connection: &mut SqliteConnection,
    run: RunId,
    after: u64,
    size: u32,
) -> Result<Vec<StoredEvent>, Fault> {
    let row = sqlx::query(
        // Without a join, so that the order of the table is known to be the order that is wanted.
        "SELECT count(*) AS count, group_concat(checksum || ' ' || body, char(10)) AS lines, \
             (SELECT seq FROM events \
              WHERE place > (SELECT number << 36 FROM journals WHERE run = ?1) \
                AND place < (SELECT (number + 1) << 36 FROM journals WHERE run = ?1) \
              ORDER BY place DESC LIMIT 1) AS last, \
             EXISTS (SELECT 1 FROM runs WHERE id = ?1) AS known, \
             EXISTS (SELECT 1 FROM journals WHERE +run = ?1 \
                 AND number = (SELECT number FROM journals WHERE run = ?1)) AS numbered \
         FROM (SELECT body, checksum FROM events \
               WHERE place > (SELECT (number << 36) + ?2 FROM journals WHERE run = ?1) \
                 AND place < (SELECT (number + 1) << 36 FROM journals WHERE run = ?1) \
               ORDER BY place LIMIT ?3)",
    )
    .bind(run.as_str())
    .bind(number(after))
    .bind(size)
    .fetch_one(connection)
    .await?;
    let (count, last): (u32, Option<i64>) = (row.try_get("count")?, row.try_get("last")?);
    // The number is found by an index and seen again in its table: a damaged one would lead into
    // another run's journal, or into none.
    if row.try_get::<bool, _>("known")? && !row.try_get::<bool, _>("numbered")? {
        return Err(Fault::of_damage(format!("the number of run {run}'s journal is damaged")));
    }
    let lines: Option<&str> = row.try_get("lines")?;
    let mut events = Vec::with_capacity(count as usize);
    for (line, seq) in
        lines.into_iter().flat_map(|lines| lines.split('\n')).zip(after.saturating_add(1)..)
    {
        // Seeded with its number, the checksum also tells a line from its neighbours.
        let checked = line
            .split_once(' ')
            .filter(|(sum, body)| sum.parse::<i64>().is_ok_and(|sum| sum == checksum(seq, body)));
        let Some((_, body)) = checked else {
            return Err(Fault::of_damage(format!(
                "event {seq} of run {run} is missing or changed"
            )));
        };
        events.push(StoredEvent { seq, body: body.to_owned() });
    }
    // A name that was damaged ends the reading too early; from the other end it is past.
    let end = after.saturating_add(events.len() as u64);
    if count < size && last.is_some_and(|last| last > number(end)) || events.len() != count as usize
    {
        return Err(Fault::of_damage(format!("events after {end} of run {run} are missing")));
    }
    Ok(events)
}

const PAGE: u32 = 4_096;
