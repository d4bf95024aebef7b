//! What a power cut leaves of the log: everything that was acknowledged, and of what was not, all of
//! a commit or nothing.
//!
//! Simulated on copies: the database, with a log that ends at every border of a frame and amid it.
//! What comes after the cut is missing, is zeros, or is the torn beginning of what was to be written.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use backstop_core::state::RunStatus;
use backstop_store::testing::sample;
use backstop_store::{Batch, Home, Lease};
use tempfile::TempDir;

use support::{check_journal, open, with_lease};

#[tokio::test]
async fn whatever_a_power_cut_leaves_of_the_log_is_whole_commits_up_to_the_last_acknowledged() {
    let record = Record::new().await;
    let mut seen = std::collections::BTreeSet::new();
    for place in record.places() {
        for damage in [Damage::Missing, Damage::Zeros, Damage::Torn] {
            let what = format!("{damage:?} from byte {place} of {}", record.log.len());
            let (directory, kept) = record.cut(place, damage);
            seen.insert(kept.events);
            record.is_whole(directory.path(), kept, &what).await;
        }
    }
    let all: Vec<u64> = record.acknowledged.iter().map(|at| at.events).collect();
    assert!(seen.into_iter().eq(all), "every commit was the last one once");
}

#[tokio::test]
async fn after_a_power_cut_the_journal_goes_on() {
    let record = Record::new().await;
    for at in &record.acknowledged {
        // Half of the next commit had been written.
        let place = (at.bytes + record.frame() / 2).min(record.log.len());
        let (directory, kept) = record.cut(place, Damage::Missing);
        let store = open(directory.path()).await;
        let next = sample::events(&record.lease, [kept.events + 1]);
        store.append(&next).await.unwrap();
        drop(store);
        assert_eq!(check_journal(&open(directory.path()).await).await, kept.events + 1);
    }
}

/// What becomes of the bytes that were not on the disk yet.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Missing,
    Zeros,
    /// A sector arrived, and then no more.
    Torn,
}

/// What had been acknowledged when the log was so long.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    bytes: usize,
    commit: u64,
    events: u64,
}

/// A store with a few commits, and how far the log had come at each.
struct Record {
    database: Vec<u8>,
    log: Vec<u8>,
    lease: Lease,
    acknowledged: Vec<Acknowledged>,
}

impl Record {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (database, log) = files(directory.path());
        let store = open(directory.path()).await;
        let lease = with_lease(&store).await;
        // A run without an event means nothing, so its making waits for no disk. This does.
        store.append(&sample::events(&lease, [1])).await.unwrap();
        let length = || written(&fs::read(&log).unwrap());
        let mut acknowledged = vec![Acknowledged { bytes: length(), commit: 0, events: 1 }];
        for commit in 1..=COMMITS {
            let first = acknowledged.last().unwrap().events + 1;
            // Some fill several pages, some share one with the commit before.
            let last = first + commit % 4 * 9;
            let batch = sample::events(&lease, first..=last);
            store.append(&with_the_rest(batch, last)).await.unwrap();
            acknowledged.push(Acknowledged { bytes: length(), commit, events: last });
        }
        // Nothing was moved into the database meanwhile, or the places would mean nothing.
        assert!(acknowledged.is_sorted_by(|one, two| one.bytes < two.bytes));
        let (database, mut log) = (fs::read(database).unwrap(), fs::read(log).unwrap());
        log.truncate(written(&log));
        Self { database, log, lease, acknowledged }
    }

    fn frame(&self) -> usize {
        frame(&self.log)
    }

    /// Every border of a frame since the first acknowledgement, and a few places amid it.
    fn places(&self) -> Vec<usize> {
        let borders = (LOG_HEADER..=self.log.len()).step_by(self.frame());
        let amid = [0, 1, FRAME_HEADER, FRAME_HEADER + 700, self.frame() - 1];
        let places = borders.flat_map(|border| amid.map(|more| border + more));
        let first = self.acknowledged[0].bytes;
        places.filter(|place| (first..=self.log.len()).contains(place)).collect()
    }

    /// A copy whose log is whole up to a place, and what must be in it.
    fn cut(&self, place: usize, damage: Damage) -> (TempDir, Acknowledged) {
        let mut log = self.log[..place].to_vec();
        match damage {
            Damage::Missing => {}
            Damage::Zeros => log.resize(self.log.len(), 0),
            Damage::Torn => {
                // Whatever it says, it is not what was to be there.
                log.extend(self.log[place..].iter().take(SECTOR).map(|byte| byte ^ 0x5a));
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let (database, file) = files(directory.path());
        fs::write(database, &self.database).unwrap();
        fs::write(file, log).unwrap();
        let mut before = self.acknowledged.iter().filter(|at| at.bytes <= place);
        (directory, *before.next_back().unwrap())
    }

    async fn is_whole(&self, directory: &Path, kept: Acknowledged, what: &str) {
        let store = open(directory).await;
        assert_eq!(check_journal(&store).await, kept.events, "{what}");
        let decisions = store.decision_list(self.lease.run).await.unwrap();
        assert_eq!(decisions.len() as u64, kept.commit, "{what}");
        let snapshot = store.snapshot_fetch(self.lease.run).await.unwrap();
        let expected = (kept.commit > 0).then(|| sample::snapshot(kept.events));
        assert_eq!(snapshot, expected, "{what}");
        let run = store.run_fetch(self.lease.run).await.unwrap().unwrap();
        let status = if kept.commit > 0 { RunStatus::Paused } else { RunStatus::Running };
        assert_eq!(run.status, status, "{what}");
        assert_eq!(store.health().await.unwrap().problems, Vec::<String>::new(), "{what}");
    }
}

/// Everything that a commit can hold, so that none of it can be there without the rest.
fn with_the_rest(batch: Batch, last: u64) -> Batch {
    Batch {
        decisions: vec![sample::decision(last)],
        snapshot: Some(sample::snapshot(last)),
        update: Some(sample::update(RunStatus::Paused)),
        ..batch
    }
}

/// The bytes of a frame: <https://www.sqlite.org/fileformat2.html#walformat>.
fn frame(log: &[u8]) -> usize {
    FRAME_HEADER + u32::from_be_bytes(log[8..12].try_into().unwrap()) as usize
}

/// How far the log is written: a file is longer, by zeros, and there is no page of that number.
fn written(log: &[u8]) -> usize {
    let frames = log[LOG_HEADER..].chunks_exact(frame(log));
    LOG_HEADER + frames.take_while(|frame| frame[..4] != [0; 4]).count() * frame(log)
}

fn files(directory: &Path) -> (PathBuf, PathBuf) {
    let database = Home::new(directory).database();
    let log = database.with_extension("db-wal");
    (database, log)
}

const COMMITS: u64 = 12;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const SECTOR: usize = 512;
