//! The one switch: an order to halt that every supervisor on every machine obeys.

use std::collections::{BTreeMap, BTreeSet};

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use serde::Serialize;

use crate::record::RunFilter;
use crate::{Store, StoreError};

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

    /// The runs that it covers and that go on. Whoever gives the order has to look before, since a
    /// supervisor may have obeyed at once, and again afterwards for what has begun meanwhile.
    pub async fn going_on(&self, store: &dyn Store) -> Result<BTreeSet<RunId>, StoreError> {
        let filter = RunFilter {
            statuses: vec![RunStatus::Running, RunStatus::Paused],
            labels: self.labels.clone(),
            ..RunFilter::default()
        };
        Ok(store.run_list(&filter).await?.into_iter().map(|run| run.id).collect())
    }
}
