//! Looking a whole database over.

use super::client::{Client, Limit};
use super::fault::Fault;
use super::schema;
use crate::StoreError;
use crate::record::Health;
use crate::row::{Cells as _, count, owned};

/// Counts, and looks for what cannot be. What is wrong comes back as text, not as an error.
pub async fn look(place: &str, client: &Client) -> Result<Health, StoreError> {
    let rows = client.read(FIGURES, Limit::LONG).await.map_err(Fault::of_read)?;
    let missing = || StoreError::Read("the database has said nothing of itself".to_owned());
    let row = rows.first().ok_or_else(missing)?;
    let damaged = |error| Fault::from(error).of_read();
    let mut health = Health {
        place: place.to_owned(),
        engine: format!("postgresql {}", row.text("server").map_err(damaged)?),
        schema: schema::CURRENT,
        bytes: count(row, "bytes").map_err(damaged)?,
        runs: count(row, "runs").map_err(damaged)?,
        events: count(row, "events").map_err(damaged)?,
        problems: Vec::new(),
    };
    for (query, what) in CHECKS {
        match client.read(query, Limit::LONG).await {
            Ok(rows) => {
                for row in &rows {
                    let line = owned(row, "line").map_err(damaged)?;
                    health.problems.push(format!("{what}{line}"));
                }
            }
            Err(fault) => health.problems.push(fault.of_read().to_string()),
        }
    }
    Ok(health)
}

const FIGURES: &str = "SELECT split_part(current_setting('server_version'), ' ', 1) AS server, \
     pg_database_size(current_database()) AS bytes, \
     (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM events) AS events";

/// Each gives a line per problem.
const CHECKS: &[(&str, &str)] = &[
    (
        "SELECT run AS line FROM events GROUP BY run HAVING count(*) <> max(seq) - min(seq) + 1",
        "events are missing in the journal of run ",
    ),
    (
        "SELECT id AS line FROM runs WHERE NOT EXISTS (SELECT 1 FROM journals WHERE run = id)",
        "there is no journal for run ",
    ),
    (
        "SELECT 'not under way' AS line WHERE NOT EXISTS (SELECT 1 FROM pg_trigger \
         WHERE tgname = 'stop_decision_audit_is_append_only' AND tgenabled <> 'D')",
        "the guard that keeps the audit from being changed is ",
    ),
    (
        "SELECT name AS line FROM pg_settings \
         WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'",
        "a power cut can damage the database, since the server has switched off ",
    ),
];
