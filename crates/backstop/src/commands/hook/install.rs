//! `backstop hook install`: has an agent call backstop at every step.

use crate::args::HookInstallArguments;
use crate::error::Error;
use crate::exit_code;
use crate::terminal::Terminal;

pub fn run(_arguments: &HookInstallArguments, _terminal: &mut Terminal) -> Result<u8, Error> {
    Ok(exit_code::OK)
}
