//! What each command does.

use crate::args::Command;
use crate::error::Error;
use crate::remote::{self, Given};
use crate::terminal::Terminal;

pub mod answer;
mod attach;
mod attend;
pub mod audit;
mod begin;
pub mod check;
mod completions;
mod doctor;
mod emit;
pub mod end;
mod github;
pub mod halt;
mod hook;
mod init;
mod logs;
pub mod look;
pub mod ls;
mod notify;
pub mod operate;
mod pause;
mod policy;
mod prune;
mod raise;
mod reasons;
pub mod release;
mod replay;
mod report;
mod resume;
mod run;
mod serve;
pub mod show;
pub mod stop;
mod store;
mod tests;
mod token;

/// Runs a command, here or against the server that was named, and answers with its exit code.
pub fn run(command: Command, given: &Given, terminal: &mut Terminal) -> Result<u8, Error> {
    if let Some(server) = given.server_for(&command)? {
        return remote::run(&command, &server, terminal);
    }
    given.tell_store_of(&command, terminal)?;
    match command {
        Command::Run(arguments) => run::run(&arguments, terminal),
        Command::Resume(arguments) => resume::run(&arguments, terminal),
        Command::Begin(arguments) => begin::run(&arguments, terminal),
        Command::Emit(arguments) => emit::run(&arguments, given, terminal),
        Command::End(arguments) => end::run(&arguments, terminal),
        Command::Hook(command) => hook::run(&command, terminal),
        Command::Stop(arguments) => stop::run(&arguments, terminal),
        Command::Halt(arguments) => halt::run(&arguments, terminal),
        Command::Pause(arguments) => pause::run(&arguments, terminal),
        Command::Answer(arguments) => answer::run(&arguments, terminal),
        Command::Release(arguments) if arguments.all => halt::release(&arguments, terminal),
        Command::Release(arguments) => release::run(&arguments, terminal),
        Command::Attend(arguments) => attend::run(&arguments, terminal),
        Command::Raise(arguments) => raise::run(&arguments, terminal),
        Command::Ls(arguments) => ls::run(&arguments, terminal),
        Command::Show(arguments) => show::run(&arguments, terminal),
        Command::Report(arguments) => report::run(&arguments, terminal),
        Command::Logs(arguments) => logs::run(&arguments, terminal),
        Command::Attach(arguments) => attach::run(&arguments, terminal),
        Command::Doctor(arguments) => doctor::run(&arguments, terminal),
        Command::Prune(arguments) => prune::run(&arguments, terminal),
        Command::Check(arguments) => check::run(&arguments, terminal),
        Command::Replay(arguments) => replay::run(&arguments, terminal),
        Command::Tests(arguments) => tests::run(&arguments, terminal),
        Command::Policy(command) => policy::run(&command, terminal),
        Command::Serve(arguments) => serve::run(&arguments, terminal),
        Command::Github(command) => github::run(&command, terminal),
        Command::Store(command) => store::run(&command, terminal),
        Command::Audit(command) => audit::run(&command, terminal),
        Command::Token(command) => token::run(&command, terminal),
        Command::Notify(command) => notify::run(&command, terminal),
        Command::Reasons(arguments) => reasons::run(&arguments, terminal),
        Command::Init(arguments) => init::run(&arguments, terminal),
        Command::Completions { shell } => completions::script(shell, terminal),
        Command::Man { out } => completions::manual(out.as_deref(), terminal),
    }
}
