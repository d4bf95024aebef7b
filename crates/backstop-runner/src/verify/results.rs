//! Where the results of a verification's tests are, and how they are read.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backstop_adapters::report::{Source, TestReport};

/// The results that a verification is about to write, and what lies there before it does.
pub(super) struct Results {
    source: Option<Source>,
    /// The files of an earlier time. None where the results are in the output.
    files: Option<Earlier>,
}

struct Earlier {
    pattern: PathBuf,
    stamps: HashMap<PathBuf, Stamp>,
    began: SystemTime,
}

/// What changes when a file is written: also its inode if it is replaced.
#[derive(PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Results {
    /// The test report that the policy points at, before the verification begins.
    pub async fn expect(report: Option<&str>, cwd: &Path) -> Self {
        // What can't be read was refused when the run began.
        let source = report.map_or(Some(Source::Auto), |report| report.parse().ok());
        let pattern = match &source {
            Some(Source::Files { path, .. }) => Some(cwd.join(path)),
            _ => None,
        };
        let files = match pattern {
            Some(pattern) => aside(move || Earlier::look(pattern)).await,
            None => None,
        };
        Self { source, files }
    }

    /// What the verification left behind; none where there is nothing of it.
    pub async fn find(self, output: &[u8]) -> Option<TestReport> {
        let source = self.source?;
        let Some(files) = self.files else { return source.read(output) };
        let files = aside(move || files.read_written()).await?;
        let mut reports = files.iter().filter_map(|bytes| source.read(bytes));
        let mut whole = reports.next()?;
        reports.for_each(|report| whole.merge(report));
        Some(whole)
    }
}

impl Earlier {
    fn look(pattern: PathBuf) -> Self {
        let stamps = found(&pattern)
            .filter_map(|path| Stamp::of(&path).map(|stamp| (path, stamp)))
            .collect();
        Self { pattern, stamps, began: SystemTime::now() }
    }

    /// The files that were written since: what was there before tells of another time.
    fn read_written(&self) -> Vec<Vec<u8>> {
        let mut paths: Vec<PathBuf> = found(&self.pattern)
            .filter(|path| {
                Stamp::of(path).is_some_and(|now| {
                    now.length <= LARGEST_FILE
                        && (self.stamps.get(path) != Some(&now) || now.may_be_after(self.began))
                })
            })
            .collect();
        paths.sort();
        paths.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self {
            inode: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Some file systems count in whole seconds: there a file that was written again in the second
    /// in which it was looked at has the same stamp.
    fn may_be_after(&self, began: SystemTime) -> bool {
        let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let counts_seconds = self.modified.1 == 0 && self.changed.1 == 0;
        counts_seconds
            && u64::try_from(self.modified.0).is_ok_and(|second| second >= began.as_secs())
    }
}

fn found(pattern: &Path) -> impl Iterator<Item = PathBuf> {
    let found = pattern.to_str().and_then(|pattern| glob::glob(pattern).ok());
    found.into_iter().flatten().flatten().take(MOST_FILES)
}

/// Files may be many and large; nobody else waits meanwhile.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

const MOST_FILES: usize = 10_000;
const LARGEST_FILE: u64 = 64 << 20;
