//! `backstop resume`: a halted run, or one whose supervisor died, goes on.

use backstop_core::policy::Unmetered;
use backstop_runner::resuming::Wishes;

use super::run::supervise::{self, Task, View};
use crate::args::ResumeArguments;
use crate::error::Error;
use crate::store::caller;
use crate::terminal::Terminal;

pub fn run(arguments: &ResumeArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let wishes = Wishes {
        raises: arguments.raise.clone(),
        unmetered: arguments.unmetered.as_deref().map(|what| match what {
            "allow" => Unmetered::Allow,
            _ => Unmetered::Hold,
        }),
        lifted: arguments.guards.lifted(),
        by: caller(),
        note: arguments.note.clone(),
        auto_resume: arguments.auto_resume,
    };
    let view = View::of(&arguments.view, terminal)?;
    let run = arguments.run.clone();
    supervise::supervise(Task::Resume { run, wishes: Box::new(wishes) }, &view)
}
