//! The one task that orders what happens, drives the engine, records and reports.
//!
//! Nothing else writes the journal or decides. Sources of events (the child's output, sockets,
//! signals, probes, timers) own their things and send messages; `Dispatcher::next` takes one
//! message at a time.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, Note, Noted, RunStarted};
use backstop_core::id::RunId;
use backstop_core::reason::ReasonCode;
use backstop_core::redact::Redactor;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::verdict::Verdict;
use backstop_store::{Journal, RunFolder, Store, StoreError};
use tokio::sync::{broadcast, mpsc};

use crate::capture::{Captured, LiveTerminal, Pump, Summary};
use crate::clock::Clock;
use crate::guards::Guards;
use crate::launch::Launch;
use crate::probe::Probes;
use crate::progress::ProgressSources;
use crate::prompt::Choice;
use crate::report::{Phase, Remark, Reporter, Started};
use crate::secrets;
use crate::signals::Signals;
use crate::socket::{Reporters, Request};
use crate::tree::Tree;
use keeping_up::KeepingUp;

mod asking;
mod attending;
mod between;
mod draining;
mod drifting;
mod ending;
mod glancing;
pub(crate) mod guarding;
mod halt;
mod happening;
mod holding;
mod idle;
mod iteration;
mod journalling;
pub(crate) mod keeping_up;
mod looking;
mod proof;
mod recovering;
mod requests;
mod reviewing;
pub(crate) mod settings;
mod telemetry;
mod tellers;
mod telling;
mod testing;

use asking::{Asking, Said};
use between::Gate;
pub use halt::Outcome;
pub(crate) use halt::unrecorded;
use happening::Happening;
use iteration::Told;
use journalling::Seen;
use settings::LoopTimes;
pub(crate) use telemetry::Exporting;
pub(crate) use telling::Telling;

/// Everything that a run is driven with.
#[derive(Debug)]
pub struct Dispatcher {
    pub(crate) run: RunId,
    pub(crate) launch: Launch,
    pub(crate) folder: RunFolder,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) journal: Journal,
    pub(crate) engine: Engine,
    /// What is left out of everything that is written down.
    pub(crate) redactor: Redactor,
    /// Sequence number of the last event.
    pub(crate) seq: u64,
    /// Active time: stands still in holds, pauses, waits for rate limits and while stopped.
    pub(crate) clock: Clock,
    /// For the deadlines of an iteration: stands still only while the whole run is stopped.
    pub(crate) timers: Clock,
    pub(crate) times: LoopTimes,
    pub(crate) tree: Rc<Tree>,
    pub(crate) pump: Pump,
    pub(crate) captured: mpsc::Receiver<Captured>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) signals: Signals,
    /// Told when any child has ended: orphans that came back to us are collected then.
    pub(crate) orphans: tokio::signal::unix::Signal,
    pub(crate) lease_lost: mpsc::Receiver<StoreError>,
    pub(crate) probes: Probes,
    pub(crate) progress: ProgressSources,
    /// Some rule or setting wants to know of progress after every iteration.
    pub(crate) progress_is_read: bool,
    /// The rules that time without progress alone can meet.
    pub(crate) standstill_rules: Vec<usize>,
    pub(crate) has_baseline: bool,
    /// The policy that `progress` was found out for; none before the first look.
    pub(crate) progress_follows: Option<String>,
    /// When looks are given up, on the timers' clock; none while the run goes on.
    pub(crate) looks_end: Option<Duration>,
    /// A look was given up, because the run was to end.
    pub(crate) is_cut_short: bool,
    pub(crate) guards: Guards,
    pub(crate) reporter: Box<dyn Reporter>,
    /// Journalled events as lines, for those who watch by the socket.
    pub(crate) watchers: broadcast::Sender<Arc<str>>,
    pub(crate) report_socket: Option<PathBuf>,
    /// Those who report by it.
    pub(crate) reporters: Reporters,
    pub(crate) seen: Seen,
    /// The strongest stop that was decided since the run began or went on.
    pub(crate) latched: Option<Decision>,
    pub(crate) phase: Phase,
    pub(crate) paused: bool,
    /// The question that a person is asked now, and what was said to the last one.
    pub(crate) asking: Option<Asking>,
    pub(crate) said: Option<Said>,
    /// What a person wants of the iteration that is to start.
    pub(crate) turn: Option<Choice>,
    /// There is a terminal to ask on.
    pub(crate) has_keyboard: bool,
    /// Whether a service answers for the store, and when that was found out.
    pub(crate) served: Option<(Duration, bool)>,
    /// A hold is waited out.
    pub(crate) is_held: bool,
    pub(crate) keeping_up: KeepingUp,
    /// The rule that holds.
    pub(crate) held_by: Option<usize>,
    /// The rules that a person has let pass since the last iteration began.
    pub(crate) let_pass: Vec<usize>,
    /// The file that tells the current iteration what it must know.
    pub(crate) handed_off: Option<PathBuf>,
    /// A person or the system wants the run to end, whatever the policy says.
    pub(crate) ordered: Option<Order>,
    /// It went on after a halt or a crash, so that iterations are told where to go on.
    pub(crate) was_resumed: bool,
    pub(crate) snapshot_seq: u64,
    pub(crate) retries: u32,
    /// Iterations in a row that met a limit of the provider.
    pub(crate) limited: u32,
    pub(crate) live: Option<LiveTerminal>,
    pub(crate) policy_name: String,
    pub(crate) notes: Vec<String>,
    pub(crate) verification: Option<String>,
    /// The rules of which it was said that they can't be held.
    pub(crate) unheld_noted: BTreeSet<usize>,
    /// It was said that nobody tells of tests.
    pub(crate) tests_noted: bool,
    /// Why the drift could not be measured the last time.
    pub(crate) unmeasured_drift: Option<String>,
    pub(crate) asleep: Duration,
    pub(crate) told: Told,
    /// Of the iteration's output, once both streams have ended.
    pub(crate) summary: Option<Summary>,
    /// What the command exports, if it is told to.
    pub(crate) telemetry: Option<Exporting>,
    /// Who is told of what happens.
    pub(crate) telling: Telling,
}

/// What a person or the system wants at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// Nothing new starts; the iteration may finish.
    Stop,
    /// SIGTERM now.
    Kill,
    /// SIGKILL now.
    KillNow,
}

/// Why a run could not be driven to a halt.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing more can be recorded, so nothing more is done.
    #[error("{0}; the run was ended, since it could not be recorded")]
    Store(Arc<StoreError>),
    #[error(
        "nothing was started, by order of {0}\n\n\
         hint: `backstop release --all` takes the order back"
    )]
    HaltedForAll(String),
    #[error("{0}; the run goes on there, and its processes here were ended")]
    LeaseLost(StoreError),
    #[error("{0}")]
    Output(String),
    #[error("can't {what}: {source}")]
    Io { what: &'static str, source: std::io::Error },
}

impl Dispatcher {
    /// Drives the run until it halts.
    ///
    /// # Errors
    /// The run could not be recorded, or is no longer ours. Its processes have been ended.
    pub async fn run(&mut self, start: Start) -> Result<Outcome, RunError> {
        let driven = self.drive(start).await;
        if driven.is_err() {
            self.abandon().await;
        }
        driven
    }

    async fn drive(&mut self, start: Start) -> Result<Outcome, RunError> {
        self.announce(start).await?;
        let mut resumptions = 0;
        loop {
            let decision = self.until_halted().await?;
            let outcome = self.halt(decision).await?;
            let Some(wait) = self.wait_to_resume_alone(&outcome, resumptions) else {
                return Ok(outcome);
            };
            resumptions += 1;
            match self.resume_alone(&outcome, wait, resumptions).await? {
                Gate::Go => {}
                Gate::Halt(decision) => return self.halt(*decision).await,
            }
        }
    }

    /// Runs iterations until a decision ends the run.
    async fn until_halted(&mut self) -> Result<Decision, RunError> {
        self.begin_to_look();
        self.follow_progress_of_policy().await?;
        self.check_guards_at_start().await?;
        self.ask_probes().await?;
        let decision = self.first_judgement().await?;
        let mut decision = self.held_unless_guarded(decision);
        loop {
            match self.gate(decision).await? {
                Gate::Halt(decision) => return Ok(*decision),
                Gate::Go => {}
            }
            decision = self.iteration().await?;
            if self.launch.once {
                return Ok(self.only_once(decision));
            }
        }
    }

    async fn announce(&mut self, start: Start) -> Result<(), RunError> {
        let text = self.reporter.started(&Started {
            run: self.run,
            launch: &self.launch,
            engine: &self.engine,
            containment: self.tree.containment(),
            policy_name: &self.policy_name,
            notes: &self.notes,
            resumed: !matches!(start, Start::New),
        });
        self.pump.print(text);
        match start {
            Start::New => {
                self.overlook_old_review();
                self.take(RunStarted {
                    run: self.run.to_string(),
                    policy_hash: self.engine.policy_hash().to_owned(),
                    command: secrets::words(&self.redactor, self.launch.command.clone()),
                    cwd: self.launch.cwd.to_string_lossy().into_owned(),
                    labels: self.launch.labels.clone(),
                    total_units: self.launch.total_units,
                });
            }
            // The file still tells of the last halt.
            Start::Resumed { journalled } => {
                for event in journalled {
                    let text = self.reporter.event(&event, &self.engine);
                    self.pump.print(text);
                }
                self.write_state_of_going_on();
            }
        }
        let detail = self.tree.containment().as_str().to_owned();
        let seq = self.take(Noted { what: Note::Containment, detail });
        self.mark(RunStatus::Running);
        self.durable(seq).await
    }

    /// The decision of a run that was to have a single iteration.
    fn only_once(&mut self, decision: Decision) -> Decision {
        if RunStatus::after(decision.verdict).is_halted() {
            return decision;
        }
        let mut end = halt::once(decision, &self.engine, &self.told);
        if end.verdict == Verdict::Complete && !self.guards.spoilt.is_empty() {
            end = halt::spoilt(end, &self.engine);
        }
        let refused = [
            ReasonCode::VerificationFailed,
            ReasonCode::VerificationTimeout,
            ReasonCode::ReviewRejected,
        ];
        if refused.iter().any(|reason| end.reason.as_deref() == Some(reason.as_str())) {
            self.note(Note::ClaimRefused, end.message.clone());
        }
        self.record(&end);
        end
    }

    /// The file must not tell of a halt that is over.
    pub(crate) fn write_state_of_going_on(&mut self) {
        let state = RunState::going_on(self.run, RunStatus::Running, &self.engine);
        if let Err(error) = self.folder.write_state(&state) {
            self.remark(&Remark::Warning(format!("can't write state.json: {error}")));
        }
    }

    pub(crate) fn remark(&mut self, remark: &Remark) {
        let text = self.reporter.remark(remark);
        self.pump.print(text);
    }

    /// What is told to every process of the run.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut pairs = vec![("BACKSTOP_RUN_ID".into(), self.run.as_str().into())];
        pairs.push(("BACKSTOP_ITERATION".into(), self.iteration_number().to_string().into()));
        if let Some(socket) = &self.report_socket {
            pairs.push(("BACKSTOP_SOCKET".into(), socket.into()));
        }
        if let Some(path) = &self.handed_off {
            pairs.push(("BACKSTOP_HANDOFF".into(), path.into()));
        }
        if self.was_resumed {
            let state = RunState::going_on(self.run, RunStatus::Running, &self.engine);
            let point = state.resume_from;
            let point = point.index.map(|index| index.to_string()).or(point.unit);
            pairs.extend(point.map(|point| ("BACKSTOP_RESUME_FROM".into(), point.into())));
        }
        pairs
    }

    /// Writes what is left, gives the terminal back, and ends what was started.
    pub async fn close(self) {
        self.pump.stop(LAST_WORDS);
    }

    pub(crate) async fn durable(&mut self, seq: u64) -> Result<(), RunError> {
        self.journal.durable(seq).await.map_err(RunError::Store)
    }
}

/// How long a terminal that takes nothing is waited for at the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How a dispatcher begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    New,
    Resumed {
        /// What whoever resumed the run has journalled; nobody who watches it has seen that yet.
        journalled: Vec<Event>,
    },
}
