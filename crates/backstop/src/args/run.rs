//! Flags of `backstop run` and `backstop resume`.

use std::path::PathBuf;

use backstop_core::policy::Lifted;
use clap::Args;

use super::StoreArguments;

/// Flags of `backstop run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub policy: RunPolicy,
    #[command(flatten)]
    pub limits: LimitFlags,
    #[command(flatten)]
    pub done: DoneFlags,
    #[command(flatten)]
    pub times: TimeFlags,
    #[command(flatten)]
    pub guards: GuardFlags,
    /// Run the command a single time, for pipelines that report units
    #[arg(long, help_heading = "How it runs")]
    pub once: bool,
    /// Feed this file to every iteration, or `-` for what is piped in [default: what is piped in,
    /// else nothing]
    #[arg(long, value_name = "FILE", help_heading = "How it runs")]
    pub stdin: Option<PathBuf>,
    /// How many units there are, for pipelines that report them
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub total_units: Option<u64>,
    /// Resume by itself up to N times after reasons that allow it
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "How it runs")]
    pub auto_resume: u32,
    /// Who reads the output [default: found out]
    #[arg(long, value_name = "NAME", help_heading = "How it runs")]
    pub agent: Option<String>,
    /// Show what an agent prints as it is, not made readable
    #[arg(long, help_heading = "How it runs")]
    pub raw: bool,
    /// Count what the command exports as OpenTelemetry: it is told to export here (OTLP in JSON),
    /// for agents that print nothing of their use
    #[arg(long, help_heading = "How it runs")]
    pub telemetry: bool,
    /// Ask before each iteration: go, skip or stop
    #[arg(long, help_heading = "How it runs")]
    pub attended: bool,
    /// A label of the run, such as team=core; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = key_and_value, help_heading = "How it runs")]
    pub labels: Vec<(String, String)>,
    #[command(flatten)]
    pub view: ViewFlags,
    /// Print the effective policy and what would happen, and run nothing
    #[arg(long, conflicts_with = "detach")]
    pub dry_run: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Flags of `backstop resume`.
#[derive(Debug, Args)]
pub struct ResumeArguments {
    /// The run: the beginning of its name, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Raise a limit, such as iterations=100 or duration=8h; may be repeated
    #[arg(long, value_name = "LIMIT=VALUE")]
    pub raise: Vec<String>,
    /// What to do when nobody reports what a limit on tokens or cost is measured by
    #[arg(long, value_name = "WHAT", value_parser = ["hold", "allow"])]
    pub unmetered: Option<String>,
    #[command(flatten)]
    pub guards: LastingGuardFlags,
    /// A note for the record
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Resume by itself up to N times after reasons that allow it [default: as when it began]
    #[arg(long, value_name = "N")]
    pub auto_resume: Option<u32>,
    #[command(flatten)]
    pub view: ViewFlags,
}

/// Which policy a run follows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policy")]
pub struct RunPolicy {
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml, else preset:default]
    #[arg(long, value_name = "FILE|preset:NAME")]
    pub policy: Option<String>,
    /// A built-in rule set below the policy; may be repeated
    #[arg(long, value_name = "NAME")]
    pub preset: Vec<String>,
}

/// What stops a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Stops when")]
pub struct LimitFlags {
    /// So many iterations have finished
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    pub max_iterations: Option<u64>,
    /// The run has been active for so long, such as 8h
    #[arg(long, value_name = "TIME")]
    pub max_duration: Option<String>,
    /// So many tokens have been used
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    pub max_tokens: Option<u64>,
    /// So many US dollars have been spent
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// The clock shows this time, such as 07:00 or 2026-05-04T07:00:00Z
    #[arg(long, value_name = "TIME")]
    pub until_time: Option<String>,
    /// N iterations in a row made no progress
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    pub no_progress: Option<u64>,
    /// Don't start an iteration that the rest of a budget can't pay for
    #[arg(long)]
    pub preflight: bool,
    /// When nobody reports tokens or cost: hold, or go on without that limit
    #[arg(long, value_name = "WHAT", value_parser = ["hold", "allow"])]
    pub unmetered: Option<String>,
}

/// When the work is done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Done when")]
pub struct DoneFlags {
    /// The command exits with 0
    #[arg(long)]
    pub until_success: bool,
    /// The output of an iteration contains this text
    #[arg(long, value_name = "TEXT")]
    pub until_output: Option<String>,
    /// Take --until-output for a regular expression
    #[arg(long, requires = "until_output")]
    pub regex: bool,
    /// This file exists
    #[arg(long, value_name = "PATH")]
    pub until_file: Option<String>,
    /// This script, or line for a shell, exits with 0; it runs after each iteration
    #[arg(long, value_name = "SCRIPT")]
    pub until_script: Option<String>,
    /// All tests pass: of --verify, or of the command itself where it runs them
    #[arg(long)]
    pub until_tests_pass: bool,
    /// This command proves that the work is good: it runs after each iteration, and only if it
    /// exits with 0 the work counts as done; may be repeated, cheap ones first
    #[arg(long, value_name = "COMMAND")]
    pub verify: Vec<String>,
}

/// How long things may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Times")]
pub struct TimeFlags {
    /// End an iteration that takes longer
    #[arg(long, value_name = "TIME")]
    pub iteration_timeout: Option<String>,
    /// End an iteration that neither prints nor works for so long
    #[arg(long, value_name = "TIME")]
    pub idle_timeout: Option<String>,
    /// How long a stop lets the current iteration finish [default: 5m]
    #[arg(long, value_name = "TIME")]
    pub finish_within: Option<String>,
    /// Time between the first signal and SIGKILL [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub grace: Option<String>,
    /// Pause between iterations
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,
}

/// Guards that are lifted for one run.
#[derive(Clone, Copy, Debug, Args)]
pub struct GuardFlags {
    /// Start although the work tree is not clean
    #[arg(long, help_heading = "Guards lifted for this run")]
    pub allow_dirty: bool,
    #[command(flatten)]
    pub lasting: LastingGuardFlags,
}

/// Guards that can be lifted at any time, since they are looked at as long as the run goes on.
#[derive(Clone, Copy, Debug, Args)]
pub struct LastingGuardFlags {
    /// Let lock files of package managers change
    #[arg(long, visible_alias = "allow-deps", help_heading = "Guards lifted for this run")]
    pub allow_lockfiles: bool,
    /// Go on although another run claims the same files
    #[arg(long, help_heading = "Guards lifted for this run")]
    pub force_parallel: bool,
}

impl LastingGuardFlags {
    pub fn lifted(self) -> Lifted {
        let Self { allow_lockfiles, force_parallel } = self;
        Lifted { dirty: false, lockfiles: allow_lockfiles, collisions: force_parallel }
    }
}

/// Where a run is kept and shown.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub struct ViewFlags {
    #[command(flatten)]
    pub store: StoreArguments,
    /// Print events as JSON lines on standard output; the command's output goes to standard error
    #[arg(long)]
    pub json: bool,
    /// Leave the run in the background and print its name
    #[arg(long, conflicts_with = "json")]
    pub detach: bool,
}

/// A number that can be compared with: neither `NaN` nor `inf`, which would limit nothing.
fn dollars(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "write it like 20 or 0.5".to_owned())
}

fn at_least_one(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "write a whole number from 1 on".to_owned())
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it like team=core".to_owned()),
    }
}

pub const RUN_EXAMPLES: &str = "\
Exits 0 when the work is done, else with the reason's code (`backstop reasons`).

Examples:
  backstop run --max-iterations 20 -- ./agent.sh
  backstop run --until-success --max-duration 8h --no-progress 3 -- ./fix-tests.sh
  backstop run --until-output DONE --verify ./check.sh -- ./agent.sh
  backstop run --once --policy manifest.yaml --total-units 8 -- python3 render.py
  backstop run --detach --max-cost 20 --stdin PROMPT.md -- agent
  backstop run --dry-run --max-iterations 5 -- ./agent.sh";

pub const RESUME_EXAMPLES: &str = "\
Counts and budgets go on where they were. A total that stopped the run must be
raised.

Examples:
  backstop resume
  backstop resume 4K7Q --raise iterations=100
  backstop resume latest --raise duration=12h --raise cost_usd=40
  backstop resume 4K7Q --unmetered allow";
