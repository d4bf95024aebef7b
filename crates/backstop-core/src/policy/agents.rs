//! What a policy says about agents: who reads their output, what they cost, how long they are
//! waited for, and what happens inside them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Table};
use crate::field::{Count, Field, Findings, Period, Place, Record, Text, choices, number, record};

/// Which adapter reads the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AgentName {
    /// Found out from the command and from the first records.
    #[default]
    Auto,
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Aider,
    Cursor,
    Goose,
    Pi,
    /// Any program that prints text.
    Generic,
    /// JSON lines, read as `[jsonl]` says.
    Jsonl,
}

choices! {
    AgentName {
        "auto" => Auto,
        "claude" => Claude,
        "codex" => Codex,
        "gemini" => Gemini,
        "opencode" => OpenCode,
        "aider" => Aider,
        "cursor" => Cursor,
        "goose" => Goose,
        "pi" => Pi,
        "generic" => Generic,
        "jsonl" => Jsonl,
    }
}

record! {
    /// How long the limits of a provider are waited out.
    pub struct WaitSettings {
        /// A longer wait ends the run instead, held; left out: 24h.
        optional max_per_wait: Period,
        /// All waits of the run together; nothing resets it; left out: 7days.
        optional max_total: Period,
    }
}

record! {
    /// Where the figures are in JSON lines of one's own. A path has dots between its steps, and `*`
    /// for all of a list.
    pub struct JsonlSettings {
        /// Path to the tokens that were sent.
        optional input_tokens: Text,
        /// Path to the tokens that came back.
        optional output_tokens: Text,
        /// Path to the tokens that were read from a cache.
        optional cache_read_tokens: Text,
        /// Path to the tokens that were written to a cache.
        optional cache_write_tokens: Text,
        /// Path to the price in US dollars.
        optional cost_usd: Text,
        /// Path to the model's name.
        optional model: Text,
        /// Path to what the agent says.
        optional message: Text,
        /// Path to what failed.
        optional error: Text,
        /// Path to the tokens in the context window.
        optional context_used: Text,
        /// Path to the size of the context window.
        optional context_limit: Text,
        /// Whether figures are running totals; left out: they are increments.
        optional totals: bool,
    }
}

record! {
    /// What backstop does inside an agent.
    pub struct HookSettings {
        /// What the agent is told when backstop itself fails; left out: closed.
        optional on_failure: OnFailure,
        /// How often in a row an agent that wants to stop is sent back; left out: 6.
        optional most_blocks: Count,
    }
}

/// What an agent is told when backstop itself fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It may not go on.
    #[default]
    Closed,
    /// It may go on.
    Open,
}

choices! {
    OnFailure {
        "closed" => Closed,
        "open" => Open,
    }
}

/// What models cost, by name, or by how a name begins where the key ends in `*`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable(pub BTreeMap<String, ModelPrice>);

record! {
    /// US dollars for a million tokens.
    pub struct ModelPrice {
        /// Of what is sent.
        required input: Price,
        /// Of what comes back.
        required output: Price,
        /// Of what is read from a cache; left out: as input.
        optional cache_read: Price,
        /// Of what is written to a cache; left out: as input.
        optional cache_write: Price,
    }
}

/// An amount of money that may be nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price(pub f64);

impl Field for Price {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let amount = number(node, key, findings)?;
        if amount >= 0.0 {
            return Some(Self(amount));
        }
        let error = Diagnostic::error(format!("`{key}` must be 0 or more"), node.span.clone());
        findings.push(error.label("a price is not negative"));
        None
    }

    fn write(&self) -> Json {
        self.0.into()
    }

    fn schema() -> Json {
        json!({ "type": "number", "minimum": 0 })
    }
}

impl Record for PriceTable {
    const SUMMARY: &'static str = "What models cost, for agents that do not tell.";
    const KEYS: &'static [&'static str] = &[];

    fn read_fields(
        table: &Table,
        _place: &Place<'_>,
        _extra: &[&str],
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut prices = Some(BTreeMap::new());
        for entry in &table.entries {
            if entry.key.strip_suffix('*').unwrap_or(&entry.key).contains('*') {
                let message = format!("`{}` has a `*` that is not its last character", entry.key);
                findings.push(Diagnostic::error(message, entry.key_span.clone()));
            }
            match (ModelPrice::read(&entry.node, &entry.key, findings), &mut prices) {
                (Some(price), Some(known)) => {
                    known.insert(entry.key.clone(), price);
                }
                (None, _) => prices = None,
                (Some(_), None) => {}
            }
        }
        prices.map(Self)
    }

    fn over(mut self, base: Self) -> Self {
        for (model, price) in base.0 {
            self.0.entry(model).or_insert(price);
        }
        self
    }

    fn write_fields(&self, into: &mut Map<String, Json>) {
        into.extend(self.0.iter().map(|(model, price)| (model.clone(), price.write())));
    }

    fn schema_fields(_properties: &mut Map<String, Json>, _required: &mut Vec<Json>) {}

    fn schema_object() -> Json {
        json!({ "type": "object", "additionalProperties": ModelPrice::schema() })
    }
}
