//! Tells a listener what is in a trajectory, in the words of the core.

use backstop_core::event::{Action, Context, EventKind, Tests, UsageBasis};
use backstop_core::time::Timestamp;
use serde_json::Value;

use super::calls::Call;
use super::spent::Spent;
use super::times::time;
use crate::excerpt::distinct_excerpt;
use crate::{Fault, Heard, Listener, Moment, Outcome, Shown, Voice, excerpt};

pub(super) struct Teller<'l> {
    listener: &'l mut dyn Listener,
    moment: &'l Moment,
    /// What was told of this launch so far.
    told: Spent,
    outcome: Outcome,
}

impl<'l> Teller<'l> {
    pub fn new(listener: &'l mut dyn Listener, moment: &'l Moment) -> Self {
        Self { listener, moment, told: Spent::default(), outcome: Outcome::CutOff }
    }

    pub fn moment(&self) -> &'l Moment {
        self.moment
    }

    /// How the last launch ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub fn launched(&mut self) {
        self.told = Spent::default();
        self.outcome = Outcome::CutOff;
        self.hear(Heard::Launched);
    }

    pub fn ended(&mut self, outcome: Outcome) {
        self.outcome = outcome;
        self.hear(Heard::Ended(outcome));
    }

    /// What a field of the trajectory means as a time.
    pub fn time(&self, written: Option<&Value>) -> Option<Timestamp> {
        time(written?, &self.moment.zone)
    }

    pub fn at(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.hear(Heard::At(at));
        }
    }

    /// The agent thinks aloud while it does something.
    pub fn said(&mut self, text: &str) {
        self.hear(Heard::Said(Voice::Assistant, text));
        self.hear(Heard::Shown(Shown::Text(text)));
    }

    /// The agent says something instead of doing anything.
    pub fn message(&mut self, text: &str) {
        self.said(text);
        self.action("message", text, None);
    }

    /// The agent gave no answer that could be used.
    pub fn empty(&mut self) {
        self.action("empty", "", None);
    }

    /// Something was said to the agent.
    pub fn user(&mut self, text: &str) {
        self.action("user", text, None);
    }

    pub fn compaction(&mut self) {
        self.action("compaction", "", None);
        self.hear(Heard::Shown(Shown::Notice("the context was condensed")));
    }

    /// What the agent says at the end.
    pub fn result(&mut self, text: &str) {
        self.hear(Heard::Said(Voice::Result, text));
        self.hear(Heard::Shown(Shown::Text(text)));
    }

    /// A step: what was done and, if anything did, what came back. Nobody may have said whether it
    /// succeeded.
    pub fn step(&mut self, call: &Call, result: Option<&str>, succeeded: Option<bool>) {
        self.at(call.at);
        self.hear(Heard::Shown(Shown::Call { tool: &call.tool, what: &call.what }));
        self.acted(&call.tool, &call.signature, result, succeeded == Some(false));
        if let (Some(result), Some(succeeded)) = (result, succeeded) {
            let what = result.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let (tool, of) = (&*call.tool, &*call.what);
            self.hear(Heard::Shown(Shown::Returned { tool, of, succeeded, what }));
        }
    }

    pub fn fault(&mut self, fault: Fault) {
        let message = fault.message.clone();
        self.hear(Heard::Fault(fault));
        self.hear(Heard::Shown(Shown::Error(&message)));
    }

    /// Something more was used.
    pub fn used(&mut self, spent: Spent) {
        if let Some(usage) = spent.usage(UsageBasis::Live) {
            self.told = self.told.plus(spent);
            self.event(usage);
        }
    }

    /// This was used in all until now: what was told already is not told again.
    pub fn used_until_now(&mut self, total: Spent) {
        self.used(total.since(self.told));
    }

    /// This was used in all. What the trajectory leaves open is what was told on the way.
    pub fn used_in_all(&mut self, total: Spent) {
        if let Some(usage) = total.or(self.told).usage(UsageBasis::Final) {
            self.event(usage);
        }
    }

    /// How full the context is, where the size of the window is known too.
    pub fn context(&mut self, used: Option<u64>, limit: Option<u64>) {
        if let (Some(used @ 1..), Some(limit @ 1..)) = (used, limit) {
            self.event(Context::of(used, limit));
        }
    }

    pub fn tests(&mut self, tests: Tests) {
        self.event(tests);
    }

    fn action(&mut self, kind: &str, signature: &str, result: Option<&str>) {
        self.acted(kind, signature, result, false);
    }

    fn acted(&mut self, kind: &str, signature: &str, result: Option<&str>, failed: bool) {
        self.event(Action {
            signature: distinct_excerpt(signature).into_owned(),
            kind: kind.to_owned(),
            result_signature: result.map(|result| excerpt(result).into_owned()),
            failed,
        });
    }

    fn event(&mut self, event: impl Into<EventKind>) {
        self.hear(Heard::Event(event.into()));
    }

    fn hear(&mut self, heard: Heard<'_>) {
        self.listener.hear(heard);
    }
}
