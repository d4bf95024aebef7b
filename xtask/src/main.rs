//! The tasks of this repository: `cargo xtask <task>`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner talks to the terminal"
)]

mod bench;
mod command;
mod fuzz;
mod generate;
mod licences;
mod prepare;
mod test;
mod tidy;
mod torture;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Tests, tidies, generates and measures backstop.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every check, in order, up to the first that fails
    Test(test::Arguments),
    /// Check the rules of the house that no compiler knows
    Tidy,
    /// Check that the licence of every dependency is allowed by deny.toml
    Licences,
    /// Write the generated files
    Generate(generate::Arguments),
    /// Measure, compare with others, and check against the targets
    Bench(bench::Arguments),
    /// Fuzz one target, or each in turn
    Fuzz(fuzz::Arguments),
    /// Kill supervisors at random instants and check that nothing was lost
    Torture(torture::Arguments),
}

fn main() -> ExitCode {
    let workspace = Workspace::here();
    let result = match Arguments::parse().task {
        Task::Test(arguments) => test::run(&workspace, &arguments).map(|()| ExitCode::SUCCESS),
        Task::Tidy => tidy::run(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Licences => licences::run(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Generate(arguments) => {
            generate::run(&workspace, arguments.mode()).map(|()| ExitCode::SUCCESS)
        }
        Task::Bench(arguments) => bench::run(&workspace, &arguments),
        Task::Fuzz(arguments) => fuzz::run(&workspace, &arguments).map(|()| ExitCode::SUCCESS),
        Task::Torture(arguments) => {
            torture::run(&workspace, &arguments).map(|()| ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
