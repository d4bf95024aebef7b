//! `backstop stop`: a person wants a run to end.

use std::io::Write as _;

use backstop_runner::socket::Order;
use backstop_runner::unsupervised;

use super::operate::{order, refuse_if_not_running, remark_warnings};
use crate::args::StopArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &StopArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    if opened.is_supervised(&run)? {
        order(&opened, &run, &Order::Stop { now: arguments.now, by: caller() })?;
        writeln!(terminal.out, "{}", told(run.id.as_str(), true, arguments.now))?;
    } else {
        refuse_if_not_running(&run)?;
        let stopped =
            unsupervised::stop(&*opened.store, &opened.home, run.id, arguments.now, caller());
        let outcome = opened.wait(stopped)?;
        remark_warnings(&outcome, terminal);
        if let Some(annotation) = &outcome.annotation {
            write!(terminal.err, "{annotation}")?;
        }
        writeln!(terminal.out, "{}", told(run.id.as_str(), false, arguments.now))?;
    }
    Ok(exit_code::OK)
}

/// What is said of a run that stops.
pub fn told(run: &str, supervised: bool, now: bool) -> String {
    match (supervised, now) {
        (true, true) => format!("run {run} stops now"),
        (true, false) => format!("run {run} stops once its iteration has ended"),
        (false, _) => format!("run {run} is stopped; whoever reports next is told so"),
    }
}
