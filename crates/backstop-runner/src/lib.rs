//! Runs a loop: starts the command, reads what it says, asks the engine, and stops the whole tree.
//!
//! One dispatcher owns the state and sees everything that happens, one thing at a time. Others own
//! one thing each and speak to it by messages: the process tree, the output, probes, the socket.

pub mod ancestry;
pub mod capture;
pub mod chance;
pub mod clock;
pub mod dispatcher;
pub mod drift;
pub mod final_report;
mod footprint;
mod git;
pub mod guards;
pub mod halt_order;
mod handoff;
pub mod journalled;
pub mod keep;
pub mod keyboard;
mod last_words;
pub mod launch;
pub mod loading;
mod log_file;
pub mod notify;
pub mod outer;
pub mod piped;
pub mod probe;
pub mod progress;
pub mod prompt;
pub mod proof;
pub mod raise;
pub mod recovery;
mod regular_file;
pub mod report;
mod reserve;
pub mod resolve;
pub mod resuming;
pub mod review;
pub mod secrets;
pub mod side_command;
pub mod signals;
pub mod socket;
pub mod supervisor;
pub mod telemetry;
pub mod tree;
pub mod trust;
pub mod unsupervised;
pub mod verify;
pub mod view;
