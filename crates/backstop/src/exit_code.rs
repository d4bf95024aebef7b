//! Every exit code that is not a stop reason's.
//!
//! Reasons have the codes of the registry (`backstop reasons`). backstop's own faults use the
//! conventional codes of `sysexits.h`, so that they can't be mistaken for a reason.
//!
//! Which of them an error has is decided in `error.rs` alone, and follows from what it is about:
//! what was read and makes no sense, or is asked of a run that is not in a state for it (65); what
//! was named and is not there or can't be opened (66); what can't be created, a store included (73);
//! everything else that the disk or another process refuses half-way, a damaged store included (74).

/// It did what was asked, and nothing has to stop.
pub const OK: u8 = 0;
/// With `--break`: the work is complete, so that a loop may end.
pub const COMPLETE: u8 = 1;
/// The command line can't be understood.
pub const USAGE: u8 = 64;
/// Facts, events or a test report can't be understood, or a run is not in a state for what was asked.
pub const BAD_DATA: u8 = 65;
/// A file that was named can't be read.
pub const NO_INPUT: u8 = 66;
/// backstop itself has a fault.
pub const INTERNAL: u8 = 70;
/// A file or a store can't be created.
pub const CANNOT_CREATE: u8 = 73;
/// Reading or writing failed.
pub const IO: u8 = 74;
/// A server does not let the caller do it.
pub const NO_PERMISSION: u8 = 77;
/// The policy can't be used.
pub const CONFIGURATION: u8 = 78;
