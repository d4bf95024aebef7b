//! Orders to halt.

use std::collections::BTreeMap;

use backstop_core::time::Timestamp;
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Durability, Writer};
use crate::StoreError;
use crate::encode::json;
use crate::halting::HaltOrder;
use crate::row::FromRow as _;

pub async fn order(writer: &Mutex<Writer>, order: &HaltOrder) -> Result<HaltOrder, StoreError> {
    let query = sqlx::query(
        "INSERT INTO halt_orders (labels, why, by, at) VALUES (?1, ?2, ?3, ?4) RETURNING *",
    )
    .bind(json(&order.labels)?)
    .bind(&order.why)
    .bind(&order.by)
    .bind(order.at.as_nanos());
    let mut writer = writer.lock().await;
    let rows = writer.run(Durability::Synced, query).await.map_err(Fault::of_write)?;
    let row = rows.first().ok_or_else(|| StoreError::Write("no number was given".to_owned()))?;
    HaltOrder::from_row(row).map_err(|error| Fault::from(error).of_read())
}

pub async fn list(readers: &Readers) -> Result<Vec<HaltOrder>, StoreError> {
    let query = "SELECT * FROM halt_orders WHERE released_at IS NULL ORDER BY number";
    readers.all(sqlx::query(query)).await
}

pub async fn release(
    writer: &Mutex<Writer>,
    labels: Option<&BTreeMap<String, String>>,
    by: &str,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let query = sqlx::query(
        "UPDATE halt_orders SET released_by = ?2, released_at = ?3 \
         WHERE released_at IS NULL AND (?1 IS NULL OR labels = ?1) RETURNING number",
    )
    .bind(labels.map(json).transpose()?)
    .bind(by)
    .bind(at.as_nanos());
    let mut writer = writer.lock().await;
    let rows = writer.run(Durability::Synced, query).await.map_err(Fault::of_write)?;
    Ok(rows.len() as u64)
}
