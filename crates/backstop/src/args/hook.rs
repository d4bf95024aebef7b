//! Flags of `backstop hook`.

use backstop_adapters::hook::HookAgent;
use clap::builder::PossibleValue;
use clap::{Args, Subcommand, ValueEnum};

use super::StoreArguments;

/// Whose hook it is, or what to do about hooks.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Answer Claude Code
    #[command(after_help = CLAUDE_CODE_EXAMPLES)]
    ClaudeCode(HookArguments),
    /// Answer Codex
    #[command(after_help = CODEX_EXAMPLES)]
    Codex(HookArguments),
    /// Have an agent call backstop at every step, by its settings
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(HookInstallArguments),
}

/// Flags of a hook.
#[derive(Debug, Args)]
pub struct HookArguments {
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml, else preset:default]
    #[arg(long, value_name = "FILE|preset:NAME")]
    pub policy: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop hook install`.
#[derive(Debug, Args)]
pub struct HookInstallArguments {
    /// The agent
    pub agent: AgentWithHooks,
    /// For this directory only [default]
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// For everything that you do
    #[arg(long)]
    pub user: bool,
    /// Only show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Take out what was put in
    #[arg(long)]
    pub undo: bool,
    /// Don't ask
    #[arg(long, short)]
    pub yes: bool,
}

/// An agent that calls hooks, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentWithHooks(pub HookAgent);

impl ValueEnum for AgentWithHooks {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(HookAgent::ClaudeCode), Self(HookAgent::Codex)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

pub const HOOK_EXAMPLES: &str = "\
An agent with hooks sends a line of JSON at every step, and obeys the answer.
Each session is a run of its own, unless it is part of one that `backstop run`
supervises.

Examples:
  backstop hook install claude-code
  backstop hook install codex --user --dry-run
  backstop hook claude-code                           what the agent calls";

const CLAUDE_CODE_EXAMPLES: &str = "\
Reads what Claude Code sends on standard input, and prints its answer. Exits 0:
the answer decides, never the code.

Examples:
  backstop hook claude-code
  backstop hook claude-code --policy preset:ralph
  backstop hook claude-code --policy backstop.toml";

const CODEX_EXAMPLES: &str = "\
Reads what Codex sends on standard input, and prints its answer. Exits 0: the
answer decides, never the code.

Examples:
  backstop hook codex
  backstop hook codex --policy preset:ralph";

const INSTALL_EXAMPLES: &str = "\
Shows the change and asks before it makes it. What is there stays as it is, and
is kept in a copy beside the file. On a terminal you are asked first, and so is
who pipes an answer in; where nobody can be asked, and with --yes, it is made.

Examples:
  backstop hook install claude-code
  backstop hook install claude-code --user --yes
  backstop hook install codex --dry-run
  backstop hook install claude-code --undo";
