//! What the list says of units, tasks, cycles, usage and repetition.

use std::collections::BTreeSet;

use super::history::{History, SeenError};
use crate::event::{
    Context, ErrorCategory, EventKind, Quota, Recovered, RecoveryKind, Tasks, UnitStatus, Usage,
    UsageBasis,
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

    pub(super) fn cost_known(&self) -> bool {
        self.usage().any(|(_, usage)| usage.cost_usd.is_some())
    }

    /// "A meter is silent once an iteration has ended without any `usage`", until one comes. One that
    /// only met a rate limit had nothing to report.
    pub(super) fn are_tokens_silent(&self) -> bool {
        let Some((began, _)) = self.last_metered() else { return false };
        !self.usage().any(|(at, _)| at >= began)
    }

    /// "For cost: `cost_known` false": nobody told it, or only of some of what was used. Live figures
    /// are not the last word, and a cost may be told by itself.
    pub(super) fn is_cost_silent(&self) -> bool {
        let Some((began, end)) = self.last_metered() else { return false };
        let in_it = || self.usage().filter(|(at, _)| (began..end).contains(at)).map(|(_, it)| it);
        let counts = |usage: &Usage| {
            let tokens = [usage.input_tokens, usage.output_tokens];
            let cached = [usage.cache_read_tokens, usage.cache_write_tokens];
            tokens.iter().chain(&cached).any(|tokens| *tokens > 0)
        };
        let is_unpriced = in_it().any(|usage| {
            usage.cost_usd.is_none() && counts(usage) && usage.basis != Some(UsageBasis::Live)
        });
        let is_apart = in_it().any(|usage| usage.cost_usd.is_some() && !counts(usage));
        let is_told = in_it().any(|usage| usage.cost_usd.is_some());
        let is_told_since = self.usage().any(|(at, usage)| at > end && usage.cost_usd.is_some());
        !is_told_since && (!is_told || is_unpriced && !is_apart)
    }

    /// From where to where the last iteration went that had anything to report.
    fn last_metered(&self) -> Option<(usize, usize)> {
        let mut ends = self.ends().rev().skip_while(|(at, _)| self.met_a_rate_limit(*at));
        let (end, _) = ends.next()?;
        Some((ends.next().map_or(0, |(at, _)| at + 1), end))
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

pub(super) fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "shares need no more than 53 bits")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}
