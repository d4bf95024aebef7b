//! Rows of what a service for many machines keeps.

use super::audit::hash;
use super::{Cells, FromRow, Unreadable, count, json, optional, optional_time, owned, time};
use crate::access::{Scope, TokenRecord};
use crate::halting::HaltOrder;
use crate::reruns::{Delivery, FailureSignal, PullRequest};
use crate::scope::{Activation, PastActivation, PolicyScope};

impl FromRow for Activation {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            scope: remembered_scope(row, "scope")?,
            policy_hash: optional(row, "policy_hash")?,
            by: owned(row, "by")?,
            at: time(row, "at")?,
        })
    }
}

impl FromRow for PastActivation {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self { number: count(row, "number")?, activation: Activation::from_row(row)? })
    }
}

fn remembered_scope(row: &impl Cells, column: &str) -> Result<PolicyScope, Unreadable> {
    let text = row.text(column)?;
    PolicyScope::remembered(text).ok_or_else(|| Unreadable::of_content(column, &text))
}

impl FromRow for HaltOrder {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            number: count(row, "number")?,
            labels: json(row, "labels")?,
            why: optional(row, "why")?,
            by: owned(row, "by")?,
            at: time(row, "at")?,
        })
    }
}

impl FromRow for Delivery {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        if row.flag("done")? {
            return Ok(Self::Done);
        }
        Ok(if row.flag("taken")? { Self::Taken } else { Self::UnderWay })
    }
}

impl FromRow for FailureSignal {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            pull_request: PullRequest {
                owner: owned(row, "owner")?,
                repo: owned(row, "repo")?,
                number: count(row, "pr_number")?,
            },
            job: owned(row, "job")?,
            workflow_run_id: count(row, "workflow_run_id")?,
            attempt: count(row, "attempt")?,
            hash: owned(row, "hash")?,
            class: optional(row, "class")?,
            at: time(row, "at")?,
            is_outdated: row.flag("outdated")?,
        })
    }
}

impl FromRow for TokenRecord {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        let scopes: Vec<String> = json(row, "scopes")?;
        let scopes = scopes.iter().map(|scope| scope.parse::<Scope>());
        let scopes = scopes.collect::<Result<_, _>>();
        Ok(Self {
            id: owned(row, "id")?,
            name: owned(row, "name")?,
            hash: hash(row, "hash")?,
            scopes: scopes.map_err(|error| Unreadable::of_content("scopes", &error))?,
            created_by: owned(row, "created_by")?,
            created_at: time(row, "created_at")?,
            expires_at: optional_time(row, "expires_at")?,
            revoked_at: optional_time(row, "revoked_at")?,
        })
    }
}
