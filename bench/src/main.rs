//! Measures backstop beside others that could do its work, and checks it against its targets.

mod adapters;
mod allocations;
mod cedar;
mod cel_programs;
mod detect;
mod engine;
mod figures;
mod guards;
mod hook;
mod idling;
mod ifs;
mod journal;
mod loops;
mod measure;
mod ours;
mod output;
mod plain_service;
mod report;
mod resuming;
mod serve;
mod start;
mod starting;
mod stopping;
mod supervised;
mod supervision;
mod targets;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::supervision::Topic;

/// Compares backstop with others and with its targets.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// The engine beside a chain of ifs, CEL and Cedar; exits 1 if a target is missed
    Engine {
        /// The program whose start is measured, built for release
        #[arg(long)]
        backstop: PathBuf,
    },
    /// Supervision beside doing without it; exits 1 if a target is missed
    Run {
        /// The program that is measured, built for release
        #[arg(long)]
        backstop: PathBuf,
        /// A folder on the disk that is measured
        #[arg(long)]
        disk: PathBuf,
        /// Only these topics
        topics: Vec<Topic>,
    },
    /// Our detector of repetition beside the rules of others; exits 1 if a target is missed
    Detect,
    /// The adapter of an agent's stream beside a JSON parser; exits 1 if a target is missed
    Adapters,
    /// Guards and progress beside `git status`; exits 1 if a target is missed
    Guards {
        /// The program that is measured, built for release
        #[arg(long)]
        backstop: PathBuf,
        /// Where to write; the disk that is measured
        #[arg(long)]
        disk: PathBuf,
    },
    /// A call of `backstop hook` beside programs that do nothing; exits 1 if a target is missed
    Hook {
        /// The program that is measured, built for release
        #[arg(long)]
        backstop: PathBuf,
        /// A folder on the disk that is measured
        #[arg(long)]
        disk: PathBuf,
    },
    /// `backstop serve` beside a bare handler; exits 1 if a target is missed
    Serve {
        /// The program that is measured, built for release
        #[arg(long)]
        backstop: PathBuf,
        /// A folder on the disk that is measured
        #[arg(long)]
        disk: PathBuf,
        /// How many rows the audit has
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
        /// Only these topics
        topics: Vec<serve::Topic>,
    },
    /// The bare handler, with the answers that it gives
    #[command(hide = true)]
    AnswerConstantly { decision: PathBuf, stop_decision: PathBuf },
    /// Any program in a session of its own
    #[command(hide = true)]
    Alone {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// The reader whose memory is measured
    #[command(hide = true)]
    ReadStream,
    /// The child of the flood
    #[command(hide = true)]
    WriteLines,
    /// The minimal loop
    #[command(hide = true)]
    SpawnAll,
    /// The child whose start is measured
    #[command(hide = true)]
    SayClock,
    /// The tree that is stopped
    #[command(hide = true)]
    Stay { level: u32, notes: PathBuf },
    /// The reporters of the journal
    #[command(hide = true)]
    Report { reporters: usize, result: PathBuf },
    /// The database with a commit per event
    #[command(hide = true)]
    CommitEach { database: PathBuf, result: PathBuf },
    /// The service that commits each event before it answers
    #[command(hide = true)]
    AcknowledgeEach { socket: PathBuf, database: PathBuf },
    /// The journal whose waits for the disk are counted
    #[command(hide = true)]
    Commit { folder: PathBuf, times: u64 },
}

fn main() -> anyhow::Result<ExitCode> {
    let reached = match Arguments::parse().subject {
        Subject::Engine { backstop } => engine::run(&backstop)?,
        Subject::Run { backstop, disk, topics } => supervision::run(&backstop, &disk, &topics)?,
        Subject::Detect => detect::run()?,
        Subject::Adapters => adapters::run()?,
        Subject::Hook { backstop, disk } => hook::run(&backstop, &disk)?,
        Subject::Guards { backstop, disk } => guards::run(&backstop, &disk)?,
        Subject::Serve { backstop, disk, rows, topics } => {
            serve::run(&backstop, &disk, rows, &topics)?
        }
        Subject::AnswerConstantly { decision, stop_decision } => {
            done(serve::answer_constantly(&decision, &stop_decision))?
        }
        Subject::ReadStream => done(adapters::read_stream())?,
        Subject::Alone { command } => done(supervised::become_alone(&command))?,
        Subject::WriteLines => done(output::write_lines())?,
        Subject::SpawnAll => done(loops::spawn_all())?,
        Subject::SayClock => done(starting::say_clock())?,
        Subject::Stay { level, notes } => done(stopping::stay(level, &notes))?,
        Subject::Report { reporters, result } => done(journal::report(reporters, &result))?,
        Subject::CommitEach { database, result } => done(journal::commit_each(&database, &result))?,
        Subject::AcknowledgeEach { socket, database } => {
            done(plain_service::serve(&socket, &database))?
        }
        Subject::Commit { folder, times } => done(journal::commit(&folder, times))?,
    };
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn done(part: anyhow::Result<()>) -> anyhow::Result<bool> {
    part.map(|()| true)
}
