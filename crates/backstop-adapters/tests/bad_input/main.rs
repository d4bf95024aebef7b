//! Input that is broken, strange or hostile, for every agent and every test runner alike: cut off,
//! mixed with others' lines, in other encodings, coloured, very long, nested without end, with absurd
//! numbers, and full of texts that mean something elsewhere. Nothing panics.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod agents;
mod quoting;
mod reports;
mod told;
