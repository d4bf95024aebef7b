//! What the command exports beside its output.
//!
//! An agent whose output is understood tells there what it does, so what its telemetry says of the
//! same is left out: nothing counts twice.

use std::ffi::OsString;
use std::time::Duration;

use backstop_adapters::{Export, Heard, Telemetry, Translator};
use backstop_core::event::EventKind;
use backstop_core::policy::Policy;

use super::Dispatcher;
use super::tellers::Teller;
use crate::capture;
use crate::report::Remark;

/// What is needed to understand exports.
#[derive(Debug)]
pub(crate) struct Exporting {
    environment: Vec<(OsString, OsString)>,
    telemetry: Telemetry,
    translator: Translator,
    /// It was said that the output goes first.
    noted: bool,
    /// Since when a request is refused that none has succeeded after, on the timers' clock.
    refused_since: Option<Duration>,
}

impl Exporting {
    pub(crate) fn new(environment: Vec<(OsString, OsString)>, policy: &Policy) -> Self {
        let translator = Translator::new(policy);
        let telemetry = Telemetry::default();
        Self { environment, telemetry, translator, noted: false, refused_since: None }
    }

    /// When a request that was refused is taken for the agent's failure.
    pub(super) fn gives_up_at(&self) -> Option<Duration> {
        self.refused_since.map(|since| since + PATIENCE)
    }

    /// What tells the command to export, and where to.
    pub(super) fn environment(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.environment.iter().cloned()
    }

    /// Another policy was put in place.
    pub(super) fn follow(&mut self, policy: &Policy) {
        self.translator = Translator::new(policy);
    }
}

impl Dispatcher {
    /// Takes in what the command exports.
    pub(super) async fn exported(&mut self, export: &Export) {
        let now = self.timers.active();
        let Some(exporting) = &mut self.telemetry else { return };
        let Exporting { telemetry, translator, .. } = exporting;
        let moment = capture::moment(self.engine.zone());
        let mut events = Vec::new();
        telemetry.hear(export, &moment, &mut |heard: Heard<'_>| {
            events.extend(translator.events(heard));
        });
        exporting.refused_since =
            telemetry.is_refused().then(|| exporting.refused_since.unwrap_or(now));
        for event in events {
            self.journal.room().await;
            self.told_by_telemetry(event);
        }
        self.correct_exported().await;
        self.decide();
    }

    /// Too much may have been told of what was used: tells it again as it is now known.
    async fn correct_exported(&mut self) {
        let Some(Exporting { telemetry, translator, .. }) = &mut self.telemetry else { return };
        let Some(used) = telemetry.corrected() else { return };
        let used = used.into_iter().map(EventKind::from);
        let events: Vec<_> =
            used.flat_map(|usage| translator.events(Heard::Event(usage))).collect();
        if self.takes_back_exported() {
            for event in events {
                self.journal.room().await;
                self.told_by_telemetry(event);
            }
        }
    }

    /// What was exported until now is of earlier iterations.
    pub(super) fn begin_exports(&mut self) {
        if let Some(exporting) = &mut self.telemetry {
            exporting.telemetry.iteration_started();
        }
    }

    /// A request was refused for good, and the agent has had the time to get through after all.
    pub(super) fn tell_long_refused(&mut self) {
        let gives_up_at = self.telemetry.as_ref().and_then(Exporting::gives_up_at);
        if gives_up_at.is_some_and(|at| self.timers.active() >= at) {
            self.tell_refused();
        }
    }

    /// The same when the iteration is over: it won't get through any more.
    pub(super) fn tell_refused(&mut self) {
        let Some(Exporting { telemetry, translator, refused_since, .. }) = &mut self.telemetry
        else {
            return;
        };
        *refused_since = None;
        let mut events = Vec::new();
        telemetry.tell_refused(&mut |heard: Heard<'_>| events.extend(translator.events(heard)));
        for event in events {
            self.told_by_telemetry(event);
        }
    }

    fn told_by_telemetry(&mut self, event: EventKind) {
        let cost = self.cost_beside_output(&event);
        if self.counts_beside_output(Teller::Telemetry, &event) {
            self.reported(event);
        } else if matches!(event, EventKind::Usage(_)) {
            self.tell_cost(cost);
            self.note_that_output_goes_first(cost.is_some());
        }
    }

    /// Says once what is not counted, and what is all the same.
    pub(super) fn note_that_output_goes_first(&mut self, has_cost: bool) {
        let Some(exporting) = &mut self.telemetry else { return };
        if !std::mem::replace(&mut exporting.noted, true) {
            let note = match has_cost {
                true => {
                    "the agent's output tells its tokens, so of its telemetry only the cost is counted"
                }
                false => "the agent's output tells what it uses, so its telemetry is not counted",
            };
            self.remark(&Remark::Note(note.to_owned()));
        }
    }
}

/// A few exports, and what it takes to replace a key.
const PATIENCE: Duration = Duration::from_secs(10);
