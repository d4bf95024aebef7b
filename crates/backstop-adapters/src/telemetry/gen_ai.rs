//! What the conventions for generative AI name: spans of requests, and the same in metrics.

use std::collections::BTreeSet;

use super::attributes::{Attributes, Key};
use super::batch::Batch;
use super::by_model::ByModel;
use super::ledger::{Figures, Ledgers};
use super::program::{Program, Source};
use super::scalar::{Scalar, count};
use super::told::Told;

/// Programs that export, each with its sources.
#[derive(Debug, Default)]
pub(super) struct GenAi {
    programs: Ledgers<Program>,
    /// As it is exported: what came from or went to the cache is part of the input.
    batch: Batch<Source>,
    /// What all programs have used.
    used: ByModel<Figures>,
    told: Told,
}

impl GenAi {
    /// A counter or a histogram has grown.
    pub fn metric(&mut self, name: &str, added: f64, point: &Attributes, resource: &Attributes) {
        if !is_request(point) {
            return;
        }
        let mut figures = Figures::default();
        let (source, figure) = match name.strip_prefix(COUNTERS) {
            Some("input_tokens") => (Source::Counter, &mut figures.input),
            Some("output_tokens") => (Source::Counter, &mut figures.output),
            Some("cache_read.input_tokens") => (Source::Counter, &mut figures.cache_read),
            Some("cache_write.input_tokens") => (Source::Counter, &mut figures.cache_write),
            None if name == HISTOGRAM => match point.text(Key::TokenType) {
                Some("input") => (Source::Histogram, &mut figures.input),
                Some("output" | "completion") => (Source::Histogram, &mut figures.output),
                _ => return,
            },
            _ => return,
        };
        *figure = count(added);
        self.batch.add_figure(program(resource), source, model(point), figures);
    }

    /// A request was answered.
    pub fn span(&mut self, span: &Attributes, resource: &Attributes) {
        let first = |keys: &[Key]| {
            Scalar::first(keys.iter().map(|key| span.get(*key))).amount().map_or(0, count)
        };
        let figures = Figures {
            input: first(&[Key::UsageInput, Key::UsageInputBefore]),
            output: first(&[Key::UsageOutput, Key::UsageOutputBefore]),
            cache_read: first(&[Key::UsageCacheRead]),
            cache_write: first(&[Key::UsageCacheWrite, Key::UsageCacheWriteLater]),
            cost_usd: None,
        };
        self.batch.add(program(resource), Source::Span, model(span), figures);
    }

    /// What all of an export adds, by model.
    pub fn settle(&mut self) -> Vec<(String, Figures)> {
        let mut grown = BTreeSet::new();
        for part in self.batch.take() {
            self.programs.of(&part.name).add(part.source, &part.model, part.figures);
            grown.insert(part.name);
        }
        for name in grown {
            self.programs.of(&name).settle(&mut self.used);
        }
        self.told.catch_up(&self.used)
    }

    /// Whether more was told of this iteration than was used in it, as is now known.
    pub fn correct(&mut self) -> bool {
        self.told.correct(&self.used)
    }

    /// What was told of this iteration, by model.
    pub fn told(&self) -> &ByModel<Figures> {
        self.told.now()
    }

    /// What was told of the iterations before stands.
    pub fn iteration_started(&mut self) {
        self.told.iteration_started();
    }
}

/// Whether a span tells what one request used.
pub(super) fn is_counted(span: &Attributes) -> bool {
    let usage = [Key::UsageInput, Key::UsageOutput, Key::UsageInputBefore, Key::UsageOutputBefore];
    is_request(span) && usage.into_iter().any(|key| span.amount(key).is_some())
}

pub(super) fn is_metric(name: &str) -> bool {
    name == HISTOGRAM || name.starts_with(COUNTERS)
}

/// Spans around several requests give the sum of what the requests within give too.
fn is_request(attributes: &Attributes) -> bool {
    !attributes.text(Key::Operation).is_some_and(|operation| WRAPPERS.contains(&operation))
}

/// Metrics carry no conversation, so a program is what its spans and metrics have in common.
fn program(resource: &Attributes) -> &str {
    let told = [resource.get(Key::ServiceInstance), resource.get(Key::ServiceName)];
    Scalar::first(told).text().unwrap_or_default()
}

/// Empty where none is told.
fn model(attributes: &Attributes) -> &str {
    let told = [attributes.get(Key::ResponseModel), attributes.get(Key::RequestModel)];
    Scalar::first(told).text().unwrap_or_default()
}

const WRAPPERS: &[&str] =
    &["create_agent", "invoke_agent", "invoke_workflow", "execute_tool", "plan"];

const HISTOGRAM: &str = "gen_ai.client.token.usage";
const COUNTERS: &str = "gen_ai.client.inference.usage.";
