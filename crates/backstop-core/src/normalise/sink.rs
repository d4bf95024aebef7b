//! Where normalised bytes go: a buffer to read, or a hasher.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::Digest;

pub(super) trait Sink {
    fn push(&mut self, byte: u8);

    fn extend(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.push(byte);
        }
    }

    /// Whether nothing that comes will change anything.
    fn is_full(&self) -> bool {
        false
    }
}

impl Sink for Vec<u8> {
    fn push(&mut self, byte: u8) {
        Self::push(self, byte);
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Hashes what it is given. Most texts are short and are hashed at once from the small buffer; the
/// hasher, whose state is larger than they are, is set up only for those that overflow it.
pub(super) struct Hash {
    hasher: Option<Xxh3Default>,
    buffer: [u8; 256],
    filled: usize,
    length: u64,
}

impl Hash {
    pub fn new() -> Self {
        Self { hasher: None, buffer: [0; 256], filled: 0, length: 0 }
    }

    pub fn finish(self) -> Digest {
        let rest = &self.buffer[..self.filled];
        let key = match self.hasher {
            None => xxh3_64(rest),
            Some(mut hasher) => {
                hasher.update(rest);
                hasher.digest()
            }
        };
        Digest { key, length: self.length }
    }
}

impl Sink for Hash {
    fn push(&mut self, byte: u8) {
        if self.filled == self.buffer.len() {
            self.hasher.get_or_insert_with(Xxh3Default::new).update(&self.buffer);
            self.filled = 0;
        }
        self.buffer[self.filled] = byte;
        self.filled += 1;
        self.length += 1;
    }

    fn extend(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.filled == self.buffer.len() {
                self.hasher.get_or_insert_with(Xxh3Default::new).update(&self.buffer);
                self.filled = 0;
            }
            let (now, later) = rest.split_at(rest.len().min(self.buffer.len() - self.filled));
            self.buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            rest = later;
        }
        self.length += bytes.len() as u64;
    }
}
