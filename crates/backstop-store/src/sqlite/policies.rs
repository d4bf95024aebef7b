//! Policies, and where they are in force.

use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::{Durability, Writer};
use crate::StoreError;
use crate::encode::{json, number};
use crate::record::StoredPolicy;
use crate::scope::{Activation, PastActivation, PolicyScope};

pub async fn put(writer: &Mutex<Writer>, policy: &StoredPolicy) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO policies (hash, label, json, source, source_name, put_by, put_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (hash) DO NOTHING",
    )
    .bind(&policy.hash)
    .bind(&policy.label)
    .bind(&policy.json)
    .bind(&policy.source)
    .bind(&policy.source_name)
    .bind(&policy.put_by)
    .bind(policy.put_at.as_nanos());
    let mut writer = writer.lock().await;
    writer.run(Durability::Ordered, query).await.map(drop).map_err(Fault::of_write)
}

pub async fn list(
    readers: &Readers,
    before: Option<&str>,
    limit: u32,
) -> Result<Vec<StoredPolicy>, StoreError> {
    let query = sqlx::query(
        "SELECT * FROM policies WHERE ?1 IS NULL \
         OR (put_at, hash) < (SELECT put_at, hash FROM policies WHERE hash = ?1) \
         ORDER BY put_at DESC, hash DESC LIMIT ?2",
    );
    readers.all(query.bind(before).bind(limit)).await
}

pub async fn activate(writer: &Mutex<Writer>, activation: &Activation) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO policy_activations (scope, policy_hash, by, at) VALUES (?1, ?2, ?3, ?4)",
    )
    .bind(activation.scope.to_string())
    .bind(&activation.policy_hash)
    .bind(&activation.by)
    .bind(activation.at.as_nanos());
    let mut writer = writer.lock().await;
    match writer.run(Durability::Synced, query).await {
        Ok(_) => Ok(()),
        Err(fault) if fault.is_missing_reference() => Err(StoreError::Write(format!(
            "the policy {} is not in the store",
            activation.policy_hash.as_deref().unwrap_or_default()
        ))),
        Err(fault) => Err(fault.of_write()),
    }
}

pub async fn active(
    readers: &Readers,
    scopes: &[PolicyScope],
) -> Result<Vec<Activation>, StoreError> {
    let names: Vec<_> = scopes.iter().map(PolicyScope::to_string).collect();
    let query = sqlx::query(
        "SELECT policy_activations.* FROM json_each(?1) AS wanted \
         JOIN policy_activations ON number = ( \
             SELECT max(number) FROM policy_activations WHERE scope = wanted.value) \
         ORDER BY wanted.key",
    );
    readers.all(query.bind(json(&names)?)).await
}

pub async fn history(
    readers: &Readers,
    scope: Option<&PolicyScope>,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<PastActivation>, StoreError> {
    let query = sqlx::query(
        "SELECT * FROM policy_activations WHERE number < ?2 AND (?1 IS NULL OR scope = ?1) \
         ORDER BY number DESC LIMIT ?3",
    );
    let before = before.map_or(i64::MAX, number);
    readers.all(query.bind(scope.map(PolicyScope::to_string)).bind(before).bind(limit)).await
}
