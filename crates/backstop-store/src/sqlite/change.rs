//! Waiting until there is something new.

use std::time::Duration;

use backstop_core::id::RunId;
use sqlx::Row as _;
use tokio::time::{Instant, sleep_until};

use super::fault::Fault;
use super::reader::Readers;
use crate::StoreError;
use crate::encode::number;

/// Looks again and again: SQLite tells nobody in another process that it was written.
pub async fn wait(
    readers: &Readers,
    run: RunId,
    after: u64,
    at_most: Duration,
) -> Result<(), StoreError> {
    let end = Instant::now() + at_most;
    loop {
        let query = sqlx::query(
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE run = ?1 AND answer IS NULL) \
             OR EXISTS (SELECT 1 FROM events \
                 WHERE place = (SELECT (number << 36) + ?2 + 1 FROM journals WHERE run = ?1)) \
             AS news",
        );
        let row = readers.row(query.bind(run.as_str()).bind(number(after))).await?;
        let news = row.map(|row| row.try_get("news")).transpose();
        if news.map_err(|error| Fault::from(error).of_read())?.unwrap_or(false)
            || Instant::now() >= end
        {
            return Ok(());
        }
        sleep_until(end.min(Instant::now() + PAUSE)).await;
    }
}

const PAUSE: Duration = Duration::from_millis(100);
