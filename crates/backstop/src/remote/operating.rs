//! What people do to runs there: stop them, answer them, let them go, and the one switch for all.

use std::io::Write as _;

use backstop_runner::prompt::Choice;
use backstop_store::access::Scope;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::address::segment;
use super::client::Server;
use super::looking::{each_run, labels};
use super::refuse_if_supervised;
use crate::args::{AnswerArguments, HaltArguments, ReleaseArguments, StopArguments};
use crate::commands::answer::check_note;
use crate::commands::{
    answer as answering, halt as halting, release as releasing, stop as stopping,
};
use crate::error::Error;
use crate::exit_code;
use crate::sanitise::harmless;
use crate::store::caller;
use crate::terminal::Terminal;

/// That something was done to a run.
#[derive(Deserialize)]
struct Done {
    run_id: String,
    supervised: bool,
    needs_resume: bool,
}

pub fn stop(
    arguments: &StopArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    let body = json!({ "now": arguments.now, "by": caller() });
    let done = act(server, &arguments.run, "stop", &body)?;
    writeln!(terminal.out, "{}", stopping::told(&done.run_id, done.supervised, arguments.now))?;
    Ok(exit_code::OK)
}

pub fn answer(
    arguments: &AnswerArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    refuse_if_supervised(server, "answer")?;
    check_note(arguments)?;
    let (choice, note) = (arguments.choice, &arguments.note);
    let body = json!({ "answer": choice.as_str(), "note": note, "by": caller() });
    let done = act(server, &arguments.run, "answer", &body)?;
    writeln!(terminal.out, "{}", answering::told(&done.run_id, choice))?;
    if done.needs_resume && choice != Choice::Abort {
        go_on(&done, terminal);
    }
    Ok(exit_code::OK)
}

pub fn release(
    arguments: &ReleaseArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    refuse_if_supervised(server, "release")?;
    let done = act(server, &arguments.run, "release", &release_body(arguments))?;
    writeln!(terminal.out, "{}", releasing::told(&done.run_id, done.supervised))?;
    if done.needs_resume {
        go_on(&done, terminal);
    }
    Ok(exit_code::OK)
}

pub fn halt(
    arguments: &HaltArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    refuse_if_supervised(server, "halt")?;
    #[derive(Deserialize)]
    struct Halted {
        runs: Vec<String>,
    }
    let body = json!({
        "labels": label_object(&arguments.label), "why": arguments.why, "by": caller(),
    });
    let halted: Halted = server.post("/v1/halt", &body, Scope::Operate)?.json()?;
    let runs: Vec<_> = halted.runs.iter().map(|run| harmless(run)).collect();
    let labels = arguments.label.iter().cloned().collect();
    write!(terminal.out, "{}", halting::ordered(&runs, &labels))?;
    Ok(exit_code::OK)
}

/// Takes back the orders to halt, and lets go what is held.
pub fn release_all(
    arguments: &ReleaseArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    refuse_if_supervised(server, "release")?;
    // Looked up first: who may not look must not find out when half of it is done.
    let mut query = vec![("status", "held".to_owned())];
    query.extend(labels(&arguments.label));
    let mut held = Vec::new();
    each_run(server, &query, |listed| {
        held.push(listed.state.run_id);
        true
    })?;
    #[derive(Deserialize)]
    struct Released {
        released: u64,
    }
    let mut body = json!({ "by": caller() });
    if !arguments.label.is_empty() {
        body["labels"] = label_object(&arguments.label);
    }
    let taken_back: Released = server.post("/v1/release", &body, Scope::Operate)?.json()?;
    let mut released = 0;
    for run in held {
        match act(server, run.as_str(), "release", &release_body(arguments)) {
            Ok(_) => released += 1,
            Err(error) => terminal.remark(&format!("warning: {error}")),
        }
    }
    writeln!(terminal.out, "{}", halting::taken_back(taken_back.released, released))?;
    Ok(exit_code::OK)
}

fn act(server: &Server, run: &str, what: &str, body: &Json) -> Result<Done, Error> {
    let path = format!("/v1/runs/{}/{what}", segment(run));
    let refused = |error| match error {
        Error::NotNow(message) => Error::NotNow(format!(
            "{message}\n\nhint: `backstop show {}` tells where it stands",
            harmless(run)
        )),
        other => other,
    };
    let done: Done = server.post(&path, body, Scope::Operate).map_err(refused)?.json()?;
    Ok(Done { run_id: harmless(&done.run_id), ..done })
}

fn release_body(arguments: &ReleaseArguments) -> Json {
    json!({ "why": arguments.why, "by": caller() })
}

fn label_object(labels: &[(String, String)]) -> Json {
    let pairs = labels.iter().map(|(key, value)| (key.clone(), value.clone().into()));
    Json::Object(pairs.collect::<Map<_, _>>())
}

fn go_on(done: &Done, terminal: &mut Terminal) {
    let words = "to go on, on a machine of that store: backstop resume";
    terminal.remark(&format!("{words} {}", done.run_id));
}
