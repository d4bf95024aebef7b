//! Several processes on one store, killed and with a disk that fails.
//!
//! Each process is this test program again, told by a variable what to do.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that can't go on fails, and one that is skipped says why"
)]

mod support;

use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use backstop_core::state::RunStatus;
use backstop_store::audit::{AuditFilter, AuditWriter, NewAuditRow};
use backstop_store::testing::{conformance, sample};
use backstop_store::{Batch, Entry, Journal, StoreError};

use support::{HOUR, check_journal, open, with_lease};

/// The program of the other processes. Does nothing when it runs as a test.
#[tokio::test]
async fn other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let directory = std::env::var(DIRECTORY).unwrap();
    let directory = Path::new(&directory);
    match role.as_str() {
        "journal" => journal(directory).await,
        "emit" => emit(directory).await,
        "append" => append(directory).await,
        "audit" => audit(directory).await,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_kill_loses_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    with_lease(&store).await;
    let mut kept = 0;
    for trial in 0..TRIALS {
        let mut process = start("journal", directory.path(), Command::new(this_program()));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // The first acknowledgement shows that it is at work; then it dies at some instant.
        let first = lines.find_map(|line| acknowledged(&line.unwrap())).unwrap();
        thread::sleep(Duration::from_micros(RandomState::new().hash_one(trial) % 30_000));
        process.kill().unwrap();
        process.wait().unwrap();
        let last = lines.filter_map(|line| acknowledged(&line.ok()?)).last().unwrap_or(first);
        kept = check_journal(&store).await;
        assert!(kept >= last, "trial {trial}: {last} was acknowledged, {kept} are kept");
        let snapshot = store.snapshot_fetch(sample::run_id(0)).await.unwrap();
        // What goes with an event is there if and only if the event is.
        assert_eq!(snapshot.map(|snapshot| snapshot.seq), Some(kept), "trial {trial}");
    }
    assert!(kept > TRIALS, "{kept}");
    // A fresh look, with nothing in memory. It may bring back one batch more: a process that died
    // after its commit was on disk and before it could tell the others has lost nothing either.
    drop(store);
    let store = open(directory.path()).await;
    let found = check_journal(&store).await;
    assert!((kept..=kept + BATCH).contains(&found), "{kept} were kept, {found} are found");
    let snapshot = store.snapshot_fetch(sample::run_id(0)).await.unwrap();
    assert_eq!(snapshot.map(|snapshot| snapshot.seq), Some(found));
    assert_eq!(store.health().await.unwrap().problems, [""; 0]);
}

#[tokio::test]
async fn appends_of_many_processes_are_never_lost() {
    let directory = tempfile::tempdir().unwrap();
    // Not even the first ones, which find no database.
    let starts = (0..8).map(|_| start("emit", directory.path(), Command::new(this_program())));
    for mut process in starts.collect::<Vec<_>>() {
        assert!(process.wait().unwrap().success());
    }
    let store = open(directory.path()).await;
    assert_eq!(check_journal(&store).await, 8 * EMITS);
    assert_eq!(store.health().await.unwrap().problems, [""; 0]);
}

#[tokio::test]
async fn a_commit_costs_one_wait_for_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    with_lease(&open(directory.path()).await).await;
    let log = directory.path().join("strace");
    let Some(strace) = strace(&["-y", "-e", "trace=fsync,fdatasync", "-o", log.to_str().unwrap()])
    else {
        return;
    };
    let output = start("append", directory.path(), strace).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let commits = text.lines().filter_map(acknowledged).count();
    assert_eq!(commits as u64, APPENDS);
    let waits = std::fs::read_to_string(&log).unwrap();
    let log = waits.lines().filter(|line| line.contains("-wal>")).count();
    let others = waits.lines().filter(|line| line.contains("sync(")).count() - log;
    // The log is also synced when it is begun and when it is moved into the database at the end;
    // then the database is synced, and its directory when the log's file is created and removed.
    assert!((commits..=commits + 2).contains(&log), "{waits}");
    assert!(others <= 3, "{waits}");
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_acknowledged() {
    let mut failures = 0;
    for failing in SYNCS {
        let directory = tempfile::tempdir().unwrap();
        with_lease(&open(directory.path()).await).await;
        let Some(good) = acknowledged_until_failing("append", directory.path(), failing) else {
            return;
        };
        failures += usize::from(good < APPENDS);
        let kept = check_journal(&open(directory.path()).await).await;
        assert!(kept >= good, "sync {failing}: {kept} of {good}");
    }
    assert!(failures >= 3, "only {failures} failures were noticed");
}

#[tokio::test]
async fn no_row_of_the_audit_is_acknowledged_after_a_failed_sync() {
    let mut failures = 0;
    for failing in SYNCS {
        let directory = tempfile::tempdir().unwrap();
        open(directory.path()).await;
        let Some(good) = acknowledged_until_failing("audit", directory.path(), failing) else {
            return;
        };
        failures += usize::from(good < APPENDS);
        let head = open(directory.path()).await.audit_head().await.unwrap();
        let kept = head.map_or(0, |head| head.number);
        assert!(kept >= good, "sync {failing}: {kept} of {good}");
    }
    assert!(failures >= 3, "only {failures} failures were noticed");
}

/// How much a process acknowledges until one wait for the disk fails; nothing may be after that. None
/// where waits can't be made to fail.
fn acknowledged_until_failing(role: &str, directory: &Path, failing: u32) -> Option<u64> {
    let inject = format!("inject=fsync,fdatasync:error=EIO:when={failing}");
    let strace = strace(&["-e", "trace=fsync,fdatasync", "-e", &inject, "-o", "/dev/null"])?;
    let output = start(role, directory, strace).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<_> = text.lines().filter(|line| line.starts_with("seq ")).collect();
    assert_eq!(answers.len() as u64, APPENDS, "{text}");
    let good = answers.iter().take_while(|line| acknowledged(line).is_some()).count();
    let mut refused = answers[good..].iter();
    assert!(refused.all(|line| line.ends_with(REFUSED)), "sync {failing}: {answers:?}");
    Some(good as u64)
}

#[tokio::test]
async fn a_kill_loses_no_row_of_the_audit_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    for trial in 0..TRIALS {
        let mut process = start("audit", directory.path(), Command::new(this_program()));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        lines.find_map(|line| acknowledged(&line.unwrap())).unwrap();
        thread::sleep(Duration::from_micros(RandomState::new().hash_one(trial) % 3_000));
        process.kill().unwrap();
        process.wait().unwrap();
        let rest = lines.filter_map(|line| acknowledged(&line.ok()?)).count();
        let filter = AuditFilter { limit: u32::MAX, ..AuditFilter::default() };
        let kept = store.audit_list(&filter).await.unwrap();
        let kept = kept.iter().filter(|row| row.row.actor == format!("{}", process.id()));
        assert!(kept.count() > rest, "trial {trial}");
    }
}

/// Goes on with the journal and says what was acknowledged, until it is killed.
async fn journal(directory: &Path) {
    let store = open(directory).await;
    let run = sample::run_id(0);
    let epoch = store.lease_fetch(run).await.unwrap().map(|record| record.lease.epoch);
    let lease = store.lease_acquire(run, &sample::holder(1), HOUR, epoch).await.unwrap();
    let mut seq = check_journal(&store).await;
    let journal = Journal::start(store, lease);
    loop {
        for _ in 0..=seq % 3 {
            seq += 1;
            journal.append(Entry {
                events: vec![sample::event(seq)],
                snapshot: Some(sample::snapshot(seq)),
                update: Some(sample::update(RunStatus::Running)),
                ..Entry::default()
            });
        }
        journal.durable(seq).await.unwrap();
        say(&format!("seq {seq} ok"));
    }
}

/// Opens the store for each event anew, as `backstop emit` does.
async fn emit(directory: &Path) {
    for _ in 0..EMITS {
        let store = open(directory).await;
        store.policy_put(&sample::policy()).await.unwrap();
        if store.run_fetch(sample::run_id(0)).await.unwrap().is_none() {
            // Somebody else may be faster.
            store.run_create(&sample::run(0)).await.ok();
        }
        conformance::append_next(&store, sample::run_id(0)).await.unwrap();
    }
}

/// Appends single events, tries again what was refused, and says how that went.
async fn append(directory: &Path) {
    let store = open(directory).await;
    let run = sample::run_id(0);
    let lease = store.lease_fetch(run).await.unwrap().unwrap().lease;
    let mut seq = 1;
    for _ in 0..APPENDS {
        let batch =
            Batch { snapshot: Some(sample::snapshot(seq)), ..sample::events(&lease, [seq]) };
        match store.append(&batch).await {
            Ok(()) => {
                say(&format!("seq {seq} ok"));
                seq += 1;
            }
            // The same again: it would succeed if the store let it.
            Err(StoreError::Write(_)) => say(&format!("seq {seq}{REFUSED}")),
            Err(other) => say(&format!("seq {seq} {other:?}")),
        }
    }
}

/// Appends single rows to the audit, tries again what was refused, and says how that went.
async fn audit(directory: &Path) {
    let audit = AuditWriter::start(open(directory).await);
    let actor = std::process::id().to_string();
    for number in 1..=APPENDS {
        let row = NewAuditRow { actor: actor.clone(), ..sample::audit_row(number) };
        match audit.append(row).await {
            Ok(()) => say(&format!("seq {number} ok")),
            Err(error) => match &*error {
                StoreError::Write(_) => say(&format!("seq {number}{REFUSED}")),
                other => say(&format!("seq {number} {other:?}")),
            },
        }
    }
}

fn start(role: &str, directory: &Path, mut command: Command) -> Child {
    command
        .args(["--exact", "other_process", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// This program under strace, if that works here.
fn strace(arguments: &[&str]) -> Option<Command> {
    let works = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        println!("skipped: strace is not here, or may not trace");
        return None;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-q"]).args(arguments).arg(this_program());
    Some(command)
}

fn this_program() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

/// The number in a line that acknowledges one.
fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("seq ")?.strip_suffix(" ok")?.parse().ok()
}

/// On a line of its own, and at once: the test harness writes to the same place.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    output.write_all(format!("\n{line}\n").as_bytes()).unwrap();
    output.flush().unwrap();
}

const ROLE: &str = "BACKSTOP_TEST_ROLE";
const DIRECTORY: &str = "BACKSTOP_TEST_DIRECTORY";
const REFUSED: &str = " refused";
const TRIALS: u64 = 40;
/// The most events that a writing process has handed over and not seen acknowledged.
const BATCH: u64 = 3;
const EMITS: u64 = 15;
const APPENDS: u64 = 20;
/// Which waits for the disk are made to fail, one in each process.
const SYNCS: std::ops::RangeInclusive<u32> = 1..=6;
