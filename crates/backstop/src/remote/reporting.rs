//! Runs that scripts report to: begun, told of what happens, and ended.

use std::io::Write as _;

use backstop_core::event::Event;
use backstop_core::reason::ReasonCode;
use backstop_core::state::RunStatus;
use backstop_runner::chance;
use backstop_runner::socket::Answer;
use backstop_server::headers::HALTED;
use backstop_store::access::Scope;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::address::segment;
use super::client::{Reply, Server};
use crate::args::{BeginArguments, EndArguments};
use crate::commands::end::{ended, which};
use crate::commands::operate::pinned;
use crate::error::Error;
use crate::exit_code;
use crate::sanitise::harmless;
use crate::store::caller;
use crate::terminal::Terminal;

pub fn begin(
    arguments: &BeginArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    let labels: Map<String, Json> =
        arguments.label.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let mut body = json!({ "labels": labels, "total_units": arguments.total_units });
    if arguments.policy.is_some() || arguments.preset.is_some() {
        let pinned = pinned(arguments.policy.as_deref(), arguments.preset.as_deref(), terminal)?;
        body["policy"] = pinned.policy.to_json();
    } else {
        terminal.remark(IN_FORCE);
    }
    #[derive(Deserialize)]
    struct Begun {
        run_id: String,
    }
    let begun: Begun = match server.post("/v1/runs", &body, Scope::Report) {
        Ok(reply) => reply.json()?,
        // An order to halt: the same code as where the order is at hand.
        Err(Error::NotNow(message)) if message.contains("ordered a halt") => {
            let code = ReasonCode::PolicyBlock.reason().exit_code;
            return Err(Error::Background { message: format!("error: {message}"), code });
        }
        Err(error) => return Err(error),
    };
    writeln!(terminal.out, "{}", harmless(&begun.run_id))?;
    Ok(exit_code::OK)
}

pub fn end(
    arguments: &EndArguments,
    server: &Server,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    #[derive(Deserialize)]
    struct Ended {
        run_id: String,
        run_status: RunStatus,
        decision: Json,
    }
    let path = format!("/v1/runs/{}/end", segment(&which(arguments)?));
    let reply = server.post(&path, &json!({ "by": caller() }), Scope::Report)?;
    let told: Ended = reply.json()?;
    let answer = Answer::read(&told.decision.to_string()).ok_or_else(|| no_decision(server))?;
    writeln!(terminal.out, "{}", ended(&harmless(&told.run_id), told.run_status, &answer))?;
    Ok(answer.exit_code())
}

/// Tells a run there what happens.
#[derive(Debug)]
pub struct Reporter {
    server: Server,
    run: String,
}

impl Reporter {
    pub fn new(server: Server, run: String) -> Self {
        Self { server, run }
    }

    /// Reports an event. Where the connection is lost it is reported once more, by the same key, so
    /// that it counts once.
    pub fn emit(&self, event: &Event, terminal: &mut Terminal) -> Result<Answer, Error> {
        let path = format!("/v1/runs/{}/events", segment(&self.run));
        let key: String = chance::bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let body = json!(event).to_string();
        let reply = self.server.post_once(&path, &body, &key, Scope::Report)?;
        let answer = self.answer(&reply)?;
        match answer.get("stored") {
            Some(Json::Null) => terminal.remark("warning: it is not known whether it was taken in"),
            Some(Json::Bool(false)) => {
                terminal.remark("warning: it was not taken in; report it again");
            }
            _ => {}
        }
        if let Some(status) = reply.header(HALTED.as_str()) {
            terminal.remark(&format!("run {} is {}", harmless(&self.run), harmless(status)));
        }
        Ok(answer)
    }

    fn answer(&self, reply: &Reply) -> Result<Answer, Error> {
        let object: Json = reply.json()?;
        let answer = Answer::read(&object.to_string());
        // What is no decision must not pass for one that lets a loop go on.
        answer.filter(|answer| answer.verdict().is_some()).ok_or_else(|| no_decision(&self.server))
    }
}

fn no_decision(server: &Server) -> Error {
    server.unreachable("what it answered is no decision")
}

/// What is said where no policy was named.
pub const IN_FORCE: &str = "policy: the one in force on the server";
