//! `backstop policy apply`: another policy for a run that has one pinned.

use std::io::Write as _;

use backstop_runner::clock::wall_time;
use backstop_runner::socket::Order;
use backstop_runner::unsupervised;

use crate::args::ApplyArguments;
use crate::commands::operate::{order, pinned, refuse_if_supervised};
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &ApplyArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let pinned = pinned(arguments.policy.as_deref(), arguments.preset.as_deref(), terminal)?;
    let is_named = arguments.policy.is_some() || arguments.preset.is_some();
    if !is_named && pinned.text.is_none() {
        return Err(Error::Usage(
            "there is no backstop.toml here or above to apply\n\nhint: name a policy with --policy"
                .to_owned(),
        ));
    }
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "policy apply")?;
    let run = opened.run(&arguments.run)?;
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
