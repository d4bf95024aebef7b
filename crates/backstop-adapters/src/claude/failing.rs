//! One failure, told once.

use crate::{Fault, FaultKind, Heard, Listener, Shown};

/// Claude Code tells a failure up to three times: as a rejected request, as a message of its own
/// and as the result.
#[derive(Debug, Default)]
pub(super) struct Failing {
    /// Told by a message; the result may know more.
    held: Option<Fault>,
    /// A rejected request. The program may get through at last, so it matters only where nothing
    /// comes behind it that shows so.
    rejected: Option<Fault>,
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

    /// Keeps a rejection until the agent gets through or the launch ends.
    pub fn reject(&mut self, fault: Fault) {
        self.rejected = Some(fault);
    }

    /// Whether words or a rejection have said since the agent last worked what kind of failure it
    /// is.
    pub fn is_explained(&self) -> bool {
        let held = self.held.as_ref().map(|fault| fault.kind).or(self.told);
        self.rejected.is_some() || held.is_some_and(|kind| kind != FaultKind::Other)
    }

    /// A request was let through, or the launch has ended well: no rejection kept it from that.
    pub fn got_through(&mut self) {
        self.rejected = None;
    }

    /// The launch has ended, and not well: a rejection is the reason, unless another was told.
    pub fn give_up(&mut self, listener: &mut dyn Listener) {
        self.held = self.held.take().or_else(|| self.rejected.take());
        self.flush(listener);
        self.rejected = None;
    }

    /// Tells a fault, and what was held with it.
    pub fn tell(&mut self, fault: Fault, listener: &mut dyn Listener) {
        self.hold(fault);
        self.flush(listener);
    }

    /// Tells what was held.
    pub fn flush(&mut self, listener: &mut dyn Listener) {
        let Some(mut fault) = self.held.take() else { return };
        // The rejection knows for certain what texts only hint at.
        if matches!(fault.kind, FaultKind::RateLimited | FaultKind::Other)
            && let Some(rejected) = self.rejected.take()
        {
            fault.kind = rejected.kind;
            fault.retry_at = rejected.retry_at.or(fault.retry_at);
        }
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
