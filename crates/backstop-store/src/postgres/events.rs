//! How journals are read.

use backstop_core::id::RunId;
use sqlx::postgres::PgRow;

use super::client::{Client, Limit, Transaction};
use super::fault::Fault;
use super::sql::sql;
use crate::checksum::checksum;
use crate::encode::number;
use crate::record::StoredEvent;
use crate::row::{Cells as _, count, owned};

/// Events after a sequence number. An event that is missing or has changed is a fault.
pub async fn list(
    client: &Client,
    run: RunId,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredEvent>, Fault> {
    let mut pages = Pages::new(run, after, limit);
    while let Some(sql) = pages.next()? {
        let rows = client.read(&sql, Limit::ORDINARY).await?;
        pages.take(&rows)?;
    }
    Ok(pages.events)
}

/// All events after a sequence number, inside a transaction.
pub async fn list_within(
    mut transaction: Transaction,
    run: RunId,
    after: u64,
) -> Result<(Transaction, Vec<StoredEvent>), Fault> {
    let mut pages = Pages::new(run, after, u32::MAX);
    while let Some(sql) = pages.next()? {
        let rows;
        (transaction, rows) = transaction.run(sql).await?;
        pages.take(&rows)?;
    }
    Ok((transaction, pages.events))
}

/// What was read, and what is left to read.
struct Pages {
    run: RunId,
    after: u64,
    left: u32,
    size: u32,
    events: Vec<StoredEvent>,
}

impl Pages {
    fn new(run: RunId, after: u64, limit: u32) -> Self {
        Self { run, after, left: limit, size: 0, events: Vec::new() }
    }

    /// The statement for the next page; none if there is no more.
    fn next(&mut self) -> Result<Option<String>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.size = self.left.min(PAGE);
        let values =
            [self.run.as_str().into(), number(self.after).min(SEQS).into(), self.size.into()];
        sql(SELECT, &values).map(Some)
    }

    fn take(&mut self, rows: &[PgRow]) -> Result<(), Fault> {
        let run = self.run;
        let mut found = 0;
        for row in rows {
            // Where there is no event, there is still a row that says what the last one is.
            if row.optional_number("seq")?.is_none() {
                break;
            }
            let (seq, body) = (count(row, "seq")?, owned(row, "body")?);
            if seq != self.after + 1 || row.number("checksum")? != checksum(seq, &body) {
                return Err(Fault::of_damage(format!(
                    "event {} of run {run} is missing or changed",
                    self.after + 1
                )));
            }
            self.events.push(StoredEvent { seq, body });
            self.after = seq;
            found += 1;
        }
        let last = rows.first().map(|row| row.optional_number("last")).transpose()?.flatten();
        if found < self.size && last.is_some_and(|last| last > number(self.after)) {
            return Err(Fault::of_damage(format!(
                "events after {} of run {run} are missing",
                self.after
            )));
        }
        self.left = if found < self.size { 0 } else { self.left - found };
        Ok(())
    }
}

const SELECT: &str = "\
    WITH journal AS (SELECT number << 36 AS start FROM journals WHERE run = $1) \
    SELECT page.seq, page.body, page.checksum, \
        (SELECT seq FROM events, journal \
         WHERE place > start AND place < start + (1::bigint << 36) \
         ORDER BY place DESC LIMIT 1) AS last \
    FROM journal LEFT JOIN LATERAL ( \
        SELECT seq, body, checksum FROM events \
        WHERE place > start + $2 AND place < start + (1::bigint << 36) \
        ORDER BY place LIMIT $3) AS page ON TRUE \
    ORDER BY page.seq";

const PAGE: u32 = 4_096;
/// More events than this no journal can have.
const SEQS: i64 = 1 << 36;
