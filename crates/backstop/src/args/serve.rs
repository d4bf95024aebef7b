//! Flags of `backstop serve`, `backstop store` and `backstop github`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::StoreArguments;

/// Flags of `backstop serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Where to listen; beyond this machine only with a token, and with TLS
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    pub listen: SocketAddr,
    /// A certificate chain as PEM, to speak TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Speak without TLS to other machines, since something in front does that
    #[arg(long, conflicts_with = "tls_cert")]
    pub insecure: bool,
    /// A name under which clients may reach it; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// An origin whose pages may ask it, such as https://ops.example; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// How many requests a token, or an address without one, has each second
    #[arg(long, value_name = "N")]
    pub rate: Option<std::num::NonZeroU32>,
    /// A collector of traces that is told of every request (OTLP over HTTP)
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// The form of the log on standard error
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub log: LogForm,
    #[command(flatten)]
    pub github: GithubArguments,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// The form of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// Lines for people
    Text,
    /// A JSON object per line
    Json,
}

/// How GitHub is reached.
#[derive(Debug, Args)]
pub struct GithubArguments {
    /// The address of GitHub's API
    #[arg(
        long,
        value_name = "URL",
        env = "GITHUB_API_URL",
        default_value = "https://api.github.com"
    )]
    pub github_url: String,
}

/// What to do with stores.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copy everything from one store to another that is empty, and compare them
    #[command(after_help = COPY_EXAMPLES)]
    Copy {
        /// The store to read: a directory or a URL
        from: String,
        /// The store to fill: a directory or a URL
        to: String,
    },
}

/// What to do on GitHub.
#[derive(Debug, Subcommand)]
pub enum GithubCommand {
    /// Run failed jobs of a pull request again, if the policy lets it
    #[command(after_help = RERUN_EXAMPLES)]
    Rerun(RerunArguments),
}

/// Flags of `backstop github rerun`.
#[derive(Debug, Args)]
pub struct RerunArguments {
    /// The repository
    #[arg(long, value_name = "OWNER/NAME", env = "GITHUB_REPOSITORY", value_parser = super::audit::repository)]
    pub repo: (String, String),
    /// The pull request
    #[arg(long, value_name = "NUMBER")]
    pub pr: u64,
    /// The workflow run [default: every one for the newest commit of the pull request]
    #[arg(long, value_name = "NUMBER")]
    pub run_id: Option<u64>,
    /// All jobs, not only those that failed
    #[arg(long)]
    pub all_jobs: bool,
    /// How often a job may be run again, from 1 to 5
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub max_attempts: u8,
    /// The request's name, for the audit [default: a new one]
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,
    /// Print the whole answer as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub github: GithubArguments,
    #[command(flatten)]
    pub store: StoreArguments,
}

pub const SERVE_EXAMPLES: &str = "\
Answers decisions over HTTP until it is stopped by SIGTERM or Ctrl-C: it answers
what it has begun, and ends at once if it is told a second time. What GitHub
knows it by comes from the environment: BACKSTOP_GITHUB_TOKEN, and
BACKSTOP_GITHUB_SECRET for the signatures of webhooks.

Examples:
  backstop serve
  backstop serve --listen 0.0.0.0:7878 --tls-cert fleet.pem --tls-key fleet.key
  backstop serve --store postgres://backstop@db.example/backstop --log json
  backstop serve --otlp http://collector.example:4318";

pub const STORE_EXAMPLES: &str = "\
Examples:
  backstop store copy ~/.local/state/backstop postgres://backstop@db.example/backstop";

const COPY_EXAMPLES: &str = "\
Nobody may write either store meanwhile. Logs of runs stay on the machines that
ran them.

Examples:
  backstop store copy ~/.local/state/backstop postgres://backstop@db.example/backstop
  backstop store copy postgres://backstop@db.example/backstop ./backup";

pub const GITHUB_EXAMPLES: &str = "\
Examples:
  backstop github rerun --repo octo-org/hello --pr 9";

const RERUN_EXAMPLES: &str = "\
Needs a token in BACKSTOP_GITHUB_TOKEN or GITHUB_TOKEN that may run workflows.
Exits 0 if jobs run again, nothing failed or the run is still in progress, else
with the reason's code (50 if all that failed has had its attempts); the
decision is in the audit either way.

Examples:
  backstop github rerun --repo octo-org/hello --pr 9
  backstop github rerun --repo octo-org/hello --pr 9 --run-id 7000000001 --all-jobs --json";
