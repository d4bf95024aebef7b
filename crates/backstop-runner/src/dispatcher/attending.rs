//! Attended mode: a person lets each iteration start.

use backstop_core::event::{IterationFinished, IterationStarted, Note};

use super::between::Next;
use super::{Dispatcher, Order, RunError};
use crate::prompt::{Choice, Matter};
use crate::report::Remark;
use crate::socket::Reply;

impl Dispatcher {
    /// Asks before the next iteration, as often as it is skipped.
    pub(super) async fn attend(&mut self) -> Result<Next, RunError> {
        if !self.launch.attended {
            return Ok(Next::Go);
        }
        let number = self.iteration_number();
        self.ask(Matter::Turn, format!("Start iteration {number}?"), None, None);
        self.remark(&Remark::Note(format!(
            "iteration {number} waits: backstop answer {} go|skip|stop",
            self.run
        )));
        self.clock.pause();
        let chosen = self.until_chosen().await;
        self.asking = None;
        self.clock.run_on();
        match chosen? {
            // Of a single iteration nothing is left to run.
            Some(Choice::Skip) if !self.launch.once => {
                self.skip(number);
                Ok(Next::Decide)
            }
            Some(Choice::Stop | Choice::Skip) => {
                let by = self.said.as_ref().map(|said| said.by.clone()).unwrap_or_default();
                self.order(Order::Stop, &by);
                Ok(Next::Decide)
            }
            Some(_) => Ok(Next::Go),
            None => Ok(Next::Decide),
        }
    }

    /// What a person chose; none if something else decides.
    async fn until_chosen(&mut self) -> Result<Option<Choice>, RunError> {
        let before = self.decide();
        self.turn = None;
        loop {
            if let Some(choice) = self.turn.take() {
                return Ok(Some(choice));
            }
            if !self.launch.attended {
                return Ok(Some(Choice::Go));
            }
            self.show_question();
            self.hear(None).await?;
            if self.ordered.is_some() || self.decide() != before {
                return Ok(None);
            }
        }
    }

    /// An iteration that is not run counts, so that skipping comes to an end too.
    fn skip(&mut self, number: u64) {
        self.take(IterationStarted { iteration: Some(number) });
        self.note(Note::Skipped, format!("iteration {number}"));
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
