//! Nothing runs on and on while the journal can't be written: what it used would count for nothing.

use std::time::Duration;

use super::Dispatcher;
use crate::dispatcher::RunError;

/// How far the journal is behind the iterations.
#[derive(Debug, Default)]
pub(crate) struct KeepingUp {
    /// How long the last iteration took; nothing before the first.
    pub(super) last_took: Duration,
    /// The start of one, and when it was handed over: what came before it may not be looked at yet.
    noted: Option<(u64, Duration)>,
}

impl Dispatcher {
    /// Waits until the start of an iteration is on disk. Where iterations are so short that this would
    /// take longer than they do, what was handed over a moment ago need not be there yet.
    pub(super) async fn start_on_record(&mut self, seq: u64) -> Result<(), RunError> {
        if self.keeping_up.last_took >= WORTH_WAITING {
            return self.durable(seq).await;
        }
        let now = self.timers.active();
        match self.keeping_up.noted {
            Some((_, at)) if now.saturating_sub(at) < MOST_BEHIND => Ok(()),
            noted => {
                self.keeping_up.noted = Some((seq, now));
                match noted {
                    Some((earlier, _)) => self.durable(earlier).await,
                    None => Ok(()),
                }
            }
        }
    }
}

/// A commit takes a few milliseconds.
const WORTH_WAITING: Duration = Duration::from_millis(100);
/// The journal writes what it has after 50 ms at most.
const MOST_BEHIND: Duration = Duration::from_millis(200);
