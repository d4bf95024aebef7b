//! What is kept beside a text, so that a change of it is noticed.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::record::DecisionRecord;

/// Of a text that belongs to an event: the same text for another event has another one.
pub fn checksum(seq: u64, text: &str) -> i64 {
    xxh3_64_with_seed(text.as_bytes(), seq).cast_signed()
}

/// The same of everything that a decision's row says.
pub fn checksum_of_decision(decision: &DecisionRecord) -> i64 {
    let DecisionRecord { seq, at, verdict, reason, policy_hash, body } = decision;
    let reason = reason.as_deref().unwrap_or_default();
    checksum(*seq, &format!("{} {verdict} {reason} {policy_hash} {body}", at.as_nanos()))
}
