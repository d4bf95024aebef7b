//! One decision of a server, from facts or events, which remembers nothing of it.

use std::io::{self, Write as _};

use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::policy::{Policy, Preset};
use backstop_core::reason;
use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_server::headers::{EXIT_CODE, VERDICT};
use backstop_store::access::Scope;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::address::segment;
use super::client::{Reply, Server};
use super::reporting::IN_FORCE;
use crate::args::CheckArguments;
use crate::commands::check::{
    given_facts, load_policy, new_request_id, read_events, refuse_two_inputs,
    remark_on_what_is_missing,
};
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::report;
use crate::terminal::Terminal;

pub fn run(
    arguments: &CheckArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    refuse_two_inputs(arguments)?;
    let (question, policy) = question(arguments, terminal)?;
    let now = arguments.now.unwrap_or_else(wall_time);
    let id = arguments.request_id.clone();
    let id = id.unwrap_or_else(|| new_request_id(arguments, now));
    let headers = match arguments.form {
        Some(_) => vec![("X-Request-Id", id)],
        None => Vec::new(),
    };
    let reply = server.ask("/v1/decide", &question, &headers, Scope::Report)?;
    let code = code(arguments, server, &reply)?;
    match show(arguments, server, &reply, policy, code, terminal) {
        // Whoever stopped reading early must still not take a `stop` for a `continue`.
        Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(code),
        shown => shown.map(|()| code),
    }
}

/// What is asked, and the policy that goes with it. Everything is looked at here first, so that what
/// is wrong is shown where it stands.
fn question(
    arguments: &CheckArguments,
    terminal: &mut Terminal,
) -> Result<(Json, Option<Policy>), Error> {
    let mut question = json!({ "now": arguments.now });
    let policy = match &arguments.policy {
        Some(_) => Some(load_policy(arguments, terminal)?),
        None => {
            terminal.remark(IN_FORCE);
            None
        }
    };
    if let Some(policy) = &policy {
        question["policy"] = policy.to_json();
    }
    if let Some(path) = &arguments.facts {
        let (_, text) = given_facts(path)?;
        question["facts"] = serde_json::from_slice(&text).unwrap_or_default();
    }
    let mut last = Timestamp::default();
    if let Some(path) = &arguments.events {
        let (mut events, mut bytes) = (Vec::new(), 0);
        read_events(path, |event, length| {
            bytes += length;
            if bytes > MOST_BYTES {
                let message = format!(
                    "these events are more than the {} KiB that a server takes at once; decide \
                     here, without --server",
                    MOST_BYTES >> 10
                );
                return Err(Error::BadData { place: input::shown(path).to_owned(), message });
            }
            last = last.max(event.at.unwrap_or_default());
            events.push(json!(event));
            Ok(())
        })?;
        question["events"] = events.into();
    }
    remark_on_what_is_missing(arguments, last, wall_time(), terminal);
    if arguments.form.is_some() {
        question["form"] = "rerun".into();
        question["pr_number"] = arguments.pr.into();
        question["run_id"] = arguments.run_id.into();
    }
    Ok((question, policy))
}

/// The code of the decision, which the server knows: it has the policy.
fn code(arguments: &CheckArguments, server: &Server, reply: &Reply) -> Result<u8, Error> {
    let told = reply.header(EXIT_CODE.as_str()).and_then(|code| code.parse().ok());
    match (told, reply.header(VERDICT.as_str())) {
        (Some(_), Some("complete")) if arguments.break_when_complete => Ok(exit_code::COMPLETE),
        (Some(code), Some(_)) => Ok(code),
        // Nobody may go on because of an answer that says nothing.
        _ => Err(server.unreachable("what it answered is no decision")),
    }
}

fn show(
    arguments: &CheckArguments,
    server: &Server,
    reply: &Reply,
    policy: Option<Policy>,
    code: u8,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if arguments.form.is_some() {
        let answer: Json = reply.json()?;
        writeln!(terminal.out, "{answer:#}")?;
        return Ok(());
    }
    let decision: Decision = reply.json()?;
    if arguments.json {
        writeln!(terminal.out, "{}", decision.to_json())?;
        return Ok(());
    }
    let policy = policy.map_or_else(|| policy_of(server, &decision), Ok)?;
    // Where `--break` has changed it, the words are those of the decision all the same.
    let shown = if code == exit_code::COMPLETE { exit_code::OK } else { code };
    write!(terminal.out, "{}", report::decision(&policy, shown, &decision))?;
    Ok(())
}

/// The policy that explains a decision: only that of a reason of its own has to be had.
fn policy_of(server: &Server, decision: &Decision) -> Result<Policy, Error> {
    let usual = || Policy::preset(Preset::Default);
    if decision.reason.as_deref().is_none_or(|code| reason::find(code).is_some()) {
        return Ok(usual());
    }
    #[derive(Deserialize)]
    struct Stored {
        policy: Json,
    }
    let path = format!("/v1/policies/{}", segment(&decision.policy_hash));
    let stored: Stored = server.get(&path, &[], Scope::Read)?.json()?;
    let loaded = Policy::load(stored.policy.to_string().as_bytes(), Syntax::Json);
    Ok(loaded.map_or_else(|_| usual(), |loaded| loaded.policy))
}

/// What a server takes in one request, with room for the rest of the question.
const MOST_BYTES: usize = 960 << 10;
