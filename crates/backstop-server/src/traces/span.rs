//! A request as a span of OTLP in JSON.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::context::Context;

/// A request that was answered. Of what it asked only the route is known, never the path.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) context: Context,
    pub(super) method: &'static str,
    /// Empty where there is none.
    pub(super) route: &'static str,
    pub(super) status: u16,
    pub(super) request_id: String,
    /// Empty where nothing was decided.
    pub(super) verdict: &'static str,
    pub(super) reason: &'static str,
    pub(super) began_at: i64,
    pub(super) took: Duration,
}

/// The body of an export.
pub(super) fn export(spans: &[Box<Span>]) -> Json {
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text("service.name", "backstop"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ] },
        "scopeSpans": [{
            "scope": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
            "spans": spans.iter().map(|span| span.to_json()).collect::<Vec<_>>(),
        }],
    }] })
}

impl Span {
    fn to_json(&self) -> Json {
        let mut attributes = vec![
            text("http.request.method", self.method),
            json!({
                "key": "http.response.status_code", "value": { "intValue": self.status.to_string() }
            }),
            text("backstop.request_id", &self.request_id),
        ];
        for (key, value) in [
            ("http.route", self.route),
            ("backstop.verdict", self.verdict),
            ("backstop.reason", self.reason),
        ] {
            if !value.is_empty() {
                attributes.push(text(key, value));
            }
        }
        let took = i64::try_from(self.took.as_nanos()).unwrap_or(i64::MAX);
        let name = format!("{} {}", self.method, self.route);
        let mut span = json!({
            "traceId": format!("{:032x}", self.context.trace),
            "spanId": format!("{:016x}", self.context.span),
            "name": name.trim_end(),
            "kind": SERVER,
            "startTimeUnixNano": self.began_at.to_string(),
            "endTimeUnixNano": self.began_at.saturating_add(took).to_string(),
            "attributes": attributes,
            "status": if self.status >= 500 { json!({ "code": ERROR }) } else { json!({}) },
        });
        if let Some(parent) = self.context.parent {
            span["parentSpanId"] = format!("{parent:016x}").into();
        }
        span
    }
}

fn text(key: &str, value: &str) -> Json {
    json!({ "key": key, "value": { "stringValue": value } })
}

const SERVER: u8 = 2;
const ERROR: u8 = 2;
