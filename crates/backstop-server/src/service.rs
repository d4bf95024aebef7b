//! What every request works with.

use std::sync::Arc;

use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_store::audit::AuditWriter;
use backstop_store::{Home, Store};

use crate::github::Github;
use crate::in_force::PoliciesInForce;
use crate::rerun::Lawbooks;

/// The server's own state. Cheap to share; runs are in the store, not here.
#[derive(Debug)]
pub struct Service {
    pub store: Arc<dyn Store>,
    /// Decisions that must be on record before they are answered go through here.
    pub audit: AuditWriter,
    /// Where files of runs are that were begun here.
    pub home: Home,
    pub policies: PoliciesInForce,
    /// What decisions about re-runs are made by.
    pub lawbooks: Lawbooks,
    pub github: Github,
}

impl Service {
    /// Starts what runs beside the requests as tasks of the current runtime.
    pub fn start(store: Arc<dyn Store>, home: Home) -> Arc<Self> {
        Self::start_with(store, home, Github::default())
    }

    /// As [`Service::start`], with what GitHub is known by.
    pub fn start_with(store: Arc<dyn Store>, home: Home, github: Github) -> Arc<Self> {
        let audit = AuditWriter::start(Arc::clone(&store));
        let policies = PoliciesInForce::new(Arc::clone(&store));
        Arc::new(Self { store, audit, home, policies, lawbooks: Lawbooks::default(), github })
    }

    pub fn now(&self) -> Timestamp {
        wall_time()
    }
}
