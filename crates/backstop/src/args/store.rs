//! Where runs are remembered.

use clap::Args;

/// Which store a command uses.
#[derive(Clone, Debug, Default, Args)]
pub struct StoreArguments {
    /// Where runs are remembered: a directory, or postgres://… [default: ~/.local/state/backstop]
    #[arg(long, value_name = "DIR|URL", env = "BACKSTOP_STORE", hide_env_values = true)]
    pub store: Option<String>,
}
