//! Flags of `backstop token`.

use std::collections::BTreeSet;
use std::time::Duration;

use backstop_store::access::Scope;
use clap::{Args, Subcommand};

use super::StoreArguments;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token; it is printed once and never again
    #[command(after_help = CREATE_EXAMPLES)]
    Create(TokenCreateArguments),
    /// List tokens, those that are over included
    #[command(after_help = LS_EXAMPLES)]
    Ls(TokenLsArguments),
    /// Let a token be refused from now on
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(TokenRevokeArguments),
}

/// Flags of `backstop token create`.
#[derive(Debug, Args)]
pub struct TokenCreateArguments {
    /// What its bearer may do: read, report, operate, admin, with commas between
    #[arg(long, value_name = "SCOPES", value_parser = scopes)]
    pub scope: Scopes,
    /// Who or what it is for; decisions that it asks for carry this name
    #[arg(long, default_value = "unnamed")]
    pub name: String,
    /// How long it is good for, such as 30d [default: until it is revoked]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub expires: Option<Duration>,
    /// Print an object with the token and what is known of it
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop token ls`.
#[derive(Debug, Args)]
pub struct TokenLsArguments {
    /// Print JSON objects, one per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Flags of `backstop token revoke`.
#[derive(Debug, Args)]
pub struct TokenRevokeArguments {
    /// The token's id, as `token ls` shows it
    pub id: String,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Some scopes, at least one.
#[derive(Clone, Debug)]
pub struct Scopes(pub BTreeSet<Scope>);

fn scopes(text: &str) -> Result<Scopes, String> {
    text.split(',').map(|scope| scope.trim().parse()).collect::<Result<_, _>>().map(Scopes)
}

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("it would be over before anybody could use it".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; write it like `30d`")),
    }
}

pub const TOKEN_EXAMPLES: &str = "\
Examples:
  backstop token create --scope read,report --expires 30d --name ci
  backstop token ls
  backstop token revoke 4f1c22";

const CREATE_EXAMPLES: &str = "\
As soon as one token exists, the server wants one with every request. `admin`
includes all scopes.

Examples:
  backstop token create --scope read,report --expires 30d --name ci
  export BACKSTOP_TOKEN=$(backstop token create --scope admin)";

const LS_EXAMPLES: &str = "\
Examples:
  backstop token ls
  backstop token ls --json";

const REVOKE_EXAMPLES: &str = "\
Examples:
  backstop token revoke 4f1c22";
