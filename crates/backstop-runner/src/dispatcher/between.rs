//! Between two iterations: go on, wait, or halt.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::event::{Resumed, Suspended};
use backstop_core::state::RunStatus;
use backstop_core::time::millis;
use backstop_core::verdict::Verdict;

use super::{Dispatcher, Order, Outcome, RunError};
use crate::report::{Phase, Remark};
use crate::signals::Signal;

/// Whether the next iteration may start.
pub(super) enum Gate {
    Go,
    Halt(Box<Decision>),
}

/// What follows from a step between two iterations.
pub(super) enum Next {
    /// It is settled; the next iteration may start.
    Go,
    /// Something has changed: decide again.
    Decide,
    /// This was decided meanwhile.
    Decided(Box<Decision>),
    Halt(Box<Decision>),
}

impl Dispatcher {
    /// Waits, recovers, asks and holds as long as the decision, the policy and people want, then
    /// says whether to go on.
    pub(super) async fn gate(&mut self, mut decision: Decision) -> Result<Gate, RunError> {
        loop {
            if let Some(end) = self.end_of(&decision).filter(|end| !self.is_for_a_full_context(end))
            {
                return Ok(Gate::Halt(Box::new(end)));
            }
            let next = match decision.verdict {
                Verdict::Ask => self.intervene(decision).await?,
                Verdict::Hold => self.hold(decision).await?,
                Verdict::Recover => self.recover(decision).await?,
                _ => self.before_the_next(decision).await?,
            };
            match next {
                Next::Go => return Ok(Gate::Go),
                Next::Halt(end) => return Ok(Gate::Halt(end)),
                Next::Decide => decision = self.judge_anew().await?,
                Next::Decided(meanwhile) => decision = *meanwhile,
            }
        }
    }

    /// Whether a run goes on with a fresh context where it would end, unless it was told to end.
    fn is_for_a_full_context(&self, end: &Decision) -> bool {
        self.ordered.is_none() && self.engine.starts_afresh_instead(end)
    }

    /// What is waited for when nothing stands against another iteration.
    async fn before_the_next(&mut self, decision: Decision) -> Result<Next, RunError> {
        self.withdraw_question();
        let facts = self.engine.facts();
        if facts.is_context_full() && facts.consecutive_errors() > 0 {
            return self.start_afresh(decision).await;
        }
        let wait = self.wait_after(&decision);
        let for_provider = wait.as_ref().filter(|wait| wait.is_for_provider);
        if let Some(message) = for_provider.and_then(|wait| self.too_long(wait)) {
            let end = super::halt::too_long(decision, message, &self.engine);
            self.record(&end);
            return Ok(Next::Halt(Box::new(end)));
        }
        if let Some(wait) = wait
            && let Some(meanwhile) = self.wait(wait).await?
        {
            return Ok(Next::Decided(meanwhile));
        }
        if self.paused
            && let Some(meanwhile) = self.wait_for_continuation().await?
        {
            return Ok(Next::Decided(meanwhile));
        }
        match self.attend().await? {
            Next::Go => {}
            other => return Ok(other),
        }
        if let Some(short) = self.engine.preflight(self.clock.now()) {
            self.record(&short);
            return Ok(Next::Halt(Box::new(short)));
        }
        Ok(Next::Go)
    }

    /// Decides on what has changed since the last iteration; a new claim is verified.
    async fn judge_anew(&mut self) -> Result<Decision, RunError> {
        let verdict = self.decide();
        let proof = self.prove(verdict).await?;
        Ok(self.judge(proof))
    }

    /// The decision that halts the run, if this one does. An order to end it does in any case.
    fn end_of(&mut self, decision: &Decision) -> Option<Decision> {
        use Verdict::{Complete, Fail, Kill, Stop};
        if matches!(decision.verdict, Stop | Kill | Fail | Complete) {
            return Some(decision.clone());
        }
        self.ordered?;
        let end = super::halt::ordered(decision.clone(), &self.engine);
        self.record(&end);
        Some(end)
    }

    /// What to wait for after a decision that lets the run go on.
    fn wait_after(&mut self, decision: &Decision) -> Option<Wait> {
        let facts = self.engine.facts();
        if facts.ended_rate_limited() {
            self.limited = self.limited.saturating_add(1);
            // A time that has passed, or that was too early again and again, is no reason for haste.
            let left = self.until_retry().max(back_off(self.limited));
            return Some(Wait {
                why: "rate limit".to_owned(),
                left,
                is_active: false,
                is_for_provider: true,
            });
        }
        self.limited = 0;
        if decision.verdict == Verdict::Retry || facts.ended_in_transient_error() {
            self.retries = self.retries.saturating_add(1);
            let own = Wait {
                why: "back-off".to_owned(),
                left: back_off(self.retries),
                is_active: true,
                is_for_provider: false,
            };
            let told =
                if facts.ended_in_transient_error() { self.until_retry() } else { Duration::ZERO };
            return Some(if told > own.left {
                Wait { why: "provider".to_owned(), left: told, is_for_provider: true, ..own }
            } else {
                own
            });
        }
        self.retries = 0;
        let is_first = facts.iterations() == 0;
        (!self.times.delay.is_zero() && !is_first).then(|| Wait {
            why: "delay".to_owned(),
            left: self.times.delay,
            is_active: true,
            is_for_provider: false,
        })
    }

    /// How long it is until the provider takes more; nothing where nobody told.
    fn until_retry(&self) -> Duration {
        let retry_at = self.engine.facts().retry_at();
        retry_at.map(|at| at.since(self.clock.now().at)).unwrap_or_default()
    }

    /// Why a provider is not waited for so long: it is longer than the policy wants, or all such waits
    /// together are.
    fn too_long(&self, Wait { why, left, .. }: &Wait) -> Option<String> {
        let left = *left;
        let settings = self.engine.policy().settings.wait.as_ref();
        let each = settings.and_then(|set| set.max_per_wait).map_or(LONGEST_WAIT, |time| time.0);
        let all = settings.and_then(|set| set.max_total).map_or(LONGEST_WAITS, |time| time.0);
        let words = backstop_core::time::in_words;
        let waited = self.engine.facts().waited();
        if left > each {
            let (left, most) = (words(left), words(each));
            Some(format!("The wait for the {why} would take {left}, and {most} is the most"))
        } else if waited + left > all {
            let (waited, left, most) = (words(waited), words(left), words(all));
            Some(format!(
                "The run has waited {waited} for rate limits; {left} more would make it longer than {most}"
            ))
        } else {
            None
        }
    }

    /// Waits, and hears what happens meanwhile. A decision that wants something else ends the wait.
    async fn wait(&mut self, wait: Wait) -> Result<Option<Box<Decision>>, RunError> {
        let until = self.timers.active() + wait.left;
        if !wait.is_active {
            self.clock.pause();
        }
        self.say(&wait);
        let meanwhile = loop {
            let left = until.saturating_sub(self.timers.active());
            if left.is_zero() {
                break None;
            }
            self.phase = Phase::Waiting { why: wait.why.clone(), left: Some(left) };
            if let Some(meanwhile) = self.hear_something_else(Some(until)).await? {
                break Some(meanwhile);
            }
        };
        self.clock.run_on();
        Ok(meanwhile)
    }

    fn say(&mut self, wait: &Wait) {
        if wait.left < WORTH_SAYING {
            return;
        }
        let left = backstop_core::time::in_words(wait.left);
        let until = self.clock.now().at.plus(wait.left).to_jiff();
        let form = if wait.left < A_DAY { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
        let until = until.to_zoned(self.engine.zone().clone()).strftime(form).to_string();
        self.remark(&Remark::Note(format!("waiting {left}, until {until}: {}", wait.why)));
    }

    /// A person wants the run to wait.
    async fn wait_for_continuation(&mut self) -> Result<Option<Box<Decision>>, RunError> {
        self.phase = Phase::Paused;
        self.clock.pause();
        self.mark(RunStatus::Paused);
        self.remark(&Remark::Note(format!(
            "paused; go on with `backstop pause {} --continue`",
            self.run
        )));
        let meanwhile = loop {
            if !self.paused {
                break None;
            }
            if let Some(meanwhile) = self.hear_something_else(None).await? {
                break Some(meanwhile);
            }
        };
        self.clock.run_on();
        self.mark(RunStatus::Running);
        Ok(meanwhile)
    }

    /// Hears the next thing; the decision that follows from it, if it is not to go on.
    async fn hear_something_else(
        &mut self,
        until: Option<Duration>,
    ) -> Result<Option<Box<Decision>>, RunError> {
        self.hear(until).await?;
        let interferes =
            |run: &Self, verdict| RunStatus::after(verdict).is_halted() || run.ordered.is_some();
        let verdict = self.decide();
        if !interferes(self, verdict) {
            return Ok(None);
        }
        let decision = self.judge_anew().await?;
        Ok(interferes(self, decision.verdict).then(|| Box::new(decision)))
    }

    /// Stops everything until the run is continued: Ctrl-Z.
    pub(super) async fn suspend(&mut self) {
        let began = std::time::Instant::now();
        let was_running = self.clock.is_running();
        self.clock.pause();
        self.timers.pause();
        self.tree.stop_all();
        // Who looks at the run meanwhile must see that its time stands still. If this can't be
        // written, what comes next says so.
        let seq = self.take(Suspended { ms: 0 });
        let _told_later = self.durable(seq).await;
        let asking = self.asking.as_ref();
        if let Some(keyboard) = asking.and_then(|asking| asking.keyboard.as_ref()) {
            keyboard.rest();
        }
        // The shell writes as soon as this is confirmed; the block must be gone by then. A terminal
        // that takes nothing can't keep it from coming to that.
        let left = self.pump.leave_screen();
        let _stuck = tokio::time::timeout(TIME_TO_LEAVE_SCREEN, left).await;
        self.signals.confirm_suspended();
        loop {
            let signal = tokio::select! {
                signal = self.signals.next() => signal,
                // Who operates a run does not know that it stands still.
                Some(request) = self.requests.recv() => {
                    self.answer(request).await;
                    match self.ordered {
                        Some(_) => Signal::Continue,
                        None => continue,
                    }
                }
            };
            match signal {
                Signal::Suspend | Signal::Resize => {}
                Signal::Continue => break,
                // Ctrl-C cannot come from a stopped terminal job, but a kill can.
                other => {
                    self.wake(was_running, began);
                    Box::pin(self.signalled(other)).await;
                    return;
                }
            }
        }
        self.wake(was_running, began);
    }

    fn wake(&mut self, was_running: bool, began: std::time::Instant) {
        self.tree.continue_all();
        let asking = self.asking.as_ref();
        if let Some(keyboard) = asking.and_then(|asking| asking.keyboard.as_ref()) {
            // A terminal that is gone takes no keys; other channels stay.
            let _gone = keyboard.listen();
        }
        self.timers.run_on();
        if was_running {
            self.clock.run_on();
        }
        self.pump.enter_screen();
        self.take(Suspended { ms: millis(began.elapsed()).max(1) });
    }

    /// What a run that may go on by itself after a halt waits for first. A provider's limit is over
    /// when the provider says so, and where the policy does not want that wait, there is no use in
    /// going on before.
    pub(super) fn wait_to_resume_alone(
        &mut self,
        outcome: &Outcome,
        resumptions: u32,
    ) -> Option<Wait> {
        let code = outcome.decision.reason.clone().unwrap_or_default();
        let may_resume = resumptions < self.launch.auto_resume
            && outcome.state.resumable
            && self.ordered.is_none()
            && self.engine.policy().reason(&code).auto_resumable();
        if !may_resume {
            return None;
        }
        let mut wait = Wait {
            why: "provider".to_owned(),
            left: back_off(resumptions + 1),
            is_active: false,
            is_for_provider: false,
        };
        let facts = self.engine.facts();
        if facts.ended_rate_limited() || facts.ended_in_transient_error() {
            wait.left = wait.left.max(self.until_retry());
            if let Some(why) = self.too_long(&wait) {
                self.remark(&Remark::Note(format!("not resumed by itself: {why}")));
                return None;
            }
        }
        Some(Wait { why: format!("resuming after {code}"), ..wait })
    }

    /// Goes on after a halt without being asked, after a while.
    pub(super) async fn resume_alone(
        &mut self,
        outcome: &Outcome,
        wait: Wait,
        resumptions: u32,
    ) -> Result<Gate, RunError> {
        let code = outcome.decision.reason.clone().unwrap_or_default();
        let of = self.launch.auto_resume;
        self.remark(&Remark::Note(format!(
            "resuming by itself after {code} ({resumptions} of {of})"
        )));
        self.clock.pause();
        self.say(&wait);
        let note = format!("resumption {resumptions} of {of} by itself, after {code}");
        let until = self.timers.active() + wait.left;
        while self.timers.active() < until && self.ordered.is_none() {
            self.phase = Phase::Waiting {
                why: wait.why.clone(),
                left: Some(until.saturating_sub(self.timers.active())),
            };
            self.hear(Some(until)).await?;
        }
        self.clock.run_on();
        if self.ordered.is_some() {
            let end = super::halt::ordered(self.decision(), &self.engine);
            self.record(&end);
            return Ok(Gate::Halt(Box::new(end)));
        }
        self.forget_stop();
        self.was_resumed = true;
        self.take(Resumed { by: Some("backstop".to_owned()), note: Some(note) });
        self.mark(RunStatus::Running);
        self.write_state_of_going_on();
        Ok(Gate::Go)
    }

    /// Notes what a person or the system wants at once.
    pub(super) fn order(&mut self, order: Order, by: &str) {
        use backstop_core::event::{Signal as Asked, SignalKind};
        let kind = if order == Order::Stop { SignalKind::Stop } else { SignalKind::Kill };
        self.ordered = self.ordered.max(Some(order));
        self.take(Asked { kind, by: by.to_owned() });
    }
}

/// A wait that takes longer is not sat out: the run is held, and costs nothing.
const LONGEST_WAIT: Duration = A_DAY;
/// All waits together.
const LONGEST_WAITS: Duration = Duration::from_secs(7 * 24 * 3600);
const A_DAY: Duration = Duration::from_secs(24 * 3600);
/// Shorter waits are over before anybody has read of them.
const WORTH_SAYING: Duration = Duration::from_secs(3);

/// A wait between two iterations.
pub(super) struct Wait {
    why: String,
    left: Duration,
    /// Active time runs on.
    is_active: bool,
    /// As long as the policy wants to wait for a provider, and no longer.
    is_for_provider: bool,
}

/// Less than the outer process waits before it stops in any case.
const TIME_TO_LEAVE_SCREEN: Duration = Duration::from_millis(500);

/// 1 s, 2 s, 4 s … up to a quarter more so that many runs don't come at once; at most a minute, and
/// there up to a quarter less.
fn back_off(attempt: u32) -> Duration {
    let seconds = 1_u64 << attempt.saturating_sub(1).min(6);
    let base = Duration::from_secs(seconds).min(LONGEST_BACK_OFF);
    let jitter = base / 4 * u32::from(crate::chance::byte()) / 255;
    match base + jitter {
        late if late > LONGEST_BACK_OFF => LONGEST_BACK_OFF.saturating_sub(jitter),
        soon => soon,
    }
}

const LONGEST_BACK_OFF: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_offs_double_up_to_a_minute_and_no_longer() {
        for (attempt, least, most) in [(1, 1000, 1250), (2, 2000, 2500), (5, 16_000, 20_000)] {
            for _ in 0..50 {
                let left = back_off(attempt).as_millis();
                assert!((least..=most).contains(&left), "{attempt}: {left}");
            }
        }
        for attempt in [7, 8, 100, u32::MAX] {
            for _ in 0..50 {
                let left = back_off(attempt).as_millis();
                assert!((45_000..=60_000).contains(&left), "{attempt}: {left}");
            }
        }
    }
}
