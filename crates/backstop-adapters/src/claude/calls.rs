//! Calls of tools, until their results have come.

use backstop_core::event::Action;

use super::arguments::Arguments;
use super::denied::Denied;
use super::wire::Block;
use crate::{Heard, Listener, Shown, excerpt};

/// Calls that have not been told as actions yet, in the order in which they were made.
///
/// The calls of one message are a batch: they are told together, once all of them are back, so that
/// equal calls side by side can be seen to be one step.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: Vec<Call>,
    /// What became of those that came back in this launch.
    pub denied: Denied,
}

#[derive(Debug)]
struct Call {
    id: String,
    /// The message that it belongs to.
    batch: String,
    tool: String,
    /// What tells this call from others, for a person.
    what: String,
    signature: String,
    result: Option<String>,
    failed: bool,
}

impl Calls {
    pub fn call(&mut self, batch: &str, block: &Block<'_>, listener: &mut dyn Listener) {
        let known = |call: &Call| !block.id.is_empty() && call.id == bounded(&block.id);
        if self.pending.iter().any(known) {
            return;
        }
        let arguments = Arguments::new(block.input);
        let subject = arguments.subject(&block.name);
        let what = excerpt(&subject);
        listener.hear(Heard::Shown(Shown::Call { tool: &block.name, what: &what }));
        if self.pending.len() >= MOST_PENDING {
            self.pending.remove(0).tell(listener);
        }
        self.pending.push(Call {
            id: bounded(&block.id).to_owned(),
            batch: bounded(batch).to_owned(),
            tool: bounded(&block.name).to_owned(),
            what: what.into_owned(),
            signature: arguments.signature(&block.name),
            result: None,
            failed: false,
        });
    }

    pub fn returned(&mut self, block: &Block<'_>, listener: &mut dyn Listener) {
        let id = bounded(&block.tool_use_id);
        // Where ids were left out, the oldest open call is the best guess.
        let suits = |call: &Call| call.result.is_none() && call.id == id;
        let Some(call) = self.pending.iter_mut().find(|call| suits(call)) else {
            return;
        };
        let text = block.content.text();
        let succeeded = !block.is_error.0;
        let what = first_line(&text);
        let (tool, of) = (&*call.tool, &*call.what);
        listener.hear(Heard::Shown(Shown::Returned { tool, of, succeeded, what }));
        self.denied.returned(tool, &call.id, succeeded);
        call.failed = !succeeded;
        let kept = excerpt(&text);
        // An empty failure is not an empty success; a failed command says so itself.
        call.result = Some(if succeeded || kept.starts_with("Exit code") {
            kept.into_owned()
        } else {
            format!("failed\n{kept}")
        });
        let batch = call.batch.clone();
        let complete = |call: &Call| call.batch != batch || call.result.is_some();
        if self.pending.iter().all(complete) {
            self.tell_those(|call| call.batch == batch, listener);
        }
    }

    /// The agent has gone on from this message: of its calls, what is back is told.
    pub fn gone_on(&mut self, batch: &str, listener: &mut dyn Listener) {
        let batch = bounded(batch);
        self.tell_those(|call| call.batch == batch && call.result.is_some(), listener);
    }

    /// Nothing more will come back.
    pub fn finish(&mut self, listener: &mut dyn Listener) {
        self.tell_those(|_| true, listener);
    }

    fn tell_those(&mut self, told: impl Fn(&Call) -> bool, listener: &mut dyn Listener) {
        for call in self.pending.extract_if(.., |call| told(call)) {
            call.tell(listener);
        }
    }
}

impl Call {
    fn tell(self, listener: &mut dyn Listener) {
        let action = Action {
            signature: self.signature,
            kind: "action".to_owned(),
            result_signature: self.result,
            failed: self.failed,
        };
        listener.hear(Heard::Event(action.into()));
    }
}

fn first_line(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    &line[..line.floor_char_boundary(LONGEST_SHOWN)]
}

/// A name or an id: what is longer is none, and must not be kept.
fn bounded(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// An agent makes a handful of calls at once; the bound is against one that never waits.
const MOST_PENDING: usize = 512;
const LONGEST_SHOWN: usize = 400;
const LONGEST_NAME: usize = 256;
