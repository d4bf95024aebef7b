//! Reads what iterations have said, also while they say it, and what a crash has left.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::log_writer::{LOG_EXTENSION, gap_line, log_path, ring_path};
use super::ring::Ring;

/// The logs of a run.
#[derive(Clone, Debug)]
pub struct LogReader {
    folder: PathBuf,
}

impl LogReader {
    pub fn new(output_folder: impl Into<PathBuf>) -> Self {
        Self { folder: output_folder.into() }
    }

    /// The iterations that have said something, in order.
    pub fn iterations(&self) -> io::Result<Vec<u64>> {
        numbers(&self.folder, LOG_EXTENSION)
    }

    /// One iteration's output. At its end, reading gives nothing until there is more.
    pub fn open(&self, iteration: u64) -> io::Result<Log> {
        // Nothing has been kept of an iteration that was silent, or is so far.
        let file = File::open(log_path(&self.folder, iteration))?;
        let ring_path = ring_path(&self.folder, iteration);
        Ok(Log { file, ring_path, position: 0, part: Part::Head, gap: Vec::new() })
    }

    /// Everything from this iteration on, as it is written.
    pub fn follow(&self, from: u64) -> Follow {
        Follow { reader: self.clone(), next: from, log: None }
    }
}

/// One iteration's output.
#[derive(Debug)]
pub struct Log {
    file: File,
    ring_path: PathBuf,
    /// In the part that is being read.
    position: u64,
    part: Part,
    /// Words about what is left out that are still to be read.
    gap: Vec<u8>,
}

#[derive(Debug)]
enum Part {
    /// The log itself; it may be all there is.
    Head,
    /// The ring. It stays readable when its writer has joined the two and removed it.
    Ring(Ring),
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.gap.is_empty() {
                let count = self.gap.as_slice().read(buffer)?;
                self.gap.drain(..count);
                return Ok(count);
            }
            match &mut self.part {
                Part::Head => {
                    // While there is a ring, what stands behind the head is half of a join.
                    let ring = match Ring::open(&self.ring_path) {
                        Ok(ring) => ring.filter(|ring| ring.header().head >= self.position),
                        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                        Err(error) => return Err(error),
                    };
                    let limit = ring.as_ref().map_or(u64::MAX, |ring| ring.header().head);
                    let wanted = (limit - self.position).min(buffer.len() as u64) as usize;
                    let count = self.file.read_at(&mut buffer[..wanted], self.position)?;
                    self.position += count as u64;
                    match ring {
                        Some(ring) if wanted == 0 && !buffer.is_empty() => {
                            self.position = 0;
                            self.part = Part::Ring(ring);
                        }
                        _ => return Ok(count),
                    }
                }
                Part::Ring(ring) => {
                    ring.refresh()?;
                    let oldest = ring.header().oldest();
                    if self.position < oldest {
                        self.gap = gap_line(oldest - self.position).into_bytes();
                        self.position = oldest;
                        continue;
                    }
                    let count = ring.read(self.position, buffer)?;
                    // While we read, the writer may have gone round and over it.
                    ring.refresh()?;
                    if self.position < ring.header().oldest() {
                        continue;
                    }
                    self.position += count as u64;
                    return Ok(count);
                }
            }
        }
    }
}

/// The output of a run as it is written.
#[derive(Debug)]
pub struct Follow {
    reader: LogReader,
    /// The iteration to open next, or any later one.
    next: u64,
    log: Option<Log>,
}

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The output of this iteration begins.
    Iteration(u64),
    /// So many bytes are in the buffer.
    Bytes(usize),
    /// Nothing, in the time given.
    Nothing,
}

impl Follow {
    /// What comes next, if anything does within this time.
    pub fn next(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<Followed> {
        let rounds = patience.as_millis().div_ceil(LOOK_EVERY.as_millis());
        for round in 0..=rounds {
            if round > 0 {
                std::thread::sleep(LOOK_EVERY);
            }
            // Looked for first: what an iteration has said is complete once a later one speaks.
            let later = match self.reader.iterations() {
                Ok(iterations) => iterations.into_iter().find(|number| *number >= self.next),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if let Some(log) = &mut self.log {
                let count = log.read(buffer)?;
                if count > 0 {
                    return Ok(Followed::Bytes(count));
                }
            }
            if let Some(iteration) = later {
                self.log = Some(self.reader.open(iteration)?);
                self.next = iteration + 1;
                return Ok(Followed::Iteration(iteration));
            }
        }
        Ok(Followed::Nothing)
    }
}

/// The numbers of the files with this extension, in order.
pub(super) fn numbers(folder: &Path, extension: &str) -> io::Result<Vec<u64>> {
    let mut numbers = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|found| found == extension)
            && let Some(number) = name.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        {
            numbers.insert(number);
        }
    }
    Ok(numbers.into_iter().collect())
}

const LOOK_EVERY: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use backstop_core::redact::Redactor;

    use super::super::log_writer::{Limits, LogWriter};
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_follower_sees_every_byte_or_how_many_it_missed() {
        const LENGTH: usize = 8_000_000;
        let byte = |place: usize| b'a' + (place % 23) as u8;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let mut follow = LogReader::new(&path).follow(1);
        let writer = std::thread::spawn(move || {
            let mut writer = LogWriter::new(
                path,
                Limits { first: 300_000, last: 600_000 },
                Redactor::new([], []),
            );
            writer.begin(3);
            let stream: Vec<u8> = (0..LENGTH).map(byte).collect();
            for chunk in stream.chunks(4_321) {
                assert!(writer.write(0, chunk).is_none());
            }
            assert!(writer.end().1.is_none());
            writer.begin(5);
            assert!(writer.write(0, b"the next").is_none());
        });
        let mut buffer = vec![0; 10_000];
        assert_eq!(follow.next(&mut buffer, PATIENCE).unwrap(), Followed::Iteration(3));
        let mut read = Vec::new();
        let next = loop {
            match follow.next(&mut buffer, PATIENCE).unwrap() {
                Followed::Bytes(count) => read.extend_from_slice(&buffer[..count]),
                other => break other,
            }
        };
        assert_eq!(next, Followed::Iteration(5));
        assert_eq!(follow.next(&mut buffer, PATIENCE).unwrap(), Followed::Bytes(8));
        assert_eq!(follow.next(&mut buffer, Duration::ZERO).unwrap(), Followed::Nothing);
        writer.join().unwrap();

        let text = String::from_utf8(read).unwrap();
        let mut place = 0;
        for part in text.split("\n[backstop: ") {
            let part = match part.split_once(" bytes left out]\n") {
                None => part,
                Some((missed, part)) => {
                    place += missed.parse::<usize>().unwrap();
                    part
                }
            };
            assert!(part.bytes().enumerate().all(|(offset, found)| found == byte(place + offset)));
            place += part.len();
        }
        assert_eq!(place, LENGTH);
    }

    #[test]
    fn only_logs_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["000010.log", "000002.log", "000002.tail", "notes.log", "000003"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(LogReader::new(folder.path()).iterations().unwrap(), [2, 10]);
    }
}
