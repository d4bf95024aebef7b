//! Tokens, failures of pull requests' jobs, deliveries, and orders to halt.

use std::collections::BTreeMap;
use std::time::Duration;

use backstop_core::time::Timestamp;

use super::client::{Again, Client, MayBeDone};
use super::fault::Fault;
use super::runs::nanoseconds;
use super::sql::{Value, sql};
use crate::StoreError;
use crate::access::TokenRecord;
use crate::audit::Hash;
use crate::encode::{json, number};
use crate::halting::HaltOrder;
use crate::reruns::{CheckFailure, CheckPass, Delivery, FailureSignal, LEFT_ALONE, PullRequest};
use crate::row::{FromRow as _, count};

pub async fn put_token(client: &Client, token: &TokenRecord) -> Result<(), StoreError> {
    let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let scopes = json(&scopes)?;
    let insert = |again| token_insertion(token, &scopes, again);
    client.write_surely(insert).await.map(drop).map_err(Fault::of_write)
}

fn token_insertion(
    token: &TokenRecord,
    scopes: &str,
    MayBeDone(again): MayBeDone,
) -> Result<String, Fault> {
    let values = [
        (&token.id).into(),
        (&token.name).into(),
        Value::Bytes(&token.hash.0),
        scopes.into(),
        (&token.created_by).into(),
        token.created_at.as_nanos().into(),
        token.expires_at.map(Timestamp::as_nanos).into(),
        token.revoked_at.map(Timestamp::as_nanos).into(),
    ];
    match again {
        false => sql("INSERT INTO tokens VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", &values),
        true => sql(
            "INSERT INTO tokens VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (hash) DO NOTHING",
            &values,
        ),
    }
}

pub async fn list_tokens(client: &Client) -> Result<Vec<TokenRecord>, StoreError> {
    client.all(sql("SELECT * FROM tokens ORDER BY created_at, id", &[])).await
}

pub async fn fetch_token(client: &Client, hash: &Hash) -> Result<Option<TokenRecord>, StoreError> {
    client.one(sql("SELECT * FROM tokens WHERE hash = $1", &[Value::Bytes(&hash.0)])).await
}

pub async fn revoke_token(client: &Client, id: &str, at: Timestamp) -> Result<bool, StoreError> {
    let rows = client.write_surely(|again| revocation(id, at, again)).await;
    Ok(!rows.map_err(Fault::of_write)?.is_empty())
}

/// A second time finds what the first one did: nobody else does it at the same nanosecond.
fn revocation(id: &str, at: Timestamp, MayBeDone(again): MayBeDone) -> Result<String, Fault> {
    sql(
        "UPDATE tokens SET revoked_at = $2 \
         WHERE id = $1 AND (revoked_at IS NULL OR $3 AND revoked_at = $2) RETURNING id",
        &[id.into(), at.as_nanos().into(), again.into()],
    )
}

pub async fn put_signal(client: &Client, signal: &FailureSignal) -> Result<(), StoreError> {
    let values = [
        (&signal.pull_request.owner).into(),
        (&signal.pull_request.repo).into(),
        number(signal.pull_request.number).into(),
        (&signal.job).into(),
        number(signal.workflow_run_id).into(),
        number(signal.attempt).into(),
        (&signal.hash).into(),
        signal.class.as_ref().into(),
        signal.at.as_nanos().into(),
    ];
    let insert = sql(
        "INSERT INTO failure_signals \
             (owner, repo, pr_number, job, workflow_run_id, attempt, hash, class, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        &values,
    );
    client.write(Again::Harmless, insert).await.map(drop).map_err(Fault::of_write)
}

/// Numbers the failure in the statement that keeps it, one after the other: two that come at once are
/// two, and one that comes twice is one.
pub async fn put_check(client: &Client, failure: &CheckFailure) -> Result<u64, StoreError> {
    let values = [
        (&failure.pull_request.owner).into(),
        (&failure.pull_request.repo).into(),
        number(failure.pull_request.number).into(),
        (&failure.check).into(),
        number(failure.suite).into(),
        (&failure.hash).into(),
        failure.class.as_ref().into(),
        failure.at.as_nanos().into(),
        number(failure.check_run).into(),
        failure.ended_at.as_nanos().into(),
    ];
    let insert = sql(
        "SELECT pg_advisory_xact_lock(1651209076, 1); \
         INSERT INTO failure_signals AS known (owner, repo, pr_number, job, workflow_run_id, \
             attempt, hash, class, at, check_run, ended_at) \
         SELECT $1, $2, $3, $4, $5, 1 + coalesce(max(attempt), 0), $6, $7, $8, $9, $10 \
             FROM failure_signals WHERE owner = $1 AND repo = $2 AND pr_number = $3 \
                 AND job = $4 AND workflow_run_id = $5 \
         ON CONFLICT (owner, repo, workflow_run_id, job, pr_number, check_run, ended_at) \
             WHERE check_run IS NOT NULL DO UPDATE SET attempt = known.attempt \
         RETURNING attempt",
        &values,
    );
    let rows = client.write(Again::Harmless, insert).await.map_err(Fault::of_write)?;
    let row = rows.last().ok_or_else(|| StoreError::Write("nothing was kept".to_owned()))?;
    count(row, "attempt").map_err(|error| Fault::from(error).of_read())
}

pub async fn outdate_signals(client: &Client, passed: &CheckPass) -> Result<(), StoreError> {
    let values = [
        (&passed.owner).into(),
        (&passed.repo).into(),
        number(passed.suite).into(),
        (&passed.check).into(),
        passed.ended_at.as_nanos().into(),
    ];
    let update = sql(
        "UPDATE failure_signals SET outdated = TRUE \
         WHERE owner = $1 AND repo = $2 AND workflow_run_id = $3 AND job = $4 \
             AND check_run IS NOT NULL AND ended_at < $5",
        &values,
    );
    client.write(Again::Harmless, update).await.map(drop).map_err(Fault::of_write)
}

pub async fn list_signals(
    client: &Client,
    pull_request: &PullRequest,
    job: Option<&str>,
    limit: u32,
) -> Result<Vec<FailureSignal>, StoreError> {
    let values = [
        (&pull_request.owner).into(),
        (&pull_request.repo).into(),
        number(pull_request.number).into(),
        job.into(),
        limit.into(),
    ];
    let select = sql(
        "SELECT * FROM (SELECT * FROM failure_signals \
             WHERE owner = $1 AND repo = $2 AND pr_number = $3 AND ($4 IS NULL OR job = $4) \
             ORDER BY number DESC LIMIT $5) AS last ORDER BY number",
        &values,
    );
    client.all(select).await
}

pub async fn take_delivery(
    client: &Client,
    delivery: &str,
    by: &str,
    at: Timestamp,
) -> Result<Delivery, StoreError> {
    let values =
        [delivery.into(), at.as_nanos().into(), by.into(), at.minus(LEFT_ALONE).as_nanos().into()];
    let insert = sql(
        // An update that changes nothing, so that it is answered how it stands.
        "INSERT INTO deliveries AS known (id, at, taken_by) VALUES ($1, $2, $3) \
         ON CONFLICT (id) DO UPDATE SET (at, taken_by) = (SELECT \
             CASE WHEN lost THEN $2 ELSE known.at END, \
             CASE WHEN lost THEN $3 ELSE known.taken_by END \
             FROM (SELECT known.at <= $4 AND known.taken_by IS NOT NULL AND NOT EXISTS ( \
                 SELECT 1 FROM services \
                 WHERE services.id = known.taken_by AND expires_at > backstop_now()) \
             AS lost) AS looked) \
         RETURNING taken_by IS NULL AS done, at = $2 AND taken_by = $3 AS taken",
        &values,
    );
    // A second time finds what the first one took: nobody else takes at the same nanosecond.
    let rows = client.write(Again::Harmless, insert).await.map_err(Fault::of_write)?;
    let row = rows.first().ok_or_else(|| StoreError::Write("nothing was taken".to_owned()))?;
    Delivery::from_row(row).map_err(|error| Fault::from(error).of_read())
}

pub async fn finish_delivery(client: &Client, delivery: &str) -> Result<(), StoreError> {
    let update = sql("UPDATE deliveries SET taken_by = NULL WHERE id = $1", &[delivery.into()]);
    client.write(Again::Harmless, update).await.map(drop).map_err(Fault::of_write)
}

pub async fn forget_delivery(client: &Client, delivery: &str) -> Result<(), StoreError> {
    let delete = sql("DELETE FROM deliveries WHERE id = $1", &[delivery.into()]);
    client.write(Again::Harmless, delete).await.map(drop).map_err(Fault::of_write)
}

pub async fn order_halt(client: &Client, order: &HaltOrder) -> Result<HaltOrder, StoreError> {
    let labels = json(&order.labels)?;
    let insert = |again| halt(order, &labels, again);
    let rows = client.write_surely(insert).await.map_err(Fault::of_write)?;
    let row = rows.first().ok_or_else(|| StoreError::Write("no number was given".to_owned()))?;
    HaltOrder::from_row(row).map_err(|error| Fault::from(error).of_read())
}

fn halt(order: &HaltOrder, labels: &str, MayBeDone(again): MayBeDone) -> Result<String, Fault> {
    let values = [
        labels.into(),
        order.why.as_ref().into(),
        (&order.by).into(),
        order.at.as_nanos().into(),
        again.into(),
    ];
    sql(
        "WITH before AS ( \
             SELECT * FROM halt_orders WHERE $5 AND labels = $1 AND by = $3 AND at = $4), \
         given AS ( \
             INSERT INTO halt_orders (labels, why, by, at) SELECT $1, $2, $3, $4 \
             WHERE NOT EXISTS (SELECT 1 FROM before) RETURNING *) \
         SELECT * FROM given UNION ALL SELECT * FROM before ORDER BY number DESC LIMIT 1",
        &values,
    )
}

pub async fn list_halts(client: &Client) -> Result<Vec<HaltOrder>, StoreError> {
    let select = "SELECT * FROM halt_orders WHERE released_at IS NULL ORDER BY number";
    client.all(sql(select, &[])).await
}

pub async fn release_halts(
    client: &Client,
    labels: Option<&BTreeMap<String, String>>,
    by: &str,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let labels = labels.map(json).transpose()?;
    let update = |again| halts_release(labels.as_deref(), by, at, again);
    let rows = client.write_surely(update).await.map_err(Fault::of_write)?;
    Ok(rows.len() as u64)
}

fn halts_release(
    labels: Option<&str>,
    by: &str,
    at: Timestamp,
    MayBeDone(again): MayBeDone,
) -> Result<String, Fault> {
    sql(
        "UPDATE halt_orders SET released_by = $2, released_at = $3 \
         WHERE (released_at IS NULL OR $4 AND released_at = $3 AND released_by = $2) \
             AND ($1 IS NULL OR labels = $1) RETURNING number",
        &[labels.into(), by.into(), at.as_nanos().into(), again.into()],
    )
}

pub async fn attend(client: &Client, id: &str, duration: Duration) -> Result<(), StoreError> {
    let statement = if duration.is_zero() {
        // Whoever ends takes along those who could not say that they did.
        let delete = "DELETE FROM services WHERE id = $1 OR expires_at <= backstop_now()";
        sql(delete, &[id.into()])
    } else {
        sql(
            "INSERT INTO services (id, expires_at) VALUES ($1, backstop_now() + $2) \
             ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at",
            &[id.into(), nanoseconds(duration).into()],
        )
    };
    client.write(Again::Harmless, statement).await.map(drop).map_err(Fault::of_write)
}

pub async fn attends(client: &Client, beside: Option<&str>) -> Result<bool, StoreError> {
    let select = "SELECT id FROM services \
         WHERE expires_at > backstop_now() AND id IS DISTINCT FROM $1 LIMIT 1";
    Ok(!client.rows(sql(select, &[beside.into()])).await?.is_empty())
}

/// What is done again since nobody knows whether it was done: as if it had been done once.
#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::access::Scope;
    use crate::testing::postgres;
    use crate::{PostgresStore, ServerUrl, Store as _};

    const AGAIN: MayBeDone = MayBeDone(true);

    async fn opened(database: &postgres::Database<'_>) -> PostgresStore {
        let url = ServerUrl::parse(&database.url()).expect("the address of a database");
        PostgresStore::open(&url).await.expect("a store")
    }

    /// Does something whose first answer was lost, and tells how many rows it has found.
    async fn repeat(store: &PostgresStore, statement: Result<String, Fault>) -> usize {
        store.client.write(Again::Harmless, statement).await.expect("it is done").len()
    }

    const fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[tokio::test]
    async fn a_token_that_is_put_or_revoked_again_is_so_once() {
        let Some(server) = postgres::shared() else { return };
        let database = server.database();
        let store = opened(&database).await;
        let token = TokenRecord {
            id: "one".to_owned(),
            name: "one".to_owned(),
            hash: Hash([1; 32]),
            scopes: [Scope::Read].into(),
            created_by: "ann".to_owned(),
            created_at: at(1),
            expires_at: None,
            revoked_at: None,
        };
        let scopes = json(&["read"]).unwrap();
        // Whether the first time was to no avail or not.
        for _ in 0..2 {
            repeat(&store, token_insertion(&token, &scopes, AGAIN)).await;
            assert_eq!(store.token_list().await.unwrap(), std::slice::from_ref(&token));
        }
        for _ in 0..2 {
            assert_eq!(repeat(&store, revocation("one", at(2), AGAIN)).await, 1);
        }
        // Somebody else's revocation is not one's own.
        assert_eq!(repeat(&store, revocation("one", at(3), AGAIN)).await, 0);
        let revoked = store.token_list().await.unwrap();
        assert_eq!(revoked[0].revoked_at, Some(at(2)));
    }

    #[tokio::test]
    async fn an_order_to_halt_that_is_given_or_taken_back_again_is_so_once() {
        let Some(server) = postgres::shared() else { return };
        let database = server.database();
        let store = opened(&database).await;
        let order = |nanos| HaltOrder {
            number: 0,
            labels: BTreeMap::new(),
            why: None,
            by: "ann".to_owned(),
            at: at(nanos),
        };
        for _ in 0..2 {
            assert_eq!(repeat(&store, halt(&order(1), "{}", AGAIN)).await, 1);
            assert_eq!(store.halt_list().await.unwrap().len(), 1);
        }
        // The same at another time is another order.
        assert_eq!(repeat(&store, halt(&order(2), "{}", AGAIN)).await, 1);
        assert_eq!(store.halt_list().await.unwrap().len(), 2);
        for _ in 0..2 {
            assert_eq!(repeat(&store, halts_release(None, "ann", at(3), AGAIN)).await, 2);
            assert_eq!(store.halt_list().await.unwrap(), []);
        }
        assert_eq!(repeat(&store, halts_release(None, "bob", at(4), AGAIN)).await, 0);
    }
}
