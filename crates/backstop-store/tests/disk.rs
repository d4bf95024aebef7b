//! Places that can't be written: missing, read-only, full.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that can't go on fails, and one that is skipped says why"
)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use backstop_store::testing::sample;
use backstop_store::{Home, NewEvent, SqliteStore, StoreError};

use support::{check_journal, open, with_lease};

#[tokio::test]
async fn a_place_below_a_file_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "not a directory").unwrap();
    let place = file.join("state");
    match refusal(&place).await {
        StoreError::Open { place: named, cause } => {
            assert_eq!(named, place.display().to_string());
            assert!(cause.to_lowercase().contains("not a directory"), "{cause}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_directory_in_the_place_of_the_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("backstop.db")).unwrap();
    match refusal(directory.path()).await {
        StoreError::Open { cause, .. } => assert!(cause.contains("not a file"), "{cause}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_log_that_can_not_be_written_is_noticed_when_opening() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).await);
    let log = directory.path().join("backstop.db-wal");
    fs::remove_file(&log).ok();
    fs::create_dir(&log).unwrap();
    let error = refusal(directory.path()).await;
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
}

#[tokio::test]
async fn a_read_only_directory_is_refused_when_opening() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(directory.path(), "size=4m") else { return };
    drop(open(directory.path()).await);
    mount.remount("ro");
    let error = refusal(directory.path()).await;
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("ead-only"), "{error}");
    let below = refusal(&directory.path().join("new")).await;
    assert!(below.to_string().contains("ead-only"), "{below}");
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_full_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(directory.path(), "size=2m") else { return };
    let store = open(directory.path()).await;
    let lease = with_lease(&store).await;
    let mut acknowledged = 0;
    let error = loop {
        match store.append(&sample::events(&lease, [acknowledged + 1])).await {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1_000_000, "the disk is never full");
    };
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    assert!(acknowledged > 10, "{acknowledged}");
    assert_eq!(check_journal(&store).await, acknowledged);
    // It is not a failure of the disk: where there is room again, it goes on.
    mount.remount("size=8m");
    store.append(&sample::events(&lease, [acknowledged + 1])).await.unwrap();
    assert_eq!(check_journal(&store).await, acknowledged + 1);
    assert_eq!(store.health().await.unwrap().problems, [""; 0]);
}

#[tokio::test]
async fn nobody_else_can_read_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("a/b");
    let store = open(&place).await;
    let lease = with_lease(&store).await;
    store.append(&sample::events(&lease, [1])).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o700);
    for name in ["backstop.db", "backstop.db-wal", "backstop.db-shm"] {
        assert_eq!(mode(&place.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn what_is_no_single_line_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let lease = with_lease(&store).await;
    let mut batch = sample::events(&lease, []);
    batch.events = vec![NewEvent { body: "{\n}".to_owned(), ..sample::event(1) }];
    let refused = store.append(&batch).await;
    assert!(matches!(refused, Err(StoreError::Write(_))), "{refused:?}");
    assert_eq!(check_journal(&store).await, 0);
}

async fn refusal(directory: &Path) -> StoreError {
    SqliteStore::open(&Home::new(directory)).await.unwrap_err()
}

/// A small file system in memory, for as long as this lives.
struct Mount<'a> {
    place: &'a Path,
}

impl<'a> Mount<'a> {
    fn new(place: &'a Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "backstop-test"])
            .arg(place)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: a file system can be mounted by root only");
            return None;
        }
        Some(Self { place })
    }

    fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        // A connection that is being closed may still write.
        for _ in 0..1_000 {
            let mount = Command::new("mount").args(["-o", &options]).arg(self.place).output();
            if mount.unwrap().status.success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("can't mount with {options}");
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        // Lazily, since connections close in the background.
        Command::new("umount").arg("-l").arg(self.place).status().unwrap();
    }
}

#[tokio::test]
async fn a_log_is_made_longer_before_it_is_needed_and_ends_where_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let lease = with_lease(&store).await;
    let length = || fs::metadata(directory.path().join("backstop.db-wal")).unwrap().len();
    let mut grown = 0;
    for seq in 1..=200 {
        let before = length();
        store.append(&sample::events(&lease, [seq])).await.unwrap();
        grown += u64::from(length() > before);
    }
    assert!(grown < 60, "{grown} of 200 commits made it longer");
    // As after a crash: what is behind the last commit is not taken for one.
    let copied = tempfile::tempdir().unwrap();
    for name in ["backstop.db", "backstop.db-wal"] {
        fs::copy(directory.path().join(name), copied.path().join(name)).unwrap();
    }
    assert_eq!(check_journal(&open(copied.path()).await).await, 200);
    assert_eq!(check_journal(&store).await, 200);
}
