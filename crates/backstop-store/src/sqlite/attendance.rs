//! Services that answer for the store.

use std::time::Duration;

use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Durability, Writer};
use crate::StoreError;
use crate::clock::now;

pub async fn attend(
    writer: &Mutex<Writer>,
    id: &str,
    duration: Duration,
) -> Result<(), StoreError> {
    let now = now();
    let query = if duration.is_zero() {
        // Whoever ends takes along those who could not say that they did.
        sqlx::query("DELETE FROM services WHERE id = ?1 OR expires_at <= ?2")
            .bind(id)
            .bind(now.as_nanos())
    } else {
        sqlx::query(
            "INSERT INTO services (id, expires_at) VALUES (?1, ?2) \
             ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at",
        )
        .bind(id)
        .bind(now.plus(duration).as_nanos())
    };
    let mut writer = writer.lock().await;
    writer.run(Durability::Ordered, query).await.map(drop).map_err(Fault::of_write)
}

pub async fn attends(readers: &Readers, beside: Option<&str>) -> Result<bool, StoreError> {
    let query =
        sqlx::query("SELECT id FROM services WHERE expires_at > ?1 AND id IS NOT ?2 LIMIT 1");
    Ok(readers.row(query.bind(now().as_nanos()).bind(beside)).await?.is_some())
}
