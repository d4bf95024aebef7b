//! The deciding part of backstop: events and a policy go in, a decision with its reason comes out.
//!
//! Nothing here reads a clock, a file, the environment or the network, and nothing here logs or
//! spawns. Time comes in as a value, answers about the world come in as events.

pub mod diagnostic;
pub mod normalise;
pub mod repetition;
