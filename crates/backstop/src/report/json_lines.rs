//! What programs see of a run: one JSON object per line.
//!
//! - Every event of the journal, as it is there; `type` names it.
//! - `{"type":"rule_progress", …}` when a rule's progress has moved by more than 0.001, at most once
//!   a second for each rule.
//! - `{"type":"remark", …}` for what people are told beside the events.
//! - At the end, without a `type`, the object of `state.json`.
//!
//! Neither `rule_progress` nor `remark` is a type of event, so a journal can't hold one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::time::{Moment, Timestamp};
use backstop_runner::report::{Ended, Remark, Reporter, Started, Status};
use serde_json::json;

/// The report for programs.
#[derive(Debug, Default)]
pub struct JsonLines {
    /// What was told of each rule, and when.
    told: BTreeMap<usize, (f64, Timestamp)>,
}

impl JsonLines {
    pub fn new() -> Self {
        Self::default()
    }

    fn moved(&mut self, engine: &Engine, at: Timestamp) -> String {
        let mut lines = String::new();
        for (index, rule) in engine.policy().rules.iter().enumerate() {
            let measure = engine.measure(index);
            let is_new = match self.told.get(&index) {
                None => measure.progress > SMALLEST_MOVE,
                Some((told, when)) => {
                    let moved = (measure.progress - told).abs() > SMALLEST_MOVE;
                    // A clock that was set back must not silence a rule.
                    moved && (at.since(*when) >= PAUSE || at < *when)
                }
            };
            if is_new {
                self.told.insert(index, (measure.progress, at));
                let line = json!({
                    "type": RULE_PROGRESS,
                    "at": at,
                    "rule": index,
                    "name": rule.name(),
                    "progress": measure.progress,
                    "value": measure.value,
                    "threshold": measure.threshold,
                });
                let _ = writeln!(lines, "{line}");
            }
        }
        lines
    }
}

impl Reporter for JsonLines {
    /// The event `run_started` or `resumed` says it all but what was noticed.
    fn started(&mut self, start: &Started<'_>) -> String {
        start.notes.iter().map(|note| self.remark(&Remark::Note(note.clone()))).collect()
    }

    fn event(&mut self, event: &Event, engine: &Engine) -> String {
        let at = event.at.unwrap_or(engine.view().now.at);
        let line = event.to_json();
        format!("{line}\n{}", self.moved(engine, at))
    }

    fn decided(&mut self, decision: &Decision, engine: &Engine) -> String {
        self.moved(engine, decision.decided_at)
    }

    fn remark(&mut self, remark: &Remark) -> String {
        let (level, message) = match remark {
            Remark::Note(text) => ("note", text),
            Remark::Warning(text) => ("warning", text),
        };
        format!("{}\n", json!({ "type": REMARK, "level": level, "message": message }))
    }

    fn passed(&mut self, now: Moment, engine: &Engine) -> String {
        self.moved(engine, now.at)
    }

    fn wants_time(&self) -> bool {
        true
    }

    fn block(&mut self, _status: &Status<'_>, _columns: usize) -> Vec<String> {
        Vec::new()
    }

    fn annotates(&self) -> bool {
        false
    }

    fn halted(&mut self, end: &Ended<'_>) -> String {
        format!("{}\n", json!(end.state))
    }
}

const RULE_PROGRESS: &str = "rule_progress";
const REMARK: &str = "remark";
const SMALLEST_MOVE: f64 = 0.001;
const PAUSE: Duration = Duration::from_secs(1);
