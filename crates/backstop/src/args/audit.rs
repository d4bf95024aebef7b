//! Flags of `backstop audit`.

use backstop_store::audit::Verifier;
use clap::{Args, Subcommand, ValueEnum};

use super::StoreArguments;

/// What to do with the audit.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List decisions, newest first
    #[command(after_help = LS_EXAMPLES)]
    Ls(AuditLsArguments),
    /// Show one decision and everything that it was made from
    #[command(after_help = SHOW_EXAMPLES)]
    Show(AuditShowArguments),
    /// Find out whether a row was changed, removed, swapped or inserted, or the end cut off
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(AuditVerifyArguments),
    /// Print all rows, oldest first
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(AuditExportArguments),
    /// Sign how long the chain is and its last hash, to be kept elsewhere
    #[command(after_help = CHECKPOINT_EXAMPLES)]
    Checkpoint(AuditCheckpointArguments),
}

/// Flags of `backstop audit ls`.
#[derive(Debug, Args)]
pub struct AuditLsArguments {
    /// Only decisions about this repository
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    pub repo: Option<(String, String)>,
    /// Only decisions about this pull request
    #[arg(long, value_name = "NUMBER")]
    pub pr: Option<u64>,
    /// Only this decision: CONTINUE, HOLD, KILL, or a run's STOP, FAIL, COMPLETE, …
    #[arg(long, value_name = "DECISION")]
    pub decision: Option<String>,
    /// Only this reason, by any of its names in any case
    #[arg(long, value_name = "CODE")]
    pub reason: Option<String>,
    /// Only decisions about this run: its name, the beginning of it, or latest
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Only the answers to this request
    #[arg(long, value_name = "ID")]
    pub request: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print JSON objects, one per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop audit show`.
#[derive(Debug, Args)]
pub struct AuditShowArguments {
    /// The row's number
    pub number: u64,
    /// Print the row as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop audit verify`.
#[derive(Debug, Args)]
pub struct AuditVerifyArguments {
    /// A checkpoint that was kept elsewhere; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<String>,
    /// The key that must have signed the checkpoint, from `audit checkpoint --public-key` [default:
    /// this machine's own]
    #[arg(long, value_name = "KEY", requires = "checkpoint", value_parser = key)]
    pub key: Option<Verifier>,
    /// Make every answer about a re-run again, too, and compare
    #[arg(long)]
    pub replay: bool,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop audit export`.
#[derive(Debug, Args)]
pub struct AuditExportArguments {
    /// The form
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    pub format: ExportForm,
    /// Only rows after this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub after: u64,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// A JSON object per line
    Jsonl,
    /// Comma-separated values with a line of names
    Csv,
}

/// Flags of `backstop audit checkpoint`.
#[derive(Debug, Args)]
pub struct AuditCheckpointArguments {
    /// Print the public key instead, by which others check what this machine signs
    #[arg(long)]
    pub public_key: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

pub fn repository(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((owner, name)) if !owner.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((owner.to_lowercase(), name.to_lowercase()))
        }
        _ => Err("write it like `octo-org/hello`".to_owned()),
    }
}

fn key(text: &str) -> Result<Verifier, String> {
    text.parse().map_err(|_| "a key is 64 hexadecimal digits".to_owned())
}

pub const AUDIT_EXAMPLES: &str = "\
Examples:
  backstop audit ls --decision HOLD
  backstop audit checkpoint > ~/elsewhere/checkpoint
  backstop audit verify --checkpoint ~/elsewhere/checkpoint";

const LS_EXAMPLES: &str = "\
Examples:
  backstop audit ls
  backstop audit ls --repo octo-org/hello --pr 9
  backstop audit ls --reason max_total_reruns --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  backstop audit show 17
  backstop audit show 17 --json";

const VERIFY_EXAMPLES: &str = "\
Exits 0 if nothing was found, else 65. Without a checkpoint that was kept
elsewhere nobody can tell whether the end was cut off, or the whole chain
written anew. The policies that rows name must be in the store as they were.

Examples:
  backstop audit verify
  backstop audit verify --replay
  backstop audit verify --checkpoint ~/elsewhere/checkpoint";

const EXPORT_EXAMPLES: &str = "\
Examples:
  backstop audit export > audit.jsonl
  backstop audit export --format csv --after 1000 > new.csv";

const CHECKPOINT_EXAMPLES: &str = "\
Examples:
  backstop audit checkpoint > ~/elsewhere/checkpoint
  backstop audit checkpoint --public-key";
