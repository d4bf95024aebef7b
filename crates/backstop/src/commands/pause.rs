//! `backstop pause`: a run waits between two iterations, or goes on.

use std::io::Write as _;

use backstop_core::state::RunStatus;
use backstop_runner::socket::Order;

use super::operate::{order, refuse_if_not_running};
use crate::args::PauseArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &PauseArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    if !opened.is_supervised(&run)? {
        refuse_if_not_running(&run)?;
        return Err(Error::NotNow(format!(
            "run {id} has no supervisor that could wait\n\nhint: `backstop stop {id}` ends it",
            id = run.id
        )));
    }
    if arguments.go_on {
        order(&opened, &run, &Order::Continue { by: caller() })?;
        writeln!(terminal.out, "run {} goes on", run.id)?;
    } else {
        order(&opened, &run, &Order::Pause { by: caller() })?;
        let when = match run.status {
            RunStatus::Paused => "is paused already",
            _ => "waits once its iteration has ended",
        };
        writeln!(terminal.out, "run {} {when}", run.id)?;
    }
    Ok(exit_code::OK)
}
