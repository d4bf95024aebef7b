//! What every request works with.

use std::sync::Arc;

use backstop_core::redact::Redactor;
use backstop_core::time::Timestamp;
use backstop_runner::chance;
use backstop_runner::clock::wall_time;
use backstop_runner::secrets;
use backstop_store::audit::AuditWriter;
use backstop_store::{Home, Store};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::belief;
use crate::deadline::Deadline;
use crate::engines::Engines;
use crate::gate::Gate;
use crate::github::Github;
use crate::halts::Followed;
use crate::in_force::PoliciesInForce;
use crate::metrics::Metrics;
use crate::options::{Limits, ServeOptions};
use crate::problem::Problem;
use crate::rates::Rates;
use crate::readiness::Readiness;
use crate::rerun::Lawbooks;
use crate::work::Work;

/// The server's own state. Cheap to share; runs are in the store, not here.
#[derive(Debug)]
pub struct Service {
    pub store: Arc<dyn Store>,
    /// What it is called among those that answer for the same store.
    pub(crate) name: String,
    /// Decisions that must be on record before they are answered go through here.
    pub audit: AuditWriter,
    /// Where files of runs are that were begun here.
    pub home: Home,
    pub policies: PoliciesInForce,
    pub metrics: Metrics,
    pub(crate) access: Access,
    pub(crate) gate: Gate,
    pub(crate) rates: Rates,
    pub(crate) engines: Engines,
    pub(crate) halts: Followed,
    pub(crate) readiness: Readiness,
    pub(crate) limits: Limits,
    /// One permit for each request that is worked on, and for each client that follows a run.
    pub(crate) requests: Arc<Semaphore>,
    /// One permit for each report that is taken in or settled, which may go on behind its request.
    pub(crate) reports: Arc<Semaphore>,
    /// One permit for each hold that was answered and is yet to be recorded.
    pub(crate) held: Arc<Semaphore>,
    pub(crate) live_streams: Arc<Semaphore>,
    /// Cancelled when nothing new is to begin: streams end then.
    pub(crate) closing: CancellationToken,
    /// What was begun and must not be lost.
    pub(crate) work: Work,
    /// One permit for each delivery that is larger than other bodies may be.
    pub(crate) large_bodies: Semaphore,
    /// Takes secrets out of what is written down.
    pub(crate) redactor: Redactor,
    /// What decisions about re-runs are made by.
    pub lawbooks: Lawbooks,
    pub github: Github,
    /// GitHub wants what is written there to come one after the other.
    pub(crate) comments: tokio::sync::Mutex<()>,
}

impl Service {
    /// For a command that does one thing and ends. It attends to nothing: runs do not count on it to
    /// show anybody what they ask.
    pub fn for_a_command(store: Arc<dyn Store>, home: Home) -> Arc<Self> {
        Self::new(store, home, &ServeOptions::default())
    }

    /// Starts what runs beside the requests, too, as tasks of the current runtime.
    pub fn start(store: Arc<dyn Store>, home: Home, options: &ServeOptions) -> Arc<Self> {
        let service = Self::new(store, home, options);
        tokio::spawn(crate::upkeep::tend(Arc::downgrade(&service)));
        service
    }

    fn new(store: Arc<dyn Store>, home: Home, options: &ServeOptions) -> Arc<Self> {
        let limits = options.limits;
        Arc::new(Self {
            name: chance::run_id().to_string(),
            audit: AuditWriter::start(Arc::clone(&store)),
            policies: PoliciesInForce::new(Arc::clone(&store)),
            metrics: Metrics::new(),
            access: Access::new(Arc::clone(&store), options.address.ip().is_loopback()),
            gate: Gate::new(options),
            rates: Rates::new(limits.requests_per_second),
            engines: Engines::default(),
            lawbooks: Lawbooks::default(),
            github: options.github.clone(),
            comments: tokio::sync::Mutex::default(),
            halts: Followed::default(),
            readiness: Readiness::default(),
            limits,
            requests: Arc::new(Semaphore::new(limits.requests)),
            reports: Arc::new(Semaphore::new(limits.requests)),
            held: Arc::new(Semaphore::new(limits.requests)),
            live_streams: Arc::new(Semaphore::new(limits.live_streams)),
            closing: CancellationToken::new(),
            work: Work::default(),
            large_bodies: Semaphore::new(LARGE_BODIES),
            redactor: secrets::of_environment(),
            store,
            home,
        })
    }

    /// Finishes what goes on behind answers, but for no longer than this.
    pub(crate) async fn finish_until(&self, until: Instant) {
        let left = self.work.finish(until).await;
        if left > 0 {
            tracing::warn!(left, "what goes on behind answers is left unfinished");
        }
    }

    /// Finishes what goes on behind answers, for as long as the limits say.
    pub async fn finish(&self) {
        self.finish_until(Instant::now() + self.limits.shutdown_time).await;
    }

    /// When a decision must have been made that is begun now.
    pub(crate) fn decides_by(&self) -> Deadline {
        Deadline::after(self.limits.decision_time)
    }

    /// Does something to a run apart from the other requests: it waits for disks and locks of files
    /// as a command does.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        act: impl AsyncFnOnce(Arc<dyn Store>, Home) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (store, home) = (Arc::clone(&self.store), self.home.clone());
        let runtime = tokio::runtime::Handle::current();
        let done = tokio::task::spawn_blocking(move || runtime.block_on(act(store, home)));
        done.await.map_err(|error| Problem::internal(&error))
    }

    /// Tokens, policies in force or orders to halt were changed here. When this returns, no service
    /// goes by what was so before.
    pub(crate) async fn changed(&self) {
        self.access.forget();
        self.policies.forget();
        self.lawbooks.forget();
        belief::outlive(&*self.store, Some(&self.name)).await;
    }

    pub fn now(&self) -> Timestamp {
        wall_time()
    }
}

/// Each may take 25 MiB before it can be told who sent it.
const LARGE_BODIES: usize = 4;
