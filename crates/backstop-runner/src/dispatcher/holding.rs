//! A hold: waited out where it ends by itself soon, else the end of the process.

use backstop_core::decision::Decision;
use backstop_core::event::{Held, Released};
use backstop_core::policy::Occasion;
use backstop_core::state::RunStatus;
use backstop_core::verdict::Verdict;

use super::between::Next;
use super::{Dispatcher, RunError};
use crate::report::{Phase, Remark};
use crate::socket::Reply;

impl Dispatcher {
    /// Waits for a hold that ends soon; any other halts the run.
    pub(super) async fn hold(&mut self, decision: Decision) -> Result<Next, RunError> {
        let ends_at = decision.rule.as_ref().and_then(|rule| self.engine.wake_of(rule.index));
        let left = ends_at.map(|at| at.since(self.clock.now().at));
        let Some((until, left)) = ends_at.zip(left.filter(|left| *left <= self.times.hold_wait))
        else {
            return Ok(Next::Halt(Box::new(decision)));
        };
        let reason = decision.reason.clone().unwrap_or_default();
        let held = Held { reason: decision.reason.clone(), until: Some(until) };
        self.take_audited(held, &decision);
        // Not `held`: that is a run whose process has ended, and which is resumed by a person.
        self.mark(RunStatus::Paused);
        self.clock.pause();
        let words = backstop_core::time::in_words(left);
        self.remark(&Remark::Note(format!("held for {words}: {}", decision.message)));
        self.tell(Occasion::Held, &decision);
        self.held_by = decision.rule.as_ref().map(|rule| rule.index);
        self.is_held = true;
        let deadline = self.timers.active() + left;
        while self.is_held {
            let left = deadline.saturating_sub(self.timers.active());
            let still = self.decide() == Verdict::Hold;
            if left.is_zero() || !still || self.ordered.is_some() {
                break;
            }
            self.phase = Phase::Waiting { why: format!("held, {reason}"), left: Some(left) };
            self.hear(Some(deadline)).await?;
        }
        let released = !std::mem::replace(&mut self.is_held, false);
        self.clock.run_on();
        self.mark(RunStatus::Running);
        if !released && self.ordered.is_none() {
            let why = Some("what held it is over".to_owned());
            self.take(Released { by: Some("backstop".to_owned()), why });
        }
        Ok(Next::Decide)
    }

    /// A person lets a held run go on.
    pub(super) fn release(&mut self, by: String, why: String) -> Reply {
        if !self.is_held {
            return Reply::error("the run is not held: there is nothing to release");
        }
        self.is_held = false;
        let why = Some(why).filter(|why| !why.is_empty());
        let seq = self.take(Released { by: Some(by), why });
        self.let_changes_stay(self.held_by);
        self.set_aside(self.held_by);
        Reply::done(Some(seq))
    }
}
