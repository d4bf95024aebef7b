//! The last bytes of a long log while it is written: a file that is written round and round.
//!
//! It begins with a header that says how much was ever written, so that a follower, or a reader
//! after a crash, can tell where the oldest byte is. The file has room for more than is promised:
//! bytes that were written but not yet counted only ever overwrite what is no longer promised.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// A ring that is being written, or that was left behind.
#[derive(Debug)]
pub(super) struct Ring {
    file: File,
    header: Header,
}

/// What the file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// How long the log before it is.
    pub head: u64,
    /// How many of the last bytes are promised.
    pub kept: u64,
    /// How many were ever written into the ring.
    pub written: u64,
    /// Nothing will follow.
    pub is_closed: bool,
}

impl Ring {
    pub fn create(path: &Path, head: u64, kept: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        let ring = Self { file, header: Header { head, kept, written: 0, is_closed: false } };
        ring.write_header()?;
        Ok(ring)
    }

    /// A ring that somebody else writes or has left; none if there is no sense in it.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let mut ring = Self { file, header: Header::EMPTY };
        Ok(ring.refresh()?.then_some(ring))
    }

    /// Reads the header again; false if it is none of ours.
    pub fn refresh(&mut self) -> io::Result<bool> {
        let mut bytes = [0; HEADER_LENGTH];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
        let header = Header::decode(&bytes);
        self.header = header.unwrap_or(self.header);
        Ok(header.is_some())
    }

    pub fn header(&self) -> Header {
        self.header
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for bytes in bytes.chunks(SLACK as usize) {
            let place = self.header.written % self.header.size();
            let until_end = (self.header.size() - place).min(bytes.len() as u64) as usize;
            let (first, wrapped) = bytes.split_at(until_end);
            self.file.write_all_at(first, HEADER_LENGTH as u64 + place)?;
            self.file.write_all_at(wrapped, HEADER_LENGTH as u64)?;
            self.header.written += bytes.len() as u64;
            self.write_header()?;
        }
        Ok(())
    }

    /// Tells followers that nothing will follow.
    pub fn close(&mut self) -> io::Result<()> {
        self.header.is_closed = true;
        self.write_header()
    }

    /// Reads from this byte on, counted from the first that was ever written into the ring; it
    /// must be among those that are promised.
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let place = from % self.header.size();
        let available = (self.header.written - from).min(self.header.size() - place);
        let length = available.min(buffer.len() as u64) as usize;
        self.file.read_at(&mut buffer[..length], HEADER_LENGTH as u64 + place)
    }

    fn write_header(&self) -> io::Result<()> {
        self.file.write_all_at(&self.header.encode(), 0)
    }
}

impl Header {
    const EMPTY: Self = Self { head: 0, kept: 1, written: 0, is_closed: false };

    /// The oldest byte that is promised.
    pub fn oldest(&self) -> u64 {
        self.written.saturating_sub(self.kept)
    }

    fn size(&self) -> u64 {
        self.kept + SLACK
    }

    fn encode(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        let fields = [self.head, self.kept, self.written, u64::from(self.is_closed)];
        bytes[..8].copy_from_slice(MAGIC);
        for (place, field) in bytes[8..].chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; HEADER_LENGTH]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (fields, _) = rest.as_chunks::<8>();
        let [head, kept, written, is_closed] = *fields else { return None };
        let is_ours = magic == MAGIC && u64::from_le_bytes(kept).checked_add(SLACK).is_some();
        is_ours.then(|| Self {
            head: u64::from_le_bytes(head),
            kept: u64::from_le_bytes(kept),
            written: u64::from_le_bytes(written),
            is_closed: u64::from_le_bytes(is_closed) != 0,
        })
    }
}

const MAGIC: &[u8; 8] = b"bkstpr1\n";
const HEADER_LENGTH: usize = 40;
/// The most that is written between two updates of the count.
const SLACK: u64 = 512 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_there_at_every_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.tail");
        let kept = 300_000;
        let mut ring = Ring::create(&path, 7, kept).unwrap();
        let mut written = Vec::new();
        for round in 0..40u8 {
            let bytes: Vec<u8> = (0..90_001u32).map(|place| (place % 253) as u8 ^ round).collect();
            ring.write(&bytes).unwrap();
            written.extend_from_slice(&bytes);
            let reader = Ring::open(&path).unwrap().unwrap();
            let header = reader.header();
            assert_eq!((header.head, header.written), (7, written.len() as u64));
            let mut read = Vec::new();
            let mut buffer = [0; 70_000];
            let mut from = header.oldest();
            while from < header.written {
                let count = reader.read(from, &mut buffer).unwrap();
                read.extend_from_slice(&buffer[..count]);
                from += count as u64;
            }
            assert!(written[header.oldest() as usize..] == read);
        }
    }

    #[test]
    fn what_is_no_ring_is_not_read_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.tail");
        for content in ["", "bkstpr1\n", &"x".repeat(100)] {
            std::fs::write(&path, content).unwrap();
            assert!(Ring::open(&path).unwrap().is_none());
        }
    }
}
