//! The audit: what was decided, and how often.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use backstop_core::rerun::codes_on_record;
use backstop_core::time::Timestamp;
use backstop_store::audit::{AuditFilter, AuditRow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;
use crate::query::{Name, Query};
use crate::schemas;
use crate::service::Service;

/// A page of the audit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuditPage")]
pub(crate) struct Page {
    #[schemars(with = "Vec<schemas::AuditRow>")]
    rows: Vec<AuditRow>,
    next_cursor: Option<String>,
}

pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    mut query: Query,
) -> Result<Json<Page>, Problem> {
    let limit = query.limit(USUAL, MOST)?;
    let newest_first = match query.one("order")?.as_deref() {
        None | Some("newest") => true,
        Some("oldest") => false,
        Some(other) => {
            let detail = format!("`order` is `newest` or `oldest`, not `{other}`");
            return Err(Problem::invalid("order", detail));
        }
    };
    let run = query.one("run")?.map(|text| {
        text.parse().map_err(|error| Problem::invalid("run", format!("`{text}`: {error}")))
    });
    let (owner, repo) = repository(&mut query)?;
    let reason = query.text("reason_code", LONGEST_NAME)?;
    let filter = AuditFilter {
        owner,
        repo,
        pr_number: query.whole("pr_number")?,
        request_id: query.text("request_id", LONGEST_ID)?,
        decision: query.text("decision", LONGEST_DECISION)?.map(|word| word.to_uppercase()),
        reason_codes: reason.as_deref().map(codes_on_record).unwrap_or_default(),
        run: run.transpose()?,
        cursor: query.whole("cursor")?,
        newest_first,
        limit: limit + 1,
    };
    query.end()?;
    let mut rows = service.store.audit_list(&filter).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next_cursor = rows.last().filter(|_| more).map(|last| last.number.to_string());
    Ok(Json(Page { rows, next_cursor }))
}

/// The owner and the repository that are asked for, `repo` alone or as `OWNER/NAME`. Their names are
/// the same in any case.
fn repository(query: &mut Query) -> Result<(Option<String>, Option<String>), Problem> {
    let mut name =
        |of: &str| Ok::<_, Problem>(query.text(of, LONGEST_NAME)?.map(|name| name.to_lowercase()));
    let (owner, repo) = (name("owner")?, name("repo")?);
    let Some((of, name)) = repo.as_deref().and_then(|repo| repo.split_once('/')) else {
        return Ok((owner, repo));
    };
    if owner.as_deref().is_some_and(|owner| owner != of)
        || of.is_empty()
        || name.is_empty()
        || name.contains('/')
    {
        let why = "`repo` is the name of a repository, or `OWNER/NAME`";
        return Err(Problem::invalid("repo", why));
    }
    Ok((Some(of.to_owned()), Some(name.to_owned())))
}

pub(crate) async fn fetch(
    State(service): State<Arc<Service>>,
    Name(name): Name,
    query: Query,
) -> Result<Json<AuditRow>, Problem> {
    query.end()?;
    let missing = || Problem::not_found(format!("the audit has no row `{name}`"));
    let number = name.parse::<u64>().ok().filter(|number| (1..=LARGEST).contains(number));
    let number = number.ok_or_else(missing)?;
    let filter = AuditFilter { cursor: Some(number - 1), limit: 1, ..AuditFilter::default() };
    let found = service.store.audit_list(&filter).await?;
    found.into_iter().find(|row| row.number == number).map(Json).ok_or_else(missing)
}

/// How often something was decided in the last seven days.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DecisionCount")]
pub(crate) struct Counted {
    decision: String,
    reason_code: Option<String>,
    decision_count: u64,
    #[schemars(with = "String")]
    last_occurred_at: Timestamp,
}

pub(crate) async fn analytics(
    State(service): State<Arc<Service>>,
    query: Query,
) -> Result<Json<Vec<Counted>>, Problem> {
    query.end()?;
    let counts = service.store.audit_analytics().await?.into_iter();
    let counted = counts.map(|count| Counted {
        decision: count.decision,
        reason_code: count.reason_code,
        decision_count: count.decision_count,
        last_occurred_at: count.last_occurred_at,
    });
    Ok(Json(counted.collect()))
}

const USUAL: u32 = 50;
pub(crate) const MOST: u32 = 500;
pub(crate) const LONGEST_NAME: usize = 200;
pub(crate) const LONGEST_ID: usize = 256;
pub(crate) const LONGEST_DECISION: usize = 50;
const LARGEST: u64 = (1 << 53) - 1;
