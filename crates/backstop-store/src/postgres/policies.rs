//! Policies, and where they are in force.

use super::client::{Again, Client, MayBeDone};
use super::fault::Fault;
use super::sql::{Value, sql};
use crate::StoreError;
use crate::encode::number;
use crate::record::StoredPolicy;
use crate::scope::{Activation, PastActivation, PolicyScope};

pub async fn put(client: &Client, policy: &StoredPolicy) -> Result<(), StoreError> {
    let values = [
        (&policy.hash).into(),
        policy.label.as_ref().into(),
        (&policy.json).into(),
        policy.source.as_ref().into(),
        (&policy.source_name).into(),
        (&policy.put_by).into(),
        policy.put_at.as_nanos().into(),
    ];
    let insert = sql(
        "INSERT INTO policies (hash, label, json, source, source_name, put_by, put_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (hash) DO NOTHING",
        &values,
    );
    client.write(Again::Harmless, insert).await.map(drop).map_err(Fault::of_write)
}

pub async fn fetch(client: &Client, hash: &str) -> Result<Option<StoredPolicy>, StoreError> {
    client.one(sql("SELECT * FROM policies WHERE hash = $1", &[hash.into()])).await
}

pub async fn list(
    client: &Client,
    before: Option<&str>,
    limit: u32,
) -> Result<Vec<StoredPolicy>, StoreError> {
    let select = sql(
        "SELECT * FROM policies WHERE $1::text IS NULL \
         OR (put_at, hash) < (SELECT put_at, hash FROM policies WHERE hash = $1) \
         ORDER BY put_at DESC, hash DESC LIMIT $2",
        &[before.into(), limit.into()],
    );
    client.all(select).await
}

pub async fn activate(client: &Client, activation: &Activation) -> Result<(), StoreError> {
    match client.write_surely(|again| insertion(activation, again)).await {
        Ok(_) => Ok(()),
        Err(fault) if fault.is_missing_reference() => Err(StoreError::Write(format!(
            "the policy {} is not in the store",
            activation.policy_hash.as_deref().unwrap_or_default()
        ))),
        Err(fault) => Err(fault.of_write()),
    }
}

/// Puts a policy in force. If that may be done already, the row itself tells by who did it and when;
/// somebody else may have put another one in force since, which stays so.
fn insertion(activation: &Activation, MayBeDone(again): MayBeDone) -> Result<String, Fault> {
    let scope = activation.scope.to_string();
    let values = [
        (&scope).into(),
        activation.policy_hash.as_ref().into(),
        (&activation.by).into(),
        activation.at.as_nanos().into(),
        again.into(),
    ];
    sql(
        "INSERT INTO policy_activations (scope, policy_hash, by, at) SELECT $1, $2, $3, $4 \
         WHERE NOT ($5 AND EXISTS (SELECT 1 FROM policy_activations \
             WHERE scope = $1 AND policy_hash IS NOT DISTINCT FROM $2 AND by = $3 AND at = $4))",
        &values,
    )
}

pub async fn active(
    client: &Client,
    scopes: &[PolicyScope],
) -> Result<Vec<Activation>, StoreError> {
    let names: Vec<_> = scopes.iter().map(PolicyScope::to_string).collect();
    let names = Value::Texts(names.iter().map(|name| Some(name.as_str())).collect());
    let select = sql(
        "SELECT policy_activations.* FROM unnest($1) WITH ORDINALITY AS wanted (name, place) \
         JOIN policy_activations ON number = ( \
             SELECT max(number) FROM policy_activations WHERE scope = wanted.name) \
         ORDER BY wanted.place",
        &[names],
    );
    client.all(select).await
}

pub async fn history(
    client: &Client,
    scope: Option<&PolicyScope>,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<PastActivation>, StoreError> {
    let scope = scope.map(PolicyScope::to_string);
    let before = before.map_or(i64::MAX, number);
    let select = sql(
        "SELECT * FROM policy_activations WHERE number < $2 AND ($1::text IS NULL OR scope = $1) \
         ORDER BY number DESC LIMIT $3",
        &[scope.as_ref().into(), before.into(), limit.into()],
    );
    client.all(select).await
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use backstop_core::time::Timestamp;

    use super::*;
    use crate::testing::{postgres, sample};
    use crate::{PostgresStore, ServerUrl, Store as _};

    #[tokio::test]
    async fn a_repeated_activation_leaves_what_somebody_else_has_activated_since() {
        let Some(server) = postgres::shared() else { return };
        let database = server.database();
        let url = ServerUrl::parse(&database.url()).unwrap();
        let store = PostgresStore::open(&url).await.unwrap();
        store.policy_put(&sample::policy()).await.unwrap();
        let activation = |policy_hash, by: &str, at| Activation {
            scope: PolicyScope::Global,
            policy_hash,
            by: by.to_owned(),
            at: Timestamp::from_nanos(at),
        };
        let first = activation(Some(sample::policy().hash), "ann", 1);
        let second = activation(None, "bob", 2);
        for made in [&first, &second] {
            store.policy_activate(made).await.unwrap();
        }
        let again = insertion(&first, MayBeDone(true));
        store.client.write(Again::Harmless, again).await.unwrap();
        let active = store.policy_active(&[PolicyScope::Global]).await.unwrap();
        assert_eq!(active, [second]);
    }
}
