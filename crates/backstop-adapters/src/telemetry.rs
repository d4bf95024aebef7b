//! What agents export as telemetry: OTLP in JSON, with the names of Claude Code and of the
//! conventions for generative AI.
//!
//! The same request is often told several times over: as a log record, in a counter, as a span. So
//! nothing is simply added up. Each source has its own sums, and what counts is the largest of them
//! (see [`ledger`] and [`program`]), whatever the order in which they come.

mod attributes;
mod batch;
mod by_model;
mod claude;
mod gen_ai;
mod ledger;
mod program;
mod recent;
mod scalar;
mod series;
mod told;
mod tool;
mod wire;

use backstop_core::event::{Usage, UsageBasis};
use serde_json::Error;

use crate::fields::{is_nothing, parse_as};
use crate::lenient::Lenient;
use crate::{Heard, Listener, Moment};
use attributes::Attributes;
use by_model::ByModel;
use claude::Claude;
use gen_ai::GenAi;
use ledger::Figures;
use recent::Recent;
use series::Series;
use wire::{LogRecord, Metric, Span, Wire};

/// One body of an exporter, as far as anything in it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Export(Wire);

/// A body that is no export.
#[derive(Debug, thiserror::Error)]
pub enum NoExport {
    #[error("the body is not JSON: {0}")]
    Json(#[from] Error),
    #[error("the body is not an object, as OTLP in JSON is")]
    NoObject,
}

impl Export {
    /// Reads the body of a request to `/v1/metrics`, `/v1/logs` or `/v1/traces`. What is unknown or
    /// of an unexpected type in it is left out.
    ///
    /// # Errors
    /// It is not an object in JSON.
    pub fn read(body: &[u8]) -> Result<Self, NoExport> {
        let Lenient(wire) = parse_as(body)?;
        wire.map(Self).ok_or(NoExport::NoObject)
    }

    /// Whether there is nothing in it that anybody wants to know.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Makes sense of all exports of a run.
#[derive(Debug, Default)]
pub struct Telemetry {
    series: Series,
    recent: Recent,
    claude: Claude,
    /// What was told of Claude Code in this iteration. It only grows.
    told_of_claude: ByModel<Figures>,
    gen_ai: GenAi,
}

impl Telemetry {
    /// Tells what an export adds to those before it. Usage is live: what the agent says at its end
    /// takes its place.
    pub fn hear(&mut self, export: &Export, moment: &Moment, listener: &mut dyn Listener) {
        let Export(Wire { resource_metrics, resource_logs, resource_spans }) = export;
        for block in &resource_metrics.0 {
            let resource = block.resource.attributes();
            for metric in block.scopes.0.iter().flat_map(|scope| &scope.metrics.0) {
                self.metric(metric, resource);
            }
        }
        for block in &resource_logs.0 {
            let resource = block.resource.attributes();
            for scope in &block.scopes.0 {
                for record in &scope.log_records.0 {
                    self.log_record(record, resource, moment, listener);
                }
            }
        }
        for block in &resource_spans.0 {
            let resource = block.resource.attributes();
            for span in block.scopes.0.iter().flat_map(|scope| &scope.spans.0) {
                self.span(span, resource);
            }
        }
        // All of an export at once: a session's tokens and their cost are different metrics.
        let by_claude = self.claude.settle();
        for (model, figures) in &by_claude {
            self.told_of_claude.of(model).add(*figures);
        }
        let grown = by_claude.into_iter().chain(self.gen_ai.settle());
        for usage in grown.filter_map(|(model, figures)| usage(&model, figures)) {
            listener.hear(Heard::Event(usage.into()));
        }
    }

    /// All that was used in this iteration, if more was told of it, as is now known. It is to take
    /// the place of what was told.
    ///
    /// Metrics count what was read from a cache as input, and may come before the span that knows.
    pub fn corrected(&mut self) -> Option<Vec<Usage>> {
        self.gen_ai.correct().then(|| {
            let used = self.told_of_claude.iter().chain(self.gen_ai.told().iter());
            used.filter_map(|(model, figures)| usage(model, figures)).collect()
        })
    }

    /// What was told until now is of earlier iterations, and stands.
    pub fn iteration_started(&mut self) {
        self.told_of_claude = ByModel::default();
        self.gen_ai.iteration_started();
    }

    /// Whether a request has failed in a way that no further attempt will mend, and none has
    /// succeeded since. Nobody will say more about it, unless the agent gets through after all: a
    /// key that is too old is replaced once, which takes longer than the time between two exports.
    pub fn is_refused(&self) -> bool {
        self.claude.is_refused()
    }

    /// Tells what was refused, if anything was: there is no more time to wait for a success.
    pub fn tell_refused(&mut self, listener: &mut dyn Listener) {
        if let Some(fault) = self.claude.refused() {
            listener.hear(Heard::Fault(fault));
        }
    }

    fn metric(&mut self, metric: &Metric, resource: &Attributes) {
        for (temporality, point) in metric.points() {
            if let Some(added) = self.series.advance(metric, temporality, point, resource) {
                self.claude.metric(&metric.name, added, &point.attributes, resource);
                self.gen_ai.metric(&metric.name, added, &point.attributes, resource);
            }
        }
    }

    fn log_record(
        &mut self,
        record: &LogRecord,
        resource: &Attributes,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        if !record.identity().is_none_or(|identity| self.recent.is_new(identity)) {
            return;
        }
        match record.name() {
            Some("api_request") => self.claude.request(&record.attributes, resource),
            Some("api_error") => self.claude.failed_attempt(&record.attributes, moment),
            Some("api_retries_exhausted") => {
                listener.hear(Heard::Fault(self.claude.gave_up(&record.attributes, moment)));
            }
            Some("tool_result") => {
                if let Some(action) = tool::result(&record.attributes) {
                    listener.hear(Heard::Event(action.into()));
                }
            }
            Some("compaction") => {
                if let Some(action) = claude::compaction(&record.attributes) {
                    listener.hear(Heard::Event(action.into()));
                }
            }
            _ => {}
        }
    }

    fn span(&mut self, span: &Span, resource: &Attributes) {
        if span.identity().is_none_or(|identity| self.recent.is_new(identity)) {
            self.gen_ai.span(&span.attributes, resource);
        }
    }
}

/// The event, if there is anything to tell.
fn usage(model: &str, figures: Figures) -> Option<Usage> {
    let usage = Usage {
        input_tokens: figures.input,
        output_tokens: figures.output,
        cache_read_tokens: figures.cache_read,
        cache_write_tokens: figures.cache_write,
        cost_usd: figures.cost_usd,
        model: (!model.is_empty()).then(|| model.to_owned()),
        basis: Some(UsageBasis::Live),
    };
    (!is_nothing(&usage)).then_some(usage)
}

#[cfg(test)]
mod tests;
