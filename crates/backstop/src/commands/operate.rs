//! What the commands have in common that reach into a run.

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_runner::socket::{Answer, Client, ClientError, Order, inbox};
use backstop_runner::tree::identity::{self, Life};
use backstop_runner::unsupervised::{Outcome, PinnedPolicy};
use backstop_runner::{ancestry, resuming};
use backstop_store::{Run, StoreError};

use crate::error::Error;
use crate::input;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

/// Refuses what a supervised process may not do to any run.
pub fn refuse_if_supervised(opened: &Opened, command: &str) -> Result<(), Error> {
    let above = opened.wait(ancestry::supervisor_of(&*opened.store, std::process::id()))?;
    above.map_or(Ok(()), |run| Err(supervised(run, command)))
}

/// The refusal of what a supervised process may not do.
pub fn supervised(run: RunId, command: &str) -> Error {
    Error::Usage(format!(
        "`backstop {command}` can't be called by what run {run} supervises\n\n\
         hint: call it from another terminal"
    ))
}

/// Lets go of the lease of a supervisor that is known to be dead, so that nobody has to wait until
/// it ends, and ends what it left running: nobody else looks after that.
pub fn free_from_the_dead(
    opened: &Opened,
    run: &Run,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let Some(record) = opened.wait(opened.store.lease_fetch(run.id))? else { return Ok(()) };
    if record.released || identity::life(&record.holder) != Life::Dead {
        return Ok(());
    }
    let ended = resuming::end_left_behind(run.id, Some(&record.holder))?;
    if !ended.is_empty() {
        let names = ended.join(", ");
        terminal.remark(&format!("ended what the last supervisor left behind: {names}"));
    }
    match opened.wait(opened.store.lease_release(&record.lease)) {
        // Somebody has taken the run over meanwhile.
        Ok(()) | Err(StoreError::Fenced { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives an order to a run's supervisor: by its socket, else by its inbox.
pub fn order(opened: &Opened, run: &Run, order: &Order) -> Result<Answer, Error> {
    match Client::connect(run.id).and_then(|mut client| client.order(order)) {
        Ok(answer) => Ok(answer),
        Err(ClientError::Unreachable(_)) => {
            let posted = inbox::order(&*opened.store, run.id, order, inbox::PATIENCE);
            opened.wait(posted).map_err(from_inbox)
        }
        Err(error) => Err(from_client(error)),
    }
}

pub fn from_client(error: ClientError) -> Error {
    match error {
        ClientError::Refused(message) => Error::NotNow(message),
        other => Error::Unreachable(other.to_string()),
    }
}

pub fn from_inbox(error: inbox::InboxError) -> Error {
    match error {
        inbox::InboxError::Store(error) => Error::Store(error),
        inbox::InboxError::Refused(message) => Error::NotNow(message),
        inbox::InboxError::KeyUsed { .. } => Error::NotNow(error.to_string()),
        inbox::InboxError::NoAnswer(_) => {
            Error::Unreachable(format!("{error}\n\nhint: `backstop doctor` tells what it does"))
        }
    }
}

/// Refuses for a run that has halted, and for one whose supervisor died.
pub fn refuse_if_not_running(run: &Run) -> Result<(), Error> {
    let id = run.id;
    let message = match run.status.is_halted() {
        true => {
            let reason = run.state.pointer("/stop_reason/code").and_then(|code| code.as_str());
            let why = reason.map(|code| format!(": {code}")).unwrap_or_default();
            format!("run {id} is {} already{why}", run.status)
        }
        false if run.supervised => format!("the supervisor of run {id} is gone"),
        false => return Ok(()),
    };
    let hint = match run.status {
        RunStatus::Completed => format!("`backstop show {id}` tells how it ended"),
        _ => format!("`backstop resume {id}` lets it go on"),
    };
    Err(Error::NotNow(format!("{message}\n\nhint: {hint}")))
}

/// Says what did not go as it should, though everything is stored.
pub fn remark_warnings(outcome: &Outcome, terminal: &mut Terminal) {
    outcome.warnings.iter().for_each(|warning| terminal.remark(&format!("warning: {warning}")));
}

/// Loads the policy that was named, to be kept with a run.
pub fn pinned(
    policy: Option<&str>,
    preset: Option<&str>,
    terminal: &mut Terminal,
) -> Result<PinnedPolicy, Error> {
    let preset = preset.map(|name| format!("preset:{name}"));
    let named = preset.as_deref().or(policy);
    let source = input::usable_policy(named, terminal.colours_errors())?;
    for note in &source.loaded.notes {
        terminal.remark(&format!("note: {}: {note}", source.name));
    }
    Ok(PinnedPolicy {
        policy: source.loaded.policy,
        text: source.text,
        name: source.name,
        put_by: caller(),
    })
}
