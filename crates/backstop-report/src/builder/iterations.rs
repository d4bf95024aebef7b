//! What became of every iteration.

use backstop_core::event::{Event, EventKind, IterationFinished, IterationStarted};
use backstop_core::facts::Facts;

use crate::bounded::Bounded;
use crate::report::{Iteration, Iterations};

/// The iteration that runs, and those that ended.
#[derive(Clone, Debug)]
pub(super) struct Iterating {
    open: Iteration,
    /// What had been used when it began.
    tokens: u64,
    cost_usd: f64,
    list: Bounded<Iteration>,
    count: u64,
    failed: u64,
    total_ms: u64,
    longest_ms: u64,
}

impl Default for Iterating {
    fn default() -> Self {
        Self {
            open: Iteration::default(),
            tokens: 0,
            cost_usd: 0.0,
            list: Bounded::new(MOST_FIRST, MOST_LAST),
            count: 0,
            failed: 0,
            total_ms: 0,
            longest_ms: 0,
        }
    }
}

impl Iterating {
    /// `facts` have taken the event in.
    pub(super) fn take(&mut self, event: &Event, facts: &Facts) {
        match &event.kind {
            EventKind::IterationStarted(started) => self.started(started, facts),
            EventKind::IterationFinished(end) => self.finished(end, event, facts),
            EventKind::Progress(_) => self.open.progress += 1,
            EventKind::ErrorSeen(_) => self.open.errors += 1,
            EventKind::Tests(_) => self.open.tests = facts.test_counts(),
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Iterations {
        Iterations {
            count: self.count,
            failed: self.failed,
            total_ms: self.total_ms,
            longest_ms: self.longest_ms,
            list: self.list.into_kept(),
        }
    }

    fn started(&mut self, started: &IterationStarted, facts: &Facts) {
        let number = started.iteration.unwrap_or(self.count + 1);
        self.open = Iteration { number, ..Iteration::default() };
        self.tokens = facts.tokens();
        self.cost_usd = facts.cost_usd().unwrap_or(0.0);
    }

    fn finished(&mut self, end: &IterationFinished, event: &Event, facts: &Facts) {
        let open = std::mem::take(&mut self.open);
        let iteration = Iteration {
            number: end.iteration.unwrap_or(open.number.max(self.count + 1)),
            ended_at: event.at,
            exit_code: end.exit_code,
            signal: end.signal,
            timed_out: end.timed_out,
            duration_ms: end.duration_ms,
            tokens: facts.tokens().saturating_sub(self.tokens),
            cost_usd: (facts.cost_usd().unwrap_or(0.0) - self.cost_usd).max(0.0),
            ..open
        };
        self.count += 1;
        self.failed += u64::from(!iteration.went_well());
        self.total_ms = self.total_ms.saturating_add(end.duration_ms);
        self.longest_ms = self.longest_ms.max(end.duration_ms);
        self.list.push(iteration);
    }
}

const MOST_FIRST: usize = 10;
const MOST_LAST: usize = 40;
