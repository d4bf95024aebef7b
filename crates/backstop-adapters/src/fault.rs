//! What can go wrong with an agent, whether trying again can help, and when.

mod category;
mod reset;
mod table;
mod unwrapped;

pub use category::{from_category, from_status};
pub use reset::reset_time;
pub(crate) use reset::unix_time;

use backstop_core::event::{ErrorCategory, ErrorSeen, EventKind, Worker, WorkerStatus};
use backstop_core::time::Timestamp;

use crate::Moment;
use unwrapped::{Reset, Unwrapped};

/// Something failed: the agent itself, or the service behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The agent's own words.
    pub message: String,
    /// When trying again may help, if the agent said so.
    pub retry_at: Option<Timestamp>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The plan's or the provider's limit for this user.
    RateLimited,
    /// The service has too much to do.
    Overloaded,
    /// The way to the service is broken, or it does not answer in time.
    Network,
    /// The service itself failed.
    Server,
    /// The context window is full.
    ContextFull,
    /// An answer was longer than it may be.
    OutputLimit,
    /// The agent's own cap on turns.
    TurnLimit,
    /// The agent's own cap on money.
    BudgetLimit,
    /// The agent noticed that it repeats itself, and gave up.
    Loop,
    /// The request was refused as wrong.
    InvalidRequest,
    /// No such model, or not for this user.
    UnknownModel,
    /// Not logged in, or a key that does not work.
    Authentication,
    /// No credits, or a bill that is not paid.
    Credits,
    /// A cap on spending that somebody set.
    SpendCap,
    /// The machine has no disk or memory left.
    Machine,
    /// The agent is not installed.
    MissingProgram,
    /// Anything else.
    Other,
}

impl FaultKind {
    /// What can be done about it.
    pub fn category(self) -> ErrorCategory {
        match self {
            Self::RateLimited | Self::Overloaded | Self::Network | Self::Server => {
                ErrorCategory::Transient
            }
            Self::ContextFull
            | Self::OutputLimit
            | Self::TurnLimit
            | Self::BudgetLimit
            | Self::Loop
            | Self::InvalidRequest
            | Self::Other => ErrorCategory::Recoverable,
            Self::UnknownModel
            | Self::Authentication
            | Self::Credits
            | Self::SpendCap
            | Self::Machine
            | Self::MissingProgram => ErrorCategory::Critical,
        }
    }

    /// Whether waiting, and nothing else, lets the agent go on: no failure of its work.
    pub fn is_waited_out(self) -> bool {
        self == Self::RateLimited
    }
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_at: None }
    }

    #[must_use]
    pub fn retry_at(mut self, at: Timestamp) -> Self {
        self.retry_at = Some(at);
        self
    }

    /// The event that the core knows it by.
    pub fn event(&self) -> EventKind {
        if self.kind.is_waited_out() {
            Worker {
                status: WorkerStatus::RateLimited,
                detail: Some(self.message.clone()),
                retry_at: self.retry_at,
            }
            .into()
        } else {
            ErrorSeen {
                category: self.kind.category(),
                message: self.message.clone(),
                signature: None,
                retry_at: self.retry_at,
            }
            .into()
        }
    }
}

/// A failure of a kind that something else than its message tells. The message may still say when
/// it is over.
pub(crate) fn of_kind(kind: FaultKind, message: &str, moment: &Moment) -> Fault {
    Unwrapped::new(message).into_fault(kind, moment)
}

/// What an agent's error message says, if it is one that is known.
///
/// Only ever to be asked about what an agent prints where it prints its errors: a tool's output and
/// the agent's own words quote such texts all the time.
pub fn recognise(text: &str, moment: &Moment) -> Option<Fault> {
    let unwrapped = Unwrapped::new(text);
    let kind = unwrapped.kind(unwrapped.status)?;
    Some(unwrapped.into_fault(kind, moment))
}

impl Unwrapped<'_> {
    /// What the words and the status tell together. Words say it more precisely (providers send the
    /// same status for a spent minute and an unpaid bill), but for the two that they use for
    /// anything: whose fault it was.
    fn kind(&self, status: Option<u16>) -> Option<FaultKind> {
        let by_status = status.and_then(category::kind_of_status);
        match table::kind_of(&self.clues) {
            Some(FaultKind::InvalidRequest | FaultKind::Server) if by_status.is_some() => by_status,
            by_words => by_words.or(by_status),
        }
    }

    fn into_fault(self, kind: FaultKind, moment: &Moment) -> Fault {
        // The end of a context, say, is not a matter of time, whatever figures its message holds.
        let waits = kind.category() == ErrorCategory::Transient || kind == FaultKind::SpendCap;
        let told = match self.reset {
            Some(Reset::At(seconds)) => unix_time(seconds),
            Some(Reset::In(seconds)) => reset::seconds_from_now(seconds, moment),
            None => None,
        };
        let retry_at = waits.then(|| told.or_else(|| reset_time(&self.whole, moment))).flatten();
        Fault { kind, message: self.message.into_owned(), retry_at }
    }
}

#[cfg(test)]
mod tests;
