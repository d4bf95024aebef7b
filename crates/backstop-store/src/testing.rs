//! Test tools: a suite that every engine passes, a store that fails on demand, and samples.

pub mod conformance;
mod failing;
pub mod sample;

pub use failing::{FailingStore, Failure, FailureKind};
