//! The file that an agent writes its session to, read on from where it was left.
//!
//! Hooks are told nothing of tokens; only this file knows. It is read by the agent's own adapter,
//! which is made anew for every hook and is first reminded of what it has counted already.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use backstop_core::event::{Context, EventKind, Quota, Usage};
use memchr::{memchr, memmem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::HookAgent;
use crate::fields::{self, count, text, text_at};
use crate::{Adapter, Claude, Codex, Heard, Moment, Record};

/// How far a transcript was read, and what keeps its figures from being counted twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcript {
    /// The first byte that was not read.
    pub offset: u64,
    /// The latest messages, and the output that was counted for each: one message comes as several
    /// records, which repeat its figures.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    recent: VecDeque<(String, u64)>,
    /// The thread's running total where the agent gives one: input, cached, written, output.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<[u64; 4]>,
    #[serde(skip_serializing_if = "String::is_empty")]
    model: String,
}

/// Reads on in a transcript.
pub struct TranscriptReader {
    agent: HookAgent,
    state: Transcript,
    adapter: Box<dyn Adapter>,
    moment: Moment,
    line: Vec<u8>,
    /// The line is too long: the rest of it is left out, too.
    skipping: bool,
    told: Told,
}

impl fmt::Debug for TranscriptReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("TranscriptReader");
        shown.field("agent", &self.agent).field("state", &self.state).finish_non_exhaustive()
    }
}

impl TranscriptReader {
    pub fn new(agent: HookAgent, state: Transcript, model: &str, moment: &Moment) -> Self {
        let mut adapter: Box<dyn Adapter> = match agent {
            HookAgent::ClaudeCode => Box::new(Claude::new()),
            HookAgent::Codex => Box::<Codex>::default(),
        };
        for line in reminders(agent, &state, model) {
            adapter.record(Record::Json(line.as_bytes()), moment, &mut |_: Heard<'_>| {});
        }
        let (moment, told) = (moment.clone(), Told::default());
        Self { agent, state, adapter, moment, line: Vec::new(), skipping: false, told }
    }

    /// Takes the next bytes of the file. Only whole lines count: the agent may be writing.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (rest, next) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.whole_line(rest);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(rest);
                self.whole_line(&line);
                line.clear();
                self.line = line;
            }
            self.skipping = false;
            bytes = next;
        }
        if self.skipping || self.line.len() + bytes.len() > LONGEST_LINE {
            // Should the file end here, the rest of the line will be no record either.
            self.skipping = true;
            self.state.offset += (self.line.len() + bytes.len()) as u64;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    /// What was used since the last time, and how far the file was read.
    pub fn finish(self) -> (Transcript, Vec<EventKind>) {
        (self.state, self.told.events())
    }

    fn whole_line(&mut self, line: &[u8]) {
        self.state.offset += line.len() as u64 + 1;
        let marks: &[&[u8]] = match self.agent {
            HookAgent::ClaudeCode => &[b"\"usage\""],
            HookAgent::Codex => &[b"token_count", b"turn_context"],
        };
        // Most lines of a long session are none of this, and need not be parsed.
        if self.skipping || !marks.iter().any(|mark| memmem::find(line, mark).is_some()) {
            return;
        }
        let told = &mut self.told;
        let mut listener = |heard: Heard<'_>| told.hear(heard);
        self.adapter.record(Record::Json(line), &self.moment, &mut listener);
        match self.agent {
            HookAgent::ClaudeCode => self.state.remember_message(line),
            HookAgent::Codex => self.state.remember_total(line),
        }
    }
}

impl Transcript {
    fn remember_message(&mut self, line: &[u8]) {
        // Whatever the adapter reads counts, so it has to be found again as well.
        let Some(record) = fields::record(line) else { return };
        let Some(id) = text_at(&record, "/message/id") else { return };
        let usage = record.pointer("/message/usage").filter(|usage| usage.is_object());
        let Some(usage) = usage else { return };
        if id.is_empty() || id.len() > LONGEST_ID {
            return;
        }
        let output = count(usage, "output_tokens");
        if let Some(known) = self.recent.iter_mut().rev().find(|known| known.0 == id) {
            known.1 = known.1.max(output);
            return;
        }
        if self.recent.len() >= MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((id.to_owned(), output));
    }

    fn remember_total(&mut self, line: &[u8]) {
        let Some(record) = fields::record(line) else { return };
        if let Some(total) = record.pointer("/payload/info/total_token_usage") {
            self.total = Some(TOTALS.map(|key| count(total, key)));
        }
        if text(&record, "type") == Some("turn_context")
            && let Some(model) = record.pointer("/payload/model").and_then(Value::as_str)
            && model.len() <= LONGEST_ID
        {
            model.clone_into(&mut self.model);
        }
    }
}

/// Records that bring a new adapter to where the last one was.
fn reminders(agent: HookAgent, state: &Transcript, model: &str) -> Vec<String> {
    match agent {
        HookAgent::ClaudeCode => {
            let start = json!({ "type": "system", "subtype": "init", "model": model });
            let known = state.recent.iter().map(|(id, output)| {
                let usage = json!({ "input_tokens": 1, "output_tokens": output });
                json!({ "type": "assistant", "sessionId": "-", "message": {
                    "id": id, "role": "assistant", "content": [], "usage": usage,
                }})
            });
            std::iter::once(start).chain(known).map(|record| record.to_string()).collect()
        }
        HookAgent::Codex => {
            let model = json!({ "type": "turn_context", "payload": { "model": state.model } });
            let total = state.total.map(|total| {
                let usage: serde_json::Map<String, Value> = TOTALS
                    .into_iter()
                    .zip(total)
                    .map(|(key, tokens)| (key.to_owned(), tokens.into()))
                    .collect();
                json!({ "type": "event_msg", "payload": {
                    "type": "token_count", "info": { "total_token_usage": usage },
                }})
            });
            let model = (!state.model.is_empty()).then_some(model);
            model.into_iter().chain(total).map(|record| record.to_string()).collect()
        }
    }
}

/// What was heard, added up.
#[derive(Default)]
struct Told {
    usage: BTreeMap<Option<String>, Usage>,
    context: Option<Context>,
    quotas: BTreeMap<String, Quota>,
}

impl Told {
    fn hear(&mut self, heard: Heard<'_>) {
        match heard {
            Heard::Event(EventKind::Usage(more)) => {
                let sum = self
                    .usage
                    .entry(more.model.clone())
                    .or_insert_with(|| Usage { model: more.model.clone(), ..Usage::default() });
                for (sum, more) in [
                    (&mut sum.input_tokens, more.input_tokens),
                    (&mut sum.output_tokens, more.output_tokens),
                    (&mut sum.cache_read_tokens, more.cache_read_tokens),
                    (&mut sum.cache_write_tokens, more.cache_write_tokens),
                ] {
                    *sum = sum.saturating_add(more);
                }
            }
            Heard::Event(EventKind::Context(context)) => self.context = Some(context),
            Heard::Event(EventKind::Quota(quota)) if self.quotas.len() < MOST_RECENT => {
                self.quotas.insert(quota.window.clone(), quota);
            }
            _ => {}
        }
    }

    fn events(self) -> Vec<EventKind> {
        let usage = self.usage.into_values().map(EventKind::from);
        let context = self.context.into_iter().map(EventKind::from);
        let quotas = self.quotas.into_values().map(EventKind::from);
        usage.chain(context).chain(quotas).collect()
    }
}

const TOTALS: [&str; 4] =
    ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"];
/// The records of a message come close to one another.
const MOST_RECENT: usize = 64;
const LONGEST_ID: usize = 256;
const LONGEST_LINE: usize = 64 * 1024 * 1024;
