//! What each command does.

use crate::args::Command;
use crate::error::Error;
use crate::terminal::Terminal;

mod check;
mod completions;
mod init;
mod policy;
mod reasons;

/// Runs a command and answers with its exit code.
pub fn run(command: Command, terminal: &mut Terminal) -> Result<u8, Error> {
    match command {
        Command::Check(arguments) => check::run(&arguments, terminal),
        Command::Policy(command) => policy::run(&command, terminal),
        Command::Reasons(arguments) => reasons::run(&arguments, terminal),
        Command::Init(arguments) => init::run(&arguments, terminal),
        Command::Completions { shell } => completions::script(shell, terminal),
        Command::Man { out } => completions::manual(out.as_deref(), terminal),
    }
}
