//! `backstop release`: a person lets a held run go on.

use std::io::Write as _;

use backstop_runner::socket::Order;
use backstop_runner::unsupervised;

use super::operate::{free_from_the_dead, order, refuse_if_supervised, remark_warnings};
use crate::args::ReleaseArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &ReleaseArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "release")?;
    let run = opened.run(&arguments.run)?;
    let why = arguments.why.clone();
    if opened.is_supervised(&run)? {
        order(&opened, &run, &Order::Release { by: caller(), why: why.unwrap_or_default() })?;
        writeln!(terminal.out, "{}", told(run.id.as_str(), true))?;
        return Ok(exit_code::OK);
    }
    free_from_the_dead(&opened, &run, terminal)?;
    let released = unsupervised::release(&*opened.store, &opened.home, run.id, caller(), why);
    remark_warnings(&opened.wait(released)?, terminal);
    writeln!(terminal.out, "{}", told(run.id.as_str(), false))?;
    if run.supervised {
        terminal.remark(&format!("to go on: backstop resume {}", run.id));
    }
    Ok(exit_code::OK)
}

/// What is said of a run that was let go.
pub fn told(run: &str, supervised: bool) -> String {
    match supervised {
        true => format!("run {run} goes on"),
        false => format!("run {run} is released"),
    }
}
