//! `backstop resume`: a halted run, or one whose supervisor died, goes on.

use backstop_core::event::Raised;
use backstop_runner::raising;
use backstop_runner::resuming::Wishes;
use backstop_runner::user;

use super::run::supervise::{self, Task, View};
use crate::args::ResumeArguments;
use crate::error::Error;
use crate::supervised;
use crate::terminal::Terminal;

pub fn run(arguments: &ResumeArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    supervised::refuse("resume")?;
    let by = user::name();
    let mut raises = Vec::new();
    for text in &arguments.raise {
        let (limit, value) =
            raising::parse(text).map_err(|error| Error::Usage(error.to_string()))?;
        let why = arguments.note.clone().unwrap_or_default();
        raises.push(Raised { limit, value, by: by.clone(), why });
    }
    let wishes = Wishes {
        raises,
        unmetered_allowed: arguments.unmetered.as_deref() == Some("allow"),
        by,
        note: arguments.note.clone(),
        auto_resume: arguments.auto_resume,
    };
    let view = View::of(&arguments.view, terminal)?;
    supervise::supervise(Task::Resume { run: arguments.run.clone(), wishes: Box::new(wishes) }, view)
}
