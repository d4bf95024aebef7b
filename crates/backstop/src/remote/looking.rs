//! Runs there: which there are, and one of them.

use std::io::Write as _;

use backstop_core::event::Event;
use backstop_core::state::RunState;
use backstop_runner::clock::wall_time;
use backstop_runner::view::{self, Inside, OpenQuestion, Origin};
use backstop_store::access::Scope;
use serde::Deserialize;
use serde_json::Value as Json;

use super::address::segment;
use super::client::Server;
use crate::args::{LsArguments, ShowArguments, StateForm};
use crate::commands::look::Look;
use crate::commands::ls::{Row, print, statuses};
use crate::commands::show::page;
use crate::error::Error;
use crate::exit_code;
use crate::terminal::Terminal;

/// A page of runs.
#[derive(Debug, Deserialize)]
pub struct Page {
    pub runs: Vec<Listed>,
    pub next_cursor: Option<String>,
}

/// A run as it is listed.
#[derive(Debug, Deserialize)]
pub struct Listed {
    #[serde(flatten)]
    pub state: RunState,
    #[serde(default)]
    pub interrupted: bool,
    #[serde(default)]
    pub question: Option<OpenQuestion>,
    pub origin: Origin,
}

/// A server's runs come from many directories, none of which is this one: all are listed.
pub fn ls(arguments: &LsArguments, server: &Server, terminal: &mut Terminal) -> Result<u8, Error> {
    let mut query: Vec<_> = statuses(arguments)
        .into_iter()
        .map(|status| ("status", status.as_str().to_owned()))
        .collect();
    query.extend(labels(&arguments.label));
    let mut rows = Vec::new();
    each_run(server, &query, |listed| {
        let row = Row {
            name: listed.state.run_id.to_string(),
            listed: view::Listed {
                state: listed.state,
                interrupted: listed.interrupted,
                question: listed.question,
            },
            created_at: listed.origin.created_at,
            cwd: listed.origin.cwd,
            command: listed.origin.command,
        };
        if rows.len() < arguments.limit as usize && row.is_wanted(arguments) {
            rows.push(row);
        }
        rows.len() < arguments.limit as usize
    })?;
    // Programs read the whole name.
    for row in rows.iter_mut().filter(|_| !arguments.json) {
        row.name = shown_name(server, &row.name)?;
    }
    if rows.is_empty() && !arguments.json {
        let any = server.get("/v1/runs", &with_origin(&[], 1), Scope::Read)?.json::<Page>()?;
        terminal.remark(match any.runs.is_empty() {
            true => "there are no runs yet",
            false => "no run is like that",
        });
    } else {
        print(&rows, arguments.json, true, wall_time(), terminal)?;
    }
    Ok(exit_code::OK)
}

/// The beginning of a run's name that no other run's name there has, as long as it is listed here.
fn shown_name(server: &Server, name: &str) -> Result<String, Error> {
    for length in SHORTEST_NAME..name.len() {
        let prefix = [("prefix", name[..length].to_owned())];
        let page: Page = server.get("/v1/runs", &with_origin(&prefix, 2), Scope::Read)?.json()?;
        if page.runs.len() < 2 {
            return Ok(name[..length].to_owned());
        }
    }
    Ok(name.to_owned())
}

/// Goes through runs, the newest first, until enough are seen.
pub fn each_run(
    server: &Server,
    query: &[(&str, String)],
    mut goes_on: impl FnMut(Listed) -> bool,
) -> Result<(), Error> {
    let mut query = with_origin(query, PAGE);
    loop {
        let page: Page = server.get("/v1/runs", &query, Scope::Read)?.json()?;
        for listed in page.runs {
            if !goes_on(listed) {
                return Ok(());
            }
        }
        let Some(cursor) = page.next_cursor else { return Ok(()) };
        query.retain(|(name, _)| *name != "cursor");
        query.push(("cursor", cursor));
    }
}

/// Labels as a query has them.
pub fn labels(labels: &[(String, String)]) -> impl Iterator<Item = (&'static str, String)> {
    labels.iter().map(|(key, value)| ("label", format!("{key}={value}")))
}

/// The whole name of a run.
pub fn run_id(server: &Server, name: &str) -> Result<String, Error> {
    let path = format!("/v1/runs/{}", segment(name));
    let state: RunState = server.get(&path, &[], Scope::Read)?.json()?;
    Ok(state.run_id.to_string())
}

pub fn show(
    arguments: &ShowArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    if arguments.events {
        return events(&arguments.run, server, terminal);
    }
    let path = format!("/v1/runs/{}", segment(&arguments.run));
    match arguments.form {
        Some(StateForm::Pipeline) => {
            let state: RunState = server.get(&path, &[], Scope::Read)?.json()?;
            writeln!(terminal.out, "{:#}", state.pipeline_form())?;
        }
        None if arguments.json => {
            let object: Json = server.get(&path, &[], Scope::Read)?.json()?;
            writeln!(terminal.out, "{object:#}")?;
        }
        None => {
            let include = [("include", "inside".to_owned())];
            let whole: Whole = server.get(&path, &include, Scope::Read)?.json()?;
            write!(terminal.out, "{}", whole.page(server)?)?;
        }
    }
    Ok(exit_code::OK)
}

/// A run with all that it is shown from.
#[derive(Deserialize)]
struct Whole {
    #[serde(flatten)]
    state: RunState,
    #[serde(default)]
    interrupted: bool,
    origin: Origin,
    inside: Inside,
}

impl Whole {
    fn page(self, server: &Server) -> Result<String, Error> {
        let (decisions, tests) = (self.inside.records(), self.inside.tests.clone());
        let seen = self.inside.seen(self.origin, self.state, self.interrupted);
        let seen = seen.map_err(|error| server.unreachable(&error.to_string()))?;
        let path = format!("/v1/runs/{}/events", seen.run.id);
        let mut look = Look::of(seen);
        let (after, limit) = look.end_of_journal();
        let query = [("after", after.to_string()), ("limit", limit.to_string())];
        let journal: Journal = server.get(&path, &query, Scope::Read)?.json()?;
        for event in journal.events {
            if let Ok(event) = Event::from_json(event.to_string().as_bytes()) {
                look.hear(event.kind);
            }
        }
        Ok(page(&look, tests.as_ref(), &decisions))
    }
}

/// A page of a journal.
#[derive(Deserialize)]
struct Journal {
    events: Vec<Json>,
    last: u64,
}

fn events(run: &str, server: &Server, terminal: &mut Terminal) -> Result<u8, Error> {
    let path = format!("/v1/runs/{}/events", segment(run));
    let mut after = 0;
    loop {
        let query = [("after", after.to_string()), ("limit", PAGE.to_string())];
        let journal: Journal = server.get(&path, &query, Scope::Read)?.json()?;
        for event in &journal.events {
            writeln!(terminal.out, "{event}")?;
        }
        // Who does not count on would be asked the same for ever.
        if journal.events.len() < PAGE as usize || journal.last <= after {
            return Ok(exit_code::OK);
        }
        after = journal.last;
    }
}

fn with_origin<'a>(query: &[(&'a str, String)], limit: u32) -> Vec<(&'a str, String)> {
    let more = [("include", "origin".to_owned()), ("limit", limit.to_string())];
    query.iter().cloned().chain(more).collect()
}

/// Enough for runs that did not begin at once.
const SHORTEST_NAME: usize = 8;
const PAGE: u32 = 500;
