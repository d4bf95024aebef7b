//! Commands against a server elsewhere say and do what they do on its machine: the real binary on both
//! sides, each with a state directory of its own.

mod deciding;
mod elsewhere;
mod encrypted;
mod faults;
mod looking;
mod operating;

#[path = "../support/mod.rs"]
mod support;
