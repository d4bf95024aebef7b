//! `backstop policy`: check, show, hash, schema, apply, explain, diff, activate, history.

use std::io::Write as _;

use backstop_core::policy::{self, Policy};

use crate::args::{PolicyCommand, PolicySource};
use crate::error::Error;
use crate::exit_code;
use crate::input::{self, Source};
use crate::terminal::Terminal;

mod apply;
mod check;
mod explain;
mod in_force;
mod surroundings;

pub fn run(command: &PolicyCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    match command {
        PolicyCommand::Check { source, strict, json } => {
            check::run(source, *strict, *json, terminal)
        }
        PolicyCommand::Show { source, json } => {
            let policy = load(source, terminal)?.loaded.policy;
            show(&policy, *json, terminal)
        }
        PolicyCommand::Hash { source } => {
            let policy = load(source, terminal)?.loaded.policy;
            writeln!(terminal.out, "{}", policy.hash())?;
            Ok(exit_code::OK)
        }
        PolicyCommand::Schema => {
            let text =
                serde_json::to_string_pretty(&policy::schema()).map_err(std::io::Error::from)?;
            writeln!(terminal.out, "{text}")?;
            Ok(exit_code::OK)
        }
        PolicyCommand::Apply(arguments) => apply::run(arguments, terminal),
        PolicyCommand::Diff(arguments) => in_force::diff(arguments, terminal),
        PolicyCommand::Activate(arguments) => in_force::activate(arguments, terminal),
        PolicyCommand::History(arguments) => in_force::history(arguments, terminal),
        PolicyCommand::Explain { source, json } => {
            let source = load(source, terminal)?;
            explain::run(&source, *json, terminal)
        }
    }
}

fn load(source: &PolicySource, terminal: &mut Terminal) -> Result<Source, Error> {
    let source = input::usable_policy(source.name().as_deref(), terminal.colours_errors())?;
    for note in &source.loaded.notes {
        terminal.remark(&format!("note: {}: {note}", source.name));
    }
    Ok(source)
}

fn show(policy: &Policy, json: bool, terminal: &mut Terminal) -> Result<u8, Error> {
    if json {
        let text = serde_json::to_string_pretty(&policy.to_json()).map_err(std::io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
    } else {
        write!(terminal.out, "{}", policy.to_toml())?;
    }
    Ok(exit_code::OK)
}
