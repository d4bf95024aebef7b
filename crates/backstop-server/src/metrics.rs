//! What is counted, and how it is told to Prometheus.
//!
//! Nothing global: two services in one process count apart.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use backstop_core::reason;
use backstop_core::verdict::Verdict;
use metrics::{Counter, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use crate::traces;

/// The counters of one service.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// Handles are kept: to find one costs less than to make one. Routes are few, and so are
    /// statuses.
    requests: RwLock<HashMap<(&'static str, &'static str, u16), Counter>>,
    seconds: RwLock<HashMap<(&'static str, &'static str), Histogram>>,
    decisions: RwLock<HashMap<(&'static str, &'static str), Counter>>,
}

/// Counts spans that a collector took, and those that it did not.
#[derive(Clone, Debug)]
pub(crate) struct SpanCounters {
    pub(crate) sent: Counter,
    pub(crate) dropped: Counter,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        // Only an empty list is refused.
        let builder = PrometheusBuilder::new()
            .set_buckets(&BUCKETS)
            .unwrap_or_else(|_| PrometheusBuilder::new());
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        for (name, words) in COUNTERS {
            recorder.describe_counter((*name).into(), None, (*words).into());
        }
        for (name, words) in GAUGES {
            recorder.describe_gauge((*name).into(), None, (*words).into());
        }
        let words = "How long requests took, by route.";
        recorder.describe_histogram(SECONDS.into(), None, words.into());
        Self {
            recorder,
            handle,
            requests: RwLock::default(),
            seconds: RwLock::default(),
            decisions: RwLock::default(),
        }
    }

    /// A request was answered. The route is its template, never the path that was asked for.
    pub(crate) fn request(
        &self,
        method: &'static str,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        kept(&self.requests, (method, route, status), || {
            let labels = vec![
                Label::from_static_parts("method", method),
                Label::from_static_parts("route", route),
                Label::new("status", status.to_string()),
            ];
            self.counter(REQUESTS, labels)
        })
        .increment(1);
        kept(&self.seconds, (method, route), || {
            let labels = vec![
                Label::from_static_parts("method", method),
                Label::from_static_parts("route", route),
            ];
            self.recorder.register_histogram(&Key::from_parts(SECONDS, labels), &METADATA)
        })
        .record(took.as_secs_f64());
    }

    /// Something was decided. Reasons that only one policy knows are counted together, so that
    /// nobody can make up counters.
    pub fn decided(&self, verdict: &str, code: Option<&str>) {
        let verdict = verdict_label(verdict);
        let reason = reason_label(code);
        traces::learn_decision(verdict, reason);
        kept(&self.decisions, (verdict, reason), || {
            let labels = vec![
                Label::from_static_parts("verdict", verdict),
                Label::from_static_parts("reason", reason),
            ];
            self.counter(DECISIONS, labels)
        })
        .increment(1);
    }

    /// So many runs were halted or held, on whatever machine.
    pub(crate) fn halted(&self, code: Option<&str>, count: u64) {
        let reason = reason_label(code);
        let known = code.and_then(reason::find).map(reason::ReasonCode::reason);
        let family = known.map_or("custom", |reason| reason.family.as_str());
        let labels = vec![
            Label::from_static_parts("reason", reason),
            Label::from_static_parts("family", family),
        ];
        self.counter(HALTS, labels).increment(count);
    }

    pub(crate) fn store_failed(&self) {
        self.counter(STORE_ERRORS, Vec::new()).increment(1);
    }

    /// What became of spans.
    pub(crate) fn spans(&self) -> SpanCounters {
        SpanCounters {
            sent: self.counter(SPANS_SENT, Vec::new()),
            dropped: self.counter(SPANS_DROPPED, Vec::new()),
        }
    }

    /// Sets a figure that is looked up when it is asked for.
    pub(crate) fn set(&self, gauge: &'static str, label: Option<(&'static str, &str)>, value: u64) {
        let labels: Vec<_> =
            label.map(|(key, value)| Label::new(key, value.to_owned())).into_iter().collect();
        let value = u32::try_from(value).map_or(f64::INFINITY, f64::from);
        self.recorder.register_gauge(&Key::from_parts(gauge, labels), &METADATA).set(value);
    }

    /// All of it, in the form that Prometheus reads.
    pub(crate) fn render(&self) -> String {
        self.handle.render()
    }

    /// Works in what was measured, so that it takes no more room where nobody asks.
    pub(crate) fn tidy(&self) {
        self.handle.run_upkeep();
    }

    fn counter(&self, name: &'static str, labels: Vec<Label>) -> Counter {
        self.recorder.register_counter(&Key::from_parts(name, labels), &METADATA)
    }
}

/// The words of re-run bots are the same verdicts.
fn verdict_label(word: &str) -> &'static str {
    let all = std::iter::once(Verdict::Continue).chain(Verdict::OF_RULES);
    all.map(Verdict::as_str).find(|known| known.eq_ignore_ascii_case(word)).unwrap_or("")
}

fn reason_label(code: Option<&str>) -> &'static str {
    match code {
        None => "",
        Some(code) => reason::find(code).map_or("custom", reason::ReasonCode::as_str),
    }
}

fn kept<K: Eq + Hash, V: Clone>(
    map: &RwLock<HashMap<K, V>>,
    key: K,
    make: impl FnOnce() -> V,
) -> V {
    if let Some(value) = map.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return value.clone();
    }
    let mut map = map.write().unwrap_or_else(PoisonError::into_inner);
    map.entry(key).or_insert_with(make).clone()
}

pub(crate) const RUNS: &str = "backstop_runs";
pub(crate) const AUDIT_ROWS: &str = "backstop_audit_rows";
const REQUESTS: &str = "backstop_http_requests_total";
const SECONDS: &str = "backstop_http_request_seconds";
const DECISIONS: &str = "backstop_decisions_total";
const HALTS: &str = "backstop_halts_total";
const STORE_ERRORS: &str = "backstop_store_errors_total";
const SPANS_SENT: &str = "backstop_spans_sent_total";
const SPANS_DROPPED: &str = "backstop_spans_dropped_total";

const COUNTERS: &[(&str, &str)] = &[
    (REQUESTS, "Requests that were answered, by route and status."),
    (DECISIONS, "Decisions that were answered, by verdict and reason."),
    (HALTS, "Runs that were halted or held since the service started, by reason."),
    (STORE_ERRORS, "How often the store could not do what it must."),
    (SPANS_SENT, "Spans that the collector of traces took."),
    (SPANS_DROPPED, "Spans that no collector took, since it was too slow or not there."),
];
const GAUGES: &[(&str, &str)] =
    &[(RUNS, "Runs that are not over, by status."), (AUDIT_ROWS, "Rows of the audit.")];

const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];
const METADATA: Metadata<'static> = Metadata::new("backstop_server", Level::INFO, None);
