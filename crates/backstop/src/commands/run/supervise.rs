//! From a command to a supervisor: two processes, a runtime, a store, a run.

use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_runner::capture::{LiveTerminal, Sinks};
use backstop_runner::dispatcher::Outcome;
use backstop_runner::keyboard::Keyboard;
use backstop_runner::outer::{self, Detached, Herald};
use backstop_runner::report::Reporter;
use backstop_runner::resolve::resolve;
use backstop_runner::resuming::{self, ResumeError, Wishes};
use backstop_runner::signals::Signals;
use backstop_runner::supervisor::Supervisor;
use backstop_runner::tree::{Containment, Tree, withheld};
use backstop_runner::{ancestry, chance, loading, raise, recovery, unsupervised};
use backstop_store::{Home, Location, Run, Store};

use super::super::operate;
use super::Prepared;
use crate::args::ViewFlags;
use crate::env_vars;
use crate::error::Error;
use crate::exit_code;
use crate::report::{Human, JsonLines};
use crate::shown_commands::complete;
use crate::store::{here, location};
use crate::terminal::{Terminal, is_dumb};

/// What the supervisor is to do.
#[derive(Debug)]
pub enum Task {
    Begin(Box<Prepared>),
    Resume { run: String, wishes: Box<Wishes> },
}

/// Where a run is kept and shown.
#[derive(Debug)]
pub struct View {
    location: Location,
    json: bool,
    detach: bool,
    colour: bool,
}

impl View {
    pub fn of(flags: &ViewFlags, terminal: &Terminal) -> Result<Self, Error> {
        Ok(Self {
            location: location(flags.store.store.as_deref())?,
            json: flags.json,
            detach: flags.detach,
            colour: terminal.colours_errors(),
        })
    }

    fn reporter(&self) -> Box<dyn Reporter> {
        if self.json { Box::new(JsonLines::new()) } else { Box::new(Human::new(self.colour)) }
    }

    fn sinks(&self) -> std::io::Result<Sinks> {
        match (self.detach, self.json) {
            (true, _) => Ok(Sinks::nowhere()),
            (false, true) => Sinks::own_to_stdout(),
            (false, false) => Sinks::inherited(),
        }
    }

    /// Whether questions can be answered where the run is shown.
    fn has_keyboard(&self) -> bool {
        self.live().is_some() && Keyboard::is_there()
    }

    /// The terminal for the live block. Both streams must lead to it: output that goes elsewhere
    /// is not disturbed by a block, but a block without output above it is.
    fn live(&self) -> Option<LiveTerminal> {
        let shown = !self.json && !self.detach && std::io::stdout().is_terminal();
        LiveTerminal::of(std::io::stderr().as_fd()).filter(|_| shown && !is_dumb())
    }
}

/// Supervises a run to its halt and answers with its exit code.
pub fn supervise(task: Task, view: &View) -> Result<u8, Error> {
    Containment::wanted().map_err(|error| Error::Usage(error.to_string()))?;
    let herald = if view.detach {
        match outer::detach().map_err(Error::Process)? {
            Detached::Foreground(outer::Outcome::Started(run)) => return announce(run),
            Detached::Foreground(outer::Outcome::Failed { message, code }) => {
                return Err(Error::Background { message, code });
            }
            Detached::Background(herald) => Some(herald),
        }
    } else {
        None
    };
    outer::enter(&complete("backstop resume")).map_err(Error::Process)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Process)?;
    let outcome = runtime.block_on(inside(task, view, herald));
    // A look at a disk that does not answer can't be called back; it must not hold up the end.
    runtime.shutdown_timeout(LAST_LOOKS);
    outcome
}

fn announce(run: RunId) -> Result<u8, Error> {
    use std::io::Write as _;
    writeln!(std::io::stdout(), "{run}")?;
    Ok(exit_code::OK)
}

async fn inside(task: Task, view: &View, mut herald: Option<Herald>) -> Result<u8, Error> {
    let ended = drive(task, view, &mut herald).await;
    // Whatever went wrong before the run had begun is told to who waits for its start.
    if let (Err(error), Some(herald)) = (&ended, herald) {
        herald.failed(error.message().unwrap_or_default(), error.exit_code());
    }
    ended
}

/// From the start of a run to its halt.
async fn drive(task: Task, view: &View, herald: &mut Option<Herald>) -> Result<u8, Error> {
    let Some(started) = start(task, view).await? else { return Ok(exit_code::OK) };
    let StartedUp { supervisor, run, work } = started;
    let begun = || herald.take().into_iter().for_each(|herald| herald.started(run));
    let outcome: Outcome = match work {
        Work::Begin(prepared) => {
            supervisor.begin(run, prepared.launch, prepared.pinned, begun).await?
        }
        Work::GoOn(ready) => supervisor.go_on(*ready, begun).await?,
    };
    Ok(outcome.exit_code)
}

/// A supervisor with something to do.
struct StartedUp {
    supervisor: Supervisor,
    run: RunId,
    work: Work,
}

enum Work {
    Begin(Box<Prepared>),
    GoOn(Box<resuming::Ready>),
}

/// Gets everything ready; none where there is nothing to supervise.
async fn start(task: Task, view: &View) -> Result<Option<StartedUp>, Error> {
    let signals = Signals::listen().map_err(Error::Process)?;
    let store = backstop_store::open(&view.location).await?;
    let home = view.location.home().clone();
    match task {
        Task::Begin(mut prepared) => {
            let run = chance::run_id();
            keep_piped(&home, run, prepared.piped.take())?;
            let tree = adopt(run, &view.location)?;
            let parts = Parts { store, home, tree, signals };
            let name = prepared.pinned.name.clone();
            let notes = std::mem::take(&mut prepared.notes);
            let supervisor = parts.supervisor(view, name, notes)?;
            Ok(Some(StartedUp { supervisor, run, work: Work::Begin(prepared) }))
        }
        Task::Resume { run, wishes } => {
            let above = ancestry::supervisor_of(&*store, std::process::id()).await?;
            if let Some(above) = above {
                return Err(operate::supervised(above, "resume"));
            }
            let run = resolve(&*store, &run, &here()).await?;
            resuming::let_it_end(&*store, run.id, remark).await?;
            recovery::finish_halt(&*store, &home, run.id).await?;
            let run = store.run_fetch(run.id).await?.unwrap_or(run);
            let id = run.id;
            if !run.supervised {
                reopen(&*store, &home, &run, &wishes).await?;
                return Ok(None);
            }
            let tree = adopt(id, &view.location)?;
            let lease = lease_duration();
            let ready = resuming::take_over(&store, &home, &tree, run, &wishes, lease).await?;
            let parts = Parts { store, home, tree, signals };
            let supervisor =
                parts.supervisor(view, ready.policy_name.clone(), ready.notes.clone())?;
            Ok(Some(StartedUp { supervisor, run: id, work: Work::GoOn(Box::new(ready)) }))
        }
    }
}

/// A line for whoever waits, before there is a run to be shown.
fn remark(text: &str) {
    use std::io::Write as _;
    // Nobody may read it; that is no failure.
    let _unread = writeln!(std::io::stderr(), "backstop: {text}");
}

/// The run's tree, which is not told how the store is opened.
fn adopt(run: RunId, location: &Location) -> Result<Tree, Error> {
    let mut tree = Tree::adopt(run).map_err(Error::Process)?;
    if matches!(location, Location::Server { .. }) {
        tree.withhold(withheld::DATABASE_PASSWORD);
    }
    Ok(tree)
}

/// Lets a run go on that a script drives: there is nothing to start.
async fn reopen(store: &dyn Store, home: &Home, run: &Run, wishes: &Wishes) -> Result<(), Error> {
    use std::io::Write as _;
    if run.status == RunStatus::Completed {
        return Err(ResumeError::Completed(run.id.to_string()).into());
    }
    let loaded = loading::load(store, run.id).await?;
    resuming::rehearse(&loaded.engine, run, wishes)?;
    let raises = wishes
        .raises
        .iter()
        .map(|text| raise::read(text, &loaded.engine).map_err(ResumeError::Raise))
        .collect::<Result<_, _>>()?;
    let by = Some(wishes.by.clone());
    let outcome =
        unsupervised::reopen(store, home, run.id, raises, by, wishes.note.clone()).await?;
    let point = &outcome.state.resume_from;
    let point = point.index.map(|index| index.to_string()).or_else(|| point.unit.clone());
    let next = point.map(|point| format!("; the next unit is {point}")).unwrap_or_default();
    writeln!(std::io::stdout(), "run {} goes on{next}", run.id)?;
    Ok(())
}

/// What both kinds of work need.
struct Parts {
    store: Arc<dyn Store>,
    home: Home,
    tree: Tree,
    signals: Signals,
}

impl Parts {
    fn supervisor(
        self,
        view: &View,
        policy_name: String,
        notes: Vec<String>,
    ) -> Result<Supervisor, Error> {
        Ok(Supervisor {
            store: self.store,
            home: self.home,
            tree: self.tree,
            signals: self.signals,
            reporter: view.reporter(),
            sinks: view.sinks()?,
            live: view.live(),
            columns: view.live(),
            colour: view.colour,
            has_keyboard: view.has_keyboard(),
            policy_name,
            notes,
            lease_duration: lease_duration(),
        })
    }
}

/// What was piped in is kept beside the run, so that every iteration reads it, and a resumption too.
fn keep_piped(home: &Home, run: RunId, piped: Option<Vec<u8>>) -> Result<(), Error> {
    let Some(bytes) = piped else { return Ok(()) };
    let folder = home.run(run);
    let path = folder.stdin();
    folder
        .create()
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|source| Error::CannotCreate { path, source })
}

/// How long a supervisor that says nothing is taken for alive.
fn lease_duration() -> Duration {
    let told = std::env::var(env_vars::LEASE_SECONDS).ok().and_then(|text| text.parse().ok());
    told.and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
        .filter(|duration| !duration.is_zero() && *duration < LONGEST_LEASE)
        .unwrap_or(LEASE)
}

/// How long files that are still being read are waited for when the run is over.
const LAST_LOOKS: Duration = Duration::from_secs(1);
const LONGEST_LEASE: Duration = Duration::from_secs(24 * 3600);
const LEASE: Duration = Duration::from_secs(15);
