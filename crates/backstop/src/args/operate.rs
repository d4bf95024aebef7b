//! Flags of the commands that operate a run: stop, pause, raise, policy apply.

use clap::Args;

use super::StoreArguments;

/// Flags of `backstop stop`.
#[derive(Debug, Args)]
pub struct StopArguments {
    /// The run: its name, the beginning of it, or latest
    pub run: String,
    /// Don't let the iteration finish
    #[arg(long)]
    pub now: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop pause`.
#[derive(Debug, Args)]
pub struct PauseArguments {
    /// The run: its name, the beginning of it, or latest
    pub run: String,
    /// Let a paused run go on
    #[arg(long = "continue")]
    pub go_on: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop raise`.
#[derive(Debug, Args)]
pub struct RaiseArguments {
    /// The run: its name, the beginning of it, or latest
    pub run: String,
    /// A limit by its reason's name, or iterations, duration, tokens, cost_usd; and its new value
    #[arg(value_name = "LIMIT=VALUE", required = true)]
    pub limits: Vec<String>,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub why: String,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop policy apply`.
#[derive(Debug, Args)]
pub struct ApplyArguments {
    /// The run: its name, the beginning of it, or latest
    pub run: String,
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml]
    #[arg(long, value_name = "FILE|preset:NAME", conflicts_with = "preset")]
    pub policy: Option<String>,
    /// A built-in rule set
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

pub const STOP_EXAMPLES: &str = "\
Nothing new starts, and the iteration may finish; with --now it is ended at once. The work is kept,
and `backstop resume` goes on with it.

Examples:
  backstop stop latest
  backstop stop 4K7Q --now";

pub const PAUSE_EXAMPLES: &str = "\
The iteration may finish; then the run waits, and its time stands still.

Examples:
  backstop pause latest
  backstop pause 4K7Q --continue";

pub const RAISE_EXAMPLES: &str = "\
Works while the run goes on and after it has stopped. Refused inside a supervised process.

Examples:
  backstop raise 4K7Q iterations=80
  backstop raise latest duration=2h cost_usd=30 --why agreed
  backstop raise 4K7Q reject_rate=0.5";

pub const APPLY_EXAMPLES: &str = "\
A run keeps the policy that it was started with until this is called; editing the file is not enough.
Refused inside a supervised process.

Examples:
  backstop policy apply latest
  backstop policy apply 4K7Q --policy stricter.toml";
