//! What the run has used: tokens, money, context, and the provider's usage windows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::errors::shortened;
use crate::event::{Context, Quota, Usage};
use crate::time::{Moment, Timestamp};

/// Tokens and money spent so far, and whether anybody reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    /// In billionths of a dollar, so that ten times ten cents are a dollar.
    cost: u64,
    pub(crate) cost_known: bool,
    /// An iteration has ended and nobody had reported any tokens.
    pub(crate) tokens_silent: bool,
    /// An iteration has ended and nobody had reported what it cost.
    pub(crate) cost_silent: bool,
    usage_in_iteration: bool,
    cost_in_iteration: bool,
}

impl Spent {
    pub(crate) fn apply(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input_tokens);
        self.output = self.output.saturating_add(usage.output_tokens);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read_tokens);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write_tokens);
        self.usage_in_iteration = true;
        self.tokens_silent = false;
        if let Some(cost) = usage.cost_usd {
            self.cost = self.cost.saturating_add(nano_dollars(cost));
            self.cost_known = true;
            self.cost_in_iteration = true;
            self.cost_silent = false;
        }
    }

    /// `excused`: the iteration could not work at all, so there was nothing to report.
    pub(crate) fn iteration_finished(&mut self, excused: bool) {
        if !excused {
            self.tokens_silent = !self.usage_in_iteration;
            self.cost_silent = !self.cost_in_iteration;
        }
        self.usage_in_iteration = false;
        self.cost_in_iteration = false;
    }

    #[expect(clippy::cast_precision_loss, reason = "sums below nine million dollars are exact")]
    pub(crate) fn cost_usd(&self) -> f64 {
        self.cost as f64 / 1e9
    }

    pub(crate) fn set_cost(&mut self, amount: f64) {
        self.cost = nano_dollars(amount);
    }

    /// Cache reads are cheap and many, so they count only where a condition says so.
    pub(crate) fn tokens(&self, cache_reads: bool) -> u64 {
        let counted = self.input.saturating_add(self.output).saturating_add(self.cache_write);
        counted.saturating_add(if cache_reads { self.cache_read } else { 0 })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast holds what is too large at the largest; amounts are not negative"
)]
fn nano_dollars(amount: f64) -> u64 {
    (amount * 1e9).round() as u64
}

/// The share of the context window that is in use; none where its size is unknown.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
pub(crate) fn context_share(context: &Context) -> Option<f64> {
    (context.limit > 0).then(|| context.used as f64 / context.limit as f64)
}

/// The provider's usage windows, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quotas {
    windows: BTreeMap<String, Window>,
    updates: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Window {
    used: f64,
    resets_at: Option<Timestamp>,
    /// Which update this was, so that the oldest is known.
    updated: u64,
}

impl Quotas {
    pub(crate) fn apply(&mut self, quota: &Quota) {
        self.updates = self.updates.saturating_add(1);
        let name = shortened(&quota.window);
        if self.windows.len() >= MOST_WINDOWS && !self.windows.contains_key(name) {
            // Invented windows must not keep out one that a limit waits for.
            let oldest = self.windows.iter().min_by_key(|(_, window)| window.updated);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.windows.remove(&oldest);
            }
        }
        let window = Window { used: quota.used, resets_at: quota.resets_at, updated: self.updates };
        self.windows.insert(name.to_owned(), window);
    }

    /// How full a window is now: a reading is worth nothing once the window has been reset.
    pub(crate) fn used(&self, window: &str, now: Moment) -> f64 {
        self.windows.get(window).map_or(0.0, |window| window.used_at(now))
    }

    pub(crate) fn resets_at(&self, window: &str) -> Option<Timestamp> {
        self.windows.get(window)?.resets_at
    }

    pub(crate) fn iter(&self, now: Moment) -> impl Iterator<Item = (&str, f64)> {
        self.windows.iter().map(move |(name, window)| (name.as_str(), window.used_at(now)))
    }
}

impl Window {
    fn used_at(&self, now: Moment) -> f64 {
        if self.resets_at.is_some_and(|reset| reset <= now.at) { 0.0 } else { self.used }
    }
}

/// A provider has a handful; the bound is against a reporter that invents them.
const MOST_WINDOWS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_reads_count_only_when_asked_for() {
        let mut spent = Spent::default();
        spent.apply(&Usage {
            input_tokens: 1,
            output_tokens: 10,
            cache_read_tokens: 100,
            cache_write_tokens: 1000,
            ..Usage::default()
        });
        assert_eq!((spent.tokens(false), spent.tokens(true)), (1011, 1111));
        spent.apply(&Usage { input_tokens: u64::MAX, ..Usage::default() });
        assert_eq!(spent.tokens(true), u64::MAX);
    }

    #[test]
    fn ten_times_ten_cents_are_a_dollar() {
        let mut spent = Spent::default();
        for _ in 0..10 {
            spent.apply(&Usage { cost_usd: Some(0.1), ..Usage::default() });
        }
        assert_eq!(spent.cost_usd(), 1.0);
        spent.apply(&Usage { cost_usd: Some(f64::MAX), ..Usage::default() });
        assert!(spent.cost_usd().is_finite());
    }

    #[test]
    fn a_meter_is_silent_after_an_iteration_without_a_word() {
        let mut spent = Spent::default();
        assert!(!spent.tokens_silent && !spent.cost_silent);
        spent.apply(&Usage { input_tokens: 1, ..Usage::default() });
        spent.iteration_finished(false);
        assert!(!spent.tokens_silent && spent.cost_silent && !spent.cost_known);
        spent.iteration_finished(true);
        assert!(!spent.tokens_silent);
        spent.iteration_finished(false);
        assert!(spent.tokens_silent);
    }

    #[test]
    fn a_window_that_was_reset_is_empty() {
        let reset = Timestamp::from_nanos(100);
        let mut quotas = Quotas::default();
        quotas.apply(&Quota { window: "5h".into(), used: 0.9, resets_at: Some(reset) });
        let now =
            |nanoseconds| Moment { at: Timestamp::from_nanos(nanoseconds), ..Moment::default() };
        assert_eq!(quotas.used("5h", now(99)), 0.9);
        assert_eq!(quotas.used("5h", now(100)), 0.0);
        assert_eq!(quotas.used("weekly", now(0)), 0.0);
    }
}
