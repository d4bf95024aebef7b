//! The command line of backstop.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

mod args;
mod commands;
mod diagnostics;
mod env_vars;
mod error;
mod exit_code;
mod input;
mod reference;
mod report;
mod sanitise;
mod store;
mod terminal;

pub use reference::reference;

use args::Arguments;
use error::Error;
use terminal::Terminal;

/// Runs the command line and answers with its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers; anything else is a usage error, which is never 2: that
            // is the code of a guard violation.
            let printed = error.print();
            return match (error.use_stderr(), printed) {
                (true, _) => exit_code::USAGE,
                (false, Ok(())) => exit_code::OK,
                (false, Err(error)) => Error::Write(error).exit_code(),
            }
            .into();
        }
    };
    let mut terminal = Terminal::new(arguments.color);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let code = commands::run(arguments.command, &mut terminal)?;
        terminal.finish(code)
    }));
    match ended {
        Ok(Ok(code)) => code.into(),
        Ok(Err(error)) => {
            if let Some(message) = error.message() {
                terminal.remark(&message);
            }
            error.exit_code().into()
        }
        // A panic has said already where it was; its code must not look like a reason's.
        Err(_) => exit_code::INTERNAL.into(),
    }
}

/// The definitions of all commands and flags, for the reference and the man pages.
pub fn command() -> clap::Command {
    Arguments::command()
}
