//! Which server was named, and by what: a flag is an order, a variable is what usually counts.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Server;
use crate::args::{AuditCommand, Command};
use crate::env_vars::SERVER;
use crate::error::Error;

/// Where the command line and the surroundings say that a command does its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    server: Option<Named>,
    /// `--store` was given, not only its variable.
    store: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    url: String,
    by_flag: bool,
}

impl Given {
    /// Reads what clap has found. The flags are those of the command, whose matches lie deepest.
    pub fn of(matches: &ArgMatches) -> Self {
        let mut deepest = matches;
        while let Some((_, below)) = deepest.subcommand() {
            deepest = below;
        }
        let by_flag = |name: &str| {
            deepest.try_contains_id(name).unwrap_or(false)
                && deepest.value_source(name) == Some(ValueSource::CommandLine)
        };
        let url = deepest.try_get_one::<String>("server").ok().flatten();
        let named = url.map(|url| Named { url: url.clone(), by_flag: by_flag("server") });
        Self {
            // A variable that is set to nothing names nothing.
            server: named.filter(|named| named.by_flag || !named.url.is_empty()),
            store: by_flag("store"),
        }
    }

    /// What flags among the words of `emit` add.
    pub fn add_server(&mut self, url: &str) {
        self.server = Some(Named { url: url.to_owned(), by_flag: true });
    }

    pub fn add_store(&mut self) {
        self.store = true;
    }

    /// The server that a command works against; none where it works here.
    ///
    /// # Errors
    /// It was named by a flag, and the command can't, or another flag names a store.
    pub fn server_for(&self, command: &Command) -> Result<Option<Server>, Error> {
        match command {
            // It decides by its words, and by what surrounds it.
            Command::Emit(_) => Ok(None),
            command if is_remote(command) => self.server(),
            _ if self.server.as_ref().is_some_and(|named| named.by_flag) => Err(only_here()),
            _ => Ok(None),
        }
    }

    /// The server that was named, for a command that can work against one. `--store` stands above
    /// the variable, but not beside the flag.
    pub fn server(&self) -> Result<Option<Server>, Error> {
        match &self.server {
            None => Ok(None),
            Some(named) if self.store && named.by_flag => Err(Error::Usage(
                "--server and --store are two places; name one of them".to_owned(),
            )),
            Some(_) if self.store => Ok(None),
            Some(named) => Server::new(&named.url).map(Some),
        }
    }

    /// Whether only a variable names the server, so that what is nearer counts.
    pub fn is_by_variable(&self) -> bool {
        self.server.as_ref().is_some_and(|named| !named.by_flag)
    }
}

/// The refusal of commands that need what only this machine has.
pub fn only_here() -> Error {
    Error::Usage(format!(
        "this command works on this machine only, without --server\n\n\
         hint: with --server or {SERVER}: {CAN}"
    ))
}

fn is_remote(command: &Command) -> bool {
    matches!(
        command,
        Command::Check(_)
            | Command::Begin(_)
            | Command::Emit(_)
            | Command::End(_)
            | Command::Ls(_)
            | Command::Show(_)
            | Command::Stop(_)
            | Command::Answer(_)
            | Command::Release(_)
            | Command::Halt(_)
            | Command::Audit(AuditCommand::Ls(_) | AuditCommand::Show(_))
    )
}

const CAN: &str = "check, begin, emit, end, ls, show, stop, answer, release, halt, audit ls and \
                   audit show";
