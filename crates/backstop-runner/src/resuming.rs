//! Going on with a run that halted or whose supervisor died.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backstop_core::condition::{ClockTime, Condition};
use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind, Note, Noted, Raised, Resumed, Suspended};
use backstop_core::id::RunId;
use backstop_core::policy::{Lifted, Policy, Unmetered};
use backstop_core::reason;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::{Moment, millis};
use backstop_core::verdict::Verdict;
use backstop_store::{
    Batch, Holder, Home, Lease, LeaseRecord, NewEvent, Run, RunUpdate, Snapshot, Store, StoreError,
    Writer,
};

use crate::clock::wall_time;
use crate::dispatcher::{RunError, settings};
use crate::launch::Launch;
use crate::loading;
use crate::raise::{self, Raise, RaiseError};
use crate::reserve::Reserve;
use crate::supervisor::refuse_if_halted;
use crate::tree::identity::{self, Life};
use crate::tree::{Tree, orphans};
use crate::unsupervised::PinnedPolicy;

/// What whoever resumes a run wants to be different.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// As people write them: `iterations=100`.
    pub raises: Vec<String>,
    /// What to do about limits that nobody measures, if not what the policy says.
    pub unmetered: Option<Unmetered>,
    /// Guards that are lifted from here on.
    pub lifted: Lifted,
    pub by: String,
    pub note: Option<String>,
    pub auto_resume: Option<u32>,
}

/// A run that is ours and ready to go on.
#[derive(Debug)]
pub struct Ready {
    pub lease: Lease,
    pub launch: Launch,
    pub engine: Engine,
    pub last_seq: u64,
    pub policy_name: String,
    /// What was found and done on the way.
    pub notes: Vec<String>,
    /// What was journalled on the way.
    pub journalled: Vec<Event>,
    /// Taken before anything was changed.
    pub(crate) reserve: Reserve,
}

/// Why a run can't go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("run {run} is running, supervised by process {pid} on {host}")]
    Running { run: String, pid: u32, host: String },
    #[error("run {0} is completed; there is nothing to resume")]
    Completed(String),
    #[error("run {0} has no supervisor: it is driven by `backstop emit`")]
    Unsupervised(String),
    #[error("run {0} was pruned: its journal is gone")]
    Pruned(String),
    #[error("{message}, so it would stop again at once\n\nhint: {hint}")]
    StillFires { message: String, hint: String },
    #[error(transparent)]
    Raise(#[from] RaiseError),
    #[error(
        "processes of run {run} can't be ended, not even by SIGKILL: {names}\n\n\
         hint: see what they wait for (`ps -o pid,stat,wchan,cmd`); resume when they are gone"
    )]
    Unkillable { run: String, names: String },
    /// It may not start, or could not be recorded.
    #[error(transparent)]
    NotStarted(#[from] RunError),
    #[error("can't read how run {run} was started: {cause}")]
    Launch { run: String, cause: String },
    #[error(
        "run {run} works in `{directory}`, which is not on this machine\n\n\
         hint: resume it where its work is, or bring the work here under the same path"
    )]
    NoDirectory { run: String, directory: String },
}

/// Waits for a supervisor that is about to end: one whose outer process is gone, that was told to end
/// the run, or that has halted it. It is waited for as long as its iteration may take to end; then, or
/// where nothing says that it ends, whoever takes the run over is told that it is running.
///
/// # Errors
/// The store can't be read.
pub async fn let_it_end(
    store: &dyn Store,
    run: RunId,
    mut tell: impl FnMut(&str),
) -> Result<(), StoreError> {
    let began = Instant::now();
    let (mut most, mut is_told) = (None, false);
    loop {
        let Some(record) = store.lease_fetch(run).await? else { return Ok(()) };
        let is_here = identity::life(&record.holder) == Life::Alive;
        if record.released || !is_here || most.is_some_and(|most| began.elapsed() > most) {
            return Ok(());
        }
        let loaded = loading::load(store, run).await?;
        let is_ending = identity::is_orphaned(&record.holder)
            || loaded.run.status.is_halted()
            || was_stopping(&loaded.engine);
        if !is_ending {
            return Ok(());
        }
        most.get_or_insert_with(|| settings::grace(loaded.engine.policy()) + TIME_TO_HALT);
        if began.elapsed() > WORTH_SAYING && !std::mem::replace(&mut is_told, true) {
            tell(&format!("waiting until process {} has ended run {run}", record.holder.pid));
        }
        tokio::time::sleep(LOOKED_AT_EVERY).await;
    }
}

/// Takes a run over: its lease, its facts, and what is left of its processes.
///
/// # Errors
/// The run is somebody else's, is completed, or would stop again at once.
pub async fn take_over(
    store: &Arc<dyn Store>,
    home: &Home,
    tree: &Tree,
    run: Run,
    wishes: &Wishes,
    lease_duration: Duration,
) -> Result<Ready, ResumeError> {
    let name = run.id.to_string();
    if run.pruned {
        return Err(ResumeError::Pruned(name));
    }
    if !run.supervised {
        return Err(ResumeError::Unsupervised(name));
    }
    if run.status == RunStatus::Completed {
        return Err(ResumeError::Completed(name));
    }
    let before = store.lease_fetch(run.id).await?;
    let dead = check_holder(&run, before.as_ref())?;
    let mut launch: Launch = serde_json::from_value(run.launch.clone())
        .map_err(|error| ResumeError::Launch { run: name, cause: error.to_string() })?;
    launch.auto_resume = wishes.auto_resume.unwrap_or(launch.auto_resume);
    if !launch.cwd.is_dir() {
        let directory = launch.cwd.display().to_string();
        return Err(ResumeError::NoDirectory { run: run.id.to_string(), directory });
    }
    // Whether it can go on at all is found out before anything is changed.
    let mut engine = loading::load(&**store, run.id).await?.engine;
    if let Some(gap) = gap(&engine, &run, before.as_ref()) {
        engine.handle_event(&gap, wall_time());
    }
    rehearse(&engine, &run, wishes)?;
    refuse_if_halted(&**store, &launch).await?;
    let reserve = Reserve::take(&home.run(run.id))?;
    let lease =
        store.lease_acquire(run.id, &tree.holder(lease_duration), lease_duration, dead).await?;
    let mut notes = Vec::new();
    let holder = before.as_ref().map(|record| &record.holder);
    let ended = match end_left_behind(run.id, holder) {
        Ok(ended) => ended,
        Err(error) => {
            store.lease_release(&lease).await?;
            return Err(error);
        }
    };
    if !ended.is_empty() {
        notes.push(format!("ended what the last supervisor left behind: {}", ended.join(", ")));
    }
    // Read again: only now nobody else can have written.
    let loaded = loading::load(&**store, run.id).await?;
    let policy_name = policy_name(&**store, &launch, loaded.engine.policy_hash()).await?;
    let mut journal = Taking {
        engine: loaded.engine,
        seq: loaded.last_seq,
        events: Vec::new(),
        told: Vec::new(),
        policy_name,
    };
    if let Some(gap) = gap(&journal.engine, &run, before.as_ref()) {
        journal.add(gap);
    }
    if !ended.is_empty() {
        journal.take(Noted { what: Note::Orphans, detail: ended.join(", ") });
    }
    if let Some(unmetered) = wishes.unmetered {
        journal.set_unmetered(&**store, unmetered, &wishes.by).await?;
    }
    if !journal.lift(&**store, wishes.lifted, &wishes.by).await? {
        notes.push("the policy has no such guard, so there is none to lift".to_owned());
    }
    // A crash was seen by nobody, and neither was what a machine that shut down cut off: what held
    // the run up then does so still.
    let is_seen = run.status.is_halted() && !journal.engine.facts().is_terminated();
    for event in changes(&run, wishes, &journal.engine)? {
        journal.take(event);
    }
    if is_seen {
        journal.set_aside_what_cannot_be_raised();
    }
    journal.commit(&**store, &lease).await?;
    let Taking { engine, seq, policy_name, told, .. } = journal;
    let (last_seq, journalled) = (seq, told);
    Ok(Ready { lease, launch, engine, last_seq, policy_name, notes, journalled, reserve })
}

/// What passed since a run crashed. It worked on for as long as its supervisor is known to have lived;
/// what came after that is nobody's work.
fn gap(engine: &Engine, run: &Run, lease: Option<&LeaseRecord>) -> Option<Event> {
    let last = engine.facts().last_event_at().filter(|_| !run.status.is_halted())?;
    let now = wall_time();
    let renewed = lease.and_then(LeaseRecord::renewed_at);
    let lived = renewed.map_or(last, |renewed| renewed.min(now).max(last));
    let stood_still = Suspended { ms: millis(now.since(lived)).max(1) };
    Some(Event::new(stood_still).at(now).active_ms(millis(engine.moment(lived).active)))
}

/// The epoch of a holder that is known to be dead; none if the lease is free.
fn check_holder(run: &Run, record: Option<&LeaseRecord>) -> Result<Option<u64>, ResumeError> {
    let Some(record) = record.filter(|record| !record.released) else { return Ok(None) };
    let held = record.expires_at > wall_time();
    if held && identity::life(&record.holder) != Life::Dead {
        return Err(ResumeError::Running {
            run: run.id.to_string(),
            pid: record.holder.pid,
            host: record.holder.host.clone(),
        });
    }
    Ok(Some(record.lease.epoch))
}

/// What is journalled when the run goes on. A crash was seen by nobody, so it acknowledges nothing.
fn changes(run: &Run, wishes: &Wishes, engine: &Engine) -> Result<Vec<EventKind>, RaiseError> {
    let mut events = Vec::new();
    for text in &wishes.raises {
        let Raise { limit, value } = raise::read(text, engine)?;
        let why = wishes.note.clone().unwrap_or_default();
        events.push(Raised { limit, value, by: wishes.by.clone(), why }.into());
    }
    // Whoever asked for a stop that the crash came before has seen it, and wants the run to go on.
    if run.status.is_halted() || was_stopping(engine) {
        let resumed = Resumed { by: Some(wishes.by.clone()), note: wishes.note.clone() };
        events.push(resumed.into());
    }
    Ok(events)
}

/// Whether a person or the system had asked the run to end.
fn was_stopping(engine: &Engine) -> bool {
    let mut engine = engine.clone();
    let now = Moment { at: wall_time(), active: engine.facts().active() };
    let Some(rule) = engine.poll_decision(now).rule else { return false };
    let rule = engine.policy().all_rules().nth(rule.index);
    rule.is_some_and(|rule| matches!(rule.when, Condition::UserSignal(_)))
}

/// Finds out whether the run would stop again at once for want of a higher limit.
pub fn rehearse(engine: &Engine, run: &Run, wishes: &Wishes) -> Result<(), ResumeError> {
    let mut engine = engine.clone();
    if let Some(unmetered) = wishes.unmetered {
        let policy = engine.policy().with_unmetered(unmetered);
        let facts = engine.facts().clone();
        engine = Engine::with_facts(policy, facts).in_zone(engine.zone().clone());
    }
    let now = Moment { at: wall_time(), active: engine.facts().active() };
    for event in changes(run, wishes, &engine)? {
        let event = Event::new(event).at(now.at).active_ms(millis(now.active));
        engine.handle_event(&event, now.at);
    }
    let decision = engine.poll_decision(now);
    if decision.verdict != Verdict::Complete
        && let Some(short) = engine.preflight(now)
        && let Some(hint) = hint(&short, &engine, run, wishes)
    {
        return Err(ResumeError::StillFires { message: short.message, hint });
    }
    let is_unknown = |index| decision.unknown.iter().any(|unknown| unknown.rule == index);
    let stands_in_the_way = match decision.verdict {
        Verdict::Stop | Verdict::Kill | Verdict::Fail => true,
        // Who resumes a held run lets it go, but a limit without a meter is still none.
        Verdict::Hold => decision.rule.as_ref().is_some_and(|rule| is_unknown(rule.index)),
        _ => false,
    };
    if !stands_in_the_way {
        return Ok(());
    }
    match hint(&decision, &engine, run, wishes) {
        Some(hint) => Err(ResumeError::StillFires { message: decision.message, hint }),
        None => Ok(()),
    }
}

/// How to let the run go on, where a limit stands in its way.
fn hint(decision: &Decision, engine: &Engine, run: &Run, wishes: &Wishes) -> Option<String> {
    let code = decision.reason.as_deref()?;
    let rule = decision.rule.as_ref()?.index;
    if decision.unknown.iter().any(|unknown| unknown.rule == rule) {
        return Some(format!(
            "report what was used, or go on without that limit: backstop resume {} --unmetered allow",
            run.id
        ));
    }
    match engine.policy().all_rules().nth(rule).map(|rule| &rule.when) {
        // The next iteration starts with an empty one.
        Some(Condition::ContextUsage(_)) => return None,
        Some(Condition::WallClock(clock)) if matches!(clock.at, ClockTime::At(_)) => {
            return Some(format!(
                "its time is over; give it another policy first: backstop policy apply {}",
                run.id
            ));
        }
        _ => {}
    }
    let limits = engine.policy().raisable();
    let known = limits.iter().any(|limit| limit.code == reason::limit_code(code));
    // Streaks were acknowledged; if one still stands, raising it would be as wrong as waiting.
    if !known || decision.threshold.is_none() {
        return None;
    }
    let state = RunState::halted(run.id, RunStatus::Stopped, decision, engine);
    let values = backstop_core::state::values(run.id, decision, engine);
    let commands = engine.policy().reason(code).next_commands(&values);
    let raising = commands.into_iter().find(|command| command.contains("--raise"));
    let raising = raising.unwrap_or_else(|| {
        let name = state.stop_reason.map_or(code.to_owned(), |reason| reason.code);
        format!("backstop resume {} --raise {name}=VALUE", run.id)
    });
    Some(with_given(raising, &wishes.raises))
}

/// The command with what was raised already, where it does not raise that further itself.
fn with_given(command: String, raises: &[String]) -> String {
    let code = |raise: &str| {
        let name = raise.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        reason::limit_code(&name).to_owned()
    };
    let named: Vec<String> = command.split(" --raise ").skip(1).map(code).collect();
    let given = raises.iter().filter(|given| !named.contains(&code(given)));
    given.fold(command, |command, given| format!("{command} --raise {given}"))
}

async fn policy_name(store: &dyn Store, launch: &Launch, hash: &str) -> Result<String, StoreError> {
    if let Some(name) = launch.policy_name(hash) {
        return Ok(name.to_owned());
    }
    Ok(store.policy_fetch(hash).await?.map(|policy| policy.source_name).unwrap_or_default())
}

/// What is written before the run goes on.
struct Taking {
    engine: Engine,
    seq: u64,
    events: Vec<NewEvent>,
    told: Vec<Event>,
    policy_name: String,
}

impl Taking {
    fn take(&mut self, kind: impl Into<EventKind>) {
        // Time without a supervisor is nobody's work.
        let active = self.engine.facts().active();
        self.add(Event::new(kind).active_ms(millis(active)));
    }

    fn add(&mut self, event: Event) {
        let now = wall_time();
        self.seq += 1;
        let mut event = event.at(now);
        event.seq = Some(self.seq);
        self.engine.handle_event(&event, now);
        self.events.push(NewEvent {
            seq: self.seq,
            at: now,
            kind: event.kind.type_name(),
            body: event.to_json(),
        });
        self.told.push(event);
    }

    async fn set_unmetered(
        &mut self,
        store: &dyn Store,
        unmetered: Unmetered,
        by: &str,
    ) -> Result<(), StoreError> {
        let policy = self.engine.policy().with_unmetered(unmetered);
        let words = match unmetered {
            Unmetered::Allow => "unmetered limits are allowed",
            Unmetered::Hold => "unmetered limits hold",
        };
        self.put_in_place(store, policy, words, by).await
    }

    /// Lifts guards for the rest of the run. False where there is none to lift.
    async fn lift(
        &mut self,
        store: &dyn Store,
        lifted: Lifted,
        by: &str,
    ) -> Result<bool, StoreError> {
        if lifted == Lifted::default() {
            return Ok(true);
        }
        let policy = self.engine.policy().with_lifted_guards(lifted);
        if policy == *self.engine.policy() {
            return Ok(false);
        }
        for what in lifted.in_words() {
            self.take(Noted { what: Note::GuardLifted, detail: what.to_owned() });
        }
        self.put_in_place(store, policy, "guards are lifted", by).await?;
        Ok(true)
    }

    /// From here on the run follows a policy that differs from its own in what the words say.
    async fn put_in_place(
        &mut self,
        store: &dyn Store,
        policy: Policy,
        words: &str,
        by: &str,
    ) -> Result<(), StoreError> {
        self.policy_name = format!("{}, {words}", self.policy_name);
        let name = self.policy_name.clone();
        let pinned = PinnedPolicy { policy, text: None, name, put_by: by.to_owned() };
        let stored = pinned.stored(wall_time());
        store.policy_put(&stored).await?;
        let facts = self.engine.facts().clone();
        let zone = self.engine.zone().clone();
        self.engine = Engine::with_facts(pinned.policy, facts).in_zone(zone);
        self.take(Noted {
            what: Note::PolicyApplied,
            detail: format!("{} by {by}: {words}", stored.hash),
        });
        Ok(())
    }

    /// A rule on what the last iteration was like fires until there is another one: who resumes
    /// wants that one to be run.
    fn set_aside_what_cannot_be_raised(&mut self) {
        for _ in 0..self.engine.policy().all_rules().count() {
            let now = Moment { at: wall_time(), active: self.engine.facts().active() };
            let decision = self.engine.poll_decision(now);
            let halts = RunStatus::after(decision.verdict).is_halted();
            match decision.rule.filter(|_| halts && decision.verdict != Verdict::Complete) {
                // A violated guard that nobody has seen yet is not for us to pass over.
                Some(rule) if self.is_guard(rule.index) => return,
                Some(rule) => {
                    self.engine.refuse_claim(rule.index);
                    self.take(Noted { what: Note::SetAside, detail: rule.name });
                }
                None => return,
            }
        }
    }

    fn is_guard(&self, rule: usize) -> bool {
        let rule = self.engine.policy().all_rules().nth(rule);
        rule.is_some_and(|rule| matches!(rule.when, Condition::GuardViolated(_)))
    }

    async fn commit(&self, store: &dyn Store, lease: &Lease) -> Result<(), StoreError> {
        let state = RunState::going_on(lease.run, RunStatus::Running, &self.engine);
        let facts = serde_json::to_string(self.engine.facts()).unwrap_or_default();
        store
            .append(&Batch {
                events: self.events.clone(),
                snapshot: Some(Snapshot { seq: self.seq, facts }),
                update: Some(RunUpdate {
                    at: wall_time(),
                    status: RunStatus::Running,
                    state: serde_json::to_value(state).unwrap_or_default(),
                    policy_hash: self.engine.policy_hash().to_owned(),
                }),
                ..Batch::new(lease.run, Writer::Supervisor(lease.clone()))
            })
            .await
    }
}

/// Ends what a supervisor that is gone left running, and names it.
///
/// # Errors
/// Something can't be ended. Two of a loop at once would undo each other's work.
pub fn end_left_behind(run: RunId, holder: Option<&Holder>) -> Result<Vec<String>, ResumeError> {
    let swept = orphans::end(run, holder, ORPHANS_GRACE);
    if swept.unkillable.is_empty() {
        return Ok(swept.found.into_iter().map(|process| process.name).collect());
    }
    let names: Vec<_> = swept.unkillable.iter().map(ToString::to_string).collect();
    Err(ResumeError::Unkillable { run: run.to_string(), names: names.join(", ") })
}

/// How long orphans have between SIGTERM and SIGKILL.
const ORPHANS_GRACE: Duration = Duration::from_secs(2);
/// What a halt takes beside the end of the iteration: the work is kept, people are told.
const TIME_TO_HALT: Duration = Duration::from_secs(5);
const LOOKED_AT_EVERY: Duration = Duration::from_millis(50);
/// Who has just halted its run is gone sooner.
const WORTH_SAYING: Duration = Duration::from_millis(300);
