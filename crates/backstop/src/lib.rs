//! The command line of backstop.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

mod args;
mod commands;
mod diagnostics;
mod env_vars;
mod error;
mod exit_code;
mod input;
mod judges;
mod reference;
mod remote;
mod report;
mod sanitise;
mod shown_commands;
mod store;
mod terminal;
mod usage;

pub use reference::reference;

use args::Arguments;
use error::Error;
use remote::Given;
use terminal::Terminal;

/// Runs the command line and answers with its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (arguments, given) = match parse(arguments) {
        Ok(parsed) => parsed,
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
    shown_commands::remember(&given);
    let mut terminal = Terminal::new(arguments.color);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let code = commands::run(arguments.command, &given, &mut terminal)?;
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

/// Reads the command line, and which of it are flags and which are variables.
fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Arguments, Given), clap::Error> {
    let matches = command().try_get_matches_from(arguments).map_err(usage::with_tip)?;
    let given = Given::of(&matches);
    let arguments =
        Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))?;
    Ok((arguments, given))
}

/// The definitions of all commands and flags, for the reference and the man pages.
pub fn command() -> clap::Command {
    remote::shown_where_it_counts(Arguments::command())
}
