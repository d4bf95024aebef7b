//! Who may write a run's journal.

use std::time::Duration;

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// The right to write one run's journal, until another epoch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub run: RunId,
    /// Counts the holders. Every append names it, so that a holder whose time is over can't write.
    pub epoch: u64,
}

/// A process that supervises a run, so that others can tell whether it lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub host: String,
    pub boot_id: String,
    /// The supervisor, and the outer process around it.
    pub pid: u32,
    pub outer_pid: u32,
    /// When the supervisor was started, in the kernel's ticks since boot: a pid may be used again.
    pub start_ticks: u64,
    pub outer_start_ticks: u64,
    /// The run's control group, where there is one.
    pub cgroup: Option<String>,
    /// For how long it takes the lease each time, in milliseconds.
    #[serde(default)]
    pub lease_ms: Option<u64>,
}

/// A lease as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    pub lease: Lease,
    pub holder: Holder,
    pub expires_at: Timestamp,
    /// Given back: nobody supervises the run.
    pub released: bool,
}

impl LeaseRecord {
    /// When its holder last took it or renewed it: until then, at least, it lived.
    pub fn renewed_at(&self) -> Option<Timestamp> {
        let lasts = Duration::from_millis(self.holder.lease_ms?);
        Some(self.expires_at.minus(lasts))
    }

    /// Says who holds it.
    pub(crate) fn refusal(&self) -> StoreError {
        StoreError::LeaseHeld {
            run: self.lease.run,
            holder: format!("process {} on {}", self.holder.pid, self.holder.host),
            epoch: self.lease.epoch,
            expires_at: self.expires_at,
        }
    }
}
