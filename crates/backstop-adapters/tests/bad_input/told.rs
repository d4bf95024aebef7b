//! What an agent's output is told as.

use std::path::Path;

use backstop_adapters::{
    Adapter, Agent, Exit, Framer, Heard, Jsonl, JsonlMapping, Moment, Outcome, Record, Translator,
};
use backstop_core::document::Syntax;
use backstop_core::event::EventKind;
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use super::quoting;

/// Everything that was told of a stream.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub events: Vec<EventKind>,
    pub outcome: Outcome,
}

impl Told {
    pub fn of(agent: Agent, stream: &[u8]) -> Self {
        Self::at_exit(agent, stream, None)
    }

    pub fn at_exit(agent: Agent, stream: &[u8], exit: Option<Exit>) -> Self {
        let mut adapter: Box<dyn Adapter> = match agent {
            Agent::Jsonl => Box::new(Jsonl::new(mapping())),
            agent => agent.adapter(),
        };
        let mut translator = Translator::new(&policy());
        let moment = Moment {
            now: Timestamp::default(),
            is_known: true,
            is_live: false,
            zone: TimeZone::UTC,
            zone_named: |_| None,
        };
        let mut events = Vec::new();
        let mut hear = |heard: Heard<'_>| events.extend(translator.events(heard));
        let mut framer = Framer::new();
        let mut read = |record: Record<'_>| adapter.record(record, &moment, &mut hear);
        for chunk in stream.chunks(64 * 1024) {
            framer.push(chunk, &mut read);
        }
        framer.finish(&mut read);
        let outcome = adapter.finish(exit, &moment, &mut hear);
        Self { events, outcome }
    }

    /// What failed, in the agent's words.
    pub fn faults(&self) -> Vec<&str> {
        let failures = self.events.iter().filter_map(|event| match event {
            EventKind::ErrorSeen(error) => Some(&*error.message),
            EventKind::Worker(worker) => worker.detail.as_deref(),
            _ => None,
        });
        failures.collect()
    }

    /// The kinds of what failed.
    pub fn failures(&self) -> Vec<String> {
        let failures = self.events.iter().filter_map(|event| match event {
            EventKind::ErrorSeen(error) => Some(format!("{:?}", error.category)),
            EventKind::Worker(worker) => Some(format!("{:?}", worker.status)),
            _ => None,
        });
        failures.collect()
    }

    /// How many events are of this type.
    pub fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| event.type_name() == kind).count()
    }

    /// What it cost.
    pub fn cost(&self) -> f64 {
        let costs = self.events.iter().filter_map(|event| match event {
            EventKind::Usage(usage) => usage.cost_usd,
            _ => None,
        });
        costs.sum()
    }
}

/// The seeds of the fuzz targets whose names begin with this one.
pub fn seeds(folder: &str, name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut seeds: Vec<(String, String)> = folder
        .read_dir()
        .expect("the corpus lies beside the tests")
        .map(|entry| entry.expect("the corpus can be listed").path())
        .filter_map(|path| {
            let file = path.file_name()?.to_str()?.to_owned();
            let is_own = file.strip_prefix(name)?.starts_with(['.', '-']);
            is_own.then(|| (file, read(&path)))
        })
        .collect();
    seeds.sort();
    seeds
}

#[expect(clippy::disallowed_methods, reason = "the fence is around the adapters, not their tests")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a seed can be read")
}

fn mapping() -> JsonlMapping {
    let mapping = json!({
        "input_tokens": "usage.in", "output_tokens": "usage.out", "cost_usd": "usd",
        "message": "text", "error": "error", "model": "model", "totals": true,
    });
    serde_json::from_value(mapping).expect("a mapping")
}

/// Waits for every phrase with which agents say that they are done.
fn policy() -> Policy {
    let rules: String = quoting::PHRASES
        .iter()
        .map(|phrase| {
            let phrase = json!(phrase);
            format!("[[rule]]\nwhen = {{ type = \"output_pattern\", pattern = {phrase}, in = \"assistant\" }}\nthen = \"complete\"\n")
        })
        .collect();
    Policy::load(rules.as_bytes(), Syntax::Toml).expect("a policy").policy
}
