//! Which server was named, and by what: a flag is an order, a variable is what usually counts.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Server;
use crate::args::{Command, PolicyCommand, TokenCommand};
use crate::env_vars::SERVER;
use crate::error::Error;
use crate::store::location;
use crate::terminal::Terminal;

/// Where the command line and the surroundings say that a command does its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The command's name, with that of its group before it.
    command: String,
    server: Option<Named>,
    /// `--store` was given, not only its variable.
    store: bool,
    /// The store that either of them names.
    named_store: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    url: String,
    by_flag: bool,
}

impl Given {
    /// Reads what clap has found. The flags are those of the command, whose matches lie deepest.
    pub fn of(matches: &ArgMatches) -> Self {
        let (mut deepest, mut names) = (matches, Vec::new());
        while let Some((name, below)) = deepest.subcommand() {
            deepest = below;
            names.push(name);
        }
        let by_flag = |name: &str| {
            deepest.try_contains_id(name).unwrap_or(false)
                && deepest.value_source(name) == Some(ValueSource::CommandLine)
        };
        let url = deepest.try_get_one::<String>("server").ok().flatten();
        let named = url.map(|url| Named { url: url.clone(), by_flag: by_flag("server") });
        Self {
            command: names.join(" "),
            // A variable that is set to nothing names nothing.
            server: named.filter(|named| named.by_flag || !named.url.is_empty()),
            store: by_flag("store"),
            named_store: deepest.try_get_one::<String>("store").ok().flatten().cloned(),
        }
    }

    /// What flags among the words of `emit` add.
    pub fn add_server(&mut self, url: &str) {
        self.server = Some(Named { url: url.to_owned(), by_flag: true });
    }

    pub fn add_store(&mut self) {
        self.store = true;
    }

    /// The store that a flag names.
    pub fn store_by_flag(&self) -> Option<&str> {
        self.named_store.as_deref().filter(|name| self.store && !name.is_empty())
    }

    /// The server that a command works against; none where it works here.
    ///
    /// # Errors
    /// It was named by a flag, and the command can't, or another flag names a store.
    pub fn server_for(&self, command: &Command) -> Result<Option<Server>, Error> {
        match command {
            // It decides by its words, and by what surrounds it.
            Command::Emit(_) => Ok(None),
            _ if self.can_be_remote() => self.server(),
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

    /// Says which store a command is about that takes no notice of the server, where it could be
    /// mistaken for the server's.
    ///
    /// # Errors
    /// It would change who may ask, or what is in force, in a store that nobody has named.
    pub fn tell_store_of(&self, command: &Command, terminal: &mut Terminal) -> Result<(), Error> {
        let is_ignored = self.is_by_variable() && !self.store && !self.can_be_remote();
        if !is_ignored || !is_about_store(command) {
            return Ok(());
        }
        let named = self.named_store.as_deref().filter(|name| !name.is_empty());
        let place = location(named)?;
        if named.is_none() && rules_server(command) {
            return Err(Error::Usage(format!(
                "{SERVER} is set, but this command works on this machine only: it would change \
                 `{place}`\n\nhint: name the store that is meant with --store, or unset {SERVER}"
            )));
        }
        terminal.remark(&format!(
            "this is about the store `{place}`: {SERVER} is set, but this command works on this \
             machine only"
        ));
        Ok(())
    }

    fn can_be_remote(&self) -> bool {
        REMOTE.contains(&self.command.as_str())
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
         hint: with --server or {SERVER}: {}",
        REMOTE.join(", ")
    ))
}

/// Whether a command that works here only tells of, or changes, what a server has too.
fn is_about_store(command: &Command) -> bool {
    matches!(
        command,
        Command::Pause(_)
            | Command::Attend(_)
            | Command::Raise(_)
            | Command::Report(_)
            | Command::Logs(_)
            | Command::Attach(_)
            | Command::Doctor(_)
            | Command::Prune(_)
            | Command::Policy(
                PolicyCommand::Apply(_) | PolicyCommand::Activate(_) | PolicyCommand::History(_)
            )
            | Command::Github(_)
            | Command::Audit(_)
            | Command::Token(_)
    )
}

/// Whether a command changes what a server lets others do.
fn rules_server(command: &Command) -> bool {
    matches!(
        command,
        Command::Token(TokenCommand::Create(_) | TokenCommand::Revoke(_))
            | Command::Policy(PolicyCommand::Activate(_))
    )
}

/// The definitions of all commands, with `--server` in the help of those alone that take notice of
/// it. The others know it still, so that they can say why they do not.
pub fn shown_where_it_counts(mut command: clap::Command) -> clap::Command {
    let flag = command.get_arguments().find(|one| one.get_id() == "server").cloned();
    if let Some(flag) = flag {
        hide(&mut command, "", &flag.hide(true));
    }
    command
}

fn hide(command: &mut clap::Command, path: &str, hidden: &clap::Arg) {
    for below in command.get_subcommands_mut() {
        let name = format!("{path}{}", below.get_name());
        let group = format!("{name} ");
        if REMOTE.iter().any(|one| one.starts_with(&group)) {
            hide(below, &group, hidden);
        } else if !REMOTE.contains(&name.as_str()) {
            *below = std::mem::take(below).arg(hidden.clone());
        }
    }
}

/// The commands that can work against a server.
const REMOTE: [&str; 12] = [
    "check",
    "begin",
    "emit",
    "end",
    "ls",
    "show",
    "stop",
    "answer",
    "release",
    "halt",
    "audit ls",
    "audit show",
];
