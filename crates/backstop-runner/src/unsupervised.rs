//! Runs without a supervisor: a script begins one, reports to it, and ends it.
//!
//! Nobody holds a lease. Each call is one transaction, or a part of one that several share and that
//! is undone alone: it reads the facts as they are, takes in what happened, decides, and writes it
//! all; so any number of processes may report at
//! once, and none loses an event. Once a verdict ends the run it is halted, and stays so until
//! somebody resumes it: later events are kept, and answered with the decision that halted it.

use std::sync::{Arc, Mutex, PoisonError};

use backstop_core::decision::Decision;
use backstop_core::document::canonical_json;
use backstop_core::event::{
    Answer as PersonsAnswer, Answered, Event, EventKind, Note, Noted, Raised, Released, Resumed,
    RunStarted, Signal, SignalKind,
};
use backstop_core::facts::Facts;
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::reason::{NextStep, ReasonCode};
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;
use backstop_store::{HaltOrder, Home, Run, Store, StoreError, StoredPolicy, Unsupervised};

use crate::clock::wall_time;
use crate::final_report;
use crate::halt_order;
use crate::journalled;
use crate::launch::{Launch, PolicyName};
use crate::loading;
use crate::log_file;
use crate::proof::Proof;
use crate::raise::Raise;
use crate::socket::Answer;

mod receipts;
mod session;
mod state_file;
mod telling;
#[cfg(test)]
mod tests;

use session::Session;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum UnsupervisedError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was started by `run`, and events come in by its supervisor only.
    #[error("run {run} is {status}, and nobody supervises it now")]
    NeedsSupervisor { run: RunId, status: RunStatus },
    #[error("run {run} is {status} already{}", because(reason))]
    Halted { run: RunId, status: RunStatus, reason: Option<String> },
    #[error("run {run} goes on: there is nothing to resume")]
    GoesOn { run: RunId },
    #[error("run {run} is {status}, not held: there is nothing to release")]
    NotHeld { run: RunId, status: RunStatus },
    #[error("nothing was begun, by order of {0}")]
    HaltedForAll(String),
    #[error("run {run} asks nothing, or was answered already")]
    NoQuestion { run: RunId },
    #[error("the key was used for another report to run {run}")]
    KeyUsed { run: RunId },
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The decision, with its exit code.
    pub answer: Answer,
    pub state: RunState,
    /// This call is what halted the run.
    pub halted_now: bool,
    /// Where the run stood when a rule began to warn: once for each time that one begins to.
    pub news: Vec<RunState>,
    /// What did not go as it should, though everything is stored.
    pub warnings: Vec<String>,
    /// The line that annotates the GitHub Action around this process.
    pub annotation: Option<String>,
}

/// A policy and where it came from.
#[derive(Clone, Debug)]
pub struct PinnedPolicy {
    pub policy: Policy,
    /// The text as its author wrote it.
    pub text: Option<String>,
    /// Its file, or `preset:NAME`.
    pub name: String,
    pub put_by: String,
}

impl PinnedPolicy {
    /// As it is stored: loading its JSON gives the policy with this hash.
    pub fn stored(&self, now: Timestamp) -> StoredPolicy {
        StoredPolicy {
            hash: self.policy.hash(),
            label: self.policy.label.clone(),
            json: canonical_json(&self.policy.to_json()),
            source: self.text.clone(),
            source_name: self.name.clone(),
            put_by: self.put_by.clone(),
            put_at: now,
        }
    }

    /// What it is called, for those who know it by its hash.
    pub(crate) fn named(&self, hash: &str) -> PolicyName {
        PolicyName { hash: hash.to_owned(), name: self.name.clone() }
    }
}

/// Begins a run that nobody will supervise.
pub async fn begin(
    store: &dyn Store,
    home: &Home,
    pinned: &PinnedPolicy,
    launch: &Launch,
) -> Result<RunId, UnsupervisedError> {
    if let Some(order) = halt_order::covering(store, &launch.labels).await? {
        return Err(UnsupervisedError::HaltedForAll(halt_order::in_words(&order)));
    }
    let now = wall_time();
    let id = new_run_id(now);
    let stored = pinned.stored(now);
    store.policy_put(&stored).await?;
    let engine = journalled::engine(pinned.policy.clone(), Facts::default());
    let state = RunState::going_on(id, RunStatus::Running, &engine);
    let launch = &Launch { policy: Some(pinned.named(&stored.hash)), ..launch.clone() };
    let run = Run {
        id,
        created_at: now,
        updated_at: now,
        cwd: launch.cwd.to_string_lossy().into_owned(),
        command: launch.command.clone(),
        labels: launch.labels.clone(),
        policy_hash: stored.hash.clone(),
        status: RunStatus::Running,
        state: session::json(&state),
        launch: launch.to_json(),
        supervised: false,
        pruned: false,
    };
    store.run_create(&run).await?;
    let started = RunStarted {
        run: id.to_string(),
        policy_hash: stored.hash,
        command: launch.command.clone(),
        cwd: run.cwd.clone(),
        labels: launch.labels.clone(),
        total_units: launch.total_units,
    };
    // Nothing is decided yet: what already holds is said to the first who reports.
    write(store, home, id, move |session| {
        session.add(Event::new(started));
        Ok(session.decision())
    })
    .await?;
    Ok(id)
}

/// Takes in an event and answers with the decision.
pub async fn emit(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    event: Event,
) -> Result<Outcome, UnsupervisedError> {
    let orders = store.halt_list().await?;
    write(store, home, run, move |session| {
        session.refuse_if_supervised()?;
        session.add(event);
        session.obey(&orders);
        Ok(session.conclude())
    })
    .await
}

/// Takes in what was reported together, all of it or nothing, obeys orders to halt, and answers
/// with the decision. With a key, the same report again is answered as it was the first time, and
/// nothing is added.
pub async fn report(
    store: &dyn Store,
    run: RunId,
    events: Vec<Event>,
    key: Option<ReportKey>,
    orders: Vec<HaltOrder>,
) -> Result<Reported, UnsupervisedError> {
    let ends = events.iter().any(|event| ends_an_iteration(&event.kind));
    let act = move |session: &mut Session| {
        session.refuse_if_supervised()?;
        events.into_iter().for_each(|event| session.add(event));
        Ok(if session.obey(&orders) { stopped(session) } else { session.conclude() })
    };
    match transact_once(store, run, key.clone(), act).await {
        Ok(outcome) if ends || outcome.halted_now || !outcome.news.is_empty() => {
            Ok(Reported::Unsettled(Box::new(outcome)))
        }
        Ok(outcome) => Ok(Reported::Now(Box::new(outcome))),
        Err(UnsupervisedError::Store(StoreError::Repeated { run, key: repeated })) => {
            let digest = key.map(|key| key.digest).unwrap_or_default();
            receipts::answer(store, run, repeated, &digest).await.map(Reported::Before)
        }
        Err(error) => Err(error),
    }
}

/// Writes the files of a run in which something has ended, and tells those who want to know.
pub async fn settle(
    store: &dyn Store,
    home: &Home,
    mut outcome: Box<Outcome>,
) -> Result<Box<Outcome>, UnsupervisedError> {
    let run = outcome.state.run_id;
    outcome.warnings.extend(files(store, home, outcome.halted_now, &outcome.state).await?);
    telling::tell(store, home, run, &mut outcome).await;
    Ok(outcome)
}

/// What became of a report that may have come before.
#[derive(Clone, Debug, PartialEq)]
pub enum Reported {
    Now(Box<Outcome>),
    /// Something ended with it, or a rule began to warn: [`settle`] is to follow, which waits for
    /// files and for others.
    Unsettled(Box<Outcome>),
    /// It was taken in before, and this was answered.
    Before(Answer),
}

/// What a report is known by when it comes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportKey {
    pub key: String,
    /// Of what was reported, so that a key that is used for something else is noticed.
    pub digest: String,
}

/// Takes in what happened together, and answers with the decision; `state.json` follows when an
/// iteration or the run has ended. Where the policy has a
/// verification or a review, a claim that the work is done counts only with its proof.
pub async fn take_in(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    events: Vec<EventKind>,
    proof: Proof,
) -> Result<Outcome, UnsupervisedError> {
    let ends = events.iter().any(ends_an_iteration);
    let orders = store.halt_list().await?;
    let mut outcome = transact(store, run, move |session| {
        session.refuse_if_supervised()?;
        events.into_iter().for_each(|event| session.add(Event::new(event)));
        session.obey(&orders);
        session.refuse_claims(proof);
        Ok(session.conclude())
    })
    .await?;
    // Whoever reports a step waits for the answer, and the file waits for the disk twice.
    if ends || outcome.halted_now {
        outcome.warnings.extend(files(store, home, outcome.halted_now, &outcome.state).await?);
    }
    telling::tell(store, home, run, &mut outcome).await;
    Ok(outcome)
}

/// The script has done its work. What the policy says now stands; where it says nothing the run is
/// completed, or stopped if units that were announced are still open: then it can go on later.
pub async fn end(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    by: String,
) -> Result<Outcome, UnsupervisedError> {
    write(store, home, run, move |session| {
        session.refuse_if_supervised()?;
        if session.is_halted() {
            return Ok(session.decision());
        }
        let decision = session.conclude();
        if session.is_halted() {
            return Ok(decision);
        }
        let figures = session.state().statistics;
        if session.announced_units() && figures.units_remaining > 0 {
            session.add(Event::new(Signal { kind: SignalKind::Stop, by }));
            let message = format!(
                "Ended with {} of {} units open",
                figures.units_remaining, figures.total_units
            );
            let stop = of_reason(decision, Verdict::Stop, ReasonCode::UserStopped, message);
            return Ok(session.halt(stop));
        }
        let message = match figures.units_attempted {
            0 => "Ended by its script".to_owned(),
            units => format!("Ended with {} of {units} units approved", figures.units_approved),
        };
        let done = of_reason(decision, Verdict::Complete, ReasonCode::Completed, message);
        Ok(session.halt(done))
    })
    .await
}

/// A person wants the run to stop: the next one who reports is told so.
pub async fn stop(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    now: bool,
    by: String,
) -> Result<Outcome, UnsupervisedError> {
    write(store, home, run, move |session| {
        session.refuse_if_supervised()?;
        session.refuse_if_halted()?;
        let kind = if now { SignalKind::Kill } else { SignalKind::Stop };
        session.add(Event::new(Signal { kind, by }));
        Ok(stopped(session))
    })
    .await
}

/// What the policy says to a person's wish that the run stop.
fn stopped(session: &mut Session) -> Decision {
    let decision = session.conclude();
    if session.is_halted() {
        return decision;
    }
    // The policy has a rule of its own for this reason that lets the run go on; people win.
    let message = session.stop_in_words();
    let stop = of_reason(decision, Verdict::Stop, ReasonCode::UserStopped, message);
    session.halt(stop)
}

/// Lets a halted run go on: what fired is acknowledged.
pub async fn reopen(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    raises: Vec<Raise>,
    by: Option<String>,
    note: Option<String>,
) -> Result<Outcome, UnsupervisedError> {
    write(store, home, run, move |session| {
        session.refuse_if_supervised()?;
        session.refuse_if_going_on()?;
        for Raise { limit, value } in raises {
            let (by, why) = (by.clone().unwrap_or_default(), note.clone().unwrap_or_default());
            session.add(Event::new(Raised { limit, value, by, why }));
        }
        session.add(Event::new(Resumed { by, note }));
        session.set_status(RunStatus::Running);
        // Whoever reports next is told what still holds.
        Ok(session.decision())
    })
    .await
}

/// Lets a held run go on, or a held loop be resumed: what fired is acknowledged.
pub async fn release(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    by: String,
    why: Option<String>,
) -> Result<Outcome, UnsupervisedError> {
    let is_guarded = stands_against_guards(store, run).await?;
    let released = write(store, home, run, move |session| {
        session.refuse_if_not_held()?;
        session.add(Event::new(Released { by: Some(by), why }));
        session.let_go();
        Ok(session.decision())
    })
    .await?;
    if is_guarded {
        home.run(run).forget_iteration_beginning();
    }
    Ok(released)
}

/// Whether guards of a supervised run are violated: who answers or releases it has seen what
/// changed, and lets it stay.
async fn stands_against_guards(store: &dyn Store, run: RunId) -> Result<bool, StoreError> {
    let is_supervised = store.run_fetch(run).await?.is_some_and(|run| run.supervised);
    Ok(is_supervised && loading::load(store, run).await?.engine.facts().violates_guards())
}

/// Answers the question that a held run has put.
pub async fn answer(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    answer: PersonsAnswer,
    note: Option<String>,
    by: String,
) -> Result<Outcome, UnsupervisedError> {
    let is_guarded = stands_against_guards(store, run).await?;
    let answered = write(store, home, run, move |session| {
        let question = session.question().ok_or(UnsupervisedError::NoQuestion { run })?;
        session.add(Event::new(Answered { question, answer, note, by: Some(by) }));
        if answer != PersonsAnswer::Abort {
            session.let_go();
            return Ok(session.decision());
        }
        let grounds = session.decision();
        let message = "A person answered with abort".to_owned();
        // The rule stays with it, so that a resumption acknowledges what was asked about.
        let rule = grounds.rule.clone();
        let stop = of_reason(grounds, Verdict::Stop, ReasonCode::UserAborted, message);
        Ok(session.halt(Decision { rule, ..stop }))
    })
    .await?;
    if is_guarded && answer != PersonsAnswer::Abort {
        home.run(run).forget_iteration_beginning();
    }
    Ok(answered)
}

/// Raises limits of a run that nobody supervises now, halted or not.
pub async fn raise(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    raises: Vec<Raise>,
    by: String,
    why: String,
) -> Result<Outcome, UnsupervisedError> {
    write(store, home, run, move |session| {
        for Raise { limit, value } in raises {
            session.add(Event::new(Raised { limit, value, by: by.clone(), why: why.clone() }));
        }
        Ok(session.decision())
    })
    .await
}

/// Puts another policy in place for a run that nobody supervises now, halted or not.
pub async fn apply_policy(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    pinned: &PinnedPolicy,
) -> Result<Outcome, UnsupervisedError> {
    store.policy_put(&pinned.stored(wall_time())).await?;
    let pinned = pinned.clone();
    write(store, home, run, move |session| {
        let detail = applied(&pinned.policy.hash(), &pinned.name, &pinned.put_by);
        session.replace_policy(pinned.policy);
        session.add(Event::new(Noted { what: Note::PolicyApplied, detail }));
        Ok(session.decision())
    })
    .await
}

/// What the journal says of another policy.
pub fn applied(hash: &str, name: &str, by: &str) -> String {
    format!("{hash} from {name}, by {by}")
}

/// A name for a run that begins now.
pub fn new_run_id(now: Timestamp) -> RunId {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let milliseconds = u64::try_from(now.as_nanos() / 1_000_000).unwrap_or(0);
    // The standard library seeds its hash maps by chance, which is chance enough.
    let chance = RandomState::new().build_hasher().finish();
    RunId::new(milliseconds, u32::try_from(chance >> 44).unwrap_or(0))
}

type Act = Result<Decision, UnsupervisedError>;

/// One immediate transaction, and `state.json` after it.
async fn write(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    act: impl FnOnce(&mut Session) -> Act + Send + 'static,
) -> Result<Outcome, UnsupervisedError> {
    let mut outcome = transact(store, run, act).await?;
    outcome.warnings.extend(files(store, home, outcome.halted_now, &outcome.state).await?);
    telling::tell(store, home, run, &mut outcome).await;
    Ok(outcome)
}

/// Writes `state.json`, and of a run that has just halted the report and a line of the log. Answers
/// with what went wrong.
async fn files(
    store: &dyn Store,
    home: &Home,
    halted: bool,
    state: &RunState,
) -> Result<Vec<String>, StoreError> {
    let run = state.run_id;
    let mut warnings: Vec<_> = state_file::replace(store, home, run).await?.into_iter().collect();
    if halted {
        let folder = home.run(run);
        warnings.extend(final_report::write(store, &folder, run).await);
        let line = log_file::run_halted(state, wall_time());
        warnings.extend(log_file::append(&folder, &line));
    }
    Ok(warnings)
}

fn ends_an_iteration(event: &EventKind) -> bool {
    matches!(event, EventKind::IterationFinished(_))
}

/// One immediate transaction.
async fn transact(
    store: &dyn Store,
    run: RunId,
    act: impl FnOnce(&mut Session) -> Act + Send + 'static,
) -> Result<Outcome, UnsupervisedError> {
    transact_once(store, run, None, act).await
}

/// One immediate transaction, refused if there was one with this key.
async fn transact_once(
    store: &dyn Store,
    run: RunId,
    key: Option<ReportKey>,
    act: impl FnOnce(&mut Session) -> Act + Send + 'static,
) -> Result<Outcome, UnsupervisedError> {
    let slot = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&slot);
    let decide = move |start: Unsupervised| {
        let nothing = session::nothing(run);
        // The clock is read inside the transaction, so that events are in the order of their times.
        let (batch, result) = match Session::open(start, wall_time()) {
            Ok(mut session) => match act(&mut session) {
                Ok(decision) => session.close(&decision),
                Err(error) => (nothing, Err(error)),
            },
            Err(error) => (nothing, Err(error.into())),
        };
        let mut batch = batch;
        if let (Some(key), Ok(outcome)) = (key, &result) {
            batch.receipt = Some(receipts::of(key, outcome));
        }
        *inner.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        batch
    };
    store.append_unsupervised(run, Box::new(decide)).await?;
    let done = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut outcome = done.ok_or(StoreError::NoRun(run))??;
    if let Some(exit_code) = outcome.halted_before()
        && let Some(halting) = halting_decision(store, run, outcome.answer.seq(), exit_code).await?
    {
        outcome.answer = halting;
    }
    Ok(outcome)
}

impl Outcome {
    /// The exit code of the halt, if the run had halted before this call.
    fn halted_before(&self) -> Option<u8> {
        let was_halted = self.state.run_status.is_halted() && !self.halted_now;
        self.state.stop_reason.as_ref().filter(|_| was_halted).map(|reason| reason.exit_code)
    }
}

/// In a halted run the answer is the decision that halted it, whatever has come in since.
async fn halting_decision(
    store: &dyn Store,
    run: RunId,
    until: Option<u64>,
    exit_code: u8,
) -> Result<Option<Answer>, StoreError> {
    let decisions = store.decision_list(run).await?;
    let last = decisions.iter().rfind(|one| until.is_none_or(|until| one.seq <= until));
    Ok(last.and_then(|last| Answer::of_decision(&last.body, exit_code)))
}

/// A decision that no rule led to.
fn of_reason(grounds: Decision, verdict: Verdict, code: ReasonCode, message: String) -> Decision {
    Decision {
        verdict,
        reason: Some(code.as_str().to_owned()),
        message,
        rule: None,
        value: None,
        threshold: None,
        next_step: if verdict == Verdict::Complete {
            NextStep::Prompt
        } else {
            code.reason().next_step
        },
        ..grounds
    }
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map(|code| format!(": {code}")).unwrap_or_default()
}
