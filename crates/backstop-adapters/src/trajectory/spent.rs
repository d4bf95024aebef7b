//! What a run has used, as trajectories count it.

use backstop_core::event::{Usage, UsageBasis};
use serde_json::Value;

use crate::fields::whole;
use crate::lenient::AMOUNTS;

/// Tokens and money, of one answer or of all so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost_usd: f64,
}

impl Spent {
    /// Tokens as most providers count them: what was read from the cache, or written to it, is part
    /// of the prompt.
    pub fn tokens(usage: &Value) -> Self {
        let count = |path: &str| usage.pointer(path).and_then(whole);
        let first = |paths: [&str; 2]| paths.into_iter().find_map(count).unwrap_or(0);
        let cache_read = first(["/cache_read_tokens", "/prompt_tokens_details/cached_tokens"]);
        let cache_write = first(["/cache_write_tokens", "/cache_creation_input_tokens"]);
        let prompt = first(["/prompt_tokens", "/input_tokens"]);
        Self {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: first(["/completion_tokens", "/output_tokens"]),
            cache_read,
            cache_write,
            cost_usd: 0.0,
        }
    }

    /// The running totals that OpenHands keeps.
    pub fn accumulated(metrics: &Value) -> Self {
        let tokens = metrics.get("accumulated_token_usage").unwrap_or(&Value::Null);
        Self::tokens(tokens).at(metrics.get("accumulated_cost").and_then(Value::as_f64))
    }

    /// The same, at this price.
    #[must_use]
    pub fn at(self, cost_usd: Option<f64>) -> Self {
        Self { cost_usd: cost_usd.filter(|cost| AMOUNTS.contains(cost)).unwrap_or(0.0), ..self }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cost_usd: self.cost_usd + other.cost_usd,
        }
    }

    /// What came on top of an earlier total.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
            cost_usd: (self.cost_usd - earlier.cost_usd).max(0.0),
        }
    }

    /// This total, or where it has no tokens or no price, what was counted on the way.
    #[must_use]
    pub fn or(self, counted: Self) -> Self {
        let cost_usd = if self.cost_usd > 0.0 { self.cost_usd } else { counted.cost_usd };
        let has_tokens = Self { cost_usd: 0.0, ..self } != Self::default();
        let tokens = if has_tokens { self } else { counted };
        Self { cost_usd, ..tokens }
    }

    /// The event, unless there is nothing to tell. A price of nothing is none: agents write it for
    /// models whose price they do not know.
    pub fn usage(self, basis: UsageBasis) -> Option<Usage> {
        (self != Self::default()).then(|| Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            cost_usd: Some(self.cost_usd).filter(|cost| *cost > 0.0 && cost.is_finite()),
            model: None,
            basis: Some(basis),
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"prompt_tokens": 3127, "completion_tokens": 29,
                  "prompt_tokens_details": {"cached_tokens": 2176}}), [951, 29, 2176, 0])]
    #[case(json!({"prompt_tokens": 100, "completion_tokens": 1, "cache_read_tokens": 60,
                  "cache_write_tokens": 30}), [10, 1, 60, 30])]
    #[case(json!({"input_tokens": 7, "output_tokens": 2}), [7, 2, 0, 0])]
    #[case(json!({"prompt_tokens": 5, "cache_read_tokens": 9}), [0, 0, 9, 0])]
    #[case(json!({"prompt_tokens": -5, "completion_tokens": "9"}), [0, 0, 0, 0])]
    #[case(json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e300}), [0, 0, 0, 0])]
    #[case(json!(null), [0, 0, 0, 0])]
    fn counts(#[case] usage: Value, #[case] expected: [u64; 4]) {
        let spent = Spent::tokens(&usage);
        assert_eq!([spent.input, spent.output, spent.cache_read, spent.cache_write], expected);
    }

    #[test]
    fn no_price_is_not_a_price_of_nothing() {
        let spent = Spent { input: 5, ..Spent::default() };
        assert_eq!(spent.usage(UsageBasis::Final).unwrap().cost_usd, None);
        assert_eq!(Spent::default().usage(UsageBasis::Final), None);
    }

    #[rstest]
    #[case(-1.0)]
    #[case(1e300)]
    #[case(f64::NAN)]
    fn an_absurd_price_is_none(#[case] cost: f64) {
        let spent = Spent { input: 5, ..Spent::default() }.at(Some(cost));
        assert_eq!(spent.usage(UsageBasis::Final).unwrap().cost_usd, None);
    }

    #[test]
    fn totals_fall_back_on_what_was_counted() {
        let counted = Spent { input: 5, cost_usd: 0.5, ..Spent::default() };
        let only_money = Spent::default().at(Some(0.75));
        assert_eq!(only_money.or(counted), Spent { input: 5, cost_usd: 0.75, ..Spent::default() });
        let only_tokens = Spent { input: 9, ..Spent::default() };
        assert_eq!(only_tokens.or(counted), Spent { input: 9, cost_usd: 0.5, ..Spent::default() });
    }
}
