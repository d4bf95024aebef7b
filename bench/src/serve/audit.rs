//! The check of the chain, beside reading and hashing the same rows.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use backstop_core::document::canonical_json;
use backstop_core::policy::{Policy, Preset};
use backstop_store::audit::{JsonText, NewAuditRow};
use backstop_store::testing::sample;
use backstop_store::{Home, SqliteStore, Store, StoredPolicy};
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Row as _, TypeInfo as _, ValueRef as _};

use crate::measure::median;
use crate::supervised::{Backstop, time};
use crate::targets::Target;

/// Fills an audit, and has it checked by both.
pub fn run(program: &Path, place: PathBuf, rows: u64) -> anyhow::Result<Vec<Target>> {
    let backstop = Backstop::new(program, place)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let home = Home::new(backstop.store());
    let filling = runtime.block_on(async {
        let store = SqliteStore::open(&home).await?;
        fill(&store, rows).await
    })?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut line = backstop.command();
        line.args(["audit", "verify", "--store"]).arg(backstop.store()).stdout(Stdio::null());
        ours.push(time(&mut line, &[0])?);
        let started = Instant::now();
        let read = runtime.block_on(read(&home))?;
        ensure!(read == rows, "{read} rows were read of {rows}");
        bare.push(started.elapsed().as_secs_f64());
    }
    println!("\nan audit of {rows} rows");
    let each = |seconds: f64| seconds * 1e6 / rows as f64;
    println!("{:<28} {filling:>8.2} s {:>8.2} us a row", "appended", each(filling));
    for (name, seconds) in [("backstop audit verify", &ours), ("only read and hashed", &bare)] {
        let middle = median(seconds.clone()).unwrap_or_default();
        println!("{name:<28} {middle:>8.2} s {:>8.2} us a row", each(middle));
    }
    let ratio = median(ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect());
    Ok(vec![Target::at_most("the audit is verified, beside reading it", ratio, Some(2.0), "x")])
}

/// Appends what a year has brought, the last of it now; the answer is how many seconds that took.
pub async fn fill(store: &dyn Store, rows: u64) -> anyhow::Result<f64> {
    let policy = lawbook();
    store.policy_put(&policy).await?;
    let started = Instant::now();
    let now = sample::now();
    let apart = YEAR_IN_MICROS / rows.max(1);
    for first in (0..rows).step_by(TOGETHER) {
        let batch = first..rows.min(first + TOGETHER as u64);
        let batch: Vec<_> = batch
            .map(|number| {
                let ago = i64::try_from((rows - number) * apart * 1_000).unwrap_or_default();
                let at = backstop_core::time::Timestamp::from_nanos(now.as_nanos() - ago);
                NewAuditRow { created_at: at, ..row(number, &policy.hash) }
            })
            .collect();
        store.audit_append(&batch).await?;
    }
    Ok(started.elapsed().as_secs_f64())
}

/// A row as the service writes it: most let the automation go on, some hold it.
fn row(number: u64, lawbook_hash: &str) -> NewAuditRow {
    let (decision, reason, step) = match number % 20 {
        0 => ("KILL", Some("MAX_TOTAL_RERUNS"), "MANUAL_REVIEW"),
        1..=3 => ("HOLD", Some("MAX_ATTEMPTS"), "MANUAL_REVIEW"),
        _ => ("CONTINUE", None, "PROMPT"),
    };
    let evidence = format!(
        r#"{{"facts":{{"job_attempts":1,"total_attempts":2,"failure_class":"flaky","failure_signals":["a1b2c3","{number}"]}},"signals":"given","evaluated_at":"2026-05-04T10:00:00.000001Z","deployment_env":"staging","policy_scope":"global","thresholds":{{"maxRerunsPerJob":2,"maxTotalRerunsPerPr":5}}}}"#
    );
    NewAuditRow {
        resource_owner: Some("octo-org".to_owned()),
        resource_repo: Some(format!("hello-{}", number % 40)),
        pr_number: Some(1 + number % 5_000),
        workflow_run_id: Some(9_000_000 + number),
        request_id: format!("req-{number:013}"),
        decision: decision.to_owned(),
        reason_code: reason.map(str::to_owned),
        reasons: JsonText::of(&["All stop condition checks passed - safe to continue automation"]),
        recommended_next_step: step.to_owned(),
        failure_class: Some("flaky".to_owned()),
        current_job_attempts: Some(1),
        total_pr_attempts: Some(2),
        lawbook_hash: Some(lawbook_hash.to_owned()),
        lawbook_version: None,
        applied_rules: JsonText::of(&["all_checks_passed"]),
        evidence: JsonText::stored(evidence),
        created_at: sample::TIME,
        run: None,
        run_seq: None,
        actor: "ci".to_owned(),
    }
}

/// The policy that has decided all of them.
fn lawbook() -> StoredPolicy {
    let policy = Policy::preset(Preset::Rerun);
    let json = canonical_json(&policy.to_json());
    StoredPolicy { hash: policy.hash(), json, ..sample::policy() }
}

/// Reads all columns of all rows in their order, and hashes each row's bytes: what nobody who
/// checks them can do without.
async fn read(home: &Home) -> anyhow::Result<u64> {
    let mut connection =
        SqliteConnectOptions::new().filename(home.database()).read_only(true).connect().await?;
    let (mut rows, mut last) = (0, [0; 32]);
    loop {
        // A page at a time, which the library reads faster than a stream.
        let page = sqlx::query(PAGE).bind(rows).fetch_all(&mut connection).await?;
        if page.is_empty() {
            return u64::try_from(rows).context("a number of rows");
        }
        for row in &page {
            let mut hash = Sha256::new_with_prefix(last);
            for column in 0..row.len() {
                let value = row.try_get_raw(column)?;
                match value.type_info().name() {
                    "NULL" => hash.update([0]),
                    "INTEGER" => hash.update(row.try_get::<i64, _>(column)?.to_be_bytes()),
                    "BLOB" => hash.update(row.try_get::<&[u8], _>(column)?),
                    _ => hash.update(row.try_get::<&str, _>(column)?),
                }
            }
            last = hash.finalize().into();
            rows += 1;
        }
    }
}

const PAGE: &str = "SELECT * FROM stop_decision_audit WHERE number > ?1 ORDER BY number LIMIT 4096";
const YEAR_IN_MICROS: u64 = 365 * 24 * 3_600 * 1_000_000;
const TOGETHER: usize = 5_000;
const ROUNDS: usize = 3;
