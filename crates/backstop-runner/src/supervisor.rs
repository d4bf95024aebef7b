//! Puts a run together: store, lease, process tree, output, sockets; then lets it run.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use backstop_core::engine::Engine;
use backstop_core::facts::Facts;
use backstop_core::id::RunId;
use backstop_core::policy::VariableName;
use backstop_core::state::{RunState, RunStatus};
use backstop_store::{Home, Journal, Lease, Run, Store, StoreError};
use tokio::sync::{broadcast, mpsc};

use crate::ancestry;
use crate::capture::{LiveTerminal, Pump, Setup, Sinks};
use crate::clock::{Clock, time_asleep, wall_time};
use crate::dispatcher::keeping_up::KeepingUp;
use crate::dispatcher::{Dispatcher, Exporting, Outcome, RunError, Start, Telling, settings};
use crate::footprint;
use crate::guards::Guards;
use crate::guards::protected::Protected;
use crate::halt_order;
use crate::journalled;
use crate::last_words;
use crate::launch::Launch;
use crate::notify::Notifier;
use crate::probe::Probes;
use crate::progress::ProgressSources;
use crate::report::{Phase, Reporter};
use crate::reserve::Reserve;
use crate::resuming::Ready;
use crate::secrets;
use crate::signals::Signals;
use crate::socket::{self, Place, Request, Server};
use crate::telemetry::{Inlet, Receiver};
use crate::tree::Tree;
use crate::unsupervised::PinnedPolicy;

/// What a run is made of.
#[derive(Debug)]
pub struct Supervisor {
    pub store: Arc<dyn Store>,
    pub home: Home,
    pub tree: Tree,
    pub signals: Signals,
    pub reporter: Box<dyn Reporter>,
    pub sinks: Sinks,
    /// The terminal that shows a live block, if one does.
    pub live: Option<LiveTerminal>,
    /// The same, to ask for its width.
    pub columns: Option<LiveTerminal>,
    /// Whether what is shown may have colours.
    pub colour: bool,
    /// Whether questions can be answered where the run is shown.
    pub has_keyboard: bool,
    pub policy_name: String,
    pub notes: Vec<String>,
    pub lease_duration: Duration,
}

impl Supervisor {
    /// Begins a new run and drives it to its halt. Who waits for its start is told when it is ours
    /// and nothing stands in its way any more.
    ///
    /// # Errors
    /// The run could not be created, recorded or driven; nothing of it is left running.
    pub async fn begin(
        self,
        run: RunId,
        launch: Launch,
        pinned: PinnedPolicy,
        begun: impl FnOnce(),
    ) -> Result<Outcome, RunError> {
        let now = wall_time();
        let stored = pinned.stored(now);
        let policy_name = pinned.named(&stored.hash);
        let engine = journalled::engine(pinned.policy, Facts::default());
        let state = RunState::going_on(run, RunStatus::Running, &engine);
        let redactor = secrets::redactor(engine.policy());
        let mut launch = launch;
        launch.labels = secrets::labels(&redactor, launch.labels);
        launch.policy = Some(policy_name);
        let record = Run {
            id: run,
            created_at: now,
            updated_at: now,
            cwd: launch.cwd.to_string_lossy().into_owned(),
            // What is shown; what is started again is in the launch.
            command: secrets::words(&redactor, launch.command.clone()),
            labels: launch.labels.clone(),
            policy_hash: stored.hash.clone(),
            status: RunStatus::Running,
            state: serde_json::to_value(&state).unwrap_or_default(),
            launch: launch.to_json(),
            supervised: true,
            pruned: false,
        };
        let holder = self.tree.holder(self.lease_duration);
        refuse_if_halted(&*self.store, &launch).await?;
        let reserve = Reserve::take(&self.home.run(run))?;
        let opened = async {
            self.store.policy_put(&stored).await?;
            self.store.run_create(&record).await?;
            self.store.lease_acquire(run, &holder, self.lease_duration, None).await
        };
        let lease = opened.await.map_err(|error| RunError::Store(Arc::new(error)))?;
        let work = Work { lease, launch, engine, last_seq: 0, start: Start::New };
        self.drive(work, reserve, begun).await
    }

    /// Goes on with a run whose lease was taken and whose journal says how it goes on.
    ///
    /// # Errors
    /// As for [`Supervisor::begin`].
    pub async fn go_on(self, ready: Ready, begun: impl FnOnce()) -> Result<Outcome, RunError> {
        let Ready { lease, launch, engine, last_seq, journalled, reserve, .. } = ready;
        let start = Start::Resumed { journalled };
        self.drive(Work { lease, launch, engine, last_seq, start }, reserve, begun).await
    }

    async fn drive(
        self,
        work: Work,
        reserve: Reserve,
        begun: impl FnOnce(),
    ) -> Result<Outcome, RunError> {
        let Work { lease, launch, engine, last_seq, start } = work;
        let run = lease.run;
        let was_resumed = !matches!(start, Start::New);
        let mut launch = launch;
        // What was switched while the run went on holds after a resumption too.
        launch.attended = engine.facts().attended().unwrap_or(launch.attended);
        let folder = self.home.run(run);
        let journal = Journal::start(Arc::clone(&self.store), lease.clone());
        let written = journal.clone();
        let mut tree = self.tree;
        let notify = engine.policy().settings.notify.clone();
        if let Some(VariableName(name)) = notify.as_ref().and_then(|set| set.secret_env.as_ref()) {
            tree.withhold(name);
        }
        let tree = Rc::new(tree);
        let notifier = Notifier::new(notify.as_ref(), &launch.cwd, &tree).counted_in(folder.told());
        let (captured_in, captured) = mpsc::channel(CAPTURED);
        let (requests_in, requests) = mpsc::channel(REQUESTS);
        let (lost_in, lease_lost) = mpsc::channel(1);
        let policy = engine.policy();
        let redactor = secrets::redactor(policy);
        let setup = Setup {
            sinks: self.sinks,
            wanted: settings::wanted(policy, &launch, engine.facts()),
            output_folder: folder.output(),
            redactor: redactor.clone(),
            live: self.live,
            colour: self.colour,
        };
        let io = |what| move |source| RunError::Io { what, source };
        let pump =
            Pump::start(setup, captured_in).map_err(|error| RunError::Output(error.to_string()))?;
        let watchers = broadcast::channel(WATCHED).0;
        let sockets = sockets(run, &journal, requests_in, &watchers)?;
        let server = Server::start(sockets.clone()).map_err(io("open the run's sockets"))?;
        let mut notes = self.notes;
        let receiver = if launch.telemetry {
            let inlet = Inlet::of(&sockets);
            let started = Receiver::start(inlet).await.map_err(io("receive telemetry"))?;
            notes.extend(started.notes());
            Some(started)
        } else {
            None
        };
        let renewal = tokio::spawn(renew(
            Arc::clone(&self.store),
            lease.clone(),
            self.lease_duration,
            lost_in.clone(),
        ));
        let labels = launch.labels.clone();
        let inbox = tokio::spawn(serve_inbox(
            Arc::clone(&self.store),
            lease.clone(),
            labels,
            sockets,
            lost_in,
        ));
        let probes = Probes::new(policy.asked(), &launch.cwd, Rc::clone(&tree));
        let progress_is_read = policy.reads_progress();
        let standstill_rules = policy.standstill_rules();
        let progress = ProgressSources::away(Rc::clone(&tree));
        let protected = Protected::new(&launch.cwd, folder.clone());
        let active = engine.facts().active();
        let times = settings::LoopTimes::of(policy, &launch);
        let mut dispatcher = Dispatcher {
            run,
            launch,
            store: Arc::clone(&self.store),
            journal,
            seq: last_seq,
            clock: Clock::resumed(active),
            timers: Clock::resumed(Duration::ZERO),
            times,
            tree,
            pump,
            captured,
            requests,
            signals: self.signals,
            orphans: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child())
                .map_err(io("listen for processes that end"))?,
            lease_lost,
            probes,
            progress,
            progress_is_read,
            standstill_rules,
            has_baseline: false,
            progress_follows: None,
            looks_end: None,
            is_cut_short: false,
            guards: Guards::new(protected),
            reporter: self.reporter,
            watchers,
            report_socket: Some(server.report_path()),
            reporters: server.reporters(),
            seen: Default::default(),
            phase: Phase::Running,
            paused: false,
            asking: None,
            said: None,
            turn: None,
            has_keyboard: self.has_keyboard,
            served: None,
            is_held: false,
            keeping_up: KeepingUp::default(),
            held_by: None,
            let_pass: Vec::new(),
            handed_off: None,
            ordered: None,
            was_resumed,
            latched: None,
            snapshot_seq: last_seq,
            retries: 0,
            limited: 0,
            live: self.columns,
            policy_name: self.policy_name,
            notes,
            verification: None,
            unheld_noted: Default::default(),
            tests_noted: false,
            unmeasured_drift: None,
            asleep: time_asleep(),
            told: Default::default(),
            summary: None,
            telling: Telling::new(notifier, engine.policy_hash(), was_resumed),
            telemetry: receiver.as_ref().map(|found| Exporting::new(found.environment(), policy)),
            engine,
            folder,
            redactor,
        };
        begun();
        let outcome = dispatcher.run(start).await;
        renewal.abort();
        inbox.abort();
        if let Some(receiver) = receiver {
            receiver.finish(LAST_ANSWERS).await;
        }
        server.finish(LAST_ANSWERS).await;
        dispatcher.close().await;
        match &outcome {
            // Nobody supervises a halted run. If this fails, the lease runs out by itself.
            Ok(_) => {
                let _ = self.store.lease_release(&lease).await;
            }
            Err(RunError::Store(error)) if matches!(**error, StoreError::Full(_)) => {
                drop(reserve);
                // Two who write at once would give the same number to what they write.
                let _known = written.flush().await;
                let folder = self.home.run(run);
                let _unsaid = last_words::write(&*self.store, &folder, &lease, error).await;
            }
            Err(_) => {}
        }
        outcome
    }
}

/// Nothing starts while an order to halt is in force for it.
pub(crate) async fn refuse_if_halted(store: &dyn Store, launch: &Launch) -> Result<(), RunError> {
    match halt_order::covering(store, &launch.labels).await {
        Ok(None) => Ok(()),
        Ok(Some(order)) => Err(RunError::HaltedForAll(halt_order::in_words(&order))),
        Err(error) => Err(RunError::Store(Arc::new(error))),
    }
}

/// A run that is ready to be driven.
struct Work {
    lease: Lease,
    launch: Launch,
    engine: Engine,
    last_seq: u64,
    start: Start,
}

/// Keeps the lease until the run is over; says so if it is lost.
async fn renew(
    store: Arc<dyn Store>,
    lease: Lease,
    duration: Duration,
    lost: mpsc::Sender<StoreError>,
) {
    loop {
        tokio::time::sleep(duration / 3).await;
        if let Err(error) = store.lease_renew(&lease, duration).await {
            let _ = lost.send(error).await;
            return;
        }
        // It is only about memory: where it can't be given back, it stays.
        let _refused = footprint::shed_code();
    }
}

/// Answers what comes by the store; one that can't be read is a failure like any other.
async fn serve_inbox(
    store: Arc<dyn Store>,
    lease: Lease,
    labels: BTreeMap<String, String>,
    sockets: socket::Settings,
    lost: mpsc::Sender<StoreError>,
) {
    let failure = socket::inbox::serve(store, lease, labels, sockets).await;
    let _ = lost.send(failure).await;
}

/// What the sockets need of the run.
fn sockets(
    run: RunId,
    journal: &Journal,
    requests: mpsc::Sender<Request>,
    watchers: &broadcast::Sender<Arc<str>>,
) -> Result<socket::Settings, RunError> {
    let place = Place::create(run).map_err(|error| RunError::Output(error.to_string()))?;
    Ok(socket::Settings {
        place,
        requests,
        durable: socket::durable_in(journal.clone()),
        journalled: watchers.clone(),
        is_supervised: Arc::new(move |pid| ancestry::runs(pid).any(|found| found == run)),
    })
}

/// How long those who still ask are waited for when the run is over.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
const CAPTURED: usize = 256;
const REQUESTS: usize = 256;
const WATCHED: usize = 4096;
