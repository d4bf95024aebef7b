//! What can go wrong on the command line, and the exit code of each.

use std::io;
use std::path::PathBuf;

use crate::exit_code;

/// Why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("can't read `{path}`: {source}")]
    NoInput { path: String, source: io::Error },
    #[error("`{place}` {message}")]
    BadData { place: String, message: String },
    /// The findings are shown as they are.
    #[error("{0}")]
    Policy(String),
    #[error("can't create `{}`: {source}", path.display())]
    CannotCreate { path: PathBuf, source: io::Error },
    #[error("can't write: {0}")]
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
            other => Some(format!("error: {other}")),
        }
    }
}
