//! `backstop store`: what is remembered, moved elsewhere.

use std::io::Write as _;

use backstop_store::{CopyError, copy};

use super::operate::refuse_if_supervised;
use crate::args::{StoreArguments, StoreCommand};
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, location};
use crate::terminal::Terminal;

pub fn run(command: &StoreCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    let StoreCommand::Copy { from, to } = command;
    let source = Opened::existing(&StoreArguments { store: Some(from.clone()) })?;
    refuse_if_supervised(&source, "store copy")?;
    let target = location(Some(to))?;
    // Both by the one who waits: a connection does nothing while nobody waits where it was made.
    let target = source.wait(backstop_store::open(&target))?;
    let mut table = "";
    let copied = source.wait(copy(&*source.store, &*target, |name, rows| {
        // A line per table, and another for each part of a long one.
        if name != table || rows % PROGRESS_EVERY == 0 {
            table = name;
            terminal.remark(&format!("copying {name}: {rows} rows"));
        }
    }))?;
    for (name, rows) in &copied.tables {
        writeln!(terminal.out, "{rows:>12}  {name}")?;
    }
    writeln!(terminal.out, "everything was copied and compared")?;
    Ok(exit_code::OK)
}

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Store(error) => Self::Store(error),
            other => Self::NotNow(other.to_string()),
        }
    }
}

const PROGRESS_EVERY: u64 = 100_000;
