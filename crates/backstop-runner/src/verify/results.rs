//! Where the results of a verification's tests are, and how they are read.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backstop_adapters::report::{Source, TestReport};

/// The test report that the policy points at; none where there is none.
pub(super) async fn find(
    report: Option<&str>,
    output: &[u8],
    cwd: &Path,
    began: SystemTime,
) -> Option<TestReport> {
    let source = source(report)?;
    let Source::Files { path, .. } = &source else { return source.read(output) };
    let pattern = cwd.join(path);
    // Files may be many and large; nobody else waits meanwhile.
    let files = tokio::task::spawn_blocking(move || read(&pattern, began)).await.ok()?;
    let mut reports = files.iter().filter_map(|bytes| source.read(bytes));
    let mut whole = reports.next()?;
    reports.for_each(|report| whole.merge(report));
    Some(whole)
}

/// What can't be read was refused when the run began.
fn source(report: Option<&str>) -> Option<Source> {
    report.map_or(Some(Source::Auto), |report| report.parse().ok())
}

/// The files that the verification has written: what was there before tells of another time.
fn read(pattern: &Path, began: SystemTime) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = pattern
        .to_str()
        .and_then(|pattern| glob::glob(pattern).ok())
        .map(|found| found.flatten().take(MOST_FILES).collect())
        .unwrap_or_default();
    paths.sort();
    // Some file systems count in whole seconds, and the next one may have begun.
    let since = began - Duration::from_secs(1);
    paths
        .into_iter()
        .filter(|path| {
            let metadata = path.metadata();
            metadata.is_ok_and(|found| {
                found.len() <= LARGEST_FILE && found.modified().is_ok_and(|at| at >= since)
            })
        })
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

const MOST_FILES: usize = 10_000;
const LARGEST_FILE: u64 = 64 << 20;
