//! `backstop attend`: a person wants to be asked before each iteration, or no longer.

use std::io::Write as _;

use backstop_runner::socket::Order;

use super::operate::{order, refuse_if_not_running, refuse_if_supervised};
use crate::args::AttendArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &AttendArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "attend")?;
    let run = opened.run(&arguments.run)?;
    if !opened.is_supervised(&run)? {
        refuse_if_not_running(&run)?;
        return Err(Error::NotNow(format!("run {} has no supervisor that could ask", run.id)));
    }
    order(&opened, &run, &Order::Attend { on: !arguments.off, by: caller() })?;
    let how = if arguments.off { "goes on by itself" } else { "asks before each iteration" };
    writeln!(terminal.out, "run {} {how}", run.id)?;
    Ok(exit_code::OK)
}
