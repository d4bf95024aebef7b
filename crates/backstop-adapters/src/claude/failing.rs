//! One failure, told once.

use crate::{Fault, FaultKind, Heard, Listener, Shown};

/// Claude Code tells a failure up to three times: as a rejected request, as a message of its own and
/// as the result.
#[derive(Debug, Default)]
pub(super) struct Failing {
    /// Told by a message; the result may know more.
    held: Option<Fault>,
    /// Told since the agent last worked.
    told: Option<FaultKind>,
}

impl Failing {
    /// Keeps a fault until the next record, which may say more of the same.
    pub fn hold(&mut self, fault: Fault) {
        self.held = Some(match self.held.take() {
            Some(before) => merged(before, fault),
            None => fault,
        });
    }

    /// Tells a fault, and what was held with it.
    pub fn tell(&mut self, fault: Fault, listener: &mut dyn Listener) {
        self.hold(fault);
        self.flush(listener);
    }

    /// Tells what was held.
    pub fn flush(&mut self, listener: &mut dyn Listener) {
        let Some(fault) = self.held.take() else { return };
        if self.told.is_some_and(|told| told == fault.kind || fault.kind == FaultKind::Other) {
            return;
        }
        self.told = Some(fault.kind);
        listener.hear(Heard::Shown(Shown::Error(&fault.message)));
        listener.hear(Heard::Fault(fault));
    }

    /// The agent works again: the next failure is another one.
    pub fn went_on(&mut self, listener: &mut dyn Listener) {
        self.flush(listener);
        self.told = None;
    }
}

fn merged(before: Fault, after: Fault) -> Fault {
    let kind = if after.kind == FaultKind::Other { before.kind } else { after.kind };
    let message = if after.message.is_empty() { before.message } else { after.message };
    Fault { kind, message, retry_at: after.retry_at.or(before.retry_at) }
}
