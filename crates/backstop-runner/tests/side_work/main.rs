//! What runs beside the loop, with real processes, files and repositories.
//!
//! A binary of its own: tests of the process tree end everything below their process.

#[cfg(test)]
mod keep;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod side_command;
#[cfg(test)]
mod support;
#[cfg(test)]
mod verify;
