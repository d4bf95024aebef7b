//! `backstop policy apply`: another policy for a run that has one pinned.

use std::io::Write as _;
use std::path::{Path, PathBuf};

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
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "policy apply")?;
    let run = opened.run(&arguments.run)?;
    let kept = Kept::of(&run)?;
    let named = named(arguments, &run, &kept)?;
    let pinned = match run.supervised {
        true => under_flags(arguments, &named, &run, &kept, terminal)?,
        false => pinned(Some(&named), None, terminal)?,
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
    policy_file: Option<PathBuf>,
    #[serde(default)]
    flags: PolicyFlags,
    #[serde(default)]
    lifted: Lifted,
}

impl Kept {
    fn of(run: &Run) -> Result<Self, Error> {
        serde_json::from_value(run.launch.clone()).map_err(|error| damaged(run, &error.to_string()))
    }
}

fn damaged(run: &Run, cause: &str) -> Error {
    let why = format!("can't read how run {} was started: {cause}", run.id);
    StoreError::Damaged(why).into()
}

fn is_named(arguments: &ApplyArguments) -> bool {
    arguments.policy.is_some() || arguments.preset.is_some()
}

/// The policy to apply: the one that was named, else the run's own file as it is now, else the nearest
/// one of where it runs. Where this is called from tells nothing of the run.
fn named(arguments: &ApplyArguments, run: &Run, kept: &Kept) -> Result<String, Error> {
    if let Some(name) = &arguments.preset {
        return Ok(format!("preset:{name}"));
    }
    if let Some(name) = &arguments.policy {
        return Ok(name.clone());
    }
    let file = kept.policy_file.clone().or_else(|| input::policy_above(Path::new(&run.cwd)));
    file.map(|file| input::from_here(&file)).ok_or_else(|| {
        Error::Usage(format!(
            "run {} was started without a policy file, and there is no backstop.toml in `{}` or \
             above\n\nhint: name a policy with --policy",
            run.id, run.cwd
        ))
    })
}

/// The policy with what the run was told when it was started: a limit on its command line is no part
/// of any file, and does not go because a file has changed.
fn under_flags(
    arguments: &ApplyArguments,
    named: &str,
    run: &Run,
    kept: &Kept,
    terminal: &mut Terminal,
) -> Result<PinnedPolicy, Error> {
    let flags = &kept.flags;
    let said = match flags.said.is_null() {
        true => None,
        false => Some(Flags::new(&flags.said).map_err(|findings| {
            let first = findings.first().map(|finding| finding.message.clone());
            damaged(run, &first.unwrap_or_default())
        })?),
    };
    // Who names a policy names its rule sets too.
    let presets: &[String] = if is_named(arguments) { &[] } else { &flags.presets };
    let mut source = layered(Some(named), presets, said.as_ref(), terminal.colours_errors())?;
    for note in &source.notes {
        terminal.remark(&format!("note: {note}"));
    }
    if kept.lifted != Lifted::default() && source.policy.settings.guards.is_some() {
        source.policy = source.policy.with_lifted_guards(kept.lifted);
    }
    if flags.count > 0 {
        let flags = match flags.count {
            1 => "the flag that the run was started with stays".to_owned(),
            many => format!("the {many} flags that the run was started with stay"),
        };
        terminal.remark(&format!("{flags} over it"));
    }
    Ok(source.pinned(flags.count))
}
