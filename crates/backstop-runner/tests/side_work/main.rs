//! What runs beside the loop, with real processes, files and repositories.
//!
//! A binary of its own: tests of the process tree end everything below their process.

mod keep;
mod probes;
mod progress;
mod side_command;
mod support;
mod verify;
