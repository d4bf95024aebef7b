//! Flags of `backstop notify`.

use clap::{Args, Subcommand};

/// What to do about notifications.
#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Send a test message to everybody whom the policy names, and say whether it arrived
    #[command(after_help = NOTIFY_TEST_EXAMPLES)]
    Test(NotifyTestArguments),
}

/// Flags of `backstop notify test`.
#[derive(Debug, Args)]
pub struct NotifyTestArguments {
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml, else preset:default]
    #[arg(long, value_name = "FILE|preset:NAME")]
    pub policy: Option<String>,
    /// Print what became of it as JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) const NOTIFY_EXAMPLES: &str = "\
Examples:
  backstop notify test
  backstop notify test --policy backstop.toml";

const NOTIFY_TEST_EXAMPLES: &str = "\
Exits 0 if everybody was told, 74 if somebody was not, and 78 if the policy
names nobody.

Examples:
  backstop notify test
  backstop notify test --policy ci.toml --json";
