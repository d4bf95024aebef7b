//! Where normalised bytes go: a buffer to read, or a hasher.

use xxhash_rust::xxh3::Xxh3Default;

use super::Digest;

pub(super) trait Sink {
    fn push(&mut self, byte: u8);

    fn extend(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.push(byte);
        }
    }
}

impl Sink for Vec<u8> {
    fn push(&mut self, byte: u8) {
        Self::push(self, byte);
    }
}

/// Hashes what it is given. The hasher's state lives on the stack and takes slices better than
/// single bytes, hence the small buffer.
pub(super) struct Hash {
    hasher: Xxh3Default,
    buffer: [u8; 256],
    filled: usize,
    length: u64,
}

impl Hash {
    pub fn new() -> Self {
        Self {
            hasher: Xxh3Default::new(),
            buffer: [0; 256],
            filled: 0,
            length: 0,
        }
    }

    pub fn finish(mut self) -> Digest {
        self.hasher.update(&self.buffer[..self.filled]);
        Digest {
            key: self.hasher.digest(),
            length: self.length,
        }
    }
}

impl Sink for Hash {
    fn push(&mut self, byte: u8) {
        if self.filled == self.buffer.len() {
            self.hasher.update(&self.buffer);
            self.filled = 0;
        }
        self.buffer[self.filled] = byte;
        self.filled += 1;
        self.length += 1;
    }
}
