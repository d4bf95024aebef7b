//! Flags of the commands about policies in force: activate, history and diff.

use backstop_store::PolicyScope;
use clap::Args;

use super::StoreArguments;

/// Flags of `backstop policy activate`.
#[derive(Debug, Args)]
pub struct ActivateArguments {
    /// The policy: a file, or preset:NAME
    #[arg(value_name = "FILE|preset:NAME", required_unless_present = "off")]
    pub policy: Option<String>,
    /// What it is in force for: global, repo:OWNER/NAME or label:KEY=VALUE
    #[arg(long, value_name = "SCOPE", default_value = "global")]
    pub scope: PolicyScope,
    /// Take back what is in force there
    #[arg(long, conflicts_with = "policy")]
    pub off: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop policy history`.
#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// Only of this scope
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<PolicyScope>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: u32,
    /// Print JSON objects, one per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop policy diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// The one: a file, preset:NAME, or the hash of a stored one
    #[arg(value_name = "FILE|preset:NAME|HASH")]
    pub from: String,
    /// The other
    #[arg(value_name = "FILE|preset:NAME|HASH")]
    pub to: String,
    /// Print a list of sentences as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

pub const ACTIVATE_EXAMPLES: &str = "\
What is in force counts for decisions that the server and `backstop github
rerun` make; the narrowest scope wins. Runs have the policy that they were
started with.

Examples:
  backstop policy activate lawbook.json
  backstop policy activate strict.json --scope repo:octo-org/hello
  backstop policy activate --off --scope repo:octo-org/hello";

pub const HISTORY_EXAMPLES: &str = "\
Examples:
  backstop policy history
  backstop policy history --scope repo:octo-org/hello --json";

pub const DIFF_EXAMPLES: &str = "\
Exits 0 if they are the same, else 1.

Examples:
  backstop policy diff backstop.toml preset:default
  backstop policy diff old.toml new.toml --json";
