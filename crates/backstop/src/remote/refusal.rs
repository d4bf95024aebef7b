//! Why a server did not do as it was asked, and with which code a command ends by it.

use backstop_store::access::Scope;
use serde::Deserialize;
use ureq::http::StatusCode;

use super::address::Address;
use crate::env_vars::TOKEN;
use crate::error::Error;
use crate::sanitise::harmless;

/// A problem as the server describes it.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    #[serde(skip, default)]
    status: u16,
    detail: String,
    code: String,
    #[serde(default)]
    field: Option<String>,
}

/// Reads a problem; none if it is not one, so that nobody of ours has answered.
pub fn read(status: StatusCode, body: &[u8]) -> Option<Refusal> {
    let read: Refusal = serde_json::from_slice(body).ok()?;
    Some(Refusal { status: status.as_u16(), ..read })
}

impl Refusal {
    pub fn error(self, address: &Address, needs: Scope, has_token: bool) -> Error {
        let detail: String = harmless(&self.detail).chars().take(LONGEST).collect();
        match (self.status, self.code.as_str()) {
            (401, _) | (403, "FORBIDDEN") if self.field.is_none() => {
                let hint = match has_token {
                    true => {
                        format!("the token of {TOKEN} was sent; it must have the scope `{needs}`")
                    }
                    false => format!("put a token with the scope `{needs}` into {TOKEN}"),
                };
                Error::Forbidden(format!(
                    "{address} refuses: {detail}\n\n\
                     hint: {hint}; `backstop token create` makes one where the server is"
                ))
            }
            (403, "NOT_DATA_ONLY") => Error::Policy(format!("error: {detail}")),
            (404, _) => Error::Missing(detail),
            (409, "AMBIGUOUS") => Error::Usage(detail),
            // What was asked was understood, and can't be done.
            (400 | 403 | 405..=407 | 409..=420 | 422, _) => Error::NotNow(detail),
            _ => Error::Unreachable(format!("{address} can't do it now: {detail}")),
        }
    }
}

/// As much as anybody reads.
const LONGEST: usize = 2_000;
