//! Signed checkpoints: how long the chain was and what its last hash was, to be kept elsewhere.
//!
//! A checkpoint is a short text that a person can paste into a mail. Its first three lines are
//! signed; the fourth is the signature, with the key that it was made by.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::chain::Hash;
use super::row::AuditHead;

/// The state of the chain at some time, signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub head: AuditHead,
    key: VerifyingKey,
    signature: Signature,
}

/// Why a text is no checkpoint, or not one of ours.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    #[error("line {line} of the checkpoint is not {expected}")]
    Shape { line: usize, expected: &'static str },
    #[error("the checkpoint's signature does not fit: it was changed, or made by another key")]
    Signature,
    #[error("the checkpoint was signed by key {found}, not by {expected}")]
    Key { found: String, expected: String },
}

/// Signs checkpoints.
#[derive(Debug)]
pub struct Signer {
    key: SigningKey,
}

/// Knows whose checkpoints count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verifier {
    key: VerifyingKey,
}

impl Signer {
    /// From the 32 bytes that are kept secret.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self { key: SigningKey::from_bytes(secret) }
    }

    pub fn sign(&self, head: AuditHead) -> Checkpoint {
        Checkpoint {
            head,
            key: self.key.verifying_key(),
            signature: self.key.sign(signed_text(head).as_bytes()),
        }
    }

    /// What others need to check what this signs.
    pub fn verifier(&self) -> Verifier {
        Verifier { key: self.key.verifying_key() }
    }
}

impl Verifier {
    /// Whether a checkpoint was signed by this key. That the signature fits its own key was checked
    /// when it was read.
    ///
    /// # Errors
    /// Another key's.
    pub fn check(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        if checkpoint.key == self.key {
            return Ok(());
        }
        Err(CheckpointError::Key { found: hex(&checkpoint.key), expected: hex(&self.key) })
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.key))
    }
}

impl FromStr for Verifier {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shape = CheckpointError::Shape { line: 1, expected: "a key of 64 hexadecimal digits" };
        let bytes = Hash::from_hex(text.trim()).ok_or(shape)?;
        let key = VerifyingKey::from_bytes(&bytes.0).map_err(|_| CheckpointError::Signature)?;
        Ok(Self { key })
    }
}

impl Checkpoint {
    /// The key that signed it, as it signs for itself: who trusts it must know it from elsewhere.
    pub fn verifier(&self) -> Verifier {
        Verifier { key: self.key }
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}signature ", signed_text(self.head))?;
        writeln!(f, "{} {}", hex(&self.key), digits(&self.signature.to_bytes()))
    }
}

impl FromStr for Checkpoint {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let part = |line: usize, prefix: &str, expected| {
            let found = lines.get(line - 1).and_then(|text| text.strip_prefix(prefix));
            found.ok_or(CheckpointError::Shape { line, expected })
        };
        let shape = |line, expected| CheckpointError::Shape { line, expected };
        part(1, TITLE, "`backstop audit checkpoint 1`")?;
        let number = part(2, "rows ", ROWS)?.parse().map_err(|_| shape(2, ROWS))?;
        let hash = Hash::from_hex(part(3, "hash ", HASH)?).ok_or_else(|| shape(3, HASH))?;
        let (key, signature) =
            part(4, "signature ", SIGNATURE)?.split_once(' ').ok_or_else(|| shape(4, SIGNATURE))?;
        let key: Verifier = key.parse().map_err(|_| shape(4, SIGNATURE))?;
        let (first, second) = signature.split_at_checked(64).ok_or_else(|| shape(4, SIGNATURE))?;
        let halves = Hash::from_hex(first).zip(Hash::from_hex(second));
        let (first, second) = halves.ok_or_else(|| shape(4, SIGNATURE))?;
        let signature = Signature::from_components(first.0, second.0);
        let head = AuditHead { number, hash };
        key.key
            .verify_strict(signed_text(head).as_bytes(), &signature)
            .map_err(|_| CheckpointError::Signature)?;
        Ok(Self { head, key: key.key, signature })
    }
}

fn signed_text(head: AuditHead) -> String {
    format!("{TITLE}\nrows {}\nhash {}\n", head.number, head.hash)
}

fn hex(key: &VerifyingKey) -> String {
    digits(key.as_bytes())
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const TITLE: &str = "backstop audit checkpoint 1";
const ROWS: &str = "`rows` and a number";
const HASH: &str = "`hash` and 64 hexadecimal digits";
const SIGNATURE: &str = "`signature`, a key of 64 and a signature of 128 hexadecimal digits";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_reads_back_and_every_changed_letter_is_noticed() {
        let signer = Signer::new(&[7; 32]);
        let head = AuditHead { number: 12, hash: Hash([9; 32]) };
        let checkpoint = signer.sign(head);
        let text = checkpoint.to_string();
        assert_eq!(text.parse::<Checkpoint>().unwrap(), checkpoint);
        signer.verifier().check(&checkpoint).unwrap();
        for position in 0..text.trim_end().len() {
            let mut changed = text.clone().into_bytes();
            changed[position] = if changed[position] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(changed).unwrap();
            let read = changed.parse::<Checkpoint>();
            assert!(read.is_err(), "{changed}");
        }
    }

    #[test]
    fn another_key_is_named() {
        let checkpoint = Signer::new(&[7; 32]).sign(AuditHead { number: 1, hash: Hash([0; 32]) });
        let other = Signer::new(&[8; 32]).verifier();
        let error = other.check(&checkpoint).unwrap_err().to_string();
        assert!(error.contains(&other.to_string()), "{error}");
        assert_eq!(other.to_string().parse::<Verifier>().unwrap(), other);
    }
}
