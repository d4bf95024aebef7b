//! Pages of other origins that may ask this service: what their browsers want to hear of it.

use axum::body::Body;
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header,
};

use crate::headers::{EXIT_CODE, HALTED, NEXT_CURSOR, REQUEST_ID, VERDICT};

/// What a browser asks before it sends a request that a form could not: whether it may.
pub(crate) fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that, which needs no token: browsers send none with it.
pub(crate) fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, BELIEVED);
    response
}

/// Lets a page of this origin read an answer. Cookies are nothing to us, so none are allowed.
pub(crate) fn let_read(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, told());
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

/// What answers say beside their bodies.
fn told() -> HeaderValue {
    static NAMES: [HeaderName; 6] =
        [VERDICT, EXIT_CODE, HALTED, NEXT_CURSOR, REQUEST_ID, header::RETRY_AFTER];
    let names = NAMES.each_ref().map(HeaderName::as_str).join(", ");
    HeaderValue::try_from(names).unwrap_or(SENT)
}

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, DELETE");
/// What requests here may carry.
const SENT: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, last-event-id, traceparent, x-request-id",
);
/// Seconds, which is as long as browsers believe it at most.
const BELIEVED: HeaderValue = HeaderValue::from_static("7200");
