//! What models cost, for agents that do not tell.

use std::collections::BTreeMap;

use backstop_core::event::Usage;
use backstop_core::policy::{ModelPrice, PriceTable};
use serde::Deserialize;

/// Prices by model. There are none but those that the user writes: built-in ones would be out of
/// date before anybody noticed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "BTreeMap<String, Price>")]
pub struct Prices {
    /// By name, or by how a name begins where the key ends in `*`.
    models: BTreeMap<String, Price>,
}

/// US dollars for a million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Left out: as dear as input, so that a budget is never overrun for want of a figure.
    pub cache_read: Option<f64>,
    /// Left out: as dear as input.
    pub cache_write: Option<f64>,
}

/// Why a table of prices is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PricesError {
    #[error(
        "the price of `{model}`: `{kind}` must be a number that is not negative, and is {value}"
    )]
    NotAPrice { model: String, kind: &'static str, value: f64 },
    #[error("the model `{model}` has a `*` that is not its last character")]
    Star { model: String },
    #[error("a price without a model's name")]
    NoName,
}

impl TryFrom<BTreeMap<String, Price>> for Prices {
    type Error = PricesError;

    fn try_from(models: BTreeMap<String, Price>) -> Result<Self, PricesError> {
        for (model, price) in &models {
            if model.is_empty() {
                return Err(PricesError::NoName);
            }
            if model.strip_suffix('*').unwrap_or(model).contains('*') {
                return Err(PricesError::Star { model: model.clone() });
            }
            for (kind, value) in price.kinds() {
                if !value.is_finite() || value < 0.0 {
                    return Err(PricesError::NotAPrice { model: model.clone(), kind, value });
                }
            }
        }
        Ok(Self { models })
    }
}

/// A policy's table was checked when it was loaded.
impl From<&PriceTable> for Prices {
    fn from(table: &PriceTable) -> Self {
        let price = |model: &ModelPrice| Price {
            input: model.input.0,
            output: model.output.0,
            cache_read: model.cache_read.map(|price| price.0),
            cache_write: model.cache_write.map(|price| price.0),
        };
        let models = table.0.iter().map(|(name, model)| (name.clone(), price(model)));
        Self { models: models.collect() }
    }
}

impl Prices {
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// What was used costs so much, if there is a price for it. A price for `*` is one for any model
    /// and for those without a name.
    pub fn cost(&self, model: Option<&str>, usage: &Usage) -> Option<f64> {
        let price = self.price(model.unwrap_or_default())?;
        let per_kind = [
            (usage.input_tokens, price.input),
            (usage.output_tokens, price.output),
            (usage.cache_read_tokens, price.cache_read.unwrap_or(price.input)),
            (usage.cache_write_tokens, price.cache_write.unwrap_or(price.input)),
        ];
        #[expect(clippy::cast_precision_loss, reason = "no count of tokens needs 53 bits")]
        let cost = per_kind.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>();
        Some(cost / 1_000_000.0).filter(|cost| cost.is_finite())
    }

    /// The model's own price, or that of the longest beginning of its name.
    fn price(&self, model: &str) -> Option<&Price> {
        let exact = Some(model).filter(|model| !model.is_empty() && !model.ends_with('*'));
        exact.and_then(|model| self.models.get(model)).or_else(|| {
            self.models
                .iter()
                .filter_map(|(name, price)| Some((name.strip_suffix('*')?, price)))
                .filter(|(beginning, _)| model.starts_with(beginning))
                .max_by_key(|(beginning, _)| beginning.len())
                .map(|(_, price)| price)
        })
    }
}

impl Price {
    fn kinds(&self) -> impl Iterator<Item = (&'static str, f64)> {
        [
            ("input", Some(self.input)),
            ("output", Some(self.output)),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ]
        .into_iter()
        .filter_map(|(kind, value)| Some((kind, value?)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn prices() -> Prices {
        serde_json::from_value(json!({
            "gpt-5": {"input": 1.25, "output": 10, "cache_read": 0.125},
            "gpt-5*": {"input": 2, "output": 20},
            "gpt-5.6-*": {"input": 3, "output": 30},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::its_own_price(Some("gpt-5"), Some(1.25))]
    #[case::the_longest_beginning(Some("gpt-5.6-luna"), Some(3.0))]
    #[case::a_shorter_beginning(Some("gpt-5-codex"), Some(2.0))]
    #[case::none(Some("o4-mini"), None)]
    #[case::no_name(None, None)]
    #[case::a_pattern_is_no_name(Some("gpt-5*"), Some(2.0))]
    fn the_nearest_price_counts(#[case] model: Option<&str>, #[case] expected: Option<f64>) {
        let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(prices().cost(model, &usage), expected);
    }

    #[test]
    fn each_kind_has_its_price() {
        let usage = Usage {
            input_tokens: 9_158,
            output_tokens: 1_111,
            cache_read_tokens: 115_840,
            cache_write_tokens: 1_000,
            ..Usage::default()
        };
        // 9158 × 1.25 + 1111 × 10 + 115840 × 0.125 + 1000 × 1.25 = 38287.5
        let cost = prices().cost(Some("gpt-5"), &usage).unwrap();
        assert!((cost - 0.038_287_5).abs() < 1e-12, "{cost}");
    }

    #[test]
    fn a_price_for_all_is_one_for_no_name_too() {
        let prices: Prices =
            serde_json::from_value(json!({"*": {"input": 1, "output": 1}})).unwrap();
        let usage = Usage { output_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(prices.cost(None, &usage), Some(1.0));
    }

    #[rstest]
    #[case(json!({"m": {"input": -1, "output": 1}}), "`input` must be a number that is not negative, and is -1")]
    #[case(json!({"a*b": {"input": 1, "output": 1}}), "`a*b` has a `*` that is not its last character")]
    #[case(json!({"": {"input": 1, "output": 1}}), "a price without a model's name")]
    #[case(json!({"m": {"input": 1, "output": 1, "cached": 1}}), "unknown field `cached`")]
    #[case(json!({"m": {"input": 1}}), "missing field `output`")]
    fn what_is_no_price_is_refused(#[case] table: serde_json::Value, #[case] expected: &str) {
        let error = serde_json::from_value::<Prices>(table).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn prices_that_are_no_numbers_are_refused() {
        for value in [f64::NAN, f64::INFINITY] {
            let price = Price { input: 1.0, output: value, cache_read: None, cache_write: None };
            assert!(Prices::try_from(BTreeMap::from([("m".to_owned(), price)])).is_err());
        }
    }
}
