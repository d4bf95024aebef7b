//! Sums of the same things from several sources, none of them counted twice.

use std::collections::HashMap;

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost_usd: Option<f64>,
}

impl Figures {
    pub fn add(&mut self, other: Self) {
        *self = self.with(other, u64::saturating_add, |one, two| one + two);
    }

    fn max(self, other: Self) -> Self {
        self.with(other, u64::max, f64::max)
    }

    pub fn minus(self, earlier: Self) -> Self {
        self.with(earlier, u64::saturating_sub, |now, then| (now - then).max(0.0))
    }

    /// Figure by figure. A cost that only one of them knows is taken against nothing.
    fn with(
        self,
        other: Self,
        tokens: impl Fn(u64, u64) -> u64,
        cost: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let knows = self.cost_usd.is_some() || other.cost_usd.is_some();
        Self {
            input: tokens(self.input, other.input),
            output: tokens(self.output, other.output),
            cache_read: tokens(self.cache_read, other.cache_read),
            cache_write: tokens(self.cache_write, other.cache_write),
            cost_usd: knows.then(|| {
                cost(self.cost_usd.unwrap_or_default(), other.cost_usd.unwrap_or_default())
            }),
        }
    }
}

/// The sums of each of `N` sources that tell of the same requests.
///
/// Whatever their order, what counts is the largest sum of each figure: a source that is late or
/// was switched off hides nothing, and one that tells what another has told adds nothing.
#[derive(Debug)]
pub(super) struct Ledger<const N: usize> {
    by_source: [Figures; N],
    told: Figures,
}

impl<const N: usize> Default for Ledger<N> {
    fn default() -> Self {
        Self { by_source: [Figures::default(); N], told: Figures::default() }
    }
}

impl<const N: usize> Ledger<N> {
    /// Takes in what a source adds, and answers with what that adds to all.
    pub fn add(&mut self, source: usize, figures: Figures) -> Figures {
        self.by_source[source].add(figures);
        let largest = self.by_source.iter().fold(self.told, |sum, source| sum.max(*source));
        let grown = largest.minus(self.told);
        self.told = largest;
        grown
    }
}

/// What is kept of each of those who export.
#[derive(Debug)]
pub(super) struct Ledgers<T> {
    by_name: HashMap<String, T>,
}

impl<T> Default for Ledgers<T> {
    fn default() -> Self {
        Self { by_name: HashMap::new() }
    }
}

impl<T: Default> Ledgers<T> {
    /// All beyond the bound share one.
    pub fn of(&mut self, name: &str) -> &mut T {
        let is_known = self.by_name.contains_key(name);
        let name = if is_known || self.by_name.len() < MOST { name } else { "" };
        self.by_name.entry(name.to_owned()).or_default()
    }
}

/// A run has a session for each iteration, and some more; the bound is against invented ones.
const MOST: usize = 1 << 16;
