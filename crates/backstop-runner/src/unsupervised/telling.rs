//! Telling others that a run without a supervisor goes no further, or that a rule warns. Whoever
//! brought it about waits for a while until they have heard of it, because nobody is left to do so
//! afterwards.

use std::path::Path;
use std::slice;
use std::time::Duration;

use backstop_core::event::{Event, Note, Noted};
use backstop_core::id::RunId;
use backstop_core::policy::Occasion;
use backstop_core::reason::Values;
use backstop_core::state::RunStatus;
use backstop_core::time::in_words;
use backstop_store::{Home, Store, StoreError};
use tokio::time::{Instant, timeout_at};

use super::{Outcome, UnsupervisedError};
use crate::clock::wall_time;
use crate::loading;
use crate::notify::{self, About, Delivery, Message, Notifier, Sent};
use crate::tree::Tree;

/// Tells those who want to know if this call halted the run or made a rule warn, and journals what
/// became of it.
pub(super) async fn tell(store: &dyn Store, home: &Home, run: RunId, outcome: &mut Outcome) {
    if !outcome.halted_now && outcome.news.is_empty() {
        return;
    }
    // What happened is stored; nothing that goes wrong from here on can undo it.
    if let Err(error) = send(store, home, run, outcome).await {
        outcome.warnings.push(format!("nobody was told: {error}"));
    }
}

async fn send(
    store: &dyn Store,
    home: &Home,
    run: RunId,
    outcome: &mut Outcome,
) -> Result<(), UnsupervisedError> {
    let record = store.run_fetch(run).await?.ok_or(StoreError::NoRun(run))?;
    let Some(stored) = store.policy_fetch(&record.policy_hash).await? else { return Ok(()) };
    let policy = loading::policy(&stored)?;
    let cwd = Path::new(&record.cwd);
    let tree = Tree::of_groups(run);
    let folder = home.run(run);
    let mut notifier =
        Notifier::new(policy.settings.notify.as_ref(), cwd, &tree).counted_in(folder.told());
    let (occasion, patience) = match (outcome.halted_now, outcome.state.run_status) {
        (true, RunStatus::Held) => (Occasion::Held, LAST_DELIVERIES),
        (true, _) => (Occasion::Halted, LAST_DELIVERIES),
        (false, _) => (Occasion::Warn, DELIVERIES_ON_THE_WAY),
    };
    if !notifier.tells(occasion) {
        return Ok(());
    }
    let about = About { cwd, labels: &record.labels };
    let when = (outcome.answer.seq().unwrap_or_default(), wall_time());
    let states = if outcome.halted_now { slice::from_ref(&outcome.state) } else { &outcome.news };
    let mut notes = Vec::new();
    // The run may have begun on another machine. Where there is no folder nothing is counted.
    drop(folder.create());
    for state in states {
        let message = Message::new(occasion, state, &policy, &Values::new(), about, when);
        match notifier.send(occasion, message) {
            Sent::Out { annotation } => outcome.annotation = annotation,
            Sent::LeftOut => notes.push(Event::new(notify::left_out(occasion))),
        }
    }
    let deliveries = wait(&mut notifier, patience).await;
    let failed = deliveries.iter().filter(|delivery| !delivery.is_delivered());
    outcome.warnings.extend(failed.map(|delivery| format!("nobody was told by {delivery}")));
    let note = |delivery: &Delivery| {
        let what = if delivery.is_delivered() { Note::Notified } else { Note::NotNotified };
        Event::new(Noted { what, detail: delivery.to_string() })
    };
    notes.extend(deliveries.iter().map(note));
    super::transact(store, run, move |session| {
        notes.into_iter().for_each(|note| session.add(note));
        Ok(session.decision())
    })
    .await?;
    Ok(())
}

async fn wait(notifier: &mut Notifier, patience: Duration) -> Vec<Delivery> {
    let deadline = Instant::now() + patience;
    let mut deliveries = Vec::new();
    while notifier.is_busy() {
        match timeout_at(deadline, notifier.next()).await {
            Ok(delivery) => deliveries.push(delivery),
            Err(_late) => break,
        }
    }
    deliveries.extend(notifier.give_up(&format!("it was not over within {}", in_words(patience))));
    deliveries
}

const LAST_DELIVERIES: Duration = Duration::from_secs(10);
/// The run goes on, and whoever reports to it waits.
const DELIVERIES_ON_THE_WAY: Duration = Duration::from_secs(2);
