//! `backstop raise`: an operator gives a run more room.

use std::io::Write as _;

use backstop_core::event::Raised;
use backstop_core::state::RunStatus;
use backstop_runner::loading;
use backstop_runner::raise::{self, Raise};
use backstop_runner::socket::Order;
use backstop_runner::unsupervised;

use super::operate::{order, refuse_if_supervised, remark_warnings};
use crate::args::RaiseArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &RaiseArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "raise")?;
    let run = opened.run(&arguments.run)?;
    if run.status == RunStatus::Completed {
        return Err(Error::NotNow(format!(
            "run {} is completed; nothing goes on from here",
            run.id
        )));
    }
    let loaded = opened.wait(loading::load(&*opened.store, run.id))?;
    // All of them are read before the first is raised.
    let raises: Vec<Raise> = arguments
        .limits
        .iter()
        .map(|text| {
            raise::read(text, &loaded.engine).map_err(|error| Error::Usage(error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    if opened.is_supervised(&run)? {
        for Raise { limit, value } in raises {
            let why = arguments.why.clone();
            order(&opened, &run, &Order::Raise(Raised { limit, value, by: caller(), why }))?;
        }
    } else {
        let why = arguments.why.clone();
        let raised =
            unsupervised::raise(&*opened.store, &opened.home, run.id, raises, caller(), why);
        remark_warnings(&opened.wait(raised)?, terminal);
    }
    writeln!(terminal.out, "run {}: {}", run.id, arguments.limits.join(", "))?;
    if run.status.is_halted() {
        terminal.remark(&format!("it is {}; to go on: backstop resume {}", run.status, run.id));
    }
    Ok(exit_code::OK)
}
