//! Answers decisions over HTTP, with audit: for loops and re-run bots on many machines.

pub mod github;
pub mod in_force;
pub mod problem;
pub mod rerun;
pub mod service;
