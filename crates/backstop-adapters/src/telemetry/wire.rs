//! The bodies of OTLP in JSON, as far as anything in them counts.
//!
//! Nothing is kept that nobody asks for, so that a body takes a few times its size at most, and a
//! field of an unexpected type counts as absent.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use super::attributes::{AnyValue, Attributes, Key};
use super::scalar::Scalar;
use super::{claude, gen_ai};
use crate::lenient::{Lenient, Shape, shaped};

/// A body of any of the three kinds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Wire {
    pub resource_metrics: List<ResourceMetrics>,
    pub resource_logs: List<ResourceLogs>,
    pub resource_spans: List<ResourceSpans>,
}

impl Wire {
    pub fn is_empty(&self) -> bool {
        let Self { resource_metrics, resource_logs, resource_spans } = self;
        resource_metrics.0.is_empty() && resource_logs.0.is_empty() && resource_spans.0.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ResourceMetrics {
    pub resource: Resource,
    #[serde(rename = "scopeMetrics")]
    pub scopes: List<ScopeMetrics>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ScopeMetrics {
    pub metrics: List<Metric>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ResourceLogs {
    pub resource: Resource,
    #[serde(rename = "scopeLogs")]
    pub scopes: List<ScopeLogs>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ScopeLogs {
    pub log_records: List<LogRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ResourceSpans {
    pub resource: Resource,
    #[serde(rename = "scopeSpans")]
    pub scopes: List<ScopeSpans>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ScopeSpans {
    pub spans: List<Span>,
}

/// Who exports.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Resource(Attributes);

impl Resource {
    pub fn attributes(&self) -> &Attributes {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Resource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Fields {
            attributes: Attributes,
        }
        let Lenient(fields) = Lenient::<Fields>::deserialize(deserializer)?;
        Ok(Self(fields.unwrap_or_default().attributes))
    }
}

/// A sum or a histogram. What is measured now and then (a gauge) is no usage.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metric {
    #[serde(deserialize_with = "word")]
    pub name: String,
    sum: Points,
    histogram: Points,
    exponential_histogram: Points,
}

impl Metric {
    pub fn points(&self) -> impl Iterator<Item = (Temporality, &Point)> {
        [&self.sum, &self.histogram, &self.exponential_histogram].into_iter().flat_map(|points| {
            points.data_points.0.iter().map(|point| (points.aggregation_temporality, point))
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Points {
    aggregation_temporality: Temporality,
    data_points: List<Point>,
}

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Fields {
            aggregation_temporality: Temporality,
            data_points: List<Point>,
        }
        let Lenient(fields) = Lenient::<Fields>::deserialize(deserializer)?;
        let Fields { aggregation_temporality, data_points } = fields.unwrap_or_default();
        Ok(Self { aggregation_temporality, data_points })
    }
}

/// What the figures of a series mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Temporality {
    /// What was added since the last time.
    Delta,
    /// The total since the start. Where nothing is said it is this, as with most exporters.
    #[default]
    Cumulative,
}

impl<'de> Deserialize<'de> for Temporality {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let told = Scalar::deserialize(deserializer)?;
        let is_delta =
            told.amount() == Some(1.0) || told.text() == Some("AGGREGATION_TEMPORALITY_DELTA");
        Ok(if is_delta { Self::Delta } else { Self::Cumulative })
    }
}

/// One figure of a series.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Point {
    pub attributes: Attributes,
    start_time_unix_nano: Scalar,
    time_unix_nano: Scalar,
    as_int: Scalar,
    as_double: Scalar,
    sum: Scalar,
}

impl Point {
    pub fn started_at(&self) -> u64 {
        self.start_time_unix_nano.nanoseconds()
    }

    pub fn at(&self) -> u64 {
        self.time_unix_nano.nanoseconds()
    }

    pub fn value(&self) -> Option<f64> {
        Scalar::first([&self.as_int, &self.as_double, &self.sum]).amount()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LogRecord {
    pub attributes: Attributes,
    time_unix_nano: Scalar,
    /// The name under which anybody knows it, without its prefix.
    name: Option<&'static str>,
}

impl LogRecord {
    pub fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// What makes this record another one than all others; none where it does not say.
    pub fn identity(&self) -> Option<u64> {
        let at = self.time_unix_nano.nanoseconds();
        let request = self.attributes.get(Key::RequestId);
        let sequence = self.attributes.get(Key::EventSequence);
        let is_told = at > 0 && !(request.is_nothing() && sequence.is_nothing());
        is_told.then(|| hash(&(at, self.name, self.attributes.identity())))
    }
}

impl<'de> Deserialize<'de> for LogRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Fields {
            time_unix_nano: Scalar,
            event_name: Scalar,
            body: AnyValue,
            attributes: Attributes,
        }
        let Fields { time_unix_nano, event_name, body, attributes } =
            Fields::deserialize(deserializer)?;
        let body = body.scalar();
        let names = [&event_name, attributes.get(Key::EventName), &body];
        let name = names.into_iter().filter_map(Scalar::text).find_map(claude::event_name);
        Ok(Self { attributes, time_unix_nano, name })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Span {
    trace_id: Scalar,
    span_id: Scalar,
    pub attributes: Attributes,
}

impl Span {
    pub fn identity(&self) -> Option<u64> {
        self.span_id.text().map(|span| hash(&(&self.trace_id, span)))
    }
}

/// A list of objects. Those that are of no use are not kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List<T>(pub Vec<T>);

/// Whether anybody asks for it.
pub(super) trait Useful {
    fn is_useful(&self) -> bool;
}

impl Useful for ResourceMetrics {
    fn is_useful(&self) -> bool {
        !self.scopes.0.is_empty()
    }
}

impl Useful for ScopeMetrics {
    fn is_useful(&self) -> bool {
        !self.metrics.0.is_empty()
    }
}

impl Useful for ResourceLogs {
    fn is_useful(&self) -> bool {
        !self.scopes.0.is_empty()
    }
}

impl Useful for ScopeLogs {
    fn is_useful(&self) -> bool {
        !self.log_records.0.is_empty()
    }
}

impl Useful for ResourceSpans {
    fn is_useful(&self) -> bool {
        !self.scopes.0.is_empty()
    }
}

impl Useful for ScopeSpans {
    fn is_useful(&self) -> bool {
        !self.spans.0.is_empty()
    }
}

impl Useful for Metric {
    fn is_useful(&self) -> bool {
        (claude::is_metric(&self.name) || gen_ai::is_metric(&self.name))
            && self.points().next().is_some()
    }
}

impl Useful for Point {
    fn is_useful(&self) -> bool {
        self.value().is_some()
    }
}

impl Useful for LogRecord {
    fn is_useful(&self) -> bool {
        self.name.is_some()
    }
}

impl Useful for Span {
    fn is_useful(&self) -> bool {
        gen_ai::is_counted(&self.attributes)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Useful + Deserialize<'de>> Shape<'de> for List<T> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut kept = Vec::new();
        while let Some(Lenient(element)) = list.next_element::<Lenient<T>>()? {
            kept.extend(element.filter(Useful::is_useful));
        }
        Ok(Self(kept))
    }
}

impl<'de, T: Useful + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// A text; empty for anything else.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let told = Scalar::deserialize(deserializer)?;
    Ok(told.text().unwrap_or_default().to_owned())
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
