//! Policy files as one tree that remembers where everything stood, whatever the syntax.
//!
//! [`parse`] reads TOML, YAML or JSON into a [`Node`]; [`to_toml`] and [`canonical_json`] go back
//! to text, for people and for hashing.

mod canonical;
mod json;
mod nul;
mod position;
mod scalar;
mod source;
mod toml;
mod toml_keys;
mod tree;
mod write;
mod yaml;
mod yaml_span;

#[cfg(test)]
mod tests;

pub use canonical::{canonical_json, sha256_hex};
pub use nul::nul_characters;
pub use position::line_column;
pub use source::{MAX_BYTES, MAX_DEPTH, Syntax, parse};
pub use tree::{Entry, Node, Table, Value, to_value};
pub use write::to_toml;
pub use yaml::MAX_ALIAS_NODES;
