//! How a running iteration is brought to its end: it may finish, is asked to, is made to.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::event::Note;
use backstop_core::policy::StopSignal;
use backstop_core::verdict::Verdict;

use super::{Dispatcher, Order, RunError};
use crate::report::Phase;
use crate::tree::Signal;

/// How far the end of an iteration has come. Times are on the timers' clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// It runs on.
    No,
    /// Nothing new starts; it may finish until then.
    Finishing { until: Duration },
    /// The first signal was sent; SIGKILL follows then.
    Asked { kill_at: Duration },
    /// SIGKILL was sent; who is still there then can't be ended.
    Killed { give_up_at: Duration },
}

impl Ending {
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self {
            Self::No => None,
            Self::Finishing { until } => Some(*until),
            Self::Asked { kill_at } => Some(*kill_at),
            Self::Killed { give_up_at } => Some(*give_up_at),
        }
    }

    /// The signal that was sent, if one was: who was ended has no result of its own.
    pub(super) fn sent(&self, first: StopSignal) -> Option<i32> {
        match self {
            Self::No | Self::Finishing { .. } => None,
            Self::Asked { .. } => Some(first_signal(first) as i32),
            Self::Killed { .. } => Some(Signal::SIGKILL as i32),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::No => 0,
            Self::Finishing { .. } => 1,
            Self::Asked { .. } => 2,
            Self::Killed { .. } => 3,
        }
    }
}

impl Dispatcher {
    /// Brings the iteration as near to its end as the decision and the orders ask for.
    pub(super) async fn press(
        &mut self,
        ending: &mut Ending,
        verdict: Verdict,
    ) -> Result<(), RunError> {
        let wanted = self.wanted(verdict);
        if wanted < ending.rank() {
            // A hold or a claim that no longer stands lets the iteration run on.
            if matches!(ending, Ending::Finishing { .. }) {
                *ending = Ending::No;
                self.told.ended_for = None;
            }
        } else if wanted > ending.rank() {
            if verdict == Verdict::Ask {
                // Nobody can be asked, so the iteration is ended on purpose, as by a hold.
                let decision = self.engine.poll_decision(self.clock.now());
                self.record(&Decision { verdict: Verdict::Hold, ..decision });
            }
            self.remember_cause();
            self.advance(ending, wanted).await?;
        } else if self.told.new_unit && matches!(ending, Ending::Finishing { .. }) {
            // The unit that was in work has finished: nothing new may start.
            self.advance(ending, 2).await?;
        }
        self.show_ending(ending);
        Ok(())
    }

    /// Of rules that fire one after the other with the same verdict, the first is why the iteration
    /// ends: whatever is heard behind it, and however late.
    pub(super) fn remember_cause(&mut self) {
        let cause = self.latched.as_ref().and_then(|latched| latched.rule.clone());
        self.told.ended_for = self.told.ended_for.take().or(cause);
    }

    /// What was to stop the run no longer counts: a person has changed what it stands on.
    pub(super) fn forget_stop(&mut self) {
        self.latched = None;
        self.told.ended_for = None;
    }

    /// A time of the ladder has come: the next step.
    pub(super) async fn step(&mut self, ending: &mut Ending) -> Result<Step, RunError> {
        let now = self.timers.active();
        if ending.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(Step::NotYet);
        }
        match ending {
            Ending::No => {}
            Ending::Finishing { .. } => self.advance(ending, 2).await?,
            Ending::Asked { .. } => self.advance(ending, 3).await?,
            Ending::Killed { .. } => return Ok(Step::GiveUp),
        }
        Ok(Step::Taken)
    }

    fn wanted(&self, verdict: Verdict) -> u8 {
        let by_verdict = match verdict {
            Verdict::Continue | Verdict::Warn | Verdict::Retry => 0,
            // The iteration runs on while a person thinks; without anybody to ask, it is a hold.
            Verdict::Ask if self.can_ask() || self.asking.is_some() => 0,
            Verdict::Ask | Verdict::Hold | Verdict::Stop | Verdict::Complete => 1,
            Verdict::Recover | Verdict::Kill | Verdict::Fail => 2,
        };
        let by_order = match self.ordered {
            None => 0,
            Some(Order::Stop) => 1,
            Some(Order::Kill) => 2,
            Some(Order::KillNow) => 3,
        };
        by_verdict.max(by_order)
    }

    async fn advance(&mut self, ending: &mut Ending, to: u8) -> Result<(), RunError> {
        if to == 1 && !self.times.finish_within.is_zero() {
            // The decision is on disk before anything is done about it.
            self.decision_on_disk().await?;
            let until = self.timers.active() + self.times.finish_within;
            *ending = Ending::Finishing { until };
            return Ok(());
        }
        let asks = self.times.stop_signal != StopSignal::Kill && !self.times.grace.is_zero();
        if to <= 2 && asks {
            self.send(first_signal(self.times.stop_signal)).await?;
            *ending = Ending::Asked { kill_at: self.timers.active() + self.times.grace };
        } else {
            self.send(Signal::SIGKILL).await?;
            *ending = Ending::Killed { give_up_at: self.timers.active() + UNKILLABLE_AFTER };
        }
        Ok(())
    }

    /// Signals the tree once the decision and this note are on disk, by a single wait for it.
    async fn send(&mut self, signal: Signal) -> Result<(), RunError> {
        let seq = self.note(Note::Signalled, format!("{} to the process tree", signal.as_str()));
        self.durable(seq).await?;
        self.tree.signal(signal, &[]);
        Ok(())
    }

    fn show_ending(&mut self, ending: &Ending) {
        let left = |until: &Duration| until.saturating_sub(self.timers.active());
        self.phase = match ending {
            Ending::No => Phase::Running,
            Ending::Finishing { until } => Phase::Finishing { left: left(until) },
            Ending::Asked { kill_at: until } | Ending::Killed { give_up_at: until } => {
                Phase::Ending { left: left(until) }
            }
        };
    }
}

/// What a look at the ladder's time led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    NotYet,
    Taken,
    /// Not even SIGKILL ended it.
    GiveUp,
}

fn first_signal(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::SIGTERM,
        StopSignal::Int => Signal::SIGINT,
        StopSignal::Hup => Signal::SIGHUP,
        StopSignal::Quit => Signal::SIGQUIT,
        StopSignal::Usr1 => Signal::SIGUSR1,
        StopSignal::Usr2 => Signal::SIGUSR2,
        StopSignal::Kill => Signal::SIGKILL,
    }
}

/// A process in uninterruptible sleep can't be ended by anybody.
const UNKILLABLE_AFTER: Duration = Duration::from_secs(10);
