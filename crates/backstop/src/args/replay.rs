//! Flags of `backstop replay`.

use backstop_adapters::Agent;
use clap::Args;

use super::StoreArguments;

/// Flags of `backstop replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// A capture or a trajectory, `-` for standard input; or a run: its name, the beginning of it,
    /// or `latest`
    #[arg(value_name = "FILE|RUN")]
    pub what: String,
    /// The policy: a file, or preset:NAME [default: a run's own, else preset:default]
    #[arg(long, value_name = "FILE|preset:NAME", conflicts_with = "preset")]
    pub policy: Option<String>,
    /// A built-in rule set
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Whose output it is, where it shall not be recognised: claude, codex, gemini, aider, …
    #[arg(long, value_name = "NAME", value_parser = agent)]
    pub agent: Option<Agent>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

impl ReplayArguments {
    /// The policy's name as other commands take it.
    pub fn policy_name(&self) -> Option<String> {
        let preset = self.preset.as_ref().map(|name| format!("preset:{name}"));
        preset.or_else(|| self.policy.clone())
    }
}

fn agent(name: &str) -> Result<Agent, String> {
    name.parse::<Agent>().map_err(|error| {
        let hint = match error.nearest {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("agents: {}", Agent::ALL.map(Agent::name).join(", ")),
        };
        format!("{error}; {hint}")
    })
}

pub const REPLAY_EXAMPLES: &str = "\
Reads what an agent printed or left behind as if it ran now, and tells where the
policy would have interfered. The kind of file is recognised by its content. Of
a run, the journal is read, without what was decided then. Exits 0 whatever the
policy says, 65 for a file that is nothing known, 66 for one that is not there.

Examples:
  backstop replay session.jsonl
  backstop replay run.traj --preset ralph --json
  backstop replay latest --policy stricter.toml
  backstop replay - --agent claude";
