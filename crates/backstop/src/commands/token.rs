//! `backstop token`: who may ask the server for what.

use std::io::Write as _;

use backstop_core::time::Timestamp;
use backstop_runner::chance;
use backstop_runner::clock::wall_time;
use backstop_store::access::{Scope, Secret, TokenRecord};

use super::operate::refuse_if_supervised;
use super::show::local_time;
use crate::args::{TokenCommand, TokenCreateArguments, TokenLsArguments, TokenRevokeArguments};
use crate::error::Error;
use crate::exit_code;
use crate::report::columns;
use crate::sanitise::harmless;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(command: &TokenCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    match command {
        TokenCommand::Create(arguments) => create(arguments, terminal),
        TokenCommand::Ls(arguments) => ls(arguments, terminal),
        TokenCommand::Revoke(arguments) => revoke(arguments, terminal),
    }
}

fn create(arguments: &TokenCreateArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "token create")?;
    let secret = Secret::new(&chance::bytes()?);
    let now = wall_time();
    let token = TokenRecord {
        id: secret.id(),
        name: arguments.name.clone(),
        hash: secret.hash(),
        scopes: arguments.scope.0.clone(),
        created_by: caller(),
        created_at: now,
        expires_at: arguments.expires.map(|duration| now.plus(duration)),
        revoked_at: None,
    };
    opened.wait(opened.store.token_put(&token))?;
    opened.wait_for_services();
    if arguments.json {
        let mut object = serde_json::json!(token);
        object["token"] = secret.reveal().into();
        writeln!(terminal.out, "{object:#}")?;
    } else {
        writeln!(terminal.out, "{}", secret.reveal())?;
        let until = token.expires_at.map_or_else(
            || "until it is revoked".to_owned(),
            |end| format!("until {}", local_time(end)),
        );
        terminal.remark(&format!(
            "token {} ({}) is good {until}; it is not shown again",
            token.id,
            words(&token)
        ));
    }
    Ok(exit_code::OK)
}

fn ls(arguments: &TokenLsArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let tokens = opened.wait(opened.store.token_list())?;
    let now = wall_time();
    if tokens.is_empty() && !arguments.json {
        terminal.remark("there are no tokens: a server on loopback needs none");
    }
    for token in &tokens {
        if arguments.json {
            writeln!(terminal.out, "{}", serde_json::json!(token))?;
            continue;
        }
        writeln!(
            terminal.out,
            "{}  {}  {}  {}",
            columns(&token.id, 8),
            columns(&harmless(&token.name), 20),
            columns(&words(token), 26),
            standing(token, now)
        )?;
    }
    Ok(exit_code::OK)
}

fn revoke(arguments: &TokenRevokeArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    refuse_if_supervised(&opened, "token revoke")?;
    if opened.wait(opened.store.token_revoke(&arguments.id, wall_time()))? {
        opened.wait_for_services();
        writeln!(terminal.out, "token {} is refused from now on", arguments.id)?;
        return Ok(exit_code::OK);
    }
    let tokens = opened.wait(opened.store.token_list())?;
    Err(match tokens.iter().any(|token| token.id == arguments.id) {
        true => Error::NotNow(format!("token {} was revoked before", arguments.id)),
        false => Error::Missing(format!(
            "there is no token `{}`\n\nhint: `backstop token ls` lists them",
            arguments.id
        )),
    })
}

fn words(token: &TokenRecord) -> String {
    let names: Vec<_> = token.scopes.iter().map(|scope: &Scope| scope.as_str()).collect();
    names.join(",")
}

fn standing(token: &TokenRecord, now: Timestamp) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", local_time(at)),
        (None, Some(end)) if end <= now => format!("over since {}", local_time(end)),
        (None, Some(end)) => format!("until {}", local_time(end)),
        (None, None) => "until it is revoked".to_owned(),
    }
}
