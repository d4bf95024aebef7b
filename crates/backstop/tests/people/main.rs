//! People and runs: questions, holds, recoveries, attended iterations, with the real binary.

#[path = "../support/mod.rs"]
mod support;

mod asked;
mod attended;
mod held;
mod killed;
mod recovered;
