//! Databases that are not what they were: noticed or read right, never made anew, no panic.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use backstop_core::state::RunStatus;
use backstop_store::testing::sample;
use backstop_store::{
    Batch, DecisionRecord, Home, Snapshot, SqliteStore, Store, StoreError, StoredEvent,
};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;

use support::{check_journal, open, with_lease};

#[tokio::test]
async fn a_flipped_bit_on_any_page_is_noticed_or_harmless() {
    let panics = count_panics();
    let sample = Sample::new().await;
    let mut noticed = 0;
    let everywhere = (0..sample.bytes.len()).step_by(PAGE).flat_map(|page| {
        // The header of the page, and somewhere in it, differently on each.
        [page + 3, page + 8 + page / PAGE * 37 % (PAGE - 8), page + PAGE - 9]
    });
    let flips = everywhere.chain(0..100).map(|place| (place, 1 << (place % 8)));
    // The text of the tables' definitions, which is then no text any more.
    let tables = memory_of(&sample.bytes, b"CREATE TABLE events");
    let flips = flips.chain((tables..tables + 400).step_by(3).map(|place| (place, 0x80)));
    for (place, bit) in flips {
        let mut bytes = sample.bytes.clone();
        bytes[place] ^= bit;
        noticed += usize::from(!sample.reads_right(&bytes, &format!("byte {place}")).await);
    }
    assert!(noticed > 20, "only {noticed} were noticed");
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_truncated_database_is_noticed() {
    let sample = Sample::new().await;
    for length in (1..sample.bytes.len()).step_by(PAGE - 7) {
        let right = sample.reads_right(&sample.bytes[..length], &format!("{length} bytes")).await;
        assert!(!right, "{length} of {} bytes", sample.bytes.len());
    }
}

#[tokio::test]
async fn what_is_no_database_is_left_alone() {
    for text in [
        "hello, I am a diary\n".repeat(1_000),
        "SQLite format 3\0".to_owned() + &"\u{1}".repeat(9_000),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let database = Home::new(directory.path()).database();
        fs::write(&database, &text).unwrap();
        let error = refusal(directory.path()).await;
        assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
        assert_eq!(fs::read_to_string(&database).unwrap(), text);
    }
}

#[tokio::test]
async fn an_emptied_database_is_not_taken_for_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::new(directory.path());
    fs::write(home.database(), "").unwrap();
    // Nothing says that there ever was anything.
    assert_eq!(check_journal(&open(directory.path()).await).await, 0);
    let directory = tempfile::tempdir().unwrap();
    let home = Home::new(directory.path());
    home.run(sample::run_id(0)).create().unwrap();
    fs::write(home.database(), "").unwrap();
    let error = refusal(directory.path()).await;
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let sample = Sample::new().await;
    let mut bytes = sample.bytes.clone();
    // The header's user version: <https://www.sqlite.org/fileformat.html#the_database_header>.
    bytes[60..64].copy_from_slice(&9_999u32.to_be_bytes());
    let directory = sample.place(&bytes);
    match refusal(directory.path()).await {
        StoreError::Newer { found: 9_999, known, .. } => assert!(known >= 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read(Home::new(directory.path()).database()).unwrap(), bytes);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let sample = Sample::new().await;
    let mut bytes = sample.bytes.clone();
    // The header's application id.
    bytes[68..72].copy_from_slice(&1u32.to_be_bytes());
    let directory = sample.place(&bytes);
    let error = refusal(directory.path()).await;
    assert!(matches!(error, StoreError::Location { .. }), "{error:?}");
}

#[tokio::test]
async fn health_names_what_is_damaged() {
    let sample = Sample::new().await;
    let mut bytes = sample.bytes.clone();
    let events = memory_of(&bytes, b"\"seq\":700,");
    bytes[events / PAGE * PAGE] ^= 0xFF;
    let directory = sample.place(&bytes);
    let health = open(directory.path()).await.health().await.unwrap();
    assert!(!health.problems.is_empty());
}

#[tokio::test]
async fn a_missing_event_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, 1..=10)).await.unwrap();
    let database = Home::new(directory.path()).database();
    let options = SqliteConnectOptions::new().filename(database);
    let mut connection = options.connect().await.unwrap();
    sqlx::query("DELETE FROM events WHERE seq = 5").execute(&mut connection).await.unwrap();
    for after in [0, 2, 4] {
        let error = store.event_list(lease.run, after, 100).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    }
    assert_eq!(store.event_list(lease.run, 0, 4).await.unwrap().len(), 4);
    assert_eq!(store.event_list(lease.run, 5, 100).await.unwrap().len(), 5);
    let problems = store.health().await.unwrap().problems;
    assert!(problems.len() == 1 && problems[0].contains(lease.run.as_str()), "{problems:?}");
}

/// A store with a journal, closed, as the bytes of its file.
struct Sample {
    bytes: Vec<u8>,
    content: Content,
}

#[derive(Debug, PartialEq)]
struct Content {
    events: Vec<StoredEvent>,
    snapshot: Option<Snapshot>,
    decisions: Vec<DecisionRecord>,
}

impl Sample {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).await;
        let lease = with_lease(&store).await;
        for start in (1..1_000).step_by(10) {
            let batch = Batch {
                decisions: vec![sample::decision(start)],
                snapshot: Some(sample::snapshot(start)),
                update: Some(sample::update(RunStatus::Running)),
                ..sample::events(&lease, start..start + 10)
            };
            store.append(&batch).await.unwrap();
        }
        let content = Content::read(&store).await.unwrap();
        drop(store);
        let database = Home::new(directory.path()).database();
        until_closed(directory.path()).await;
        Self { bytes: fs::read(&database).unwrap(), content }
    }

    fn place(&self, bytes: &[u8]) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path());
        home.run(sample::run_id(0)).create().unwrap();
        fs::write(home.database(), bytes).unwrap();
        directory
    }

    /// Whether these bytes give what was written. If not, somebody must have said so.
    async fn reads_right(&self, bytes: &[u8], what: &str) -> bool {
        let directory = self.place(bytes);
        let store: Arc<dyn Store> = match SqliteStore::open(&Home::new(directory.path())).await {
            Ok(store) => Arc::new(store),
            Err(_) => return false,
        };
        let Ok(content) = Content::read(&store).await else { return false };
        assert_eq!(content.events, self.content.events, "{what}: nothing said so");
        assert!(content.snapshot.is_none() || content.snapshot == self.content.snapshot, "{what}");
        assert!(
            content.decisions.iter().all(|found| self.content.decisions.contains(found)),
            "{what}: nothing said so"
        );
        // A row whose name is damaged is not found by it. The journal can do without; the thorough
        // look must see it.
        if content != self.content {
            assert!(!store.health().await.unwrap().problems.is_empty(), "{what}: nothing said so");
            return false;
        }
        // Writing must not panic either; it may fail.
        let lease = store.lease_fetch(sample::run_id(0)).await.ok().flatten();
        if let Some(record) = lease {
            store.append(&sample::events(&record.lease, [1_001])).await.ok();
        }
        true
    }
}

impl Content {
    async fn read(store: &Arc<dyn Store>) -> Result<Self, StoreError> {
        let run = sample::run_id(0);
        Ok(Self {
            events: store.event_list(run, 0, u32::MAX).await?,
            snapshot: store.snapshot_fetch(run).await?,
            decisions: store.decision_list(run).await?,
        })
    }
}

async fn refusal(directory: &Path) -> StoreError {
    SqliteStore::open(&Home::new(directory)).await.unwrap_err()
}

/// Connections close in the background, and the last one moves the log into the database, unless
/// two are last at the same time. Then the next one does it.
async fn until_closed(directory: &Path) {
    let log = directory.join("backstop.db-wal");
    let deadline = Instant::now() + Duration::from_secs(60);
    while log.exists() {
        assert!(Instant::now() < deadline, "the database stays open");
        drop(open(directory).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn memory_of(bytes: &[u8], text: &[u8]) -> usize {
    bytes.windows(text.len()).position(|window| window == text).unwrap()
}

/// Counts panics of any thread, those of the database's own included.
fn count_panics() -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let (hook, counted) = (std::panic::take_hook(), Arc::clone(&count));
    std::panic::set_hook(Box::new(move |panic| {
        counted.fetch_add(1, Ordering::SeqCst);
        hook(panic);
    }));
    count
}

const PAGE: usize = 2_048;
