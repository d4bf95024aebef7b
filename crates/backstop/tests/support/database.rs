//! The database in somebody else's hands.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

/// Runs statements that the database lets through.
pub fn sql(path: &Path, statements: &str) {
    execute(path, statements).expect("the database lets it through");
}

/// Runs a statement that the database itself refuses, with this word in its message.
pub fn refused_sql(path: &Path, statement: &str, word: &str) {
    let message = execute(path, statement).expect_err("the database refuses it").to_string();
    assert!(message.contains(word), "{message}");
}

fn execute(path: &Path, statements: &str) -> Result<(), sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let url = format!("sqlite://{}", path.display());
        let mut connection = SqliteConnection::connect(&url).await?;
        connection.execute(AssertSqlSafe(statements.to_owned())).await?;
        connection.close().await
    })
}
