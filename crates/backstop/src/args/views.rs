//! Flags of the commands that look at runs.

use clap::{Args, ValueEnum};

use super::StoreArguments;
use super::report::label;

/// Flags of `backstop ls`.
#[derive(Debug, Args)]
pub struct LsArguments {
    /// All runs, not only those of this directory
    #[arg(long)]
    pub all: bool,
    /// Only runs with this status: running, paused, held, stopped, completed, failed, interrupted
    #[arg(long, value_name = "STATUS")]
    pub status: Vec<ShownStatus>,
    /// Only runs with this label
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: u32,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// A status as people are shown it: that of the store, or that its supervisor is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShownStatus {
    Running,
    Paused,
    Held,
    Stopped,
    Completed,
    Failed,
    Interrupted,
}

/// Flags of `backstop show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The run: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest", hide_default_value = true)]
    pub run: String,
    /// Print the object of state.json, with the facts
    #[arg(long)]
    pub json: bool,
    /// Print the state by the names of another tool, as JSON
    #[arg(long, value_name = "FORM")]
    pub form: Option<StateForm>,
    /// Print the journal, one event per line
    #[arg(long, conflicts_with_all = ["json", "form"])]
    pub events: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// The form of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateForm {
    /// The names of the pipeline dialect: `total_frames`, `resume_from_frame`, …
    Pipeline,
}

/// Flags of `backstop logs`.
#[derive(Debug, Args)]
pub struct LogsArguments {
    /// The run: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest", hide_default_value = true)]
    pub run: String,
    /// Go on as more comes, until the run halts
    #[arg(short, long)]
    pub follow: bool,
    /// Only this iteration
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    pub iteration: Option<u64>,
    /// Only the first lines
    #[arg(long, value_name = "LINES", conflicts_with_all = ["tail", "follow"])]
    pub head: Option<usize>,
    /// Only the last lines
    #[arg(long, value_name = "LINES")]
    pub tail: Option<usize>,
    /// Every byte as it was written, control sequences and all; not to a terminal
    #[arg(long, conflicts_with_all = ["head", "tail"])]
    pub raw: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The run: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest", hide_default_value = true)]
    pub run: String,
    /// The form: md, html or json [default: that of the output file's name, else md]
    #[arg(long, value_name = "FORM", hide_possible_values = true)]
    pub format: Option<ReportForm>,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// Markdown, which reads well as it is
    Md,
    /// One page with charts, without scripts
    Html,
    /// An object for programs
    Json,
}

/// Flags of `backstop doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// The run to look at; left out: backstop's own surroundings
    pub run: Option<String>,
    /// End the processes that a dead supervisor of this run left behind
    #[arg(long, requires = "run")]
    pub end_orphans: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop prune`.
#[derive(Debug, Args)]
pub struct PruneArguments {
    /// Halted for longer than this, such as 30d or 12h
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = age)]
    pub older: std::time::Duration,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop attach`.
#[derive(Debug, Args)]
pub struct AttachArguments {
    /// The run: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest", hide_default_value = true)]
    pub run: String,
    /// Show what an agent prints as it is, not made readable
    #[arg(long)]
    pub raw: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

fn age(text: &str) -> Result<std::time::Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it like `30d`"))
}

pub const LS_EXAMPLES: &str = "\
With --server all runs of the server are listed, as with --all.

Examples:
  backstop ls
  backstop ls --all --status running
  backstop ls --label team=core --json | jq .run_id
  backstop ls --server https://backstop.example.org --status held";

pub const SHOW_EXAMPLES: &str = "\
Examples:
  backstop show                                       the latest run of this directory
  backstop show 4K7Q2M9X
  backstop show 4K7Q2M9X --json | jq .facts.cost_usd
  backstop show --events | grep '\"type\":\"unit\"'
  backstop show --form pipeline";

pub const LOGS_EXAMPLES: &str = "\
Examples:
  backstop logs --tail 50
  backstop logs 4K7Q2M9X -f
  backstop logs 4K7Q2M9X --iteration 3
  backstop logs --raw > output.bin";

pub const REPORT_EXAMPLES: &str = "\
Every halt leaves report.md and report.html in the run's folder.

Examples:
  backstop report                                     the latest run of this directory
  backstop report 4K7Q2M9X --output report.html
  backstop report 4K7Q2M9X --format json | jq .done.tests.fixed";

pub const DOCTOR_EXAMPLES: &str = "\
Exits 0, or 74 if the store is damaged or can't be written.

Examples:
  backstop doctor                                     is everything in place
  backstop doctor 4K7Q2M9X                            why it stopped, and what to do
  backstop doctor 4K7Q2M9X --end-orphans";

pub const PRUNE_EXAMPLES: &str = "\
Runs that go on are never touched, and what is known of a run itself stays.

Examples:
  backstop prune --dry-run
  backstop prune --older 7d";

pub const ATTACH_EXAMPLES: &str = "\
Ctrl-C only lets go: the run goes on. Ends with the run's exit code when it
halts.

Examples:
  backstop attach
  backstop attach 4K7Q2M9X";
