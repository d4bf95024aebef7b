//! Measures the engine beside others that could do its work, and checks it against its targets.

mod allocations;
mod cedar;
mod cel_programs;
mod engine;
mod figures;
mod ifs;
mod measure;
mod ours;
mod output;
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
    /// A flood of output beside cat; exits 1 if a target is missed
    Output,
    /// The child of the flood
    #[command(hide = true)]
    WriteLines,
}

fn main() -> anyhow::Result<ExitCode> {
    let reached = match Arguments::parse().subject {
        Subject::Engine { backstop } => engine::run(&backstop)?,
        Subject::Output => {
            let targets = output::run()?;
            println!("\ntargets");
            targets.iter().for_each(|target| println!("{target}"));
            targets.iter().all(targets::Target::reached)
        }
        Subject::WriteLines => {
            output::write_lines()?;
            true
        }
    };
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
