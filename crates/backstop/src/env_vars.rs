//! Environment variables that a supervised command finds, and that commands read.

/// The run that a process is part of.
pub const RUN_ID: &str = "BACKSTOP_RUN_ID";

/// Where a supervised process reports to.
pub const SOCKET: &str = "BACKSTOP_SOCKET";

/// How many seconds a supervisor that says nothing is taken for alive.
pub const LEASE_SECONDS: &str = "BACKSTOP_LEASE_SECONDS";
