//! Answers decisions over HTTP, with audit: for loops and re-run bots on many machines.
