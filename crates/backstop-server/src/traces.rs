//! What became of each request, for collectors of traces (OpenTelemetry).
//!
//! A request never waits for a collector: it leaves its span in a queue, and where there is no room
//! the span is dropped and counted.

mod context;
mod exporter;
mod span;

use std::cell::Cell;
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use tokio::time::timeout;

use crate::metrics::SpanCounters;
use context::Context;
use exporter::{Exporter, Item};
use span::Span;

pub use exporter::CollectorError;

/// Where spans go, if anywhere.
#[derive(Debug)]
pub(crate) struct Traces {
    exporter: Exporter,
}

/// A request that is being traced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    context: Context,
    at_nanos: i64,
}

/// What is learnt of a request while it is worked on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learnt {
    route: &'static str,
    verdict: &'static str,
    reason: &'static str,
}

tokio::task_local! {
    static LEARNT: Cell<Learnt>;
}

impl Traces {
    /// Spans go to the collector at this address.
    ///
    /// # Errors
    /// The address is none, or nobody is trusted by this system.
    pub(crate) fn to(collector: &str, counters: SpanCounters) -> Result<Self, CollectorError> {
        Ok(Self { exporter: Exporter::start(collector, counters)? })
    }

    /// Begins a span, as a part of the trace that the request belongs to; none where whoever began
    /// that trace does not want it recorded.
    pub(crate) fn begin(&self, headers: &HeaderMap, at_nanos: i64) -> Option<Begun> {
        let context = Context::of(headers);
        context.is_wanted.then_some(Begun { context, at_nanos })
    }

    /// Ends a span.
    pub(crate) fn end(
        &self,
        begun: Begun,
        learnt: Learnt,
        method: &Method,
        request_id: &str,
        status: u16,
        took: Duration,
    ) {
        let Learnt { route, verdict, reason } = learnt;
        let (context, began_at) = (begun.context, begun.at_nanos);
        let (method, request_id) = (word(method), request_id.to_owned());
        let span =
            Span { context, method, route, status, request_id, verdict, reason, began_at, took };
        self.exporter.leave(Item::Span(Box::new(span)));
    }

    /// Waits until everything is sent, but not for long.
    pub(crate) async fn flush(&self) {
        let (sender, sent) = tokio::sync::oneshot::channel();
        self.exporter.leave(Item::Flush(sender));
        timeout(AT_THE_END, sent).await.ok();
    }
}

/// Works on a request, and tells what was learnt of it.
pub(crate) async fn learning<T>(work: impl Future<Output = T>) -> (T, Learnt) {
    LEARNT.scope(Cell::default(), async { (work.await, LEARNT.with(Cell::get)) }).await
}

/// The request is one of this route.
pub(crate) fn learn_route(route: &'static str) {
    change(|learnt| Learnt { route, ..learnt });
}

/// This was decided.
pub(crate) fn learn_decision(verdict: &'static str, reason: &'static str) {
    change(|learnt| Learnt { verdict, reason, ..learnt });
}

/// Where nothing is traced nobody listens.
fn change(with: impl FnOnce(Learnt) -> Learnt) {
    LEARNT.try_with(|learnt| learnt.set(with(learnt.get()))).ok();
}

/// Methods that somebody made up are not told apart.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "_OTHER",
    }
}

const AT_THE_END: Duration = Duration::from_secs(3);
