//! `backstop end`: a script has done its work.

use std::io::Write as _;

use backstop_core::state::RunStatus;
use backstop_runner::socket::Answer;
use backstop_runner::unsupervised;

use crate::args::EndArguments;
use crate::env_vars::RUN_ID;
use crate::error::Error;
use crate::sanitise::harmless;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &EndArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let named = which(arguments)?;
    let opened = Opened::new(&arguments.store)?;
    let run = opened.run(&named)?;
    if opened.is_supervised(&run)? {
        return Err(Error::NotNow(format!(
            "run {id} has a supervisor, and ends by it\n\nhint: `backstop stop {id}` stops it",
            id = run.id
        )));
    }
    let ending = unsupervised::end(&*opened.store, &opened.home, run.id, caller());
    let outcome = opened.wait(ending)?;
    outcome.warnings.iter().for_each(|warning| terminal.remark(&format!("warning: {warning}")));
    if let Some(annotation) = &outcome.annotation {
        write!(terminal.err, "{annotation}")?;
    }
    let status = outcome.state.run_status;
    writeln!(terminal.out, "{}", ended(run.id.as_str(), status, &outcome.answer))?;
    Ok(outcome.answer.exit_code())
}

/// The run that is named, else the one that this process is part of.
pub fn which(arguments: &EndArguments) -> Result<String, Error> {
    let named = arguments.run.clone().or_else(|| std::env::var(RUN_ID).ok());
    named.ok_or_else(|| {
        Error::Usage(format!("which run ends?\n\nhint: name it with --run, or set {RUN_ID}"))
    })
}

/// What is said of a run that has ended.
pub fn ended(run: &str, status: RunStatus, answer: &Answer) -> String {
    let (reason, message) = (answer.reason().unwrap_or_default(), answer.message());
    format!("run {run} is {status}: {}   {}", harmless(reason), harmless(message))
}
