//! `cargo xtask bench`: the comparisons, which live in a workspace of their own.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use cargo_metadata::MetadataCommand;

use crate::command::CommandLine;
use crate::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, clap::Subcommand)]
enum Subject {
    /// The engine beside a chain of ifs, CEL and Cedar, and the start of `backstop check`
    Engine,
    /// A supervised run beside doing without: loops, output, stops, journal, memory
    Run {
        /// Only these topics: loops, output, stopping, journal, resuming, idling, starting, report
        topics: Vec<String>,
    },
    /// The detector of repetition beside the rules of other tools, on recorded runs
    Detect,
    /// The adapter of an agent's stream beside a JSON parser: speed and memory
    Adapters,
    /// Guards and progress beside `git status`, on a repository of 100,000 files
    Guards,
    /// A call of `backstop hook` in a long session, beside programs that do nothing
    Hook,
    /// `backstop serve` beside a bare handler: requests, open runs, the audit
    Serve {
        /// How many rows the audit has
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
        /// Only these topics: decide, sqlite, postgres, runs, audit, views
        topics: Vec<String>,
    },
}

/// Builds what is measured, runs the comparison, and ends with its exit code.
pub fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.subject {
        Subject::Engine => measure(workspace, "engine", &[]),
        Subject::Run { topics } => measure(workspace, "run", topics),
        Subject::Detect => compare(workspace, &comparison("detect")),
        Subject::Adapters => compare(workspace, &comparison("adapters")),
        Subject::Hook => measure(workspace, "hook", &[]),
        Subject::Guards => measure(workspace, "guards", &[]),
        Subject::Serve { rows, topics } => {
            let rows = ["--rows".to_owned(), rows.to_string()];
            measure(workspace, "serve", &[&rows, &topics[..]].concat())
        }
    }
}

fn measure(workspace: &Workspace, subject: &str, rest: &[String]) -> anyhow::Result<ExitCode> {
    let build = CommandLine::cargo(&["build", "--release", "--package", "backstop"]);
    if !build.run(workspace.root())?.success() {
        bail!("cannot build what is to be measured; to repeat it: {build}");
    }
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .exec()
        .context("cannot find the folder of the build")?;
    let program = metadata.target_directory.join("release/backstop");
    let mut line = comparison(subject).argument("--backstop").argument(program);
    if matches!(subject, "run" | "hook" | "guards" | "serve") {
        line = line.argument("--disk").argument(metadata.target_directory);
    }
    for argument in rest {
        line = line.argument(argument);
    }
    compare(workspace, &line)
}

fn comparison(subject: &str) -> CommandLine {
    CommandLine::cargo(&["run", "--release"])
        .argument("--manifest-path=bench/Cargo.toml")
        .argument("--")
        .argument(subject)
}

fn compare(workspace: &Workspace, line: &CommandLine) -> anyhow::Result<ExitCode> {
    let status = line.run(workspace.root())?;
    // A signal leaves no code, and no more than 8 bits of one ever arrive here.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
