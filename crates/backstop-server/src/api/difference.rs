//! What differs between two policies.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use backstop_core::policy::difference;
use schemars::JsonSchema;
use serde::Serialize;

use super::policies::PolicyHash;
use crate::in_force::StoredPolicy;
use crate::problem::Problem;
use crate::query::Query;
use crate::service::Service;

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// Each in a sentence; none if the policies mean the same.
    differences: Vec<String>,
}

pub(crate) async fn compare(
    State(service): State<Arc<Service>>,
    mut query: Query,
) -> Result<Json<Difference>, Problem> {
    let (from, to) = (hash(&mut query, "from")?, hash(&mut query, "to")?);
    query.end()?;
    let (from, to) = (stored(&service, &from).await?, stored(&service, &to).await?);
    Ok(Json(Difference { differences: difference::in_words(&from, &to) }))
}

fn hash(query: &mut Query, name: &str) -> Result<PolicyHash, Problem> {
    let given = query.one(name)?;
    let given = given.ok_or_else(|| Problem::invalid(name, format!("{name} must be given")))?;
    PolicyHash::new(&given)
        .ok_or_else(|| Problem::invalid(name, format!("{name} must be `sha256:` and 64 digits")))
}

async fn stored(service: &Service, hash: &PolicyHash) -> Result<Arc<StoredPolicy>, Problem> {
    let found = service.policies.by_hash(&hash.0).await?;
    found.ok_or_else(|| Problem::not_found(format!("there is no policy {}", hash.0)))
}
