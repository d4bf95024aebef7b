//! One program that exports, and what of all that its sources tell counts.

use super::by_model::ByModel;
use super::ledger::Figures;

/// What one program has exported.
///
/// Its sources tell of the same requests, so of each figure the source counts that has told most of
/// it. It also says of which models: not all sources know their names as well.
#[derive(Debug, Default)]
pub(super) struct Program {
    sources: [ByModel<Told>; SOURCES],
    /// What of it is in the sum of all programs.
    used: ByModel<Figures>,
}

/// What one source has told of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Told {
    figures: Figures,
    /// So much of its input was read from a cache or written to one.
    cached: u64,
}

impl Program {
    /// Takes in what a source adds: one request, or what counters have grown by.
    pub fn add(&mut self, source: Source, model: &str, figures: Figures) {
        let told = self.sources[source as usize].of(model);
        told.figures.add(figures);
        let cached = figures.cache_read.saturating_add(figures.cache_write);
        // Where more was cached than the input is, the cached part is not in it.
        if cached <= figures.input {
            told.cached = told.cached.saturating_add(cached);
        }
    }

    /// Brings the sum of all programs up to date.
    pub fn settle(&mut self, all: &mut ByModel<Figures>) {
        let used = self.counted();
        let before = std::mem::replace(&mut self.used, used);
        for (model, figures) in before.iter() {
            let sum = all.of(model);
            *sum = sum.minus(figures);
        }
        for (model, figures) in self.used.iter() {
            all.of(model).add(figures);
        }
    }

    /// What counts of all that was told. The input is that which neither came from a cache nor went
    /// to one.
    fn counted(&self) -> ByModel<Figures> {
        let mut counted = ByModel::<Figures>::default();
        for (model, input) in self.leading(|told| told.figures.input) {
            counted.of(model).input = input;
        }
        for (model, cached) in self.leading(|told| told.cached) {
            let figures = counted.of(model);
            figures.input = figures.input.saturating_sub(cached);
        }
        for (model, output) in self.leading(|told| told.figures.output) {
            counted.of(model).output = output;
        }
        for (model, read) in self.leading(|told| told.figures.cache_read) {
            counted.of(model).cache_read = read;
        }
        for (model, write) in self.leading(|told| told.figures.cache_write) {
            counted.of(model).cache_write = write;
        }
        counted
    }

    /// A figure of each model, from the source whose sum of it is the largest; of equal ones the
    /// first.
    fn leading(&self, figure: impl Fn(Told) -> u64) -> Vec<(&str, u64)> {
        let sum = |source: &ByModel<Told>| {
            source.iter().map(|(_, told)| figure(told)).fold(0, u64::saturating_add)
        };
        let leading = self.sources.iter().rev().max_by_key(|source| sum(source));
        let told = leading.into_iter().flat_map(ByModel::iter);
        told.map(|(model, told)| (model, figure(told))).collect()
    }
}

/// Where figures come from; those that know more of a request are first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Span,
    Counter,
    Histogram,
}

const SOURCES: usize = 3;
