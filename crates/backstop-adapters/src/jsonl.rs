//! JSON lines of a format of one's own, read by a mapping in the policy.

mod path;

use backstop_core::event::{Context, Usage};
use serde::Deserialize;
use serde_json::Value;

pub use path::{JsonPath, JsonPathError};

use crate::fields::{self, amount, is_nothing, text, whole, words};
use crate::launch::{Launch, fault_of};
use crate::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record};

/// Where the figures are in the records of an agent that backstop does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct JsonlMapping(Fields);

/// The mapping as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Fields {
    input_tokens: Option<JsonPath>,
    output_tokens: Option<JsonPath>,
    cache_read_tokens: Option<JsonPath>,
    cache_write_tokens: Option<JsonPath>,
    cost_usd: Option<JsonPath>,
    model: Option<JsonPath>,
    /// What the agent says.
    message: Option<JsonPath>,
    /// What failed: text, or an object with a `message`.
    error: Option<JsonPath>,
    context_used: Option<JsonPath>,
    context_limit: Option<JsonPath>,
    /// Figures are running totals, not increments.
    totals: bool,
}

/// Why a mapping is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonlMappingError {
    #[error(
        "nothing is mapped: name at least one of `input_tokens`, `output_tokens`, `cost_usd`, `message`, `error`, `context_used`"
    )]
    Empty,
    #[error("`{present}` needs `{missing}` beside it")]
    Half { present: &'static str, missing: &'static str },
}

impl TryFrom<Fields> for JsonlMapping {
    type Error = JsonlMappingError;

    fn try_from(fields: Fields) -> Result<Self, JsonlMappingError> {
        let halves = |present, missing| Err(JsonlMappingError::Half { present, missing });
        match (&fields.context_used, &fields.context_limit) {
            (Some(_), None) => return halves("context_used", "context_limit"),
            (None, Some(_)) => return halves("context_limit", "context_used"),
            _ => {}
        }
        let mapped = [
            &fields.input_tokens,
            &fields.output_tokens,
            &fields.cache_read_tokens,
            &fields.cache_write_tokens,
            &fields.cost_usd,
            &fields.message,
            &fields.error,
            &fields.context_used,
        ];
        if mapped.iter().all(|path| path.is_none()) {
            return Err(JsonlMappingError::Empty);
        }
        Ok(Self(fields))
    }
}

impl JsonlMapping {
    /// Whether it says where the agent's own words are.
    pub fn tells_words(&self) -> bool {
        self.0.message.is_some()
    }
}

/// Reads JSON lines by a mapping.
#[derive(Debug, Default)]
pub struct Jsonl {
    mapping: JsonlMapping,
    launch: Launch,
    /// The totals so far, where figures are totals.
    last: Figures,
}

/// Tokens of each kind and money. What a record does not tell is unknown.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cost: Option<f64>,
}

impl Jsonl {
    pub fn new(mapping: JsonlMapping) -> Self {
        Self { mapping, ..Self::default() }
    }

    fn usage(&mut self, value: &Value, listener: &mut dyn Listener) {
        let mut figures = self.mapping.0.figures(value);
        if self.mapping.0.totals {
            figures = self.last.advance(figures);
        }
        let usage = Usage {
            input_tokens: figures.input.unwrap_or(0),
            output_tokens: figures.output.unwrap_or(0),
            cache_read_tokens: figures.cache_read.unwrap_or(0),
            cache_write_tokens: figures.cache_write.unwrap_or(0),
            cost_usd: figures.cost,
            model: self.launch.model.clone(),
            basis: None,
        };
        if !is_nothing(&usage) {
            listener.hear(Heard::Event(usage.into()));
        }
    }
}

impl Adapter for Jsonl {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let Record::Json(bytes) = record else { return };
        let Some(value) = fields::record(bytes) else { return };
        self.launch.touch(listener);
        if let Some(model) =
            all(self.mapping.0.model.as_ref(), &value).filter_map(Value::as_str).next()
        {
            self.launch.model = Some(model.to_owned());
        }
        self.usage(&value, listener);
        let fields = &self.mapping.0;
        if let (Some(used), Some(limit)) =
            (sum(fields.context_used.as_ref(), &value), sum(fields.context_limit.as_ref(), &value))
            && limit > 0
        {
            listener.hear(Heard::Event(Context::of(used, limit).into()));
        }
        // What a record says in several places is one message, since it came at once.
        let said = all(fields.message.as_ref(), &value).map(words);
        let said: Vec<_> = said.filter(|words| !words.trim().is_empty()).collect();
        if !said.is_empty() {
            self.launch.goes_on();
            self.launch.said(&said.join("\n"), listener);
        }
        for error in all(fields.error.as_ref(), &value) {
            // An agent may well say `"error": null` or `"error": false` in every record.
            if !matches!(error, Value::String(_) | Value::Object(_)) {
                continue;
            }
            let message = text(error, "message").map_or_else(|| words(error), Into::into);
            if !message.trim().is_empty() {
                self.launch.failed(fault_of(&message, moment), listener);
            }
        }
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        _moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        if !self.launch.has_failed() {
            self.launch.result(None, listener);
        }
        // The mapping names no terminal record that could be missing.
        self.launch.finish(exit, Outcome::Succeeded, listener)
    }
}

impl Fields {
    fn figures(&self, value: &Value) -> Figures {
        let money = self.cost_usd.as_ref().and_then(|path| {
            let amounts: Vec<f64> = path.find(value).into_iter().filter_map(amount).collect();
            (!amounts.is_empty()).then(|| amounts.iter().sum())
        });
        Figures {
            input: sum(self.input_tokens.as_ref(), value),
            output: sum(self.output_tokens.as_ref(), value),
            cache_read: sum(self.cache_read_tokens.as_ref(), value),
            cache_write: sum(self.cache_write_tokens.as_ref(), value),
            cost: money.filter(|cost: &f64| cost.is_finite()),
        }
    }
}

impl Figures {
    /// What was added since the last totals. One that shrank has begun again.
    fn advance(&mut self, now: Self) -> Self {
        fn added(last: &mut Option<u64>, now: Option<u64>) -> Option<u64> {
            let now = now?;
            let before = last.replace(now).unwrap_or(0);
            Some(now.checked_sub(before).unwrap_or(now))
        }
        let cost = now.cost.map(|cost| {
            let before = self.cost.replace(cost).unwrap_or(0.0);
            if cost >= before { cost - before } else { cost }
        });
        Self {
            input: added(&mut self.input, now.input),
            output: added(&mut self.output, now.output),
            cache_read: added(&mut self.cache_read, now.cache_read),
            cache_write: added(&mut self.cache_write, now.cache_write),
            cost,
        }
    }
}

/// All counts that a path leads to, together.
fn sum(path: Option<&JsonPath>, value: &Value) -> Option<u64> {
    let counts = path?.find(value).into_iter().filter_map(whole);
    counts.fold(None, |sum: Option<u64>, count| Some(sum.unwrap_or(0).saturating_add(count)))
}

/// Everything that a path leads to.
fn all<'v>(path: Option<&JsonPath>, value: &'v Value) -> impl Iterator<Item = &'v Value> + use<'v> {
    path.map(|path| path.find(value)).into_iter().flatten()
}

#[cfg(test)]
mod tests;
