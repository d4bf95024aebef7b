//! Events that their sender may not send. They are refused, and what the supervised side tried is on
//! record in its run.

use std::pin::pin;
use std::sync::Arc;

use backstop_core::event::{Event, Note, Noted};
use backstop_runner::socket::inbox::{self, InboxError};
use backstop_runner::socket::{Refusal, may_emit, may_report};
use backstop_store::access::Scope;
use tokio::sync::OwnedSemaphorePermit;

use super::events::{Refused, Report, from_inbox, look, take_in};
use crate::access::Caller;
use crate::deadline::Deadline;
use crate::problem::Problem;
use crate::service::Service;

/// The first event of a report that its sender may not send, and why.
pub(super) struct Attempt<'e> {
    event: &'e Event,
    refusal: Refusal,
}

impl<'e> Attempt<'e> {
    /// Who may only report is the supervised side, and tells nothing that a supervisor would observe.
    pub(super) fn find(caller: &Caller, events: &'e [Event]) -> Option<Self> {
        let may = if caller.has(Scope::Operate) { may_emit } else { may_report };
        let refused = |event: &'e Event| Some(Self { event, refusal: may(&event.kind).err()? });
        let found = events.iter().find_map(refused)?;
        let kind = found.event.kind.type_name();
        tracing::warn!(caller = caller.name(), kind, "an event may not be sent");
        Some(found)
    }

    /// What its sender is told.
    pub(super) fn problem(&self, caller: &Caller) -> Problem {
        let mut detail = self.refusal.to_string();
        if !caller.has(Scope::Operate) && may_emit(&self.event.kind).is_ok() {
            detail.push_str("; a token with the scope `operate` may, where there is no supervisor");
        }
        Problem::forbidden(detail).about("type")
    }

    /// Puts it on record, as far as that can be done in time: it is refused in any case.
    pub(super) async fn note(
        &self,
        service: &Arc<Service>,
        run: &str,
        deadline: Deadline,
        permit: OwnedSemaphorePermit,
    ) {
        let why = match deadline.bounds(pin!(self.record(service, run, permit))).await {
            Ok(Ok(())) => return,
            Ok(Err(Refused::Problem(problem))) => problem.detail().to_owned(),
            Ok(Err(Refused::Store(error))) => {
                service.metrics.store_failed();
                error.to_string()
            }
            Err(_late) => "it took too long".to_owned(),
        };
        tracing::error!(run, why, "it can't be recorded that an event was refused");
    }

    async fn record(
        &self,
        service: &Arc<Service>,
        run: &str,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), Refused> {
        let (run, orders) = look(service, run).await?;
        let Some(orders) = orders else {
            // Nobody else writes this run's journal. Its supervisor refuses the event too, and notes that.
            let (store, patience) = (&*service.store, inbox::PATIENCE);
            return match inbox::event(store, run.id, self.event, patience).await {
                Ok(_) | Err(InboxError::Refused(_)) => Ok(()),
                Err(InboxError::Store(error)) => Err(error.into()),
                Err(other) => Err(from_inbox(other).into()),
            };
        };
        let note = Noted { what: Note::Refused, detail: self.refusal.to_string() };
        let report = Report { run: run.id, events: vec![Event::new(note)], key: None, orders };
        take_in(service, report, permit).await.map(drop)
    }
}
