//! Flags of the commands that report: begin, emit, end.

use clap::{Args, ValueEnum};

use super::StoreArguments;

/// Flags of `backstop begin`.
#[derive(Debug, Args)]
pub struct BeginArguments {
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml, else preset:default]
    #[arg(long, value_name = "FILE|preset:NAME", conflicts_with = "preset")]
    pub policy: Option<String>,
    /// A built-in rule set
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// How many units of work there will be
    #[arg(long, value_name = "N")]
    pub total_units: Option<u64>,
    /// A label to find the run by; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop emit`.
#[derive(Debug, Args)]
pub struct EmitArguments {
    /// The run: its name, the beginning of it, or latest [default: the run that this is part of]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// The event as JSON; `-` reads one event per line from standard input
    #[arg(long, value_name = "EVENT|-", conflicts_with = "words")]
    pub json: Option<String>,
    /// Exit 0 only to go on (continue and warn), and 1 when the work is complete: for `|| break`
    #[arg(long = "break")]
    pub break_when_complete: bool,
    /// How to print the decision
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub print: PrintForm,
    #[command(flatten)]
    pub store: StoreArguments,
    /// The event's type, then its fields as flags
    #[arg(value_name = "TYPE --FIELD VALUE", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// The form of a printed decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PrintForm {
    /// One line for people
    #[default]
    Text,
    /// One line of JSON
    Json,
}

/// Flags of `backstop end`.
#[derive(Debug, Args)]
pub struct EndArguments {
    /// The run: its name, the beginning of it, or latest [default: BACKSTOP_RUN_ID]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Reads `name=value`.
pub fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write it like `team=core`".to_owned()),
    }
}

pub const BEGIN_EXAMPLES: &str = "\
Prints the new run's name and nothing else. The run has no supervisor: tell it
what happens with `backstop emit`, and end it with `backstop end`. With --server
it begins there; where no policy is named, with the one that is in force there
for its labels.

Examples:
  backstop begin --policy manifest.yaml --total-units 8
  backstop begin --preset pipeline --label team=core
  run=$(backstop begin --total-units 8)               then --run \"$run\"";

pub const EMIT_EXAMPLES: &str = "\
Prints the decision and exits with its code: 0 for continue, warn and complete,
else the reason's. Types and their fields are in docs/reference/events.md;
`backstop emit TYPE --help` lists a type's. Lists are separated by commas or
given by repeating the flag; `--metrics a=1,b=2` makes an object. A supervised
process may only report work; what else it sends is refused and recorded.

Examples:
  backstop emit unit --id f3 --status rejected --attempts 2
  backstop emit --run 4K7Q tests --passed login,logout --failed search --break
  backstop emit --json '{\"type\":\"progress\",\"kind\":\"commit\"}' --print json
  backstop --server https://backstop.example.org emit --run 4K7Q unit --id f3
  tail -f events.jsonl | backstop emit --run latest --json -";

pub const END_EXAMPLES: &str = "\
The run is completed, unless its policy says otherwise or announced units are
still open: then it is stopped, and can go on later. Exits with the code of the
reason.

Examples:
  backstop end --run 4K7Q
  backstop end";
