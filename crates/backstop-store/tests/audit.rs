//! The audit stands up to those who would change it, on both engines.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::Arc;

use backstop_store::audit::{
    AuditHead, Checkpoint, Finding, NewAuditRow, Signer, Verified, verify,
};
use backstop_store::testing::postgres::{self, Database};
use backstop_store::testing::sample;
use backstop_store::{Home, PostgresStore, ServerUrl, SqliteStore, Store};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};

/// Each check on the embedded engine, and on the other where it is installed.
macro_rules! on_both_engines {
    ($($check:ident,)*) => {
        mod embedded {
            $(
                #[tokio::test]
                async fn $check() {
                    super::$check(super::Intruder::embedded().await).await;
                }
            )*
        }

        mod server {
            $(
                #[tokio::test]
                async fn $check() {
                    if let Some(intruder) = super::Intruder::server().await {
                        super::$check(intruder).await;
                    }
                }
            )*
        }
    };
}

on_both_engines! {
    the_database_refuses_every_change,
    every_changed_column_of_every_row_is_found,
    removed_swapped_and_inserted_rows_are_found,
    only_a_checkpoint_shows_that_the_end_was_cut_off,
    only_a_checkpoint_shows_that_all_was_written_anew,
    views_show_what_was_decided,
}

async fn the_database_refuses_every_change(intruder: Intruder) {
    intruder.fill().await;
    for change in [
        "UPDATE stop_decision_audit SET actor = actor",
        "UPDATE stop_decision_audit SET decision = 'CONTINUE' WHERE number = 2",
        "UPDATE stop_decision_audit SET decision = 'CONTINUE' WHERE number = 99",
        "DELETE FROM stop_decision_audit WHERE number = 3",
        "DELETE FROM stop_decision_audit",
    ] {
        let refused = intruder.run(change).await;
        // Of a statement that finds no row, one engine has nothing to refuse.
        if intruder.is_server() || !change.contains("99") {
            let error = refused.expect_err(change);
            assert!(error.contains("append-only"), "{change}: {error}");
        }
    }
    // A copy of a row anywhere but behind the last one, and several of which only some are there.
    for numbers in ["0", "-5", "1", "2", "5", "4711", "4), (6", "3), (4", "0), (1"] {
        let insert = Intruder::insertion(numbers);
        intruder.run(&insert).await.expect_err(&insert);
    }
    assert!(intruder.run(&Intruder::insertion("-5")).await.unwrap_err().contains("append-only"));
    let truncate = intruder.run("TRUNCATE stop_decision_audit").await;
    assert!(truncate.is_err());
    // Where what was decided is counted beside it, the counts are the audit's alone too.
    if intruder.is_server() {
        for change in [
            "UPDATE stop_decision_counts SET decision_count = 0",
            "INSERT INTO stop_decision_counts SELECT slot, 'KILL', '', 1, slot FROM stop_decision_counts",
            "DELETE FROM stop_decision_counts",
            "TRUNCATE stop_decision_counts",
        ] {
            let error = intruder.run(change).await.expect_err(change);
            assert!(error.contains("follow the audit"), "{change}: {error}");
        }
    }
    assert_eq!(intruder.verify(None).await.finding, None);
    assert_eq!(intruder.verify(None).await.rows, ROWS);
}

async fn every_changed_column_of_every_row_is_found(intruder: Intruder) {
    intruder.fill().await;
    intruder.break_in().await;
    for (column, value) in intruder.changes() {
        for row in 1..=ROWS {
            let change =
                format!("UPDATE stop_decision_audit SET {column} = {value} WHERE number = {row}");
            let finding = intruder.found_after(&change).await;
            assert!(finding.is_some(), "row {row}: {column} = {value}");
        }
    }
    assert_eq!(intruder.found_after("SELECT 1").await, None, "what is put back holds");
}

async fn removed_swapped_and_inserted_rows_are_found(intruder: Intruder) {
    intruder.fill().await;
    intruder.break_in().await;
    for row in 1..ROWS {
        let remove = format!("DELETE FROM stop_decision_audit WHERE number = {row}");
        let removed = intruder.found_after(&remove).await;
        assert_eq!(removed, Some(Finding::Missing { row }));
        // With the rest moved up.
        let close = format!(
            "{remove}; UPDATE stop_decision_audit SET number = -number WHERE number > {row}; \
             UPDATE stop_decision_audit SET number = -number - 1 WHERE number < 0"
        );
        let closed = intruder.found_after(&close).await;
        assert_eq!(closed, Some(Finding::Broken { row }), "{row}");
        let swap = format!(
            "UPDATE stop_decision_audit SET number = -1 WHERE number = {row}; \
             UPDATE stop_decision_audit SET number = {row} WHERE number = {row} + 1; \
             UPDATE stop_decision_audit SET number = {row} + 1 WHERE number = -1"
        );
        assert_eq!(intruder.found_after(&swap).await, Some(Finding::Broken { row }), "{row}");
        let insert = format!(
            "UPDATE stop_decision_audit SET number = -number WHERE number >= {row}; \
             UPDATE stop_decision_audit SET number = 1 - number WHERE number < 0; \
             INSERT INTO stop_decision_audit SELECT * FROM kept WHERE number = {row}"
        );
        let inserted = intruder.found_after(&insert).await;
        assert_eq!(inserted, Some(Finding::Broken { row: row + 1 }), "{row}");
    }
    for number in ["0", "-1", "-4711", "-9223372036854775808", "-1), (0"] {
        let inserted = intruder.found_after(&Intruder::insertion(number)).await;
        assert_eq!(inserted, Some(Finding::Inserted { before: 1 }), "{number}");
    }
}

async fn only_a_checkpoint_shows_that_the_end_was_cut_off(intruder: Intruder) {
    let checkpoint = checkpoint(intruder.fill().await);
    assert_eq!(intruder.verify(Some(&checkpoint)).await.finding, None);
    intruder.break_in().await;
    for left in 0..ROWS {
        intruder
            .run(&format!("DELETE FROM stop_decision_audit WHERE number > {left}"))
            .await
            .unwrap();
        assert_eq!(intruder.verify(None).await.finding, None);
        let cut = intruder.verify(Some(&checkpoint)).await.finding;
        assert_eq!(cut, Some(Finding::CutOff { rows: left, expected: ROWS }));
        intruder.put_back().await;
    }
}

async fn only_a_checkpoint_shows_that_all_was_written_anew(intruder: Intruder) {
    let checkpoint = checkpoint(intruder.fill().await);
    intruder.break_in().await;
    intruder.run("DELETE FROM stop_decision_audit").await.unwrap();
    let rows: Vec<_> = (1..=ROWS + 1)
        .map(|n| NewAuditRow { actor: "nobody".to_owned(), ..sample::audit_row(n) })
        .collect();
    intruder.opened_anew().await.audit_append(&rows).await.unwrap();
    assert_eq!(intruder.verify(None).await.finding, None);
    let found = intruder.verify(Some(&checkpoint)).await.finding;
    assert_eq!(found, Some(Finding::Rewritten { row: ROWS }));
}

async fn views_show_what_was_decided(intruder: Intruder) {
    let now = sample::now();
    let mut rows: Vec<_> =
        (1..=120).map(|n| NewAuditRow { created_at: now, ..sample::audit_row(n) }).collect();
    rows[0].created_at = sample::TIME_OF_AUDIT;
    rows[1].decision = "KILL".to_owned();
    intruder.store.audit_append(&rows).await.unwrap();
    for (view, columns, count) in [
        (
            "recent_stop_decisions",
            "number, repository, pr_number, workflow_run_id, request_id, decision, reason_code, \
             reasons, recommended_next_step, failure_class, current_job_attempts, \
             total_pr_attempts, lawbook_version, run, actor, created_at",
            100,
        ),
        (
            "active_hold_decisions",
            "number, repository, pr_number, workflow_run_id, request_id, reason_code, reasons, \
             recommended_next_step, failure_class, current_job_attempts, total_pr_attempts, run, \
             actor, created_at",
            118,
        ),
        ("stop_decision_analytics", "decision, reason_code, decision_count, last_occurred_at", 2),
    ] {
        let found = intruder.count(&format!("SELECT {columns} FROM {view}")).await;
        assert_eq!(found, count, "{view}");
    }
    let recent =
        "SELECT 1 FROM recent_stop_decisions WHERE repository = 'acme/app' AND number > 20";
    assert_eq!(intruder.count(recent).await, 100);
    let analytics =
        "SELECT 1 FROM stop_decision_analytics WHERE decision_count = 118 AND decision = 'HOLD'";
    assert_eq!(intruder.count(analytics).await, 1);
}

/// Somebody with the database's own tools.
struct Intruder {
    store: Arc<dyn Store>,
    way: Way,
}

enum Way {
    File(tempfile::TempDir),
    Server(Database<'static>),
}

impl Intruder {
    async fn embedded() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&Home::new(directory.path())).await.unwrap();
        Self { store: Arc::new(store), way: Way::File(directory) }
    }

    async fn server() -> Option<Self> {
        let database = postgres::shared()?.database();
        let url = ServerUrl::parse(&database.url()).unwrap();
        let store = PostgresStore::open(&url).await.unwrap();
        Some(Self { store: Arc::new(store), way: Way::Server(database) })
    }

    fn is_server(&self) -> bool {
        matches!(self.way, Way::Server(_))
    }

    /// The store as a program finds it that is started now.
    async fn opened_anew(&self) -> Arc<dyn Store> {
        match &self.way {
            Way::File(directory) => {
                Arc::new(SqliteStore::open(&Home::new(directory.path())).await.unwrap())
            }
            Way::Server(_) => Arc::clone(&self.store),
        }
    }

    async fn fill(&self) -> AuditHead {
        let rows: Vec<_> = (1..=ROWS).map(sample::audit_row).collect();
        self.store.audit_append(&rows).await.unwrap()
    }

    /// Takes the guards away, and keeps the table as it is.
    async fn break_in(&self) {
        let drops = match self.way {
            Way::File(_) => {
                "DROP TRIGGER stop_decision_audit_is_not_updated; \
                 DROP TRIGGER stop_decision_audit_is_not_deleted; \
                 DROP TRIGGER stop_decision_audit_is_appended"
            }
            Way::Server(_) => {
                "DROP TRIGGER stop_decision_audit_is_append_only ON stop_decision_audit; \
                 DROP TRIGGER stop_decision_audit_is_appended ON stop_decision_audit"
            }
        };
        self.run(&format!("{drops}; CREATE TABLE kept AS SELECT * FROM stop_decision_audit"))
            .await
            .unwrap();
    }

    /// Copies a row to places of its own choice: `4), (5` are two of them.
    fn insertion(numbers: &str) -> String {
        let rest = COLUMNS_BESIDE_THE_NUMBER;
        format!(
            "INSERT INTO stop_decision_audit (number, {rest}) \
             SELECT column1, {rest} FROM (VALUES ({numbers})) AS places, stop_decision_audit \
             WHERE number = 2"
        )
    }

    async fn put_back(&self) {
        self.run(PUT_BACK).await.unwrap();
    }

    async fn found_after(&self, change: &str) -> Option<Finding> {
        self.run(&format!("{PUT_BACK}; {change}")).await.unwrap();
        let finding = self.verify(None).await.finding;
        self.put_back().await;
        finding
    }

    async fn verify(&self, checkpoint: Option<&Checkpoint>) -> Verified {
        verify(&*self.store, checkpoint, |_| {}).await.unwrap()
    }

    async fn run(&self, statement: &str) -> Result<(), String> {
        match &self.way {
            Way::File(directory) => {
                let mut connection = self.connect(directory).await;
                let done = connection.execute(AssertSqlSafe(statement)).await;
                done.map(drop).map_err(|error| error.to_string())
            }
            Way::Server(database) => {
                database.query(statement).map(drop).map_err(|error| error.to_string())
            }
        }
    }

    async fn count(&self, select: &str) -> usize {
        match &self.way {
            Way::File(directory) => {
                let mut connection = self.connect(directory).await;
                connection.fetch_all(AssertSqlSafe(select)).await.unwrap().len()
            }
            Way::Server(database) => {
                let count = database.query(&format!("SELECT count(*) FROM ({select}) AS rows"));
                count.unwrap().trim().parse().unwrap()
            }
        }
    }

    async fn connect(&self, directory: &tempfile::TempDir) -> SqliteConnection {
        let file = directory.path().join("backstop.db");
        SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap()
    }

    /// Columns, and other values for them.
    fn changes(&self) -> Vec<(&'static str, &'static str)> {
        let mut changes = Vec::new();
        for column in TEXTS {
            changes.push((*column, "'x'"));
            changes.push((*column, "''"));
        }
        for column in OPTIONAL {
            changes.push((*column, "NULL"));
        }
        for column in NUMBERS {
            changes.push((*column, "4711"));
            changes.push((*column, "-1"));
        }
        changes.push(("number", "4711"));
        changes.push(("run", "'01JX0000000ZZ'"));
        changes.push(("run", "lower(run)"));
        changes.push(("run", "replace(run, '0', 'O')"));
        if self.is_server() {
            changes.push(("reasons", "(reasons::text || ' ')::json"));
            changes.push(("applied_rules", "'[]'"));
            changes.push(("evidence", "(evidence::text || ' ')::json"));
            changes.push(("created_at", "created_at + INTERVAL '1 microsecond'"));
            changes.push(("created_at", "created_at - INTERVAL '4051 years'"));
            changes.push(("created_at", "'infinity'"));
            changes.push(("hash", "decode(repeat('ab', 32), 'hex')"));
            changes.push(("previous_hash", "decode(repeat('ab', 32), 'hex')"));
            changes.push(("hash", "''"));
        } else {
            changes.push(("reasons", "reasons || ' '"));
            changes.push(("applied_rules", "'no json'"));
            changes.push(("evidence", "evidence || ' '"));
            changes.push(("created_at", "'2020-01-01T00:00:00.000000Z'"));
            changes.push(("created_at", "replace(created_at, 'T', ' ')"));
            changes.push(("created_at", "'never'"));
            changes.push(("hash", "zeroblob(32)"));
            changes.push(("previous_hash", "randomblob(32)"));
            changes.push(("hash", "zeroblob(0)"));
        }
        changes
    }
}

fn checkpoint(head: AuditHead) -> Checkpoint {
    Signer::new(&[7; 32]).sign(head)
}

const ROWS: u64 = 3;

const PUT_BACK: &str = "DELETE FROM stop_decision_audit; INSERT INTO stop_decision_audit SELECT * FROM kept ORDER BY number";

const COLUMNS_BESIDE_THE_NUMBER: &str = "resource_owner, resource_repo, pr_number, \
    workflow_run_id, request_id, decision, reason_code, reasons, recommended_next_step, \
    failure_class, current_job_attempts, total_pr_attempts, lawbook_hash, lawbook_version, \
    applied_rules, evidence, created_at, run, run_seq, actor, previous_hash, hash";

const TEXTS: &[&str] = &[
    "resource_owner",
    "resource_repo",
    "request_id",
    "decision",
    "reason_code",
    "recommended_next_step",
    "failure_class",
    "lawbook_hash",
    "lawbook_version",
    "actor",
    "run",
];
const OPTIONAL: &[&str] = &[
    "resource_owner",
    "resource_repo",
    "pr_number",
    "workflow_run_id",
    "reason_code",
    "failure_class",
    "current_job_attempts",
    "total_pr_attempts",
    "lawbook_hash",
    "lawbook_version",
    "run",
    "run_seq",
];
const NUMBERS: &[&str] =
    &["pr_number", "workflow_run_id", "current_job_attempts", "total_pr_attempts", "run_seq"];
