//! `backstop policy activate`, `history` and `diff`.

use std::io::Write as _;

use backstop_core::policy::{Policy, difference};
use backstop_runner::clock::wall_time;
use backstop_runner::loading;
use backstop_store::{Activation, PastActivation};

use crate::args::{ActivateArguments, DiffArguments, HistoryArguments};
use crate::commands::operate::{pinned, refuse_if_supervised};
use crate::commands::show::local_time;
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::report::{columns, hanging};
use crate::sanitise::harmless;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn activate(arguments: &ActivateArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let policy = match &arguments.policy {
        Some(name) => Some(pinned(Some(name), None, terminal)?),
        None => None,
    };
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "policy activate")?;
    let now = wall_time();
    let policy_hash = policy.as_ref().map(|pinned| pinned.policy.hash());
    if let Some(pinned) = &policy {
        opened.wait(opened.store.policy_put(&pinned.stored(now)))?;
    }
    let scope = arguments.scope.clone();
    let activation = Activation { scope, policy_hash: policy_hash.clone(), by: caller(), at: now };
    opened.wait(opened.store.policy_activate(&activation))?;
    opened.wait_for_services();
    match policy_hash {
        Some(hash) => writeln!(terminal.out, "in force for {}: {hash}", arguments.scope)?,
        None => writeln!(terminal.out, "nothing is in force for {} now", arguments.scope)?,
    }
    Ok(exit_code::OK)
}

pub fn history(arguments: &HistoryArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let listed = opened.store.policy_history(arguments.scope.as_ref(), None, arguments.limit);
    let listed = opened.wait(listed)?;
    if listed.is_empty() && !arguments.json {
        terminal.remark("no policy was ever put in force there");
    }
    for PastActivation { activation, .. } in &listed {
        if arguments.json {
            writeln!(terminal.out, "{}", serde_json::json!(activation))?;
            continue;
        }
        let hash = activation.policy_hash.as_deref().unwrap_or("taken back");
        let lead = format!("{}  ", local_time(activation.at));
        let rest = format!("{} by {}: {hash}", activation.scope, activation.by);
        write!(terminal.out, "{}", hanging(&lead, &harmless(&rest)))?;
    }
    Ok(exit_code::OK)
}

pub fn diff(arguments: &DiffArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let from = named(&arguments.from, arguments, terminal)?;
    let to = named(&arguments.to, arguments, terminal)?;
    let differences = difference::in_words(&from, &to);
    if arguments.json {
        writeln!(terminal.out, "{:#}", serde_json::json!(differences))?;
    } else if differences.is_empty() {
        writeln!(terminal.out, "they are the same")?;
    } else {
        for sentence in &differences {
            write!(terminal.out, "{}", hanging(&columns("-", 2), &harmless(sentence)))?;
        }
    }
    Ok(u8::from(!differences.is_empty()))
}

/// A policy by its hash, where one of that hash is stored, else by its name.
fn named(name: &str, arguments: &DiffArguments, terminal: &mut Terminal) -> Result<Policy, Error> {
    if !name.starts_with("sha256:") {
        let source = input::usable_policy(Some(name), terminal.colours_errors())?;
        return Ok(source.loaded.policy);
    }
    let opened = Opened::existing(&arguments.store)?;
    let stored = opened
        .wait(opened.store.policy_fetch(name))?
        .ok_or_else(|| Error::Missing(format!("no policy with the hash `{name}` is stored")))?;
    Ok(loading::policy(&stored)?)
}
