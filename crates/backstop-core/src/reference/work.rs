//! What the list says of units, tasks, cycles, usage and repetition.

use std::collections::BTreeSet;

use super::history::{History, SeenError, acknowledges};
use crate::event::{
    Context, ErrorCategory, EventKind, Quota, Recovered, RecoveryKind, Signal, SignalKind, Tasks,
    UnitStatus, Usage, UsageBasis,
};
use crate::repetition::{Detector, Reading, Step, StepKind};
use crate::time::millis;

/// A unit of work as it stands.
#[derive(Debug)]
pub(super) struct UnitNow {
    pub(super) status: UnitStatus,
    pub(super) attempts: u64,
}

impl UnitNow {
    pub(super) fn is_finished(&self) -> bool {
        self.status == UnitStatus::Approved || self.is_unsuccessful()
    }

    pub(super) fn is_unsuccessful(&self) -> bool {
        matches!(self.status, UnitStatus::Rejected | UnitStatus::Failed)
    }
}

impl History<'_> {
    // --- Units ---

    pub(super) fn units(&self) -> Vec<UnitNow> {
        let changes: Vec<_> = self
            .events()
            .filter_map(|(_, kind)| match kind {
                EventKind::Unit(unit) => Some(unit),
                _ => None,
            })
            .collect();
        let ids: BTreeSet<&str> = changes.iter().map(|unit| unit.id.as_str()).collect();
        let mut units = Vec::new();
        for id in ids {
            let own: Vec<_> = changes.iter().filter(|unit| unit.id == id).collect();
            // A total so far can't shrink; a unit that has begun was attempted.
            let attempts = own.iter().map(|unit| match (unit.attempts, unit.status) {
                (Some(attempts), _) => attempts,
                (None, UnitStatus::Pending) => 0,
                (None, _) => 1,
            });
            if let Some(last) = own.last() {
                let attempts = attempts.max().unwrap_or(0);
                units.push(UnitNow { status: last.status, attempts });
            }
        }
        units
    }

    pub(super) fn attempts(&self) -> u64 {
        self.units().iter().fold(0, |sum: u64, unit| sum.saturating_add(unit.attempts))
    }

    pub(super) fn units_with(&self, status: UnitStatus) -> u64 {
        self.units().iter().filter(|unit| unit.status == status).count() as u64
    }

    pub(super) fn units_attempted(&self) -> u64 {
        self.units().iter().filter(|unit| unit.attempts > 0).count() as u64
    }

    pub(super) fn units_total(&self) -> u64 {
        let started = self.events().rev().find_map(|(_, kind)| match kind {
            EventKind::RunStarted(started) => Some(started.total_units),
            _ => None,
        });
        started.flatten().unwrap_or_else(|| self.units_attempted())
    }

    /// Units that finished, unsuccessfully, and with more than one attempt.
    pub(super) fn finished_units(&self) -> (u64, u64, u64) {
        let finished: Vec<_> = self.units().into_iter().filter(|unit| unit.is_finished()).collect();
        let unsuccessful = finished.iter().filter(|unit| unit.is_unsuccessful()).count();
        let retried = finished.iter().filter(|unit| unit.attempts > 1).count();
        (finished.len() as u64, unsuccessful as u64, retried as u64)
    }

    /// Different units in a row that ended rejected or failed; an approval ends the row.
    pub(super) fn consecutive_fails(&self) -> u64 {
        let acknowledged = self.counts_from("consecutive_fails", self.told.len());
        let from = self.last_approval().map_or(0, |at| at + 1).max(acknowledged);
        let failed: BTreeSet<&str> = self
            .events_from(from)
            .filter_map(|(_, kind)| match kind {
                EventKind::Unit(unit)
                    if matches!(unit.status, UnitStatus::Rejected | UnitStatus::Failed) =>
                {
                    Some(unit.id.as_str())
                }
                _ => None,
            })
            .collect();
        failed.len() as u64
    }

    /// Units where units are reported, else iterations: how many ended, and how many in error.
    pub(super) fn ended_and_errored(&self) -> (u64, u64) {
        if self.units().is_empty() {
            (self.iterations(), self.iterations_errored())
        } else {
            let (finished, unsuccessful, _) = self.finished_units();
            (finished, unsuccessful)
        }
    }

    pub(super) fn error_rate(&self) -> f64 {
        let (ended, errored) = self.ended_and_errored();
        rate(errored, ended)
    }

    // --- Tasks and cycles ---

    pub(super) fn tasks(&self) -> Option<&Tasks> {
        self.events().rev().find_map(|(_, kind)| match kind {
            EventKind::Tasks(tasks) => Some(tasks),
            _ => None,
        })
    }

    pub(super) fn cycles(&self) -> u64 {
        self.events().filter(|(_, kind)| matches!(kind, EventKind::Cycle(_))).count() as u64
    }

    /// Section 9.2: "the mean over the metrics present in both cycles of (now − before) /
    /// |before|; a metric that was 0 counts 1 if it rose, else 0".
    pub(super) fn improvement(&self) -> Option<f64> {
        let mut cycles = self.events().rev().filter_map(|(_, kind)| match kind {
            EventKind::Cycle(cycle) => Some(&cycle.metrics),
            _ => None,
        });
        let (last, before) = (cycles.next()?, cycles.next()?);
        let mut gains = Vec::new();
        for (name, now) in last {
            match before.get(name) {
                Some(0.0) => gains.push(if *now > 0.0 { 1.0 } else { 0.0 }),
                Some(before) => {
                    gains.push(((now - before) / before.abs()).clamp(f64::MIN, f64::MAX));
                }
                None => {}
            }
        }
        let count = number(gains.len() as u64);
        (!gains.is_empty()).then(|| gains.iter().map(|gain| gain / count).sum())
    }

    // --- Usage ---

    pub(super) fn usage(&self) -> impl DoubleEndedIterator<Item = (usize, &Usage)> {
        self.events().filter_map(|(at, kind)| match kind {
            EventKind::Usage(usage) => Some((at, usage)),
            _ => None,
        })
    }

    /// What is spent before a position: all but the live figures that final ones have replaced,
    /// which only happens inside one iteration.
    fn spent_before(&self, position: usize) -> impl Iterator<Item = &Usage> {
        let counts = move |at: usize, usage: &Usage| {
            let replaced = self
                .events_from(at + 1)
                .take_while(|(at, _)| *at < position)
                .take_while(|(_, kind)| !matches!(kind, EventKind::IterationStarted(_)))
                .any(|(_, kind)| {
                    matches!(kind, EventKind::Usage(usage) if usage.basis == Some(UsageBasis::Final))
                });
            usage.basis != Some(UsageBasis::Live) || !replaced
        };
        self.usage()
            .filter(move |(at, usage)| *at < position && counts(*at, usage))
            .map(|(_, usage)| usage)
    }

    pub(super) fn sum(&self, tokens: fn(&Usage) -> u64) -> u64 {
        self.spent_before(self.told.len())
            .fold(0, |sum: u64, usage| sum.saturating_add(tokens(usage)))
    }

    /// "input + output + cache_write", and cache reads "only where a condition says so".
    pub(super) fn tokens(&self, cache_reads: bool) -> u64 {
        let counted = [
            self.sum(|usage| usage.input_tokens),
            self.sum(|usage| usage.output_tokens),
            self.sum(|usage| usage.cache_write_tokens),
            if cache_reads { self.sum(|usage| usage.cache_read_tokens) } else { 0 },
        ];
        counted.into_iter().fold(0, u64::saturating_add)
    }

    /// Dollars spent before a position, counted in billionths so that ten times ten cents are one.
    fn cost_before(&self, position: usize) -> f64 {
        let spent = self.spent_before(position);
        let billionths = spent.filter_map(|usage| usage.cost_usd).fold(0_u64, |sum, cost| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "amounts are not negative, and one that is too large is held at the largest"
            )]
            let cost = (cost * 1e9).round() as u64;
            sum.saturating_add(cost)
        });
        number(billionths) / 1e9
    }

    pub(super) fn cost_usd(&self) -> f64 {
        self.cost_before(self.told.len())
    }

    /// All of it is: somebody told a cost, and no iteration used tokens that have none.
    pub(super) fn cost_known(&self) -> bool {
        let is_told = self.usage().any(|(_, usage)| usage.cost_usd.is_some());
        let mut borders = self.events().filter(|(_, kind)| {
            matches!(kind, EventKind::IterationStarted(_) | EventKind::IterationFinished(_))
        });
        let is_left_open = borders.any(|(at, kind)| match kind {
            EventKind::IterationFinished(_) => self.is_unpriced(at) || self.is_cut_off(at),
            _ => self.is_cut_off(at),
        });
        is_told && !is_left_open
    }

    /// "A meter is silent once an iteration has ended without any `usage`", until one comes. One
    /// that only met a rate limit had nothing to report; one that a passing error has ended may be
    /// excused.
    pub(super) fn are_tokens_silent(&self) -> bool {
        let has_told = |end| self.usage_in(end).next().is_some();
        let Some(end) = self.last_heard(|end| !has_told(end)) else { return false };
        !has_told(end) && !self.usage().any(|(at, _)| at > end) && !self.is_stop_seen_after(end)
    }

    /// "For cost: `cost_known` false": nobody told it, or only of some of what was used. Live
    /// figures are not the last word, and a cost may be told by itself.
    pub(super) fn is_cost_silent(&self) -> bool {
        let has_told = |end| self.usage_in(end).any(|usage| usage.cost_usd.is_some());
        let told_nothing = |end| !has_told(end) && !self.usage_in(end).any(has_tokens);
        let Some(end) = self.last_heard(told_nothing) else { return false };
        let is_told_since = self.usage().any(|(at, usage)| at > end && usage.cost_usd.is_some());
        let is_silent = !is_told_since && (!has_told(end) || self.is_unpriced(end));
        is_silent && !self.is_stop_seen_after(end)
    }

    /// Whether a stop has killed the iteration that ended at a position, and a person has let the
    /// run go on since: they know that what was killed could not tell.
    fn is_stop_seen_after(&self, end: usize) -> bool {
        let was_killed = |kind: &EventKind| matches!(kind, EventKind::IterationFinished(end) if end.signal.is_some() && !end.timed_out);
        let stops = |kind: &EventKind| {
            let is_stop =
                |signal: &Signal| matches!(signal.kind, SignalKind::Stop | SignalKind::Kill);
            matches!(kind, EventKind::Signal(signal) if is_stop(signal))
        };
        let mut asked = self.events_from(self.counts_from("signal", end));
        let mut finished = self.events_from(end);
        let mut later = self.events_from(end + 1);
        let is_seen = |at: usize| self.counts_from("signal", at + 1) == at + 1;
        finished.next().is_some_and(|(_, kind)| was_killed(kind))
            && asked.any(|(at, kind)| at < end && stops(kind))
            && later.any(|(at, kind)| acknowledges(kind) && is_seen(at))
    }

    /// The end of the iteration by which a meter is judged: the last one that had anything to
    /// report, without those that a passing error has ended and that told nothing, unless there are
    /// three of them in a row.
    fn last_heard(&self, told_nothing: impl Fn(usize) -> bool) -> Option<usize> {
        let heard = self.ends().rev().filter(|(at, _)| !self.met_a_rate_limit(*at));
        let heard: Vec<_> = heard.collect();
        let excused = heard
            .iter()
            .take_while(|(at, end)| self.was_interrupted(*at, end) && told_nothing(*at))
            .count();
        let judged = if excused > 2 { 0 } else { excused };
        heard.get(judged).map(|(at, _)| *at)
    }

    /// What was told since the iteration before the one that ends at a position had ended.
    fn usage_in(&self, end: usize) -> impl Iterator<Item = &Usage> {
        let before = self.ends().rev().find(|(at, _)| *at < end);
        let began = before.map_or(0, |(at, _)| at + 1);
        self.usage().filter(move |(at, _)| (began..end).contains(at)).map(|(_, usage)| usage)
    }

    /// Tokens were told for good and no cost, not even by itself.
    fn is_unpriced(&self, end: usize) -> bool {
        let unpriced = |usage: &Usage| {
            usage.cost_usd.is_none() && has_tokens(usage) && usage.basis != Some(UsageBasis::Live)
        };
        let apart = |usage: &Usage| usage.cost_usd.is_some() && !has_tokens(usage);
        self.usage_in(end).any(unpriced) && !self.usage_in(end).any(apart)
    }

    /// Tokens were let be seen before a border, and nothing final or priced came after them.
    fn is_cut_off(&self, border: usize) -> bool {
        let is_border = |kind: &EventKind| {
            matches!(kind, EventKind::IterationStarted(_) | EventKind::IterationFinished(_))
        };
        let before = self.events().take(border).filter(|(_, kind)| is_border(kind)).last();
        let began = before.map_or(0, |(at, _)| at + 1);
        let seen: Vec<_> = self.usage().filter(|(at, _)| (began..border).contains(at)).collect();
        let last = seen.iter().rposition(|(_, usage)| usage.basis == Some(UsageBasis::Final));
        let open = &seen[last.map_or(0, |last| last + 1)..];
        let is_open = open.iter().any(|(_, usage)| {
            usage.basis == Some(UsageBasis::Live) && usage.cost_usd.is_none() && has_tokens(usage)
        });
        is_open && !self.usage_in(border).any(|usage| usage.cost_usd.is_some())
    }

    /// `iteration_started` clears it, and so does a recovery from a full one.
    pub(super) fn context(&self) -> Option<&Context> {
        let mut last =
            self.events_from(self.iteration_from()).rev().filter_map(|(_, kind)| match kind {
                EventKind::Context(context) => Some(Some(context)),
                EventKind::Recovered(Recovered { kind: RecoveryKind::Context, .. }) => Some(None),
                _ => None,
            });
        last.next().flatten()
    }

    pub(super) fn context_share(&self) -> Option<f64> {
        if self.context().is_some_and(|context| context.full) {
            return Some(1.0);
        }
        let context = self.context().filter(|context| context.limit > 0)?;
        Some(number(context.used) / number(context.limit))
    }

    /// What was last said of a usage window.
    pub(super) fn quota(&self, window: &str) -> Option<&Quota> {
        self.events().rev().find_map(|(_, kind)| match kind {
            EventKind::Quota(quota) if quota.window == window => Some(quota),
            _ => None,
        })
    }

    pub(super) fn quota_used(&self, window: &str) -> f64 {
        match self.quota(window) {
            Some(quota) if quota.resets_at.is_none_or(|reset| self.now.at < reset) => quota.used,
            _ => 0.0,
        }
    }

    // --- Repetition ---

    /// What the detector says after everything since the last acknowledgement.
    pub(super) fn repetition(&self) -> Reading {
        let mut detector = Detector::new();
        let errors = self.errors();
        let from = self.counts_from("repetition", self.told.len());
        for (position, kind) in self.events_from(from) {
            if let EventKind::Action(action) = kind {
                let event = &self.told[position].event;
                let timed = event.at.is_some() || event.active_ms.is_some();
                detector.observe(&Step {
                    kind: StepKind::from(action.kind.as_str()),
                    action: action.signature.as_bytes(),
                    result: action.result_signature.as_deref().map(str::as_bytes),
                    failed: action.failed,
                    active_ms: millis(self.moments[position].active),
                    cost_usd: self.cost_before(position),
                    turn: (!timed).then_some(position as u64),
                });
            }
            if matches!(kind, EventKind::IterationStarted(_)) {
                detector.launched();
            }
            let counts = |error: &&SeenError| {
                error.position == position && error.category != ErrorCategory::Transient
            };
            for error in errors.iter().filter(counts) {
                let seen = error.signature.as_ref().unwrap_or(&error.message);
                detector.observe_error(seen.as_bytes());
            }
            if self.is_progress(position) {
                detector.progress();
            }
        }
        detector.reading()
    }
}

fn has_tokens(usage: &Usage) -> bool {
    let tokens = [usage.input_tokens, usage.output_tokens];
    let cached = [usage.cache_read_tokens, usage.cache_write_tokens];
    tokens.iter().chain(&cached).any(|tokens| *tokens > 0)
}

pub(super) fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "shares need no more than 53 bits")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}
