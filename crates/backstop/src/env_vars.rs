//! Environment variables that a supervised command finds, and that commands read.

use backstop_runner::tree::withheld;

/// The run that a process is part of.
pub const RUN_ID: &str = "BACKSTOP_RUN_ID";

/// Which iteration of it.
pub const ITERATION: &str = "BACKSTOP_ITERATION";

/// Where a supervised process reports to.
pub const SOCKET: &str = "BACKSTOP_SOCKET";

/// The server that commands work against.
pub const SERVER: &str = "BACKSTOP_SERVER";

/// The token for that server.
pub const TOKEN: &str = withheld::TOKEN;

/// Where a token for GitHub is looked for, in this order.
pub const GITHUB_TOKENS: [&str; 2] = [withheld::GITHUB_TOKEN, "GITHUB_TOKEN"];

/// What GitHub signs its webhooks with.
pub const GITHUB_SECRET: &str = withheld::GITHUB_SECRET;

/// How many seconds a supervisor that says nothing is taken for alive.
pub const LEASE_SECONDS: &str = "BACKSTOP_LEASE_SECONDS";
