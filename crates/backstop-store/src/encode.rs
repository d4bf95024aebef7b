//! How values are written into columns.

use crate::StoreError;

pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Write(error.to_string()))
}

/// A count as the database holds it. Nobody counts further than this.
pub fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
