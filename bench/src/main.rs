//! Measures the engine beside others that could do its work, and checks it against its targets.

mod allocations;
mod cedar;
mod cel_programs;
mod engine;
mod figures;
mod ifs;
mod measure;
mod ours;
mod start;
mod targets;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
}

fn main() -> anyhow::Result<ExitCode> {
    let Subject::Engine { backstop } = Arguments::parse().subject;
    let reached = engine::run(&backstop)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
