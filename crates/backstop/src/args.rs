//! Commands and flags.

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::terminal::Colour;

mod audit;
mod hook;
mod in_force;
mod notify;
mod operate;
mod replay;
mod report;
mod run;
mod serve;
mod store;
mod tests;
mod token;
mod views;

pub use audit::{
    AuditCheckpointArguments, AuditCommand, AuditExportArguments, AuditLsArguments,
    AuditShowArguments, AuditVerifyArguments, ExportForm,
};
pub use hook::{HookArguments, HookCommand, HookInstallArguments};
pub use in_force::{ActivateArguments, DiffArguments, HistoryArguments};
pub use notify::{NotifyCommand, NotifyTestArguments};
pub use operate::{
    AnswerArguments, ApplyArguments, AttendArguments, HaltArguments, PauseArguments,
    RaiseArguments, ReleaseArguments, StopArguments,
};
pub use replay::ReplayArguments;
pub use report::{BeginArguments, EmitArguments, EndArguments, PrintForm};
pub use run::{GuardFlags, ResumeArguments, RunArguments, ViewFlags};
pub use serve::{
    GithubArguments, GithubCommand, LogForm, RerunArguments, ServeArguments, StoreCommand,
};
pub use store::StoreArguments;
pub use tests::TestsArguments;
pub use token::{TokenCommand, TokenCreateArguments, TokenLsArguments, TokenRevokeArguments};
pub use views::{
    AttachArguments, DoctorArguments, LogsArguments, LsArguments, PruneArguments, ReportArguments,
    ReportForm, ShowArguments, ShownStatus, StateForm,
};

use audit::AUDIT_EXAMPLES;
use hook::HOOK_EXAMPLES;
use in_force::{ACTIVATE_EXAMPLES, DIFF_EXAMPLES, HISTORY_EXAMPLES};
use notify::NOTIFY_EXAMPLES;
use operate::{
    ANSWER_EXAMPLES, APPLY_EXAMPLES, ATTEND_EXAMPLES, HALT_EXAMPLES, PAUSE_EXAMPLES,
    RAISE_EXAMPLES, RELEASE_EXAMPLES, STOP_EXAMPLES,
};
use replay::REPLAY_EXAMPLES;
use report::{BEGIN_EXAMPLES, EMIT_EXAMPLES, END_EXAMPLES};
use run::{RESUME_EXAMPLES, RUN_EXAMPLES};
use serve::{GITHUB_EXAMPLES, SERVE_EXAMPLES, STORE_EXAMPLES};
use tests::TESTS_EXAMPLES;
use token::TOKEN_EXAMPLES;
use views::{
    ATTACH_EXAMPLES, DOCTOR_EXAMPLES, LOGS_EXAMPLES, LS_EXAMPLES, PRUNE_EXAMPLES, REPORT_EXAMPLES,
    SHOW_EXAMPLES,
};

/// Runs an autonomous loop and knows when to stop it.
#[derive(Debug, Parser)]
#[command(name = "backstop", version, arg_required_else_help = true, after_help = TOP_EXAMPLES)]
pub struct Arguments {
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: Colour,
    /// Work against the `backstop serve` at this address; BACKSTOP_TOKEN holds the token
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "BACKSTOP_SERVER",
        hide_env_values = true
    )]
    pub server: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command again and again until the work is done or a limit is reached
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Go on with a run that halted, or whose supervisor died
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArguments),
    /// Begin a run that a script reports to, without a supervisor
    #[command(after_help = BEGIN_EXAMPLES)]
    Begin(BeginArguments),
    /// Report something that happened, and get the decision
    #[command(after_help = EMIT_EXAMPLES)]
    Emit(EmitArguments),
    /// End a run that a script reported to
    #[command(after_help = END_EXAMPLES)]
    End(EndArguments),
    /// Answer an agent that calls backstop at every step, or have it do so
    #[command(subcommand, after_help = HOOK_EXAMPLES)]
    Hook(HookCommand),
    /// Stop a run
    #[command(after_help = STOP_EXAMPLES)]
    Stop(StopArguments),
    /// Stop every run on every machine that shares the store, and let none start
    #[command(after_help = HALT_EXAMPLES)]
    Halt(HaltArguments),
    /// Let a run wait after its iteration, or go on
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause(PauseArguments),
    /// Answer what a run asks
    #[command(after_help = ANSWER_EXAMPLES)]
    Answer(AnswerArguments),
    /// Let a held run go on, or take back the order to halt
    #[command(after_help = RELEASE_EXAMPLES)]
    Release(ReleaseArguments),
    /// Be asked before each iteration of a run, or no longer
    #[command(after_help = ATTEND_EXAMPLES)]
    Attend(AttendArguments),
    /// Raise limits of a run
    #[command(after_help = RAISE_EXAMPLES)]
    Raise(RaiseArguments),
    /// List runs, newest first
    #[command(after_help = LS_EXAMPLES)]
    Ls(LsArguments),
    /// Show a run: why it stopped, its figures, every limit
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArguments),
    /// Tell the whole story of a run: what was asked, done and decided, and what is next
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArguments),
    /// Print what a run has printed
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(LogsArguments),
    /// Watch a run that goes on, until it halts
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(AttachArguments),
    /// Find out why a run stopped, or whether everything is in place
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArguments),
    /// Remove logs and journals of old runs
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune(PruneArguments),
    /// Decide once, from facts or a file of events
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Tell where a policy would have stopped an agent's past session, or a past run
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArguments),
    /// Read test reports of any kind: what passed, what failed, and why
    #[command(after_help = TESTS_EXAMPLES)]
    Tests(TestsArguments),
    /// Check, show, hash and explain policies
    #[command(subcommand, after_help = POLICY_EXAMPLES)]
    Policy(PolicyCommand),
    /// Answer decisions over HTTP, for loops and bots on many machines
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArguments>),
    /// Run failed jobs of a pull request again, if the policy lets it
    #[command(subcommand, after_help = GITHUB_EXAMPLES)]
    Github(GithubCommand),
    /// Move what is remembered to another store
    #[command(subcommand, after_help = STORE_EXAMPLES)]
    Store(StoreCommand),
    /// Look into the record of decisions, and prove that nobody has changed it
    #[command(subcommand, after_help = AUDIT_EXAMPLES)]
    Audit(AuditCommand),
    /// Say who may ask the server for what
    #[command(subcommand, after_help = TOKEN_EXAMPLES)]
    Token(TokenCommand),
    /// Try out who is told when a run halts
    #[command(subcommand, after_help = NOTIFY_EXAMPLES)]
    Notify(NotifyCommand),
    /// List stop reasons, or explain one
    #[command(after_help = REASONS_EXAMPLES)]
    Reasons(ReasonsArguments),
    /// Write a commented backstop.toml that fits this directory
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArguments),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell that will read it
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Write one page per command into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<std::path::PathBuf>,
    },
}

/// Flags of `backstop check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml, else preset:default]
    #[arg(long, value_name = "FILE|preset:NAME")]
    pub policy: Option<String>,
    /// Facts as a JSON object; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub facts: Option<String>,
    /// Events, one JSON object per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub events: Option<String>,
    /// Decide as of this time, such as 2026-05-04T10:00:00Z [default: now]
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<backstop_core::time::Timestamp>,
    /// Print the decision as JSON
    #[arg(long)]
    pub json: bool,
    /// Exit 0 only to go on (continue and warn), and 1 when the work is complete: for `|| break`
    #[arg(long = "break")]
    pub break_when_complete: bool,
    /// Print the answer in another tool's form, as JSON
    #[arg(long, value_name = "FORM")]
    pub form: Option<Form>,
    /// With --form rerun: the pull request that the answer is about
    #[arg(long, value_name = "NUMBER", requires = "form")]
    pub pr: Option<u64>,
    /// With --form rerun: the workflow run that the answer is about
    #[arg(long, value_name = "NUMBER", requires = "form")]
    pub run_id: Option<u64>,
    /// With --form rerun: the request to echo [default: a new one]
    #[arg(long, value_name = "ID", requires = "form")]
    pub request_id: Option<String>,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The camelCase answer that CI re-run bots know
    Rerun,
}

/// What to do with a policy.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Look for errors and for what will surprise
    #[command(after_help = POLICY_CHECK_EXAMPLES)]
    Check {
        #[command(flatten)]
        source: PolicySource,
        /// Refuse what will surprise, too
        #[arg(long)]
        strict: bool,
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the effective policy, with presets and limits worked in, as TOML
    #[command(after_help = POLICY_SHOW_EXAMPLES)]
    Show {
        #[command(flatten)]
        source: PolicySource,
        /// Print JSON instead of TOML
        #[arg(long)]
        json: bool,
    },
    /// Print the hash of the effective policy
    #[command(after_help = POLICY_HASH_EXAMPLES)]
    Hash {
        #[command(flatten)]
        source: PolicySource,
    },
    /// Print the JSON schema of policies, for editors
    #[command(after_help = POLICY_SCHEMA_EXAMPLES)]
    Schema,
    /// Put another policy in place for a run
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(ApplyArguments),
    /// Say what differs between two policies, in plain words
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArguments),
    /// Put a policy in force for decisions about a repository, a label or everything
    #[command(after_help = ACTIVATE_EXAMPLES)]
    Activate(ActivateArguments),
    /// List what was ever put in force, newest first
    #[command(after_help = HISTORY_EXAMPLES)]
    History(HistoryArguments),
    /// Say every rule in plain words, in the order in which it would win
    #[command(after_help = POLICY_EXPLAIN_EXAMPLES)]
    Explain {
        #[command(flatten)]
        source: PolicySource,
        /// Print the rules as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which policy a command is about.
#[derive(Debug, Args)]
pub struct PolicySource {
    /// The policy: a file, or preset:NAME [default: the nearest backstop.toml, else preset:default]
    #[arg(value_name = "FILE|preset:NAME", conflicts_with_all = ["policy", "preset"])]
    pub file: Option<String>,
    /// The same, as a flag
    #[arg(long, value_name = "FILE|preset:NAME", conflicts_with = "preset")]
    pub policy: Option<String>,
    /// A built-in rule set
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
}

impl PolicySource {
    /// The policy's name as other commands take it.
    pub fn name(&self) -> Option<String> {
        let preset = self.preset.as_ref().map(|name| format!("preset:{name}"));
        preset.or_else(|| self.policy.clone()).or_else(|| self.file.clone())
    }
}

/// Flags of `backstop reasons`.
#[derive(Debug, Args)]
pub struct ReasonsArguments {
    /// Explain this reason: a code or an alias, in any case
    pub code: Option<String>,
    /// Only reasons of this family
    #[arg(long, value_name = "FAMILY")]
    pub family: Option<backstop_core::reason::Family>,
    /// Only reasons after which a run may resume by itself
    #[arg(long)]
    pub auto_resumable: bool,
    /// Print a list of JSON objects
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown
    #[arg(long)]
    pub markdown: bool,
}

/// Flags of `backstop init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// Replace a backstop.toml that is there
    #[arg(long)]
    pub force: bool,
    /// Print the file instead of writing it
    #[arg(long)]
    pub print: bool,
}

const TOP_EXAMPLES: &str = "\
Examples:
  backstop init                                       a policy for this project
  backstop policy check                               is it right, will it surprise
  backstop check --events run.jsonl                   what it says of a recorded run
  backstop reasons stalled                            what a stop means, and what to do
  backstop --server https://backstop.example.org ls   the runs of a server

With --server or BACKSTOP_SERVER these work against a `backstop serve`
elsewhere: check, begin, emit, end, ls, show, stop, answer, release, halt, audit
ls and audit show. All others refuse the flag and take no notice of the
variable. --store stands above the variable.";

const CHECK_EXAMPLES: &str = "\
Exits 0 for continue, warn and complete, else with the reason's code. With
--server the server decides; where no --policy is named, by the policy that is
in force there.

Examples:
  backstop check --facts facts.json
  backstop check --policy preset:pipeline --events run.jsonl
  echo '{\"iterations\": 100}' | backstop check --policy preset:default --facts - --json
  backstop check --policy lawbook.json --facts pr.json --form rerun --pr 9
  backstop check --events run.jsonl --break           for `|| break` in a loop
  backstop check --server https://backstop.example.org --facts facts.json";

const POLICY_EXAMPLES: &str = "\
Examples:
  backstop policy check
  backstop policy show --preset ralph
  backstop policy explain backstop.toml";

const POLICY_CHECK_EXAMPLES: &str = "\
Exits 0, or 78 for errors; with --strict also for warnings.

Examples:
  backstop policy check
  backstop policy check manifest.yaml --strict";

const POLICY_SHOW_EXAMPLES: &str = "\
Examples:
  backstop policy show
  backstop policy show --preset moderator > backstop.toml
  backstop policy show lawbook.json --json";

const POLICY_HASH_EXAMPLES: &str = "\
Examples:
  backstop policy hash
  backstop policy hash preset:default";

const POLICY_SCHEMA_EXAMPLES: &str = "\
Examples:
  backstop policy schema > backstop.schema.json
  then in YAML:  # yaml-language-server: $schema=./backstop.schema.json
  or in JSON:    { \"$schema\": \"./backstop.schema.json\", \"rule\": [] }";

const POLICY_EXPLAIN_EXAMPLES: &str = "\
Examples:
  backstop policy explain
  backstop policy explain preset:moderator";

const REASONS_EXAMPLES: &str = "\
Examples:
  backstop reasons
  backstop reasons MAX_TICKS
  backstop reasons --family quality
  backstop reasons --auto-resumable --json";

const INIT_EXAMPLES: &str = "\
Examples:
  backstop init
  backstop init --print";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  backstop completions bash > ~/.local/share/bash-completion/completions/backstop
  backstop completions zsh > ~/.zfunc/_backstop";

const MAN_EXAMPLES: &str = "\
Examples:
  backstop man | man -l -
  backstop man --out ~/.local/share/man/man1";
