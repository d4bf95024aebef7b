//! Looking a whole database over.

use sqlx::Row as _;

use super::reader::Readers;
use super::schema;
use crate::StoreError;
use crate::home::Home;
use crate::record::Health;
use crate::row::{Cells, FromRow, Unreadable, owned};

/// Reads every page. What is wrong comes back as text, not as an error.
pub async fn look(home: &Home, readers: &Readers) -> Result<Health, StoreError> {
    let mut problems = Vec::new();
    for (query, what) in CHECKS {
        match readers.all::<Text>(sqlx::query(*query)).await {
            Ok(lines) => {
                let found = lines.into_iter().map(|Text(line)| line).filter(|line| line != "ok");
                problems.extend(found.map(|line| format!("{what}{line}")));
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    let mut counts = [0; 2];
    for (count, query) in counts.iter_mut().zip(COUNTS) {
        match readers.row(sqlx::query(*query)).await {
            Ok(row) => *count = row.map_or(0, |row| row.try_get::<u64, _>(0).unwrap_or(0)),
            Err(error) => problems.push(error.to_string()),
        }
    }
    problems.dedup();
    let database = home.database();
    let size = |suffix: &str| {
        let mut path = database.clone().into_os_string();
        path.push(suffix);
        std::fs::metadata(path).map_or(0, |data| data.len())
    };
    Ok(Health {
        place: database.display().to_string(),
        engine: "sqlite".to_owned(),
        schema: schema::CURRENT,
        bytes: size("") + size("-wal"),
        runs: counts[0],
        events: counts[1],
        problems,
    })
}

struct Text(String);

impl FromRow for Text {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        owned(row, "line").map(Self)
    }
}

/// Each gives a line per problem.
const CHECKS: &[(&str, &str)] = &[
    ("SELECT integrity_check AS line FROM pragma_integrity_check", ""),
    (
        "SELECT DISTINCT coalesce(\"table\", '?') AS line FROM pragma_foreign_key_check",
        "rows refer to what is not there in table ",
    ),
    (
        "SELECT run AS line FROM events GROUP BY run HAVING count(*) <> max(seq) - min(seq) + 1",
        "events are missing in the journal of run ",
    ),
];

const COUNTS: &[&str] = &["SELECT count(*) FROM runs", "SELECT count(*) FROM events"];
