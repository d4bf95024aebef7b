//! Flags of the commands that operate a run: stop, pause, answer, release, raise and others.

use backstop_runner::prompt::Choice;
use clap::Args;

use super::StoreArguments;
use super::report::label;

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

/// Flags of `backstop answer`.
#[derive(Debug, Args)]
pub struct AnswerArguments {
    /// The run: its name, the beginning of it, or latest
    pub run: String,
    /// fix (with a note), continue or abort; for an attended run go, skip or stop
    #[arg(value_name = "ANSWER", value_parser = choice)]
    pub choice: Choice,
    /// What the next iteration should be told
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

fn choice(text: &str) -> Result<Choice, String> {
    let names: Vec<_> = Choice::ALL.iter().map(|choice| choice.as_str()).collect();
    text.parse().map_err(|()| format!("answer with one of {}", names.join(", ")))
}

/// Flags of `backstop halt`.
#[derive(Debug, Args)]
pub struct HaltArguments {
    /// Every run: there is no other way to use this, so that nobody does it by accident
    #[arg(long, required = true)]
    pub all: bool,
    /// Only runs with this label; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Why, for those who find their runs stopped
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop release`.
#[derive(Debug, Args)]
pub struct ReleaseArguments {
    /// The run: its name, the beginning of it, or latest
    #[arg(
        required_unless_present = "all",
        conflicts_with = "all",
        default_value = "",
        hide_default_value = true
    )]
    pub run: String,
    /// Take back the order to halt, and let every held run go on
    #[arg(long)]
    pub all: bool,
    /// With --all: only the order with this label, and runs that have it; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, requires = "all")]
    pub label: Vec<(String, String)>,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop attend`.
#[derive(Debug, Args)]
pub struct AttendArguments {
    /// The run: its name, the beginning of it, or latest
    pub run: String,
    /// Let the run go on by itself again
    #[arg(long)]
    pub off: bool,
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
    /// The policy: a file, or preset:NAME [default: the file that the run was started with]
    #[arg(long, value_name = "FILE|preset:NAME", conflicts_with = "preset")]
    pub policy: Option<String>,
    /// A built-in rule set
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

pub const STOP_EXAMPLES: &str = "\
Nothing new starts, and the iteration may finish; with --now it is ended at
once. The work is kept, and `backstop resume` goes on with it.

Examples:
  backstop stop latest
  backstop stop 4K7Q --now
  backstop stop 4K7Q --server https://backstop.example.org";

pub const PAUSE_EXAMPLES: &str = "\
The iteration may finish; then the run waits, and its time stands still.

Examples:
  backstop pause latest
  backstop pause 4K7Q --continue";

pub const ANSWER_EXAMPLES: &str = "\
The first answer counts, wherever it comes from: a terminal, this command, or
another channel. A held run that asks can be answered too, and goes on with
`backstop resume`. Refused inside a supervised process.

Examples:
  backstop answer latest continue
  backstop answer 4K7Q fix --note see-docs/cache.md
  backstop answer 4K7Q abort
  backstop answer 4K7Q skip";

pub const RELEASE_EXAMPLES: &str = "\
A run that waits for a cool-down goes on at once. One whose process has ended is
let go: what held it counts as seen, and `backstop resume` goes on with it.
Refused inside a supervised process.

Examples:
  backstop release latest
  backstop release 4K7Q --why quota-raised
  backstop release --all                              after `backstop halt --all`";

pub const HALT_EXAMPLES: &str = "\
Every supervisor that shares the store stops its run within seconds, as
`backstop stop --now` does; runs of scripts are told so when they report next.
Until `backstop release --all` nothing starts. Refused inside a supervised
process.

Examples:
  backstop halt --all --why over-budget
  backstop halt --all --label team=core
  backstop release --all";

pub const ATTEND_EXAMPLES: &str = "\
An attended run asks before each iteration: go, skip or stop. `backstop run
--attended` begins that way.

Examples:
  backstop attend latest
  backstop attend 4K7Q --off";

pub const RAISE_EXAMPLES: &str = "\
Works while the run goes on and after it has stopped. Refused inside a
supervised process.

Examples:
  backstop raise 4K7Q iterations=80
  backstop raise latest duration=2h cost_usd=30 --why agreed
  backstop raise 4K7Q reject_rate=0.5";

pub const APPLY_EXAMPLES: &str = "\
A run keeps the policy that it was started with until this is called; editing
the file is not enough. Refused inside a supervised process.

Examples:
  backstop policy apply latest
  backstop policy apply 4K7Q --policy stricter.toml";
