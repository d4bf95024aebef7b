//! Reads what agents and test runners print, and tells it as events of the core.
//!
//! Bytes go in, as they come; what was [heard](Heard) comes out. Nothing here reads a clock, a file,
//! the environment or the network: the time and the zone are handed in, and whoever calls decides
//! what becomes of an event.

mod adapter;
mod agent;
mod aider;
mod calls;
mod claude;
mod closed;
mod codex;
mod cursor;
mod excerpt;
mod fault;
mod fence;
mod fields;
mod framing;
#[cfg(feature = "testing")]
pub mod fuzz;
mod gemini;
mod generic;
mod goose;
mod history;
pub mod hook;
mod jsonl;
mod launch;
mod lenient;
mod listening;
mod opencode;
mod patterns;
mod pi;
mod plain;
mod prices;
mod repair;
pub mod report;
pub mod review;
mod shallow;
mod sparse;
mod tail;
mod telemetry;
#[cfg(test)]
mod testing;
mod totals;
pub mod trajectory;
mod usable;

pub use adapter::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record, Shown, Voice};
pub use agent::{Agent, Auto, PrintedCommand, UnknownAgent};
pub use aider::Aider;
pub use claude::Claude;
pub use closed::closed;
pub use codex::Codex;
pub use cursor::Cursor;
pub use excerpt::excerpt;
pub use fault::{Fault, FaultKind, from_category, from_status, recognise, reset_time};
pub use framing::{Framer, without_escapes};
pub use gemini::Gemini;
pub use generic::Generic;
pub use goose::Goose;
pub use history::{Change, TestHistory};
pub use jsonl::{JsonPath, JsonPathError, Jsonl, JsonlMapping, JsonlMappingError};
pub use listening::Translator;
pub use opencode::OpenCode;
pub use patterns::Patterns;
pub use pi::Pi;
pub use prices::{Price, Prices, PricesError};
pub use telemetry::{Export, NoExport, Telemetry};
pub use totals::Totals;
pub use usable::{Unusable, usable};
