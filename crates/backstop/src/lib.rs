//! The command line of backstop.

pub mod diagnostics;
