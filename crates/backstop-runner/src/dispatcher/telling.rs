//! Telling others: of halts, holds, questions and warnings.

use std::collections::BTreeSet;
use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::event::Note;
use backstop_core::policy::Occasion;
use backstop_core::state::{self, RunState, RunStatus};
use tokio::time::{Instant, sleep_until};

use super::Dispatcher;
use crate::notify::{self, About, Channel, Delivery, Message, Notifier, Sent, Warned};
use crate::report::Remark;
use crate::signals::Signal;

/// Who is told, and what they have been told already.
#[derive(Debug)]
pub(crate) struct Telling {
    pub(super) notifier: Notifier,
    /// The policy that says who is told.
    policy_hash: String,
    /// Rules that warned at the last look. None before the first look of a run that goes on: what
    /// warns then has been told before.
    warned: Option<Warned>,
    /// Channels of whose failure the user knows.
    known_to_fail: BTreeSet<Channel>,
}

impl Telling {
    pub(crate) fn new(notifier: Notifier, policy_hash: &str, goes_on: bool) -> Self {
        Self {
            notifier,
            policy_hash: policy_hash.to_owned(),
            warned: (!goes_on).then(Warned::default),
            known_to_fail: BTreeSet::new(),
        }
    }
}

impl Dispatcher {
    /// Tells others of something that does not end the run, if they want to know. Never waits.
    pub(crate) fn tell(&mut self, occasion: Occasion, decision: &Decision) {
        self.tell_of(occasion, decision, RunStatus::Running);
    }

    /// Tells others that the run goes no further, and waits for a while until they have heard of it.
    pub(super) async fn tell_halt(&mut self, decision: &Decision, status: RunStatus) {
        let occasion = if status == RunStatus::Held { Occasion::Held } else { Occasion::Halted };
        self.tell_of(occasion, decision, status);
        if !self.telling.notifier.is_busy() {
            return;
        }
        let deadline = Instant::now() + LAST_DELIVERIES;
        let why = loop {
            if !self.telling.notifier.is_busy() {
                break "";
            }
            tokio::select! {
                biased;
                signal = self.signals.next() => match signal {
                    Signal::Interrupt | Signal::Terminate | Signal::Quit | Signal::Hangup => {
                        break "it was not waited for, because the run was to end at once";
                    }
                    _ => {}
                },
                delivery = self.telling.notifier.next() => self.heard_of(&delivery),
                () = sleep_until(deadline) => break "it was not over within 10s",
            }
        };
        for delivery in self.telling.notifier.give_up(why) {
            self.heard_of(&delivery);
        }
        // The halt itself is on record, and stays what it is.
        if let Err(error) = self.journal.durable(self.seq).await {
            let warning = format!("it could not be recorded who was told: {error}");
            self.remark(&Remark::Warning(warning));
        }
    }

    /// Tells of rules that warn and did not at the last look: once for each time that they begin to.
    pub(super) fn tell_warnings(&mut self, decision: &Decision) {
        self.follow_policy();
        let Some(before) = self.telling.warned.replace(Warned::by(decision)) else { return };
        for warning in before.news(decision) {
            self.tell(Occasion::Warn, &warning);
        }
    }

    /// Journals what became of a message; the first failure of a channel is shown.
    pub(super) fn heard_of(&mut self, delivery: &Delivery) {
        if delivery.is_delivered() {
            self.note(Note::Notified, delivery.to_string());
            self.telling.known_to_fail.remove(&delivery.channel);
            return;
        }
        self.note(Note::NotNotified, delivery.to_string());
        if self.telling.known_to_fail.insert(delivery.channel) {
            self.remark(&Remark::Warning(format!("nobody was told by {delivery}")));
        }
    }

    fn tell_of(&mut self, occasion: Occasion, decision: &Decision, status: RunStatus) {
        self.follow_policy();
        if !self.telling.notifier.tells(occasion) {
            return;
        }
        let state = RunState::halted(self.run, status, decision, &self.engine);
        let values = state::values(self.run, decision, &self.engine);
        let about = About { cwd: &self.launch.cwd, labels: &self.launch.labels };
        let when = (self.seq, self.clock.now().at);
        let policy = self.engine.policy();
        let message = Message::new(occasion, &state, policy, &values, about, when);
        match self.telling.notifier.send(occasion, message) {
            Sent::Out { annotation: Some(line) } if self.reporter.annotates() => {
                self.pump.print(line);
            }
            Sent::Out { .. } => {}
            Sent::LeftOut => {
                self.take(notify::left_out(occasion));
            }
        }
    }

    /// Another policy may have been put in place: it says who is told, and its rules are others.
    fn follow_policy(&mut self) {
        let hash = self.engine.policy_hash();
        if self.telling.policy_hash == hash {
            return;
        }
        self.telling.policy_hash = hash.to_owned();
        self.telling.warned = Some(Warned::default());
        let settings = self.engine.policy().settings.notify.as_ref();
        self.telling.notifier.replace(settings, &self.launch.cwd, &self.tree);
    }
}

/// How long a run that is over waits until others have heard of it.
const LAST_DELIVERIES: Duration = Duration::from_secs(10);
