//! Tokens: new ones, those there are, and their end.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use backstop_core::time::Timestamp;
use backstop_store::access::{Scope, TokenRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::access::{Caller, new_token};
use crate::body;
use crate::problem::Problem;
use crate::query::{Name, Query};
use crate::service::Service;
use crate::words::Line;

/// What a token is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewToken")]
pub(crate) struct New {
    /// Who bears it: how the journal and the audit call them.
    name: Line,
    #[schemars(with = "BTreeSet<Named>", length(min = 1))]
    #[serde(deserialize_with = "each_once")]
    scopes: BTreeSet<Named>,
    /// When it ends; left out: when it is revoked.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    expires_at: Option<Timestamp>,
}

/// A scope by its name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TokenScope")]
enum Named {
    Read,
    Report,
    Operate,
    Admin,
}

impl From<Named> for Scope {
    fn from(named: Named) -> Self {
        match named {
            Named::Read => Self::Read,
            Named::Report => Self::Report,
            Named::Operate => Self::Operate,
            Named::Admin => Self::Admin,
        }
    }
}

/// Said twice, one of them was meant to be another.
fn each_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Named>, D::Error> {
    let mut scopes = BTreeSet::new();
    for scope in Vec::<Named>::deserialize(deserializer)? {
        if !scopes.insert(scope) {
            return Err(de::Error::custom("a scope is named twice"));
        }
    }
    Ok(scopes)
}

/// A token as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub(crate) struct Listed {
    /// Short, and no secret.
    id: String,
    name: String,
    #[schemars(with = "Vec<Named>")]
    scopes: BTreeSet<Scope>,
    created_by: String,
    #[schemars(with = "String")]
    created_at: Timestamp,
    #[schemars(with = "Option<String>")]
    expires_at: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    revoked_at: Option<Timestamp>,
}

impl From<TokenRecord> for Listed {
    fn from(token: TokenRecord) -> Self {
        let TokenRecord {
            id, name, scopes, created_by, created_at, expires_at, revoked_at, ..
        } = token;
        Self { id, name, scopes, created_by, created_at, expires_at, revoked_at }
    }
}

/// A new token, with what nobody will see again.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MadeToken")]
pub(crate) struct Made {
    token: String,
    #[serde(flatten)]
    listed: Listed,
}

pub(crate) async fn make(
    State(service): State<Arc<Service>>,
    caller: Caller,
    query: Query,
    body::Json(new): body::Json<New>,
) -> Result<(StatusCode, Json<Made>), Problem> {
    query.end()?;
    if new.scopes.is_empty() {
        return Err(Problem::invalid("scopes", "a token needs a scope"));
    }
    let now = service.now();
    if new.expires_at.is_some_and(|end| end <= now) {
        let detail = "a token can't expire before it is made";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_INPUT", detail)
            .about("expires_at"));
    }
    let secret = new_token().map_err(|error| Problem::internal(&error))?;
    let record = TokenRecord {
        id: secret.id(),
        name: new.name.0,
        hash: secret.hash(),
        scopes: new.scopes.into_iter().map(Scope::from).collect(),
        created_by: caller.name().to_owned(),
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
    };
    service.store.token_put(&record).await?;
    service.changed().await;
    tracing::warn!(caller = caller.name(), id = record.id, scopes = ?record.scopes, "a token is made");
    Ok((
        StatusCode::CREATED,
        Json(Made { token: secret.reveal().to_owned(), listed: record.into() }),
    ))
}

pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    query: Query,
) -> Result<Json<Vec<Listed>>, Problem> {
    query.end()?;
    let tokens = service.store.token_list().await?;
    Ok(Json(tokens.into_iter().map(Listed::from).collect()))
}

pub(crate) async fn revoke(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Name(id): Name,
    query: Query,
) -> Result<StatusCode, Problem> {
    query.end()?;
    let revoked = service.store.token_revoke(&id, service.now()).await?;
    service.changed().await;
    if !revoked {
        return Err(Problem::not_found(format!("there is no token `{id}` that is not revoked")));
    }
    tracing::warn!(caller = caller.name(), id, "a token is revoked");
    Ok(StatusCode::NO_CONTENT)
}
