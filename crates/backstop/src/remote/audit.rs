//! The record of decisions there.

use backstop_store::access::Scope;
use backstop_store::audit::AuditRow;
use serde::Deserialize;

use super::client::Server;
use super::looking::run_id;
use crate::args::{AuditLsArguments, AuditShowArguments};
use crate::commands::audit::{missing, print_row, print_rows, replayed};
use crate::error::Error;
use crate::terminal::Terminal;

pub fn ls(
    arguments: &AuditLsArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    #[derive(Deserialize)]
    struct Page {
        rows: Vec<AuditRow>,
        next_cursor: Option<String>,
    }
    let (owner, repo) = arguments.repo.clone().unzip();
    let run = arguments.run.as_deref().map(|name| run_id(server, name)).transpose()?;
    let named = [
        ("owner", owner),
        ("repo", repo),
        ("pr_number", arguments.pr.map(|number| number.to_string())),
        ("request_id", arguments.request.clone()),
        ("decision", arguments.decision.as_ref().map(|word| word.to_uppercase())),
        ("reason_code", arguments.reason.clone()),
        ("run", run),
    ];
    let filter: Vec<_> =
        named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let (wanted, mut rows, mut cursor) = (arguments.limit as usize, Vec::new(), None);
    while rows.len() < wanted {
        let mut query = filter.clone();
        query.push(("limit", (wanted - rows.len()).min(PAGE).to_string()));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let page: Page = server.get("/v1/audit", &query, Scope::Read)?.json()?;
        rows.extend(page.rows);
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    rows.truncate(wanted);
    print_rows(&rows, arguments.json, terminal)
}

pub fn show(
    arguments: &AuditShowArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    let number = arguments.number;
    let found = server.get(&format!("/v1/audit/{number}"), &[], Scope::Read);
    let row: AuditRow = match found {
        Ok(reply) => reply.json()?,
        Err(Error::Missing(_)) => return Err(missing(number)),
        Err(other) => return Err(other),
    };
    print_row(&row, &replayed(&row).unwrap_or_default(), arguments.json, terminal)
}

const PAGE: usize = 500;
