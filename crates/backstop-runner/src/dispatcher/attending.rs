//! Attended mode: a person lets each iteration start.

use backstop_core::event::{IterationFinished, IterationStarted, Note};

use super::between::Next;
use super::{Dispatcher, Order, RunError};
use crate::prompt::{Choice, Matter};
use crate::socket::Reply;

/// How the wait for a person ends.
enum Turn {
    Chosen(Choice),
    /// Nobody wants to be asked any more.
    Unattended,
    /// Something else decides.
    Overtaken,
}

impl Dispatcher {
    /// Asks before the next iteration, as often as it is skipped.
    pub(super) async fn attend(&mut self) -> Result<Next, RunError> {
        if !self.launch.attended {
            return Ok(Next::Go);
        }
        let number = self.iteration_number();
        let question = format!("Start iteration {number}?");
        self.ask(Matter::Turn, question.clone(), None, None);
        self.note(Note::TurnAsked, question.clone());
        self.clock.pause();
        let chosen = self.until_chosen().await;
        self.asking = None;
        self.clock.run_on();
        let by = self.said.as_ref().map(|said| said.by.clone()).unwrap_or_default();
        match chosen? {
            Turn::Chosen(Choice::Go) => {
                self.note(Note::LetGo, format!("iteration {number}, by {by}"));
                Ok(Next::Go)
            }
            // Of a single iteration nothing is left to run.
            Turn::Chosen(Choice::Skip) if !self.launch.once => {
                self.skip(number, &by);
                Ok(Next::Decide)
            }
            Turn::Chosen(_) => {
                self.order(Order::Stop, &by);
                Ok(Next::Decide)
            }
            // Who switched it off is in the journal.
            Turn::Unattended => Ok(Next::Go),
            Turn::Overtaken => {
                self.note(Note::Withdrawn, question);
                Ok(Next::Decide)
            }
        }
    }

    async fn until_chosen(&mut self) -> Result<Turn, RunError> {
        let before = self.decide();
        self.turn = None;
        loop {
            if let Some(choice) = self.turn.take() {
                return Ok(Turn::Chosen(choice));
            }
            if !self.launch.attended {
                return Ok(Turn::Unattended);
            }
            self.show_question();
            self.hear(None).await?;
            if self.ordered.is_some() || self.decide() != before {
                return Ok(Turn::Overtaken);
            }
        }
    }

    /// An iteration that is not run counts, so that skipping comes to an end too.
    fn skip(&mut self, number: u64, by: &str) {
        self.take(IterationStarted { iteration: Some(number) });
        self.note(Note::Skipped, format!("iteration {number}, by {by}"));
        self.take(IterationFinished { iteration: Some(number), ..IterationFinished::default() });
    }

    /// Switches it on or off while the run goes on.
    pub(super) fn set_attended(&mut self, on: bool, by: &str) -> Reply {
        self.launch.attended = on;
        let words = if on { "on" } else { "off" };
        let seq = self.note(Note::Attended, format!("{words}, by {by}"));
        Reply::done(Some(seq))
    }
}
