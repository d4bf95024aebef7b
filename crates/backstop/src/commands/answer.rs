//! `backstop answer`: a person answers what a run asks.

use std::io::Write as _;

use backstop_core::event::Answer;
use backstop_runner::prompt::Choice;
use backstop_runner::socket::Order;
use backstop_runner::unsupervised;

use super::operate::{free_from_the_dead, order, refuse_if_supervised, remark_warnings};
use crate::args::AnswerArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &AnswerArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "answer")?;
    check_note(arguments)?;
    let (choice, note) = (arguments.choice, arguments.note.clone());
    let run = opened.run(&arguments.run)?;
    if opened.is_supervised(&run)? {
        order(&opened, &run, &Order::Answer { choice, note, by: caller() })?;
        writeln!(terminal.out, "{}", told(run.id.as_str(), choice))?;
        return Ok(exit_code::OK);
    }
    let answer = match choice {
        Choice::Fix => Answer::Fix,
        Choice::Continue => Answer::Continue,
        Choice::Abort => Answer::Abort,
        Choice::Go | Choice::Skip | Choice::Stop => {
            return Err(Error::NotNow(format!(
                "run {id} does not wait for its next iteration\n\nhint: backstop show {id}",
                id = run.id
            )));
        }
    };
    free_from_the_dead(&opened, &run, terminal)?;
    let answered =
        unsupervised::answer(&*opened.store, &opened.home, run.id, answer, note, caller());
    remark_warnings(&opened.wait(answered)?, terminal);
    writeln!(terminal.out, "{}", told(run.id.as_str(), choice))?;
    if run.supervised && answer != Answer::Abort {
        terminal.remark(&format!("to go on: backstop resume {}", run.id));
    }
    Ok(exit_code::OK)
}

/// Refuses a `fix` that does not say what to do.
pub fn check_note(arguments: &AnswerArguments) -> Result<(), Error> {
    let is_empty = arguments.note.as_deref().is_none_or(|note| note.trim().is_empty());
    if arguments.choice == Choice::Fix && is_empty {
        return Err(Error::Usage(
            "`fix` needs a note that says what to do: --note TEXT".to_owned(),
        ));
    }
    Ok(())
}

/// What is said of a run that was answered.
pub fn told(run: &str, choice: Choice) -> String {
    format!("run {run}: {choice}")
}
