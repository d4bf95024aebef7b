//! `backstop replay`: what is read out of captures, where a policy would have stopped them, and the
//! exit codes that scripts rely on.

#[path = "../support/mod.rs"]
mod support;

mod captures;
mod damaged;
mod files;
mod runs;
