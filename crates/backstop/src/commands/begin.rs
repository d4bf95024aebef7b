//! `backstop begin`: a run that a script reports to.

use std::io::Write as _;

use backstop_runner::launch::Launch;
use backstop_runner::secrets;
use backstop_runner::unsupervised;

use super::operate::pinned;
use crate::args::BeginArguments;
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::store::{Opened, here};
use crate::terminal::Terminal;

pub fn run(arguments: &BeginArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let pinned = pinned(arguments.policy.as_deref(), arguments.preset.as_deref(), terminal)?;
    if arguments.policy.is_none() && arguments.preset.is_none() {
        terminal.remark(&format!("policy: {}", pinned.name));
    }
    let redactor = secrets::redactor(&pinned.policy);
    let launch = Launch {
        cwd: here(),
        labels: secrets::labels(&redactor, arguments.label.iter().cloned().collect()),
        total_units: arguments.total_units,
        policy_file: match arguments.preset {
            Some(_) => None,
            None => input::policy_path(arguments.policy.as_deref()),
        },
        ..Launch::default()
    };
    let opened = Opened::new(&arguments.store)?;
    let begun = unsupervised::begin(&*opened.store, &opened.home, &pinned, &launch);
    writeln!(terminal.out, "{}", opened.wait(begun)?)?;
    Ok(exit_code::OK)
}
