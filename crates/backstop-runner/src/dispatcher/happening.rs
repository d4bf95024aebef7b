//! The next thing that happens, whatever it is.

use std::sync::Arc;
use std::time::Duration;

use backstop_core::event::{Probe, Suspended};
use backstop_store::StoreError;

use super::{Dispatcher, RunError};
use crate::capture::{Captured, LiveTerminal};
use crate::report::Status;
use crate::signals::Signal;
use crate::socket::Request;
use crate::tree::{Child, Exit};

/// Something that the dispatcher has to see to.
pub(super) enum Happening {
    Exited(Exit),
    Captured(Captured),
    Asked(Request),
    Signalled(Signal),
    Answered(Vec<Probe>),
    /// Keys were pressed while a question is open.
    Typed(Vec<u8>),
    /// A time has come, or a process that nobody waits for has ended.
    Due,
}

impl Dispatcher {
    /// Waits for the next thing, at most until `deadline` on the timers' clock.
    pub(super) async fn next(
        &mut self,
        mut child: Option<&mut Child>,
        deadline: Option<Duration>,
    ) -> Result<Happening, RunError> {
        self.note_sleep();
        self.redraw();
        let wait = self.wait_for(deadline);
        let exited = async {
            match child.as_deref_mut() {
                Some(child) => child.wait().await,
                None => std::future::pending().await,
            }
        };
        let timer = async {
            match wait {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        let keyboard = self.asking.as_mut().and_then(|asking| asking.keyboard.as_mut());
        let typed = async {
            match keyboard {
                Some(keyboard) => keyboard.typed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = self.signals.next() => Ok(Happening::Signalled(signal)),
            failure = self.journal.failed() => Err(RunError::Store(failure)),
            Some(lost) = self.lease_lost.recv() => Err(lost_lease(lost)),
            // Before the exit, so that what was said is heard before its speaker is gone.
            Some(captured) = self.captured.recv() => Ok(Happening::Captured(captured)),
            exit = exited => match exit {
                Ok(exit) => Ok(Happening::Exited(exit)),
                Err(source) => Err(RunError::Io { what: "wait for the command", source }),
            },
            Some(request) = self.requests.recv() => Ok(Happening::Asked(request)),
            bytes = typed => Ok(Happening::Typed(bytes)),
            answers = self.probes.changed() => Ok(Happening::Answered(answers)),
            delivery = self.telling.notifier.next() => {
                self.heard_of(&delivery);
                Ok(Happening::Due)
            }
            _ = self.orphans.recv() => {
                self.tree.reap();
                Ok(Happening::Due)
            }
            () = timer => Ok(Happening::Due),
        }
    }

    /// Sees to something that happens while no iteration runs.
    pub(super) async fn see_to(&mut self, happening: Happening) {
        match happening {
            Happening::Asked(request) => self.answer(request).await,
            Happening::Signalled(signal) => self.signalled(signal).await,
            Happening::Answered(answers) => self.take_all(answers),
            Happening::Typed(bytes) => self.typed(&bytes),
            Happening::Captured(captured) => self.heard(captured).await,
            Happening::Due | Happening::Exited(_) => {}
        }
    }

    /// How long to wait at most: until the engine's next time, ours, or the next drawing.
    fn wait_for(&self, deadline: Option<Duration>) -> Option<Duration> {
        let now = self.clock.now();
        let wake = self.engine.poll_timeout();
        let by_wall = wake.at.map(|at| at.since(now.at));
        let by_active = wake
            .active
            .filter(|_| self.clock.is_running())
            .map(|active| active.saturating_sub(now.active));
        let own = deadline.map(|deadline| deadline.saturating_sub(self.timers.active()));
        let ticks = self.live.is_some() || self.reporter.wants_time();
        let drawing = ticks.then_some(REDRAWN_EVERY);
        // A hair late rather than early: an early look finds nothing and looks again at once.
        [by_wall, by_active, own, drawing]
            .into_iter()
            .flatten()
            .min()
            .map(|wait| (wait + Duration::from_micros(500)).min(LONGEST_WAIT))
    }

    /// Journals that the machine slept, where it did.
    fn note_sleep(&mut self) {
        let asleep = crate::clock::time_asleep();
        let slept = asleep.saturating_sub(self.asleep);
        if slept >= SLEEP_WORTH_NOTING {
            self.asleep = asleep;
            self.take(Suspended { ms: backstop_core::time::millis(slept) });
        }
    }

    fn redraw(&mut self) {
        if self.reporter.wants_time() {
            self.engine.decide(self.clock.now());
            let text = self.reporter.passed(self.clock.now(), &self.engine);
            self.pump.print(text);
        }
        let Some(columns) = self.live.as_ref().map(LiveTerminal::columns) else { return };
        let status = Status {
            run: self.run,
            engine: &self.engine,
            now: self.clock.now(),
            iteration: self.iteration_number(),
            phase: self.phase.clone(),
        };
        let block = self.reporter.block(&status, columns);
        self.pump.show(block);
    }
}

fn lost_lease(error: StoreError) -> RunError {
    match error {
        fenced @ StoreError::Fenced { .. } => RunError::LeaseLost(fenced),
        other => RunError::Store(Arc::new(other)),
    }
}

const REDRAWN_EVERY: Duration = Duration::from_secs(1);
/// Timers of the runtime have an end; nothing is missed by waking once an hour.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
const SLEEP_WORTH_NOTING: Duration = Duration::from_secs(1);
