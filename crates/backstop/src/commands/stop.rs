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
        let how = if arguments.now { "now" } else { "once its iteration has ended" };
        writeln!(terminal.out, "run {} stops {how}", run.id)?;
    } else {
        refuse_if_not_running(&run)?;
        let stopped =
            unsupervised::stop(&*opened.store, &opened.home, run.id, arguments.now, caller());
        let outcome = opened.wait(stopped)?;
        remark_warnings(&outcome, terminal);
        if let Some(annotation) = &outcome.annotation {
            write!(terminal.err, "{annotation}")?;
        }
        writeln!(terminal.out, "run {} is stopped; whoever reports next is told so", run.id)?;
    }
    Ok(exit_code::OK)
}
