//! The one switch: an order to halt that every supervisor obeys, wherever it runs.

use std::collections::BTreeMap;

use backstop_store::{HaltOrder, Store, StoreError};

/// The first order in force for runs with these labels.
///
/// # Errors
/// The store can't be read.
pub async fn covering(
    store: &dyn Store,
    labels: &BTreeMap<String, String>,
) -> Result<Option<HaltOrder>, StoreError> {
    Ok(store.halt_list().await?.into_iter().find(|order| order.covers(labels)))
}

/// Who gave an order, for whom and why: `ann, who halts all runs (the bill)`.
pub fn in_words(order: &HaltOrder) -> String {
    let labels: Vec<_> = order.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let whom = match labels.is_empty() {
        true => "all runs".to_owned(),
        false => format!("all runs with {}", labels.join(", ")),
    };
    let why = order.why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{}, who halts {whom}{why}", order.by)
}
