//! A program that misbehaves, one way per sub-command, for tests of those who must cope with it.
//!
//! Whatever it leaves running ends by itself after two minutes, so that a test that fails leaves
//! nothing behind for long. `misbehave COMMAND --help` tells about each.

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod agent;
mod ending;
mod exporting;
mod inspection;
mod output;
mod processes;
mod work;

/// Misbehaves in one way.
#[derive(Debug, Parser)]
#[command(name = "misbehave", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Processes(processes::Command),
    #[command(flatten)]
    Output(output::Command),
    #[command(flatten)]
    Ending(ending::Command),
    #[command(flatten)]
    Exporting(exporting::Command),
    #[command(flatten)]
    Inspection(inspection::Command),
    #[command(flatten)]
    Work(work::Command),
    #[command(flatten)]
    Agent(agent::Command),
}

fn main() -> io::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Processes(command) => command.run(),
        Command::Output(command) => command.run(),
        Command::Ending(command) => command.run(),
        Command::Exporting(command) => command.run(),
        Command::Inspection(command) => command.run(),
        Command::Work(command) => command.run(),
        Command::Agent(command) => command.run(),
    }
}
