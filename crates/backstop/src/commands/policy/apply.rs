//! `backstop policy apply`: another policy for a run that has one pinned.

use std::io::Write as _;

use backstop_core::policy::{Flags, Lifted};
use backstop_runner::clock::wall_time;
use backstop_runner::launch::PolicyFlags;
use backstop_runner::socket::Order;
use backstop_runner::unsupervised::{self, PinnedPolicy};
use backstop_store::{Run, StoreError};
use serde::Deserialize;

use crate::args::ApplyArguments;
use crate::commands::operate::{order, pinned, refuse_if_supervised};
use crate::commands::run::layered;
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &ApplyArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    if !is_named(arguments) && input::nearest_policy().is_none() {
        return Err(Error::Usage(
            "there is no backstop.toml here or above to apply\n\nhint: name a policy with --policy"
                .to_owned(),
        ));
    }
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "policy apply")?;
    let run = opened.run(&arguments.run)?;
    let pinned = match run.supervised {
        true => under_flags(arguments, &run, terminal)?,
        false => pinned(arguments.policy.as_deref(), arguments.preset.as_deref(), terminal)?,
    };
    let hash = pinned.policy.hash();
    if hash == run.policy_hash {
        writeln!(terminal.out, "run {} has this policy already: {hash}", run.id)?;
        return Ok(exit_code::OK);
    }
    if opened.is_supervised(&run)? {
        opened.wait(opened.store.policy_put(&pinned.stored(wall_time())))?;
        order(&opened, &run, &Order::ApplyPolicy { hash: hash.clone(), by: caller() })?;
    } else {
        let applied = unsupervised::apply_policy(&*opened.store, &opened.home, run.id, &pinned);
        let outcome = opened.wait(applied)?;
        outcome.warnings.iter().for_each(|warning| terminal.remark(&format!("warning: {warning}")));
    }
    writeln!(terminal.out, "run {} has the policy of {} now: {hash}", run.id, pinned.name)?;
    Ok(exit_code::OK)
}

/// What counts here of how a run was started. A run of an earlier version has kept less.
#[derive(Debug, Deserialize)]
struct Kept {
    #[serde(default)]
    flags: PolicyFlags,
    #[serde(default)]
    lifted: Lifted,
}

fn is_named(arguments: &ApplyArguments) -> bool {
    arguments.policy.is_some() || arguments.preset.is_some()
}

/// The policy with what the run was told when it was started: a limit on its command line is no part
/// of any file, and does not go because a file has changed.
fn under_flags(
    arguments: &ApplyArguments,
    run: &Run,
    terminal: &mut Terminal,
) -> Result<PinnedPolicy, Error> {
    let damaged = |cause: String| {
        StoreError::Damaged(format!("can't read how run {} was started: {cause}", run.id))
    };
    let kept: Kept =
        serde_json::from_value(run.launch.clone()).map_err(|error| damaged(error.to_string()))?;
    let flags = &kept.flags;
    let said = match flags.said.is_null() {
        true => None,
        false => Some(Flags::new(&flags.said).map_err(|findings| {
            let first = findings.first().map(|finding| finding.message.clone());
            damaged(first.unwrap_or_default())
        })?),
    };
    // Who names a policy names its rule sets too.
    let presets: &[String] = if is_named(arguments) { &[] } else { &flags.presets };
    let preset = arguments.preset.as_ref().map(|name| format!("preset:{name}"));
    let named = preset.as_deref().or(arguments.policy.as_deref());
    let mut source = layered(named, presets, said.as_ref(), terminal.colours_errors())?;
    for note in &source.notes {
        terminal.remark(&format!("note: {note}"));
    }
    if kept.lifted != Lifted::default() && source.policy.settings.guards.is_some() {
        source.policy = source.policy.with_lifted_guards(kept.lifted);
    }
    if flags.count > 0 {
        let flags = match flags.count {
            1 => "the flag".to_owned(),
            many => format!("the {many} flags"),
        };
        terminal.remark(&format!("{flags} that the run was started with stay over it"));
    }
    Ok(source.pinned(flags.count))
}
