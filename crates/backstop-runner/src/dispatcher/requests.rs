//! What the supervised side and operators ask for.

use backstop_core::engine::Engine;
use backstop_core::event::{EventKind, Note, Raised, Signal, SignalKind};
use backstop_core::policy::Raisable;
use backstop_core::reason;
use backstop_core::state::{RunState, RunStatus};
use tokio::sync::oneshot;

use super::settings::{self, LoopTimes};
use super::{Dispatcher, Order};
use crate::probe::Probes;
use crate::raise::{self, Raise};
use crate::report::{Phase, Remark};
use crate::socket::{Order as Wish, Reply, Request, Source, What, may_report};

impl Dispatcher {
    /// Answers a request at once; whoever asked waits for the disk.
    ///
    /// Those that have gathered meanwhile are answered with it, as long as nothing changes what is
    /// to be done: looking at every other source in between takes longer than the answers do. Who
    /// reported something is told what is decided after all of it.
    pub(super) async fn answer(&mut self, request: Request) {
        let before = (self.seen.verdict(), self.ordered);
        let mut next = Some(request);
        let mut reporters = Vec::new();
        for taken in 1..=TOGETHER {
            let Some(request) = next.take() else { break };
            reporters.extend(self.answer_one(request).await);
            if taken < TOGETHER && (self.seen.verdict(), self.ordered) == before {
                next = self.requests.try_recv().ok();
            }
        }
        if reporters.is_empty() {
            return;
        }
        let answer = self.decided_now(Some(self.seq));
        for reply in reporters {
            // Who asked may have gone; what was asked for stands.
            let _ = reply.send(answer.clone());
        }
    }

    /// Answers, or leaves it to the caller to tell a reporter what was decided.
    async fn answer_one(&mut self, request: Request) -> Option<oneshot::Sender<Reply>> {
        self.journal.room().await;
        let Request { from, what, reply } = request;
        let answer = match what {
            What::Event(event) => match self.event(from, event.kind) {
                Ok(()) => return Some(reply),
                Err(refused) => refused,
            },
            What::Hooked(event) => {
                self.hooked(event.kind);
                self.decide();
                return Some(reply);
            }
            What::Telemetry(export) => {
                self.exported(&export).await;
                return Some(reply);
            }
            What::Decision => self.decided_now(None),
            What::Refused(refusal) => {
                self.refused_line(&refusal.message);
                Reply::done(None)
            }
            What::Order(order) => self.obey(order).await,
        };
        let _ = reply.send(answer);
        None
    }

    async fn obey(&mut self, order: Wish) -> Reply {
        match order {
            Wish::Stop { now, by } => {
                self.order(if now { Order::Kill } else { Order::Stop }, &by);
                self.done()
            }
            Wish::Pause { by } => self.pause(by),
            Wish::Continue { by } => self.unpause(by),
            Wish::Raise(raised) => self.raise(raised),
            Wish::ApplyPolicy { hash, by } => self.apply_policy(&hash, &by).await,
            Wish::Answer { choice, note, by } => self.said_by_a_person(choice, note, by),
            Wish::Release { by, why } => self.release(by, why),
            Wish::Attend { on, by } => self.set_attended(on, &by),
            Wish::Status => self.status(),
        }
    }

    fn event(&mut self, from: Source, kind: EventKind) -> Result<(), Reply> {
        if let Err(refusal) = may_report(&kind) {
            if from == Source::Child {
                self.refused_line(&refusal.to_string());
            }
            return Err(Reply::error(refusal.to_string()));
        }
        self.reported(kind);
        self.decide();
        Ok(())
    }

    /// The decision as it is now, once what led to it is on disk.
    fn decided_now(&mut self, seq: Option<u64>) -> Reply {
        self.decide();
        let decision = self.engine.poll_decision(self.clock.now());
        let decision = self.stronger_than(decision.verdict).cloned().unwrap_or(decision);
        let exit_code = decision.exit_code(self.engine.policy());
        Reply::decided(&decision, exit_code, seq.map(|_| self.seq))
    }

    pub(super) fn done(&mut self) -> Reply {
        Reply::done(Some(self.seq))
    }

    fn pause(&mut self, by: String) -> Reply {
        self.paused = true;
        self.take(Signal { kind: SignalKind::Pause, by });
        self.remark(&Remark::Note("pausing after this iteration".to_owned()));
        self.done()
    }

    fn unpause(&mut self, by: String) -> Reply {
        self.paused = false;
        self.take(Signal { kind: SignalKind::Resume, by });
        self.done()
    }

    fn raise(&mut self, raised: Raised) -> Reply {
        // Who asked has checked it too, perhaps against a policy that was replaced since.
        let code = reason::limit_code(&raised.limit);
        let fits = |limit: &Raisable| limit.code == code && limit.kind.takes(raised.value);
        if !self.engine.policy().raisable().iter().any(fits) {
            return Reply::error(format!("this run has no limit `{}` of that kind", raised.limit));
        }
        let raise = Raise { limit: raised.limit.clone(), value: raised.value };
        if let Err(error) = raise::check(&raise, &raised.limit, &self.engine) {
            return Reply::error(error.to_string());
        }
        // More room may undo what was about to stop the run.
        self.forget_stop();
        self.take(raised);
        self.done()
    }

    /// Puts another policy in place; the facts stay.
    async fn apply_policy(&mut self, hash: &str, by: &str) -> Reply {
        let stored = match self.store.policy_fetch(hash).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Reply::error(format!("there is no policy {hash}")),
            Err(error) => return Reply::error(error.to_string()),
        };
        let policy = match crate::loading::policy(&stored) {
            Ok(policy) => policy,
            Err(problem) => return Reply::error(problem.to_string()),
        };
        self.times = LoopTimes::of(&policy, &self.launch);
        let zone = self.engine.zone().clone();
        let facts = self.engine.facts().clone();
        self.engine = Engine::with_facts(policy, facts).in_zone(zone);
        self.progress_is_read = self.engine.policy().reads_progress();
        self.standstill_rules = self.engine.policy().standstill_rules();
        self.unheld_noted.clear();
        self.look_for_the_policy();
        self.note(Note::PolicyApplied, format!("{hash} by {by}"));
        self.mark(self.status_now());
        self.done()
    }

    /// A run that is to pause is not paused before its iteration has ended.
    fn status_now(&self) -> RunStatus {
        if self.phase == Phase::Paused { RunStatus::Paused } else { RunStatus::Running }
    }

    fn status(&self) -> Reply {
        let status = self.status_now();
        let state = RunState::going_on(self.run, status, &self.engine);
        Reply::told(&serde_json::json!({
            "state": state,
            "iteration": self.iteration_number(),
            "facts": self.engine.view().to_json(),
        }))
    }

    /// What is looked for follows from the policy; what progress is, is found out before the next look.
    fn look_for_the_policy(&mut self) {
        let policy = self.engine.policy();
        self.probes = Probes::new(policy.asked(), &self.launch.cwd, self.tree.clone());
        self.pump.look_for(settings::wanted(policy, &self.launch, self.engine.facts()));
        if let Some(exporting) = &mut self.telemetry {
            exporting.follow(policy);
        }
        // They are asked beside everything else that is heard.
        self.probes.want_all();
        self.forget_stop();
    }
}

/// How many requests are answered before signals, limits and output are looked at again.
const TOGETHER: usize = 64;
