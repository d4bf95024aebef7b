//! What is answered when something is wrong: problem details (RFC 9457), the same for all routes.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use backstop_store::StoreError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::in_force::PolicyFault;

/// A refusal, or a fault of ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
// In a box, since what goes well should not have to carry the room for what does not.
pub struct Problem(Box<Details>);

/// The schema is that of what is in the box. A derived one would only refer to it, by a name that both
/// have.
impl JsonSchema for Problem {
    fn schema_name() -> Cow<'static, str> {
        Details::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Details::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Details::json_schema(generator)
    }
}

/// A refusal, or a fault of ours.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
struct Details {
    /// Always `about:blank`: the status and the code say what kind it is.
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(serialize_with = "number")]
    #[schemars(with = "u16")]
    status: StatusCode,
    /// What the status is called.
    title: &'static str,
    /// What is wrong and what to do, in a sentence that names the place and the value.
    detail: String,
    /// The same for clients of older services, which look for it under this name.
    error: String,
    /// One word for programs: `INVALID_INPUT`.
    code: &'static str,
    /// The parameter or field that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// Every single thing that is wrong, where there may be several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    findings: Vec<String>,
    #[serde(skip)]
    retry_after: Option<u32>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Details {
            kind: "about:blank",
            status,
            title: status.canonical_reason().unwrap_or("Error"),
            error: detail.clone(),
            detail,
            code,
            field: None,
            findings: Vec::new(),
            retry_after: None,
        }))
    }

    /// A parameter or field that is there and can't be taken.
    pub fn invalid(field: &str, detail: impl Into<String>) -> Self {
        Self::unreadable(detail).about(field)
    }

    /// A request that can't be read at all.
    pub fn unreadable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_INPUT", detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", detail)
    }

    /// It was understood and does not fit to how things are now.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", detail)
    }

    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", detail)
    }

    /// Too much at once: later it may work.
    pub fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "BUSY", detail).retry_after(1)
    }

    /// A fault of ours. The cause is logged, not told.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL_ERROR",
            "something went wrong here; the log says what",
        )
    }

    /// The store can't do what it must. The cause is logged, not told: it may name files.
    pub fn store(cause: &StoreError) -> Self {
        tracing::error!(%cause, "the store failed");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            STORE_CODE,
            "the store can't be used now; the log says why",
        )
        .retry_after(5)
    }

    /// Names the parameter or field that is wrong.
    #[must_use]
    pub fn about(mut self, field: &str) -> Self {
        self.0.field = Some(field.to_owned());
        self
    }

    /// Lists every single thing that is wrong.
    #[must_use]
    pub fn listing(mut self, findings: Vec<String>) -> Self {
        self.0.findings = findings;
        self
    }

    /// Says when to try again, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    pub fn code(&self) -> &'static str {
        self.0.code
    }

    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoRun(run) => Self::not_found(format!("there is no run {run}")),
            StoreError::LeaseHeld { run, .. } => {
                Self::conflict(format!("run {run} has got a supervisor meanwhile; ask again"))
            }
            other => Self::store(&other),
        }
    }
}

/// Nothing is begun or told by a policy that nobody can read any more.
impl From<PolicyFault> for Problem {
    fn from(fault: PolicyFault) -> Self {
        match fault {
            PolicyFault::Store(error) => Self::store(&error),
            other => {
                tracing::error!(fault = %other, "a policy can't be had");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, POLICY_CODE, other.to_string())
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.0.status, self.0.retry_after);
        let is_of_store = self.0.code == STORE_CODE;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_TYPE));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if is_of_store {
            response.extensions_mut().insert(StoreFault);
        }
        response
    }
}

/// Marks an answer that a fault of the store led to, so that it is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreFault;

/// As the reason is called that decisions are held for then.
const POLICY_CODE: &str = "POLICY_BLOCK";
const STORE_CODE: &str = "STORE_UNAVAILABLE";

/// The content type of every problem.
pub const PROBLEM_TYPE: &str = "application/problem+json";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the derived serializer passes references")]
fn number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}
