//! What the conventions for generative AI name: spans of requests, and the same in metrics.

use backstop_core::event::{Usage, UsageBasis};

use super::attributes::{Attributes, Key};
use super::batch::{Batch, Part};
use super::ledger::{Figures, Ledger, Ledgers};
use super::scalar::{Scalar, count};
use crate::fields::is_nothing;

/// Programs that export, each with its sources.
#[derive(Debug, Default)]
pub(super) struct GenAi {
    programs: Ledgers<Program>,
    /// As it is exported: what came from or went to the cache is part of the input.
    batch: Batch,
}

/// What one program has exported.
#[derive(Debug, Default)]
struct Program {
    ledger: Ledger<SOURCES>,
    /// The input that was told as neither read from a cache nor written to one.
    fresh: u64,
}

impl Program {
    /// Takes in what a source adds, and answers with what that adds to all, the cache's part taken out
    /// of the input. A source that does not know that part may come before the one that does: what it
    /// has told too much is taken off the input that follows.
    fn add(&mut self, source: usize, figures: Figures) -> Figures {
        let grown = self.ledger.add(source, figures);
        let all = self.ledger.told();
        let cached = all.cache_read.saturating_add(all.cache_write);
        let fresh = all.input.saturating_sub(cached).max(self.fresh);
        let input = fresh - self.fresh;
        self.fresh = fresh;
        Figures { input, ..grown }
    }
}

impl GenAi {
    /// A counter or a histogram has grown.
    pub fn metric(&mut self, name: &str, added: f64, point: &Attributes, resource: &Attributes) {
        if !is_request(point) {
            return;
        }
        let mut figures = Figures::default();
        let (source, figure) = match name.strip_prefix(COUNTERS) {
            Some("input_tokens") => (BY_COUNTER, &mut figures.input),
            Some("output_tokens") => (BY_COUNTER, &mut figures.output),
            Some("cache_read.input_tokens") => (BY_COUNTER, &mut figures.cache_read),
            Some("cache_write.input_tokens") => (BY_COUNTER, &mut figures.cache_write),
            None if name == HISTOGRAM => match point.text(Key::TokenType) {
                Some("input") => (BY_HISTOGRAM, &mut figures.input),
                Some("output" | "completion") => (BY_HISTOGRAM, &mut figures.output),
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
        self.batch.add(program(resource), BY_SPAN, model(span), figures);
    }

    /// What all of an export adds.
    pub fn settle(&mut self) -> Vec<Usage> {
        let parts = self.batch.take().into_iter();
        parts
            .filter_map(|Part { name, source, model, figures }| {
                usage(self.programs.of(&name).add(source, figures), model)
            })
            .collect()
    }
}

/// The event, if there is anything to tell.
pub(super) fn usage(figures: Figures, model: Option<String>) -> Option<Usage> {
    let usage = Usage {
        input_tokens: figures.input,
        output_tokens: figures.output,
        cache_read_tokens: figures.cache_read,
        cache_write_tokens: figures.cache_write,
        cost_usd: figures.cost_usd,
        model,
        basis: Some(UsageBasis::Live),
    };
    (!is_nothing(&usage)).then_some(usage)
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

fn model(attributes: &Attributes) -> Option<&str> {
    let told = [attributes.get(Key::ResponseModel), attributes.get(Key::RequestModel)];
    Scalar::first(told).text()
}

const WRAPPERS: &[&str] =
    &["create_agent", "invoke_agent", "invoke_workflow", "execute_tool", "plan"];

const HISTOGRAM: &str = "gen_ai.client.token.usage";
const COUNTERS: &str = "gen_ai.client.inference.usage.";

const SOURCES: usize = 3;
const BY_SPAN: usize = 0;
const BY_HISTOGRAM: usize = 1;
const BY_COUNTER: usize = 2;
