//! `backstop audit`: the record of decisions, and whether it can be trusted.

use std::io::Write as _;

use backstop_core::rerun::codes_on_record;
use backstop_runner::clock::wall_time;
use backstop_runner::loading;
use backstop_server::rerun::remake;
use backstop_store::audit::{AuditFilter, AuditRow};

mod export;
mod replaying;
mod signing;
mod verifying;

use super::show::local_time;
use crate::args::{AuditCommand, AuditLsArguments, AuditShowArguments};
use crate::error::Error;
use crate::exit_code;
use crate::report::{age, columns, hanging};
use crate::sanitise::harmless;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(command: &AuditCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    match command {
        AuditCommand::Ls(arguments) => ls(arguments, terminal),
        AuditCommand::Show(arguments) => show(arguments, terminal),
        AuditCommand::Verify(arguments) => verifying::run(arguments, terminal),
        AuditCommand::Export(arguments) => export::run(arguments, terminal),
        AuditCommand::Checkpoint(arguments) => signing::run(arguments, terminal),
    }
}

fn ls(arguments: &AuditLsArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let run = arguments.run.as_deref().map(|name| opened.run(name)).transpose()?;
    let (owner, repo) = arguments.repo.clone().unzip();
    let filter = AuditFilter {
        owner,
        repo,
        pr_number: arguments.pr,
        request_id: arguments.request.clone(),
        decision: arguments.decision.as_ref().map(|word| word.to_uppercase()),
        reason_codes: arguments.reason.as_deref().map(codes_on_record).unwrap_or_default(),
        run: run.map(|run| run.id),
        newest_first: true,
        limit: arguments.limit,
        ..AuditFilter::default()
    };
    print_rows(&opened.wait(opened.store.audit_list(&filter))?, arguments.json, terminal)
}

/// Prints decisions, one line each.
pub fn print_rows(rows: &[AuditRow], as_json: bool, terminal: &mut Terminal) -> Result<u8, Error> {
    if rows.is_empty() && !as_json {
        terminal.remark("no decision on record is like that");
    }
    let now = wall_time();
    for row in rows {
        if as_json {
            writeln!(terminal.out, "{}", serde_json::json!(row))?;
            continue;
        }
        let lead = format!(
            "{:>6}  {}  {}  ",
            row.number,
            columns(&age(row.row.created_at, now), 12),
            columns(&harmless(&row.row.decision), 8)
        );
        let reason = row.row.reason_code.as_deref().unwrap_or_default();
        let rest = format!("{} {}  {}", subject(row), harmless(reason), sentence(row));
        write!(terminal.out, "{}", hanging(&lead, rest.trim()))?;
    }
    Ok(exit_code::OK)
}

fn show(arguments: &AuditShowArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let number = arguments.number;
    let missing = || missing(number);
    let before = number.checked_sub(1).ok_or_else(missing)?;
    let filter = AuditFilter { cursor: Some(before), limit: 1, ..AuditFilter::default() };
    let rows = opened.wait(opened.store.audit_list(&filter))?;
    let row = rows.into_iter().find(|row| row.number == number).ok_or_else(missing)?;
    let again = made_again(&opened, &row)?;
    print_row(&row, &again, arguments.json, terminal)
}

/// The refusal where there is no such row.
pub fn missing(number: u64) -> Error {
    Error::Missing(format!(
        "the audit has no row {number}\n\nhint: `backstop audit ls` lists the newest"
    ))
}

/// Prints everything about a decision, and what comes out when it is made again.
pub fn print_row(
    row: &AuditRow,
    again: &str,
    as_json: bool,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    if as_json {
        writeln!(terminal.out, "{:#}", serde_json::json!(row))?;
        return Ok(exit_code::OK);
    }
    let AuditRow { row: said, previous_hash, hash, .. } = row;
    let optional = |text: &Option<String>| text.as_deref().map(harmless).unwrap_or_default();
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    let lines = [
        ("decision", format!("{} {}", harmless(&said.decision), optional(&said.reason_code))),
        ("because", sentence(row)),
        ("about", subject(row)),
        ("next", harmless(&said.recommended_next_step)),
        ("class", optional(&said.failure_class)),
        ("attempts", count(said.current_job_attempts)),
        ("of all jobs", count(said.total_pr_attempts)),
        ("rules", harmless(said.applied_rules.as_str())),
        ("policy", optional(&said.lawbook_hash)),
        ("version", optional(&said.lawbook_version)),
        ("request", harmless(&said.request_id)),
        ("asked by", harmless(&said.actor)),
        ("at", local_time(said.created_at)),
        ("hash", hash.to_string()),
        ("follows", previous_hash.to_string()),
        ("evidence", harmless(said.evidence.as_str())),
        ("made again", again.to_owned()),
    ];
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        write!(terminal.out, "{}", hanging(&format!("{}  ", columns(name, 11)), value))?;
    }
    Ok(exit_code::OK)
}

/// How the decision that halted a run is made again; none for an answer about a re-run.
pub fn replayed(row: &AuditRow) -> Option<String> {
    row.row.run.map(|run| format!("by backstop replay {run}"))
}

/// Whether the same comes out when an answer about a re-run is made again from its evidence.
fn made_again(opened: &Opened, row: &AuditRow) -> Result<String, Error> {
    let said = &row.row;
    if let Some(words) = replayed(row) {
        return Ok(words);
    }
    let policy = match &said.lawbook_hash {
        Some(hash) => opened.wait(opened.store.policy_fetch(hash))?,
        None => None,
    };
    let policy = policy.map(|stored| loading::policy(&stored)).transpose()?;
    let again = remake(row, policy.as_ref());
    Ok(replaying::difference(row, &again).unwrap_or_else(|| "the same comes out".to_owned()))
}

/// What a decision is about: `octo-org/hello#9`, or a run's name.
fn subject(row: &AuditRow) -> String {
    let row = &row.row;
    match (&row.resource_owner, &row.resource_repo, row.pr_number, row.run) {
        (Some(owner), Some(repo), Some(number), _) => harmless(&format!("{owner}/{repo}#{number}")),
        (.., Some(run)) => format!("run {run}"),
        _ => String::new(),
    }
}

fn sentence(row: &AuditRow) -> String {
    let reasons: Vec<String> = serde_json::from_str(row.row.reasons.as_str()).unwrap_or_default();
    harmless(&reasons.join(" "))
}
