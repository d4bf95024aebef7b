//! Series of figures, told as what was added.

use std::collections::HashMap;

use super::attributes::Attributes;
use super::wire::{Metric, Point, Temporality, hash};
use crate::lenient::COUNTS;

/// Where every series stands. One is a metric of one exporter with one set of attributes.
#[derive(Debug, Default)]
pub(super) struct Series {
    last: HashMap<u64, Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    started_at: u64,
    at: u64,
    value: f64,
}

impl Series {
    /// What a point adds to its series; none if that is nothing.
    pub fn advance(
        &mut self,
        metric: &Metric,
        temporality: Temporality,
        point: &Point,
        resource: &Attributes,
    ) -> Option<f64> {
        // What is beyond all reason must not be what the next point is compared with.
        let value = point.value().filter(|value| COUNTS.contains(value))?;
        let now = Last { started_at: point.started_at(), at: point.at(), value };
        let name = (&metric.name, resource.identity(), point.attributes.identity());
        let key = hash(&name);
        if self.last.len() >= MOST && !self.last.contains_key(&key) {
            // A total whose beginning is not remembered can't be counted; what was added can.
            return (temporality == Temporality::Delta).then_some(now.value);
        }
        let last = self.last.get(&key).copied();
        let added = match temporality {
            Temporality::Delta => now.since_delta(last),
            Temporality::Cumulative => now.since_total(last),
        };
        if let Some(added) = added {
            self.last.insert(key, now);
            return (added > 0.0).then_some(added);
        }
        None
    }
}

impl Last {
    /// A point that is told again, since its answer was lost on the way, adds nothing.
    fn since_delta(self, last: Option<Self>) -> Option<f64> {
        let again = last.is_some_and(|last| {
            self.at > 0 && (last.started_at, last.at) == (self.started_at, self.at)
        });
        (!again).then_some(self.value)
    }

    /// None for a point that is older than the last one.
    fn since_total(self, last: Option<Self>) -> Option<f64> {
        let Some(last) = last else { return Some(self.value) };
        if self.started_at > last.started_at {
            return Some(self.value);
        }
        if self.started_at < last.started_at {
            return None;
        }
        match self.value - last.value {
            grown if grown >= 0.0 => Some(grown),
            // Where no start is told, only this shows that the total has begun again.
            _ if self.started_at == 0 && self.at >= last.at => Some(self.value),
            _ => None,
        }
    }
}

/// Far more than any run has; the bound is against exporters that invent them.
const MOST: usize = 1 << 16;
