//! The one switch: an order to halt that every supervisor on every machine obeys.

use std::collections::BTreeMap;

use backstop_core::time::Timestamp;
use serde::Serialize;

/// An order to halt, in force until it is released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HaltOrder {
    /// Given by the store.
    pub number: u64,
    /// Only runs that have all of these labels; without any, all runs.
    pub labels: BTreeMap<String, String>,
    pub why: Option<String>,
    pub by: String,
    pub at: Timestamp,
}

impl HaltOrder {
    /// Whether a run with these labels is meant.
    pub fn covers(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}
