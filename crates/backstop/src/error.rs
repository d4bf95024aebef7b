//! What can go wrong on the command line, and the exit code of each.

use std::io;
use std::path::PathBuf;

use backstop_core::policy::Preset;
use backstop_core::reason::ReasonCode;
use backstop_runner::dispatcher::RunError;
use backstop_runner::piped::Unread;
use backstop_runner::resolve::ResolveError;
use backstop_runner::resuming::ResumeError;
use backstop_runner::unsupervised::UnsupervisedError;
use backstop_store::StoreError;
use rustix::process::Signal;

use crate::exit_code;

/// Why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("can't read `{path}`: {}{}", cause(source), preset_hint(path))]
    NoInput { path: String, source: io::Error },
    #[error("{message}\n --> {place}")]
    BadData { place: String, message: String },
    /// The findings are shown as they are.
    #[error("{0}")]
    Policy(String),
    #[error("can't create `{}`: {}", path.display(), cause(source))]
    CannotCreate { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Run(#[from] ResolveError),
    /// What was named is not there.
    #[error("{0}")]
    Missing(String),
    /// The run is not in a state for what was asked.
    #[error("{0}")]
    NotNow(String),
    /// Somebody who should answer does not.
    #[error("{0}")]
    Unreachable(String),
    /// A server wants another token.
    #[error("{0}")]
    Forbidden(String),
    #[error("can't start another process: {}", cause(.0))]
    Process(io::Error),
    /// What is piped in has no end, as far as was waited for it.
    #[error("{0}\n\nhint: if nothing is piped in, use `< /dev/null`, or name a file by --stdin")]
    Unread(Unread),
    /// What the process in the background would have said.
    #[error("{message}")]
    Background { message: String, code: u8 },
    #[error("{0}")]
    Resume(ResumeError),
    #[error("{0}")]
    Driven(#[from] RunError),
    #[error("can't write: {}", cause(.0))]
    Write(#[from] io::Error),
}

impl Error {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => exit_code::USAGE,
            Self::NoInput { .. } => exit_code::NO_INPUT,
            Self::BadData { .. } => exit_code::BAD_DATA,
            Self::Policy(_) => exit_code::CONFIGURATION,
            Self::CannotCreate { .. } => exit_code::CANNOT_CREATE,
            Self::Store(error) | Self::Run(ResolveError::Store(error)) => of_store(error),
            Self::Run(ResolveError::Ambiguous { .. }) => exit_code::USAGE,
            Self::Run(_) | Self::Missing(_) => exit_code::NO_INPUT,
            Self::NotNow(_) => exit_code::BAD_DATA,
            Self::Unreachable(_) => exit_code::IO,
            Self::Forbidden(_) => exit_code::NO_PERMISSION,
            Self::Process(_) => exit_code::INTERNAL,
            Self::Unread(Unread::Signalled(number)) => of_signal(*number),
            Self::Unread(Unread::Late(_)) => ReasonCode::Timeout.reason().exit_code,
            Self::Unread(Unread::Io(_)) => exit_code::NO_INPUT,
            Self::Background { code, .. } => *code,
            Self::Resume(ResumeError::Store(error)) => of_store(error),
            Self::Resume(ResumeError::Raise(_)) => exit_code::USAGE,
            Self::Resume(ResumeError::Unkillable { .. }) => exit_code::IO,
            Self::Resume(ResumeError::NoDirectory { .. }) => exit_code::NO_INPUT,
            Self::Resume(_) => exit_code::BAD_DATA,
            Self::Driven(RunError::Store(error)) => of_store(error),
            Self::Driven(RunError::LeaseLost(error)) => of_store(error),
            Self::Driven(RunError::HaltedForAll(_)) => ReasonCode::PolicyBlock.reason().exit_code,
            Self::Driven(_) => exit_code::IO,
            // A reader that went away is a normal ending: `backstop reasons | head`.
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => exit_code::OK,
            Self::Write(_) => exit_code::IO,
        }
    }

    /// The message as it is shown; nothing for a reader that went away.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            Self::Policy(rendered) => Some(rendered.clone()),
            // It begins with `error:` already.
            Self::Background { message, .. } => Some(message.clone()),
            other => Some(format!("error: {other}")),
        }
    }
}

impl From<ResumeError> for Error {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::NotStarted(error) => Self::Driven(error),
            other => Self::Resume(other),
        }
    }
}

impl From<UnsupervisedError> for Error {
    fn from(error: UnsupervisedError) -> Self {
        let hint = match &error {
            UnsupervisedError::Store(_) => None,
            UnsupervisedError::HaltedForAll(_) => None,
            UnsupervisedError::NeedsSupervisor { run, .. }
            | UnsupervisedError::Halted { run, .. } => Some(format!("backstop resume {run}")),
            UnsupervisedError::GoesOn { run } => Some(format!("backstop emit --run {run} …")),
            UnsupervisedError::NotHeld { run, .. }
            | UnsupervisedError::NoQuestion { run }
            | UnsupervisedError::KeyUsed { run, .. } => Some(format!("backstop show {run}")),
        };
        match (error, hint) {
            (UnsupervisedError::Store(error), _) => Self::Store(error),
            (UnsupervisedError::HaltedForAll(order), _) => RunError::HaltedForAll(order).into(),
            (other, Some(hint)) => Self::NotNow(format!("{other}\n\nhint: {hint}")),
            (other, None) => Self::NotNow(other.to_string()),
        }
    }
}

/// The code of the reason that a run would have ended with.
fn of_signal(number: i32) -> u8 {
    let is_from_keyboard = [Signal::INT, Signal::QUIT].iter().any(|key| key.as_raw() == number);
    match is_from_keyboard {
        true => ReasonCode::UserStopped.reason().exit_code,
        false => ReasonCode::Terminated.reason().exit_code,
    }
}

fn of_store(error: &StoreError) -> u8 {
    match error {
        StoreError::Open { .. } => exit_code::CANNOT_CREATE,
        StoreError::Newer { .. } | StoreError::OldLibrary { .. } => exit_code::CONFIGURATION,
        StoreError::Full(_)
        | StoreError::Write(_)
        | StoreError::ReadOnly(_)
        | StoreError::Read(_)
        | StoreError::Damaged(_) => exit_code::IO,
        StoreError::LeaseHeld { .. } | StoreError::Fenced { .. } | StoreError::Repeated { .. } => {
            exit_code::BAD_DATA
        }
        StoreError::NoRun(_) | StoreError::Missing(_) => exit_code::NO_INPUT,
        StoreError::Location { .. } => exit_code::USAGE,
    }
}

/// The cause without the number that the system adds: `no such file or directory`.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    match text.chars().next() {
        Some(first) => format!("{}{}", first.to_lowercase(), &text[first.len_utf8()..]),
        None => String::new(),
    }
}

/// Who names a preset as if it were a file has only left out how presets are named.
fn preset_hint(path: &str) -> String {
    match Preset::named(path) {
        Some(preset) => format!("\n\nhint: did you mean `preset:{}`?", preset.name()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use backstop_core::id::RunId;

    use super::*;

    /// The rule is that of `exit_code.rs`, whichever way an error comes.
    #[test]
    fn the_same_failure_has_the_same_code_on_every_way() {
        let run = RunId::new(0, 0);
        let source = || io::Error::from(io::ErrorKind::NotFound);
        let damaged = || StoreError::Damaged("a page is torn".to_owned());
        let place = || "/nowhere".to_owned();
        let unopened = || StoreError::Open { place: place(), cause: "no space".to_owned() };
        let fenced = || StoreError::Fenced { run };
        let at = PathBuf::from(place());
        let as_run = |error| Error::Driven(RunError::Store(Arc::new(error)));
        for (error, code) in [
            (Error::BadData { place: place(), message: "no".to_owned() }, exit_code::BAD_DATA),
            (Error::NoInput { path: place(), source: source() }, exit_code::NO_INPUT),
            (Error::Missing(place()), exit_code::NO_INPUT),
            (StoreError::NoRun(run).into(), exit_code::NO_INPUT),
            (Error::CannotCreate { path: at, source: source() }, exit_code::CANNOT_CREATE),
            (unopened().into(), exit_code::CANNOT_CREATE),
            (as_run(unopened()), exit_code::CANNOT_CREATE),
            (Error::Write(source()), exit_code::IO),
            (damaged().into(), exit_code::IO),
            (as_run(damaged()), exit_code::IO),
            (Error::Run(ResolveError::Store(damaged())), exit_code::IO),
            (Error::Resume(ResumeError::Store(damaged())), exit_code::IO),
            (fenced().into(), exit_code::BAD_DATA),
            (Error::Driven(RunError::LeaseLost(fenced())), exit_code::BAD_DATA),
            (Error::Resume(ResumeError::Store(fenced())), exit_code::BAD_DATA),
        ] {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }
}
