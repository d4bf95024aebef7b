//! What is answered when something is wrong: problem details (RFC 9457), the same for all routes.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A refusal, or a fault of ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Always `about:blank`: the status and the code say what kind it is.
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(serialize_with = "number")]
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
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            kind: "about:blank",
            status,
            title: status.canonical_reason().unwrap_or("Error"),
            error: detail.clone(),
            detail,
            code,
            field: None,
        }
    }

    /// A parameter or field that is there and can't be taken.
    pub fn invalid(field: &str, detail: impl Into<String>) -> Self {
        Self {
            field: Some(field.to_owned()),
            ..Self::new(StatusCode::BAD_REQUEST, "INVALID_INPUT", detail)
        }
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", detail)
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

    /// Names the parameter or field that is wrong.
    #[must_use]
    pub fn about(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the derived serializer passes references")]
fn number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}
