//! What an adapter told, in a form that tests can compare.

use backstop_core::event::{EventKind, Usage, UsageBasis, WorkerStatus};
use jiff::tz::TimeZone;

use crate::{
    Adapter, Claude, Exit, FaultKind, Framer, Heard, Moment, Outcome, Record, Shown, Voice,
};

/// Everything that was heard, added up as the core adds it up.
#[derive(Debug, Default)]
pub struct Told {
    settled: Usage,
    live: Usage,
    pub launches: usize,
    pub ends: Vec<Outcome>,
    /// Kind, signature and result of each action.
    pub actions: Vec<(String, String, Option<String>)>,
    pub faults: Vec<(FaultKind, String, Option<String>)>,
    pub assistant: Vec<String>,
    pub results: Vec<String>,
    pub contexts: Vec<(u64, u64)>,
    pub quotas: Vec<(String, f64, Option<String>)>,
    pub calls: Vec<String>,
    pub notices: Vec<String>,
    /// What a person is needed for.
    pub blocked: Vec<String>,
    pub outcome: Option<Outcome>,
}

pub fn moment() -> Moment {
    Moment {
        now: "2026-03-09T01:00:00Z".parse().unwrap(),
        zone: TimeZone::UTC,
        is_known: true,
        is_live: false,
        zone_named: |_| None,
    }
}

/// Reads a whole output, in chunks that no line fits.
pub fn told(output: &[u8], exit: Option<i32>) -> Told {
    let mut told = Told::default();
    let mut adapter = Claude::new();
    let mut framer = Framer::new();
    let moment = moment();
    let mut records = |record: Record<'_>| {
        adapter.record(record, &moment, &mut |heard: Heard<'_>| told.hear(heard));
    };
    for chunk in output.chunks(1000) {
        framer.push(chunk, &mut records);
    }
    framer.finish(&mut records);
    let exit = exit.map(|code| Exit { code: Some(code), signal: None });
    let outcome = adapter.finish(exit, &moment, &mut |heard: Heard<'_>| told.hear(heard));
    told.outcome = Some(outcome);
    told
}

impl Told {
    pub fn hear(&mut self, heard: Heard<'_>) {
        match heard {
            Heard::Event(EventKind::Usage(usage)) => {
                if usage.basis == Some(UsageBasis::Final) {
                    self.live = Usage::default();
                    add(&mut self.settled, &usage);
                } else {
                    add(&mut self.live, &usage);
                }
            }
            Heard::Event(EventKind::Context(context)) => {
                self.contexts.push((context.used, context.limit));
            }
            Heard::Event(EventKind::Action(action)) => {
                self.actions.push((action.kind, action.signature, action.result_signature));
            }
            Heard::Event(EventKind::Quota(quota)) => {
                let resets_at = quota.resets_at.map(|at| at.to_string());
                self.quotas.push((quota.window, quota.used, resets_at));
            }
            Heard::Event(EventKind::Worker(worker)) if worker.status == WorkerStatus::Blocked => {
                self.blocked.extend(worker.detail);
            }
            Heard::Event(other) => panic!("unexpected {other:?}"),
            Heard::Fault(fault) => {
                let retry_at = fault.retry_at.map(|at| at.to_string());
                self.faults.push((fault.kind, fault.message, retry_at));
            }
            Heard::Said(Voice::Assistant, text) => self.assistant.push(text.to_owned()),
            Heard::Said(Voice::Result, text) => self.results.push(text.to_owned()),
            Heard::Shown(Shown::Call { tool, what }) => self.calls.push(format!("{tool} {what}")),
            Heard::Shown(Shown::Notice(notice)) => self.notices.push(notice.to_owned()),
            Heard::Shown(_) | Heard::At(_) => {}
            Heard::Launched => {
                let live = std::mem::take(&mut self.live);
                add(&mut self.settled, &live);
                self.launches += 1;
            }
            Heard::Ended(outcome) => self.ends.push(outcome),
        }
    }

    /// Input, output, cache read and cache write.
    pub fn tokens(&self) -> [u64; 4] {
        let mut sum = self.settled.clone();
        add(&mut sum, &self.live);
        [sum.input_tokens, sum.output_tokens, sum.cache_read_tokens, sum.cache_write_tokens]
    }

    pub fn cost(&self) -> Option<f64> {
        self.settled.cost_usd
    }

    pub fn of_kind(&self, kind: &str) -> usize {
        self.actions.iter().filter(|(of, ..)| of == kind).count()
    }

    pub fn fault_kinds(&self) -> Vec<FaultKind> {
        self.faults.iter().map(|(kind, ..)| *kind).collect()
    }
}

fn add(sum: &mut Usage, more: &Usage) {
    sum.input_tokens += more.input_tokens;
    sum.output_tokens += more.output_tokens;
    sum.cache_read_tokens += more.cache_read_tokens;
    sum.cache_write_tokens += more.cache_write_tokens;
    if let Some(cost) = more.cost_usd {
        *sum.cost_usd.get_or_insert(0.0) += cost;
    }
}
