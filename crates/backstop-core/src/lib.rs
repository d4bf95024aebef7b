//! The deciding part of backstop: events and a policy go in, a decision with its reason comes out.
//!
//! Nothing here reads a clock, a file, the environment or the network, and nothing here logs or
//! spawns. Time comes in as a value, answers about the world come in as events.

pub mod condition;
pub mod decision;
pub mod diagnostic;
pub mod document;
pub mod drift;
pub mod engine;
pub mod event;
pub mod expression;
pub mod facts;
pub mod failure_class;
mod field;
pub mod glob;
pub mod id;
pub mod normalise;
pub mod policy;
pub mod reason;
pub mod redact;
#[cfg(feature = "testing")]
pub mod reference;
pub mod repetition;
pub mod rerun;
pub mod review;
pub mod state;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;
pub mod verdict;
