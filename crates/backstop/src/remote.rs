//! Commands that work against a `backstop serve` elsewhere: the same words, the same answers, the same
//! codes.

use backstop_runner::ancestry;
use backstop_store::access::Scope;

mod address;
mod audit;
mod check;
mod client;
mod given;
mod looking;
mod operating;
mod refusal;
mod reporting;

pub use client::Server;
pub use given::{Given, shown_where_it_counts};
pub use reporting::Reporter;

use looking::Listed;

use crate::args::{AuditCommand, Command};
use crate::commands::operate::supervised;
use crate::error::Error;
use crate::terminal::Terminal;

/// Runs a command there, if it is one that can. `emit` finds its own way: where it leads depends on
/// what its words say.
pub fn run(command: &Command, server: &Server, terminal: &mut Terminal) -> Result<u8, Error> {
    match command {
        Command::Check(arguments) => check::run(arguments, server, terminal),
        Command::Begin(arguments) => reporting::begin(arguments, server, terminal),
        Command::End(arguments) => reporting::end(arguments, server, terminal),
        Command::Ls(arguments) => looking::ls(arguments, server, terminal),
        Command::Show(arguments) => looking::show(arguments, server, terminal),
        Command::Stop(arguments) => operating::stop(arguments, server, terminal),
        Command::Answer(arguments) => operating::answer(arguments, server, terminal),
        Command::Release(arguments) if arguments.all => {
            operating::release_all(arguments, server, terminal)
        }
        Command::Release(arguments) => operating::release(arguments, server, terminal),
        Command::Halt(arguments) => operating::halt(arguments, server, terminal),
        Command::Audit(AuditCommand::Ls(arguments)) => audit::ls(arguments, server, terminal),
        Command::Audit(AuditCommand::Show(arguments)) => audit::show(arguments, server, terminal),
        _ => Err(given::only_here()),
    }
}

/// Refuses what a supervised process may not do to any run, wherever that is.
fn refuse_if_supervised(server: &Server, command: &str) -> Result<(), Error> {
    for run in ancestry::runs(std::process::id()) {
        let query = [("prefix", run.to_string()), ("include", "origin".to_owned())];
        let found: looking::Page = server.get("/v1/runs", &query, Scope::Read)?.json()?;
        // A script may keep the name of a run there that has no supervisor.
        let is_script = |listed: &Listed| !listed.origin.supervised;
        if !found.runs.first().is_some_and(is_script) {
            return Err(supervised(run, command));
        }
    }
    Ok(())
}
