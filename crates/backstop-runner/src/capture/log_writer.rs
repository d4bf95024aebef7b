//! Keeps an iteration's output: its first bytes, its last ones, and how many are left out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use backstop_core::redact::{Redactor, Stream};

use super::ring::{Header, Ring};

/// The log of the iteration that runs. Its files are made at the first byte.
#[derive(Debug)]
pub(super) struct LogWriter {
    folder: PathBuf,
    limits: Limits,
    redactor: Redactor,
    /// One for each of the child's streams, so that a secret in one is found though the other speaks
    /// in between.
    clean: [Stream; 2],
    iteration: u64,
    files: Option<Files>,
    /// Bytes that are not kept because writing failed.
    lost: u64,
    /// Failure was reported, and nothing has worked since.
    is_reported: bool,
}

/// How much of an iteration's output is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub first: u64,
    pub last: u64,
}

#[derive(Debug)]
struct Files {
    log: File,
    length: u64,
    ring: Option<Ring>,
}

impl LogWriter {
    /// Joins what a crash has left in parts.
    pub fn new(folder: PathBuf, limits: Limits, redactor: Redactor) -> Self {
        let clean = [redactor.stream(), redactor.stream()];
        let writer = Self {
            folder,
            limits,
            redactor,
            clean,
            iteration: 0,
            files: None,
            lost: 0,
            is_reported: false,
        };
        writer.join_leftovers();
        writer
    }

    pub fn begin(&mut self, iteration: u64) {
        (self.iteration, self.files, self.lost) = (iteration, None, 0);
        self.clean = [self.redactor.stream(), self.redactor.stream()];
    }

    /// Keeps these bytes, without the secrets in them. An error is answered once; after it nothing
    /// of this iteration is kept.
    pub fn write(&mut self, source: usize, bytes: &[u8]) -> Option<io::Error> {
        self.keep(source, |clean, give| clean.push(bytes, give))
    }

    /// Passes bytes through the redactor and keeps what comes out.
    fn keep(
        &mut self,
        source: usize,
        pass: impl FnOnce(&mut Stream, &mut dyn FnMut(&[u8])),
    ) -> Option<io::Error> {
        let mut clean = std::mem::replace(&mut self.clean[source], self.redactor.stream());
        let mut failure = None;
        pass(&mut clean, &mut |bytes| {
            let failed = self.write_clean(bytes);
            failure = failure.take().or(failed);
        });
        self.clean[source] = clean;
        failure
    }

    fn write_clean(&mut self, bytes: &[u8]) -> Option<io::Error> {
        if bytes.is_empty() {
            return None;
        }
        if self.lost > 0 {
            self.lost += bytes.len() as u64;
            return None;
        }
        self.try_write(bytes).err().and_then(|error| {
            self.lost = bytes.len() as u64;
            self.report(error)
        })
    }

    /// Makes one file of the parts, and says how many bytes are left out.
    pub fn end(&mut self) -> (u64, Option<io::Error>) {
        let mut unwritten = None;
        for source in 0..self.clean.len() {
            unwritten = unwritten.or(self.keep(source, |clean, give| clean.finish(give)));
        }
        let (left_out, failure) = self.join();
        (left_out, unwritten.or(failure))
    }

    fn join(&mut self) -> (u64, Option<io::Error>) {
        let Some(mut files) = self.files.take() else { return (self.lost, None) };
        let Some(mut ring) = files.ring.take() else {
            self.is_reported &= self.lost > 0;
            return (self.lost, None);
        };
        let left_out = ring.header().oldest() + self.lost;
        let joined = ring.close().and_then(|()| join(&mut files.log, &ring));
        let joined = joined.and_then(|()| fs::remove_file(ring_path(&self.folder, self.iteration)));
        match joined {
            Ok(()) => {
                self.is_reported &= self.lost > 0;
                (left_out, None)
            }
            // Readers can make sense of the parts.
            Err(error) => (left_out, self.report(error)),
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.files.is_none() {
            self.files = Some(Files::open(&self.folder, self.iteration)?);
        }
        let files = self.files.as_mut().expect("it was opened just now");
        let straight = self.limits.first.saturating_sub(files.length).min(bytes.len() as u64);
        let (first, rest) = bytes.split_at(straight as usize);
        if files.ring.is_none() && !first.is_empty() {
            files.log.write_all(first)?;
            files.length += straight;
        }
        if rest.is_empty() {
            return Ok(());
        }
        if files.ring.is_none() {
            let path = ring_path(&self.folder, self.iteration);
            files.ring = Some(Ring::create(&path, files.length, self.limits.last)?);
        }
        files.ring.as_mut().expect("it was made just now").write(rest)
    }

    fn report(&mut self, error: io::Error) -> Option<io::Error> {
        (!std::mem::replace(&mut self.is_reported, true)).then_some(error)
    }

    /// Harmless if it fails: readers can make sense of the parts.
    fn join_leftovers(&self) {
        for iteration in super::log::numbers(&self.folder, RING_EXTENSION).unwrap_or_default() {
            let path = ring_path(&self.folder, iteration);
            let joined = Ring::open(&path).and_then(|ring| match ring {
                None => Ok(()),
                Some(ring) => {
                    let log = log_path(&self.folder, iteration);
                    join(&mut OpenOptions::new().append(true).open(log)?, &ring)
                }
            });
            if joined.is_ok() {
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl Files {
    /// Output of an iteration that is run once more is added to what there is.
    fn open(folder: &Path, iteration: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(log_path(folder, iteration))?;
        let length = log.metadata()?.len();
        Ok(Self { log, length, ring: None })
    }
}

/// Appends the ring to the log. What an earlier attempt has appended is removed first.
fn join(log: &mut File, ring: &Ring) -> io::Result<()> {
    let header = ring.header();
    log.set_len(header.head)?;
    log.write_all(left_out_line(&header).as_bytes())?;
    let mut buffer = vec![0; 128 << 10];
    let mut from = header.oldest();
    while from < header.written {
        let count = ring.read(from, &mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        log.write_all(&buffer[..count])?;
        from += count as u64;
    }
    Ok(())
}

/// The line that stands for what is left out; empty if nothing is.
pub(super) fn left_out_line(header: &Header) -> String {
    match header.oldest() {
        0 => String::new(),
        count => gap_line(count),
    }
}

pub(super) fn gap_line(count: u64) -> String {
    format!("\n[backstop: {count} bytes left out]\n")
}

pub(super) fn log_path(folder: &Path, iteration: u64) -> PathBuf {
    folder.join(format!("{iteration:06}.{LOG_EXTENSION}"))
}

pub(super) fn ring_path(folder: &Path, iteration: u64) -> PathBuf {
    folder.join(format!("{iteration:06}.{RING_EXTENSION}"))
}

pub(super) const LOG_EXTENSION: &str = "log";
pub(super) const RING_EXTENSION: &str = "tail";

impl Limits {
    pub const USUAL: Self = Self { first: 8 << 20, last: 56 << 20 };
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::super::log::LogReader;
    use super::*;

    const SMALL: Limits = Limits { first: 1_000, last: 5_000 };

    /// A byte for each place, so that what is read can be told from what was written; none that a
    /// secret could begin with, which would be held back until there is more.
    fn stream(length: usize) -> Vec<u8> {
        (0..length).map(|place| 0xB0 + (place % 23) as u8).collect()
    }

    fn read(folder: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        LogReader::new(folder).open(1).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// What is kept of a stream of this length.
    fn kept(length: usize) -> (Vec<u8>, u64) {
        let stream = stream(length);
        let left_out = length.saturating_sub(6_000);
        if left_out == 0 {
            return (stream, 0);
        }
        let gap = gap_line(left_out as u64).into_bytes();
        ([&stream[..1_000], &gap, &stream[length - 5_000..]].concat(), left_out as u64)
    }

    #[test]
    fn the_first_and_the_last_bytes_are_kept() {
        for length in [1, 999, 1_000, 1_001, 5_999, 6_000, 6_001, 9_000, 700_000, 2_000_000] {
            for step in [997, 100_000] {
                let folder = tempfile::tempdir().unwrap();
                let mut writer =
                    LogWriter::new(folder.path().join("output"), SMALL, Redactor::new([], []));
                writer.begin(1);
                for chunk in stream(length).chunks(step) {
                    assert!(writer.write(0, chunk).is_none());
                }
                let (expected, left_out) = kept(length);
                // Before the end, as a reader sees it after a crash, and after it.
                assert!(read(&writer.folder) == expected, "{length} before the end");
                let (counted, error) = writer.end();
                assert!(error.is_none());
                assert_eq!(counted, left_out);
                assert!(read(&writer.folder) == expected, "{length} after the end");
                assert!(!ring_path(&writer.folder, 1).exists());
            }
        }
    }

    #[test]
    fn what_a_crash_left_is_joined_by_the_next_writer() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::new(folder.path().to_owned(), SMALL, Redactor::new([], []));
        writer.begin(1);
        assert!(writer.write(0, &stream(50_000)).is_none());
        drop(writer);
        // It had begun to join.
        let mut log = OpenOptions::new().append(true).open(log_path(folder.path(), 1)).unwrap();
        log.write_all(b"half of a join").unwrap();
        let (expected, _) = kept(50_000);
        assert!(read(folder.path()) == expected);
        let mut writer = LogWriter::new(folder.path().to_owned(), SMALL, Redactor::new([], []));
        assert!(!ring_path(folder.path(), 1).exists());
        assert!(read(folder.path()) == expected);
        // The same iteration once more: nothing is lost.
        writer.begin(1);
        assert!(writer.write(0, b"again\n").is_none());
        assert!(writer.end().1.is_none());
        assert!(read(folder.path()) == [expected.as_slice(), b"again\n"].concat());
    }

    #[test]
    fn a_silent_iteration_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::new(folder.path().join("output"), SMALL, Redactor::new([], []));
        writer.begin(1);
        assert!(writer.end().1.is_none());
        assert!(!folder.path().join("output").exists());
    }
}
