//! `backstop replay`: where a policy would have interfered, told from what is left of a run.

mod capture;
mod feed;
mod journal;
mod report;
mod trial;

use std::io::{self, Write as _};
use std::path::Path;

use backstop_core::policy::Policy;

use crate::args::ReplayArguments;
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::store::Opened;
use crate::terminal::Terminal;
use capture::Capture;
use report::Replayed;

pub fn run(arguments: &ReplayArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let named = arguments.policy_name();
    if arguments.what == input::STDIN && named.as_deref() == Some(input::STDIN) {
        return Err(Error::Usage(
            "only one of the capture and --policy can be standard input".to_owned(),
        ));
    }
    let replayed = match is_run(&arguments.what) {
        true => of_run(arguments, named.as_deref(), terminal)?,
        false => of_file(arguments, named.as_deref(), terminal)?,
    };
    if arguments.json {
        let text = serde_json::to_string_pretty(&replayed.as_json()).map_err(io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
    } else {
        write!(terminal.out, "{}", replayed.as_text())?;
    }
    Ok(exit_code::OK)
}

/// A file that is there is meant, and what looks like a path is no run.
fn is_run(what: &str) -> bool {
    let looks_like_a_path = what == input::STDIN || what.contains(['/', '.']);
    !looks_like_a_path && !Path::new(what).exists()
}

fn of_file(
    arguments: &ReplayArguments,
    named: Option<&str>,
    terminal: &mut Terminal,
) -> Result<Replayed, Error> {
    let (policy, policy_name) = policy(named.unwrap_or(DEFAULT), terminal)?;
    let capture = Capture::open(&arguments.what, arguments.agent, &policy)?;
    let (agent, trial) = capture.replay(policy)?;
    Ok(Replayed { what: input::shown(&arguments.what).to_owned(), agent, policy_name, trial })
}

fn of_run(
    arguments: &ReplayArguments,
    named: Option<&str>,
    terminal: &mut Terminal,
) -> Result<Replayed, Error> {
    if arguments.agent.is_some() {
        return Err(Error::Usage(format!(
            "--agent is for files, and there is no file `{}`",
            arguments.what
        )));
    }
    let opened = Opened::existing(&arguments.store)?;
    let run = opened.run(&arguments.what)?;
    let (policy, policy_name) = match named {
        Some(name) => policy(name, terminal)?,
        None => (opened.policy(&run)?, "its own policy".to_owned()),
    };
    let trial = journal::replay(&opened, &run, policy)?;
    Ok(Replayed {
        what: format!("run {}", run.id),
        agent: journal::agent(&run),
        policy_name,
        trial,
    })
}

fn policy(name: &str, terminal: &mut Terminal) -> Result<(Policy, String), Error> {
    let source = input::usable_policy(Some(name), terminal.colours_errors())?;
    for note in &source.loaded.notes {
        terminal.remark(&format!("note: {}: {note}", source.name));
    }
    Ok((source.loaded.policy, source.name))
}

/// A capture says nothing about the directory that somebody looks at it from, so a policy that
/// happens to lie there is not taken.
const DEFAULT: &str = "preset:default";
