//! `backstop store`: what is remembered, moved elsewhere.

use std::io::Write as _;

use backstop_store::{CopyError, copy};

use crate::args::{StoreArguments, StoreCommand};
use crate::error::Error;
use crate::exit_code;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(command: &StoreCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    let StoreCommand::Copy { from, to } = command;
    let source = Opened::new(&StoreArguments { store: Some(from.clone()) })?;
    let target = Opened::new(&StoreArguments { store: Some(to.clone()) })?;
    super::operate::refuse_if_supervised(&source, "store copy")?;
    let mut table = "";
    let copied = source.wait(copy(&*source.store, &*target.store, |name, rows| {
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
