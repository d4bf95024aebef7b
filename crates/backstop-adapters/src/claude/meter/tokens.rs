//! Tokens of each kind.

use backstop_core::event::{Usage, UsageBasis};

use crate::claude::wire::{Counts, ModelCounts};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Everything but the output: what was in the context window.
    pub fn taken_in(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// What these cost beside so many tokens of input. Prices differ from model to model, these ratios
    /// hardly do.
    pub fn relative_price(self) -> f64 {
        let [input, output, cache_read, cache_write] =
            [self.input, self.output, self.cache_read, self.cache_write].map(|count| count as f64);
        input + 5.0 * output + 0.1 * cache_read + 1.25 * cache_write
    }

    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    pub fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    pub fn covers(self, other: Self) -> bool {
        other.minus(self).is_nothing()
    }

    pub fn usage(self, cost_usd: Option<f64>, model: Option<&str>, basis: UsageBasis) -> Usage {
        Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            cost_usd,
            model: model.filter(|model| !model.is_empty()).map(str::to_owned),
            basis: Some(basis),
        }
    }

    fn with(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            input: combine(self.input, other.input),
            output: combine(self.output, other.output),
            cache_read: combine(self.cache_read, other.cache_read),
            cache_write: combine(self.cache_write, other.cache_write),
        }
    }
}

impl From<Counts> for Tokens {
    fn from(counts: Counts) -> Self {
        Self {
            input: counts.input_tokens.count(),
            output: counts.output_tokens.count(),
            cache_read: counts.cache_read_input_tokens.count(),
            cache_write: counts.cache_creation_input_tokens.count(),
        }
    }
}

impl From<ModelCounts> for Tokens {
    fn from(counts: ModelCounts) -> Self {
        Self {
            input: counts.input.count(),
            output: counts.output.count(),
            cache_read: counts.cache_read.count(),
            cache_write: counts.cache_write.count(),
        }
    }
}
