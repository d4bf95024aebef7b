//! Tokens.

use backstop_core::time::Timestamp;
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Durability, Writer};
use crate::StoreError;
use crate::access::TokenRecord;
use crate::audit::Hash;
use crate::encode::json;

pub async fn put(writer: &Mutex<Writer>, token: &TokenRecord) -> Result<(), StoreError> {
    let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let query = sqlx::query("INSERT INTO tokens VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        .bind(&token.id)
        .bind(&token.name)
        .bind(token.hash.0.as_slice())
        .bind(json(&scopes)?)
        .bind(&token.created_by)
        .bind(token.created_at.as_nanos())
        .bind(token.expires_at.map(Timestamp::as_nanos))
        .bind(token.revoked_at.map(Timestamp::as_nanos));
    let mut writer = writer.lock().await;
    writer.run(Durability::Synced, query).await.map(drop).map_err(Fault::of_write)
}

pub async fn list(readers: &Readers) -> Result<Vec<TokenRecord>, StoreError> {
    readers.all(sqlx::query("SELECT * FROM tokens ORDER BY created_at, id")).await
}

pub async fn fetch(readers: &Readers, hash: &Hash) -> Result<Option<TokenRecord>, StoreError> {
    let query = sqlx::query("SELECT * FROM tokens WHERE hash = ?1");
    readers.one(query.bind(hash.0.as_slice())).await
}

pub async fn revoke(writer: &Mutex<Writer>, id: &str, at: Timestamp) -> Result<bool, StoreError> {
    let query = sqlx::query(
        "UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL RETURNING id",
    );
    let query = query.bind(id).bind(at.as_nanos());
    let mut writer = writer.lock().await;
    let rows = writer.run(Durability::Synced, query).await.map_err(Fault::of_write)?;
    Ok(!rows.is_empty())
}
