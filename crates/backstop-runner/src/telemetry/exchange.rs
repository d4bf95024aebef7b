//! One request of an exporter and its answer.

use std::convert::Infallible;
use std::time::Duration;

use backstop_adapters::Export;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, StatusCode};
use tokio::sync::Semaphore;

use super::Inlet;
use super::answer::{Answer, Refusal, accepted};
use super::environment::SECRET_HEADER;
use crate::socket::{Source, What, hand_over};

/// What all connections share.
#[derive(Debug)]
pub(super) struct Exchange {
    inlet: Inlet,
    secret: String,
    /// Bodies are held whole, so only a few at a time are.
    bodies: Semaphore,
}

impl Exchange {
    pub fn new(inlet: Inlet, secret: String) -> Self {
        Self { inlet, secret, bodies: Semaphore::new(BODIES_AT_ONCE) }
    }

    pub async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Infallible> {
        Ok(self.take(request).await.map_or_else(Answer::from, |()| accepted()))
    }

    async fn take(&self, request: Request<Incoming>) -> Result<(), Refusal> {
        self.admit(request.headers())?;
        if !PATHS.contains(&request.uri().path()) {
            let message = format!("only {} are taken here", PATHS.join(", "));
            return Err(Refusal::new(StatusCode::NOT_FOUND, message));
        }
        if request.method() != Method::POST {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only POST is taken here"));
        }
        understood(request.headers())?;
        let export = self.export(request.into_body()).await?;
        if export.is_empty() {
            return Ok(());
        }
        let what = What::Telemetry(Box::new(export));
        let Inlet { requests, durable } = &self.inlet;
        hand_over(requests, durable, Source::Child, what)
            .await
            .map(drop)
            .map_err(|problem| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, problem))
    }

    /// Only the run's own command knows the secret.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let told = headers.get(SECRET_HEADER).map(|value| value.as_bytes()).unwrap_or_default();
        if is_same(told, self.secret.as_bytes()) {
            return Ok(());
        }
        let message = format!("the header `{SECRET_HEADER}` of this run is missing or wrong");
        Err(Refusal::new(StatusCode::UNAUTHORIZED, message))
    }

    async fn export(&self, body: Incoming) -> Result<Export, Refusal> {
        if body.size_hint().lower() > MOST_BYTES as u64 {
            return Err(too_large());
        }
        let ending = |_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the run is ending");
        let _turn = self.bodies.acquire().await.map_err(ending)?;
        let bytes = tokio::time::timeout(PATIENCE, whole(body)).await.unwrap_or_else(|_| {
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))
        })?;
        // Large bodies take a while to read, and the run must not stand still meanwhile.
        let read = tokio::task::spawn_blocking(move || Export::read(&bytes)).await;
        let bad = |problem: String| Refusal::new(StatusCode::BAD_REQUEST, problem);
        read.map_err(|error| bad(error.to_string()))?.map_err(|error| bad(error.to_string()))
    }
}

/// The body is JSON as it is.
fn understood(headers: &HeaderMap) -> Result<(), Refusal> {
    let refused = |message: String| Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    let word = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    if let Some(encoding) = word(CONTENT_ENCODING).filter(|encoding| encoding != "identity") {
        return refused(format!(
            "bodies can't be compressed, and this is `{encoding}`: set \
             OTEL_EXPORTER_OTLP_COMPRESSION=none"
        ));
    }
    let kind = word(CONTENT_TYPE).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    refused(format!(
        "only `application/json` is read here, and this is `{essence}`: set \
         OTEL_EXPORTER_OTLP_PROTOCOL=http/json"
    ))
}

async fn whole(body: Incoming) -> Result<Bytes, Refusal> {
    match Limited::new(body, MOST_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Refusal::new(StatusCode::BAD_REQUEST, error.to_string())),
    }
}

fn too_large() -> Refusal {
    let message = format!("a body may have {} MiB at most", MOST_BYTES >> 20);
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// Takes the same time wherever they differ.
fn is_same(told: &[u8], secret: &[u8]) -> bool {
    let differences = told.iter().zip(secret).fold(0, |found, (one, other)| found | (one ^ other));
    told.len() == secret.len() && differences == 0
}

const PATHS: &[&str] = &["/v1/metrics", "/v1/logs", "/v1/traces"];

pub(super) const MOST_BYTES: usize = 16 << 20;

const BODIES_AT_ONCE: usize = 4;

/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_secs(10);
