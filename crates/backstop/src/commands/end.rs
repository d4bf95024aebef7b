//! `backstop end`: a script has done its work.

use std::io::Write as _;

use backstop_runner::unsupervised;

use crate::args::EndArguments;
use crate::env_vars::RUN_ID;
use crate::error::Error;
use crate::sanitise::harmless;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &EndArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let named = arguments.run.clone().or_else(|| std::env::var(RUN_ID).ok());
    let Some(named) = named else {
        return Err(Error::Usage(format!(
            "which run ends?\n\nhint: name it with --run, or set {RUN_ID}"
        )));
    };
    let opened = Opened::new(&arguments.store)?;
    let run = opened.run(&named)?;
    if opened.is_supervised(&run)? {
        return Err(Error::NotNow(format!(
            "run {id} has a supervisor, and ends by it\n\nhint: `backstop stop {id}` stops it",
            id = run.id
        )));
    }
    let ended = unsupervised::end(&*opened.store, &opened.home, run.id, caller());
    let outcome = opened.wait(ended)?;
    outcome.warnings.iter().for_each(|warning| terminal.remark(&format!("warning: {warning}")));
    if let Some(annotation) = &outcome.annotation {
        write!(terminal.err, "{annotation}")?;
    }
    let (status, reason) = (outcome.state.run_status, outcome.answer.reason().unwrap_or_default());
    let message = harmless(outcome.answer.message());
    writeln!(terminal.out, "run {} is {status}: {reason}   {message}", run.id)?;
    Ok(outcome.answer.exit_code())
}
