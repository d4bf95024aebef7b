//! What the command exports beside its output.
//!
//! An agent whose output is understood tells there what it does, so what its telemetry says of the
//! same is left out: nothing counts twice.

use std::ffi::OsString;

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
}

impl Exporting {
    pub(crate) fn new(environment: Vec<(OsString, OsString)>, policy: &Policy) -> Self {
        let translator = Translator::new(policy);
        Self { environment, telemetry: Telemetry::default(), translator, noted: false }
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
        let Some(Exporting { telemetry, translator, .. }) = &mut self.telemetry else { return };
        let moment = capture::moment(self.engine.zone());
        let mut events = Vec::new();
        telemetry.hear(export, &moment, &mut |heard: Heard<'_>| {
            events.extend(translator.events(heard));
        });
        for event in events {
            if self.counts_beside_output(Teller::Telemetry, &event) {
                self.journal.room().await;
                self.reported(event);
            } else if matches!(event, EventKind::Usage(_)) {
                self.note_that_output_goes_first();
            }
        }
        self.decide();
    }

    pub(super) fn note_that_output_goes_first(&mut self) {
        let Some(exporting) = &mut self.telemetry else { return };
        if !std::mem::replace(&mut exporting.noted, true) {
            let note = "the agent's output tells what it uses, so its telemetry is not counted";
            self.remark(&Remark::Note(note.to_owned()));
        }
    }
}
