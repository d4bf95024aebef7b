//! The little chance that is needed: names of runs, and spreading of retries.

use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};

use backstop_core::id::RunId;

/// A name that no other run has.
pub fn run_id() -> RunId {
    let milliseconds = crate::clock::wall_time().as_nanos().max(0).unsigned_abs() / 1_000_000;
    RunId::new(milliseconds, u32::try_from(bits() >> 44).unwrap_or_default())
}

/// One byte of chance.
pub fn byte() -> u8 {
    bits().to_be_bytes()[0]
}

/// A word that nobody guesses.
///
/// # Errors
/// The system has no randomness to give.
pub fn secret() -> io::Result<String> {
    Ok(format!("{:032x}", u128::from_be_bytes(bytes()?)))
}

/// Bytes that nobody guesses.
///
/// # Errors
/// The system has no randomness to give.
pub fn bytes<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The standard library seeds every such state anew from the system.
fn bits() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_differ_even_within_a_millisecond() {
        let names: HashSet<RunId> = (0..100).map(|_| run_id()).collect();
        assert!(names.len() >= 99, "{}", names.len());
    }

    #[test]
    fn secrets_are_long_and_differ() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
