//! How a row is hashed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use super::row::NewAuditRow;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

/// What stands before the first row.
pub const ORIGIN: Hash = Hash([0; 32]);

impl Hash {
    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let value = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(value(pair[0])? * 16 + value(pair[1])?).ok()?;
        }
        Some(Self(bytes))
    }

    /// From a column of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| de::Error::custom("a hash is 64 hexadecimal digits"))
    }
}

/// The hash of a row that follows another: of everything it says, each part with its length before
/// it, so that no two rows are the same bytes. Lists and evidence are hashed as the text that is
/// stored, not as it would be written today.
pub fn hash(previous: Hash, number: u64, row: &NewAuditRow) -> Hash {
    let mut bytes = Bytes(Sha256::new());
    bytes.text(DOMAIN);
    bytes.0.update(previous.0);
    bytes.number(number);
    bytes.optional(row.resource_owner.as_deref());
    bytes.optional(row.resource_repo.as_deref());
    bytes.optional_number(row.pr_number);
    bytes.optional_number(row.workflow_run_id);
    bytes.text(&row.request_id);
    bytes.text(&row.decision);
    bytes.optional(row.reason_code.as_deref());
    bytes.text(row.reasons.as_str());
    bytes.text(&row.recommended_next_step);
    bytes.optional(row.failure_class.as_deref());
    bytes.optional_number(row.current_job_attempts);
    bytes.optional_number(row.total_pr_attempts);
    bytes.optional(row.lawbook_hash.as_deref());
    bytes.optional(row.lawbook_version.as_deref());
    bytes.text(row.applied_rules.as_str());
    bytes.text(row.evidence.as_str());
    bytes.number((row.created_at.as_nanos() / NANOS_PER_MICRO).cast_unsigned());
    bytes.optional(row.run.as_ref().map(backstop_core::id::RunId::as_str));
    bytes.optional_number(row.run_seq);
    bytes.text(&row.actor);
    Hash(bytes.0.finalize().into())
}

struct Bytes(Sha256);

impl Bytes {
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text);
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.update([u8::from(text.is_some())]);
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn optional_number(&mut self, number: Option<u64>) {
        self.0.update([u8::from(number.is_some())]);
        if let Some(number) = number {
            // As it is kept: the databases count no further.
            self.number(number.min(i64::MAX.cast_unsigned()));
        }
    }
}

const DOMAIN: &str = "backstop audit row, version 1";
const NANOS_PER_MICRO: i64 = 1_000;
