//! How journals are read.

use backstop_core::id::RunId;
use rusqlite::Connection;
use sqlx::sqlite::SqliteConnection;

use super::fault::Fault;
use crate::checksum::checksum;
use crate::encode::number;
use crate::record::StoredEvent;
use crate::row::Cells;

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
    let row = sqlx::query(SELECT_PAGE).bind(run.as_str()).bind(number(after)).bind(size);
    events_of(&row.fetch_one(connection).await?, run, after, size)
}

/// The same for what is read inside a transaction of the appender's.
pub fn list_all(
    connection: &Connection,
    run: RunId,
    after: u64,
) -> Result<Vec<StoredEvent>, Fault> {
    let mut select = connection.prepare_cached(SELECT_PAGE)?;
    let mut events = Vec::new();
    loop {
        let after = after.saturating_add(events.len() as u64);
        let mut rows = select.query((run.as_str(), number(after), PAGE))?;
        // It counts, so there is always one.
        let Some(row) = rows.next()? else { return Ok(events) };
        let found = events_of(row, run, after, PAGE)?;
        let ended = found.len() < PAGE as usize;
        events.extend(found);
        if ended {
            return Ok(events);
        }
    }
}

fn events_of(
    row: &impl Cells,
    run: RunId,
    after: u64,
    size: u32,
) -> Result<Vec<StoredEvent>, Fault> {
    let (count, last) = (row.number("count")?, row.optional_number("last")?);
    let count = usize::try_from(count).unwrap_or_default();
    // The number is found by an index and seen again in its table: a damaged one would lead into
    // another run's journal, or into none.
    if row.flag("known")? && !row.flag("numbered")? {
        return Err(Fault::of_damage(format!("the number of run {run}'s journal is damaged")));
    }
    let lines = row.optional_text("lines")?;
    let mut events = Vec::with_capacity(count);
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
    if count < size as usize && last.is_some_and(|last| last > number(end)) || events.len() != count
    {
        return Err(Fault::of_damage(format!("events after {end} of run {run} are missing")));
    }
    Ok(events)
}

const PAGE: u32 = 4_096;

/// Without a join, so that the order of the table is known to be the order that is wanted.
const SELECT_PAGE: &str = "SELECT count(*) AS count, \
         group_concat(checksum || ' ' || body, char(10)) AS lines, \
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
           ORDER BY place LIMIT ?3)";
