//! What people read of the audit, from a database server.

use std::time::Instant;

use anyhow::Context as _;
use backstop_store::testing::postgres;
use backstop_store::{Location, open};
use sqlx::AssertSqlSafe;
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::audit::fill;
use crate::measure::median;
use crate::targets::Target;

/// Reads each of the three views to its end.
pub fn run(rows: u64) -> anyhow::Result<Vec<Target>> {
    let server = postgres::Server::start().context("PostgreSQL must be installed")?;
    let database = server.database();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = open(&Location::parse(&database.url())?).await?;
        let filling = fill(&*store, rows).await?;
        println!("\nviews of {rows} rows on PostgreSQL");
        let each = filling * 1e6 / rows as f64;
        println!("{:<28} {filling:>8.2} s {each:>8.2} us a row", "appended");
        let options: PgConnectOptions = database.url().parse()?;
        let mut connection = options.connect().await?;
        let mut targets = Vec::new();
        for (promise, view) in VIEWS {
            let (milliseconds, found) = read(&mut connection, view).await?;
            println!("{view:<28} {milliseconds:>8.2} ms, {found} rows");
            targets.push(Target::at_most(promise, Some(milliseconds), Some(50.0), "ms"));
        }
        Ok(targets)
    })
}

async fn read(connection: &mut PgConnection, view: &str) -> anyhow::Result<(f64, usize)> {
    let (mut times, mut found) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let statement = AssertSqlSafe(format!("SELECT * FROM {view}"));
        found = sqlx::raw_sql(statement).fetch_all(&mut *connection).await?.len();
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok((median(times).unwrap_or_default(), found))
}

const VIEWS: [(&str, &str); 3] = [
    ("the last hundred decisions", "recent_stop_decisions"),
    ("the holds of a day", "active_hold_decisions"),
    ("the counts of a week", "stop_decision_analytics"),
];
const ROUNDS: usize = 11;
