//! Answers to exporters.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

/// The body of every answer is small and known.
pub(super) type Answer = Response<Full<Bytes>>;

/// Why a request is refused: the status, and words for whoever set the exporter up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub message: String,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let mut answer = of_json(&json!({ "message": refusal.message }));
        *answer.status_mut() = refusal.status;
        if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        }
        answer
    }
}

/// Everything was taken.
pub(super) fn accepted() -> Answer {
    of_json(&json!({ "partialSuccess": {} }))
}

fn of_json(body: &serde_json::Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body.to_string())));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
