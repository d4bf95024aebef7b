//! The rest of what an iteration says, after its main process has ended.

use std::time::Duration;

use backstop_core::event::Note;
use backstop_core::state::RunStatus;

use super::{Dispatcher, Happening, Order, RunError};
use crate::capture::Summary;
use crate::report::Remark;
use crate::tree::Exit;

impl Dispatcher {
    /// Hears the rest of the output. A terminal that takes nothing (Ctrl-S) holds it back; so
    /// everything else is heard meanwhile, limits still count, and a run that is to end does not
    /// wait for the terminal for ever.
    pub(super) async fn drain(
        &mut self,
        iteration: u64,
        exit: Option<Exit>,
        is_ending: bool,
    ) -> Result<Summary, RunError> {
        self.pump.finish(
            exit.map(|exit| backstop_adapters::Exit { code: exit.code, signal: exit.signal }),
        );
        let (mut give_up_at, mut hurried) = (None, false);
        loop {
            let halts = self.is_halting();
            if self.ordered == Some(Order::KillNow) && !hurried {
                give_up_at = Some(self.timers.active());
            } else if is_ending || halts || self.ordered.is_some() {
                give_up_at.get_or_insert(self.timers.active() + PATIENCE);
            }
            match self.next(None, give_up_at).await? {
                Happening::Captured(captured) => {
                    self.heard(captured).await;
                    // Another is of one that was given up.
                    let own = self.summary.take().filter(|end| end.iteration == iteration);
                    if let Some(summary) = own {
                        return Ok(summary);
                    }
                }
                Happening::Asked(request) => self.answer(request).await,
                Happening::Signalled(signal) => self.signalled(signal).await,
                Happening::Answered(answers) => self.take_all(answers),
                Happening::Typed(bytes) => self.typed(&bytes),
                Happening::Due if give_up_at.is_some_and(|at| self.timers.active() >= at) => {
                    if hurried {
                        // Something that can't be written without waiting for it, such as a socket.
                        let detail = format!("the end of iteration {iteration}: nobody took it");
                        self.note(Note::LeftOut, detail);
                        return Ok(Summary::default());
                    }
                    hurried = true;
                    self.pump.hurry();
                    give_up_at = Some(self.timers.active() + PATIENCE);
                    let warning = format!(
                        "the end of iteration {iteration} is not shown: the terminal took no more \
                         output; `backstop logs {}` has it",
                        self.run
                    );
                    self.remark(&Remark::Warning(warning));
                }
                Happening::Due | Happening::Exited(_) => {}
            }
        }
    }
}

impl Dispatcher {
    /// Decides, as after every event of a command that still runs: one that was faster than its words
    /// ends for the same reason.
    fn is_halting(&mut self) -> bool {
        let halts = RunStatus::after(self.decide()).is_halted();
        if halts {
            self.remember_cause();
        }
        halts
    }

    /// Hears what reporters have sent before they ended. Nobody who is left reports without end, but
    /// others may report to the run, too.
    pub(super) async fn hear_reporters(&mut self) -> Result<(), RunError> {
        let until = self.timers.active() + LAST_REPORTS;
        while self.reporters.have_unheard()
            && self.ordered != Some(Order::KillNow)
            && self.timers.active() < until
        {
            let glance = self.timers.active() + BETWEEN_GLANCES;
            match self.next(None, Some(glance)).await? {
                Happening::Captured(captured) => self.heard(captured).await,
                Happening::Asked(request) => self.answer(request).await,
                Happening::Signalled(signal) => self.signalled(signal).await,
                Happening::Answered(answers) => self.take_all(answers),
                Happening::Typed(bytes) => self.typed(&bytes),
                Happening::Due | Happening::Exited(_) => {}
            }
            self.is_halting();
        }
        Ok(())
    }
}

/// How long a run that is to end waits for a terminal.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long reporters are heard whose iteration has ended.
const LAST_REPORTS: Duration = Duration::from_secs(2);
const BETWEEN_GLANCES: Duration = Duration::from_millis(1);
