//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use backstop_core::time::Timestamp;

/// What it says now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
