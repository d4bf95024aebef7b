//! Text from outside, made harmless before it reaches a terminal.

pub use backstop_report::text::{harmless, visible};
