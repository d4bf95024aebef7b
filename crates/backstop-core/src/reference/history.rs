//! The list of events, and what it says of time, acknowledgements, iterations, errors and progress.

use std::time::Duration;

use super::{Told, clock};
use crate::event::{
    Answer, ErrorCategory, EventKind, IterationFinished, ProgressKind, RecoveryKind, SignalKind,
    UnitStatus, WorkerStatus,
};
use crate::facts::Streaks;
use crate::policy::Policy;
use crate::time::{Moment, Timestamp};
use crate::verdict::Verdict;

/// Every event so far, seen at a moment.
#[derive(Debug)]
pub(super) struct History<'a> {
    pub(super) told: &'a [Told],
    pub(super) moments: Vec<Moment>,
    pub(super) now: Moment,
    /// The kinds of progress that count; none: all.
    counted: Option<&'a [ProgressKind]>,
}

/// An error that was reported, or that a bad exit is.
#[derive(Debug)]
pub(super) struct SeenError {
    pub(super) position: usize,
    pub(super) category: ErrorCategory,
    pub(super) message: String,
    pub(super) signature: Option<String>,
}

impl<'a> History<'a> {
    pub(super) fn new(told: &'a [Told], policy: &'a Policy, now: Moment) -> Self {
        let progress = policy.settings.progress.as_ref();
        let counted = progress.and_then(|progress| progress.count.as_ref());
        let counted = counted.map(|kinds| kinds.0.as_slice());
        Self { told, moments: clock::moments(told), now, counted }
    }

    /// The events with their positions.
    pub(super) fn events(&self) -> impl DoubleEndedIterator<Item = (usize, &'a EventKind)> {
        self.told.iter().map(|told| &told.event.kind).enumerate()
    }

    /// The events from a position on.
    pub(super) fn events_from(
        &self,
        position: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a EventKind)> {
        self.events().filter(move |(at, _)| *at >= position)
    }

    pub(super) fn start(&self) -> Timestamp {
        self.moments.first().map_or(self.now.at.minus(self.now.active), |first| first.at)
    }

    // --- Acknowledgements ---

    /// The position from which a streak or an age counts: after the last acknowledgement of it.
    ///
    /// An acknowledgement is of what the decision before it named, and of nothing where that was to
    /// go on or was acknowledged already; where no decision was ever recorded, of everything.
    pub(super) fn counts_from(&self, streak: &str, before: usize) -> usize {
        let mut from = 0;
        let mut recorded = false;
        let mut named: Option<Vec<&str>> = None;
        for (position, kind) in self.events().take(before) {
            match kind {
                EventKind::Decided(decided) => {
                    recorded = true;
                    named = match (decided.verdict, &decided.streaks, &decided.reason) {
                        (Verdict::Continue, _, _) => Some(Vec::new()),
                        (_, Some(names), _) => Some(names.iter().map(String::as_str).collect()),
                        (_, None, Some(code)) => Some(Streaks::of_reason(code).names().collect()),
                        (_, None, None) => None,
                    };
                }
                kind if acknowledges(kind) => {
                    if named.as_ref().is_none_or(|names| names.contains(&streak)) {
                        from = position + 1;
                    }
                    named = recorded.then(Vec::new);
                }
                _ => {}
            }
        }
        from
    }

    // --- Iterations ---

    /// The ends of iterations.
    pub(super) fn ends(&self) -> impl DoubleEndedIterator<Item = (usize, &'a IterationFinished)> {
        self.events().filter_map(|(at, kind)| match kind {
            EventKind::IterationFinished(end) => Some((at, end)),
            _ => None,
        })
    }

    pub(super) fn iterations(&self) -> u64 {
        self.ends().count() as u64
    }

    pub(super) fn exit_code(&self) -> Option<i32> {
        self.ends().next_back()?.1.exit_code
    }

    /// The position from which errors belong to the current or just-ended iteration. Not every
    /// reporter says when one starts; then the end of the one before counts.
    pub(super) fn errors_from(&self) -> usize {
        let border = |kind: &EventKind| {
            matches!(kind, EventKind::IterationStarted(_) | EventKind::IterationFinished(_))
        };
        let borders: Vec<_> = self.events().filter(|(_, kind)| border(kind)).collect();
        let before = match borders.as_slice() {
            [.., (_, EventKind::IterationFinished(_))] => borders.len().checked_sub(2),
            _ => borders.len().checked_sub(1),
        };
        before.map_or(0, |index| borders[index].0 + 1)
    }

    /// The position from which events belong to the current or just-ended iteration.
    pub(super) fn iteration_from(&self) -> usize {
        let started = |kind: &EventKind| matches!(kind, EventKind::IterationStarted(_));
        self.events().rev().find(|(_, kind)| started(kind)).map_or(0, |(at, _)| at + 1)
    }

    /// What happened in the iteration that ends at a position: all since it began, or since the
    /// one before ended.
    fn inside(&self, end: usize) -> impl DoubleEndedIterator<Item = (usize, &'a EventKind)> {
        let border = |kind: &EventKind| {
            matches!(kind, EventKind::IterationStarted(_) | EventKind::IterationFinished(_))
        };
        let from = self
            .events()
            .take(end)
            .filter(|(_, kind)| border(kind))
            .last()
            .map_or(0, |(at, _)| at + 1);
        self.events().filter(move |(at, _)| *at >= from && *at < end)
    }

    /// backstop itself ended this iteration on purpose.
    fn ended_on_purpose(&self, position: usize, end: &IterationFinished) -> bool {
        self.inside(position).any(|(_, kind)| match kind {
            EventKind::Recovered(_) => true,
            EventKind::Signal(signal) => signal.kind != SignalKind::Resume,
            EventKind::Decided(decided) => {
                let goes_on = matches!(
                    decided.verdict,
                    Verdict::Continue | Verdict::Warn | Verdict::Retry | Verdict::Ask
                );
                !goes_on && end.signal.is_some() && !end.timed_out
            }
            _ => false,
        })
    }

    /// A provider's limit says nothing about the work.
    pub(super) fn met_a_rate_limit(&self, end: usize) -> bool {
        let from = self.counts_from("worker", end);
        let mut said =
            self.inside(end).filter(|(at, _)| *at >= from).filter_map(|(_, kind)| match kind {
                EventKind::Worker(worker) => Some(worker.status),
                _ => None,
            });
        said.next_back() == Some(WorkerStatus::RateLimited)
    }

    // --- Errors ---

    /// Every error: those reported, and bad exits of iterations in which none was.
    pub(super) fn errors(&self) -> Vec<SeenError> {
        let mut errors = Vec::new();
        for (position, kind) in self.events() {
            match kind {
                EventKind::ErrorSeen(error) => errors.push(SeenError {
                    position,
                    category: error.category,
                    message: error.message.clone(),
                    signature: error.signature.clone(),
                }),
                EventKind::IterationFinished(end) if self.is_an_error(position, end) => {
                    let message = match (end.timed_out, end.signal) {
                        (true, _) => "timed out".to_owned(),
                        (false, Some(signal)) => format!("killed by signal {signal}"),
                        (false, None) => format!("exit status {}", end.exit_code.unwrap_or(0)),
                    };
                    let category = ErrorCategory::Recoverable;
                    errors.push(SeenError { position, category, message, signature: None });
                }
                _ => {}
            }
        }
        errors
    }

    /// Whether an exit is itself an error.
    fn is_an_error(&self, position: usize, end: &IterationFinished) -> bool {
        ended_badly(end)
            && !self.reported_an_error(position)
            && !self.ended_on_purpose(position, end)
            && !self.met_a_rate_limit(position)
    }

    fn reported_an_error(&self, end: usize) -> bool {
        self.inside(end).any(|(_, kind)| matches!(kind, EventKind::ErrorSeen(_)))
    }

    /// "a success is an approved unit, a `tests` event without failure, a `progress` event, or an
    /// exit 0 without an `error` event"
    fn is_success(&self, position: usize, kind: &EventKind) -> bool {
        match kind {
            EventKind::Unit(_) => self.is_approval(position),
            EventKind::Tests(tests) => super::judges::counts(tests).failed == 0,
            EventKind::Progress(progress) => self.counts(progress.kind),
            EventKind::IterationFinished(end) => {
                !ended_badly(end)
                    && !self.reported_an_error(position)
                    && !self.met_a_rate_limit(position)
            }
            _ => false,
        }
    }

    /// Errors in a row, none of them followed by a success.
    pub(super) fn consecutive_errors(&self) -> u64 {
        let acknowledged = self.counts_from("consecutive_errors", self.told.len());
        let mut successes = self.events().filter(|(at, kind)| self.is_success(*at, kind));
        let from = successes.next_back().map_or(0, |(at, _)| at + 1).max(acknowledged);
        self.errors().iter().filter(|error| error.position >= from).count() as u64
    }

    /// Whether the iteration that ended at a position ended in error.
    pub(super) fn ended_in_error(&self, position: usize, end: &IterationFinished) -> bool {
        if self.ended_on_purpose(position, end) || self.met_a_rate_limit(position) {
            return false;
        }
        let mut errors =
            self.inside(position).filter(|(_, kind)| matches!(kind, EventKind::ErrorSeen(_)));
        let open = errors.next_back().is_some_and(|(error, _)| {
            let acknowledged = self.counts_from("consecutive_errors", position) > error;
            let succeeded =
                self.inside(position).any(|(at, kind)| at > error && self.is_success(at, kind));
            !acknowledged && !succeeded
        });
        ended_badly(end) || open
    }

    /// Whether the iteration that ended at a position ended in an error that passes by itself.
    pub(super) fn was_interrupted(&self, position: usize, end: &IterationFinished) -> bool {
        let last = self.errors().into_iter().rfind(|error| error.position <= position);
        self.ended_in_error(position, end)
            && last.is_some_and(|error| error.category == ErrorCategory::Transient)
    }

    /// The last iteration ended in error.
    pub(super) fn error_now(&self) -> bool {
        self.ends().next_back().is_some_and(|(at, end)| self.ended_in_error(at, end))
    }

    pub(super) fn iterations_errored(&self) -> u64 {
        self.ends().filter(|(at, end)| self.ended_in_error(*at, end)).count() as u64
    }

    // --- Progress ---

    fn counts(&self, kind: ProgressKind) -> bool {
        self.counted.is_none_or(|counted| counted.contains(&kind))
    }

    /// A unit that has just been approved, and was not before.
    fn is_approval(&self, position: usize) -> bool {
        let EventKind::Unit(unit) = &self.told[position].event.kind else { return false };
        let before = self.events().take(position).filter_map(|(_, kind)| match kind {
            EventKind::Unit(other) if other.id == unit.id => Some(other.status),
            _ => None,
        });
        unit.status == UnitStatus::Approved && before.last() != Some(UnitStatus::Approved)
    }

    pub(super) fn is_progress(&self, position: usize) -> bool {
        match &self.told[position].event.kind {
            EventKind::Progress(progress) => self.counts(progress.kind),
            EventKind::Unit(_) => self.is_approval(position),
            EventKind::Tasks(tasks) => {
                let before = self.events().take(position).filter_map(|(_, kind)| match kind {
                    EventKind::Tasks(before) => Some(before.done),
                    _ => None,
                });
                self.counts(ProgressKind::Task)
                    && before.last().is_some_and(|done| tasks.done > done)
            }
            _ => false,
        }
    }

    /// The position of the last approval before another one, for streaks that it ends.
    pub(super) fn last_approval(&self) -> Option<usize> {
        (0..self.told.len()).rfind(|position| self.is_approval(*position))
    }

    fn last_progress(&self) -> Option<usize> {
        (0..self.told.len()).rfind(|position| self.is_progress(*position))
    }

    /// When the work, as a re-run bot sees it, last changed.
    pub(super) fn last_changed_at(&self) -> Option<Timestamp> {
        let changed = self.events().rev().find(
            |(_, kind)| matches!(kind, EventKind::Progress(progress) if self.counts(progress.kind)),
        );
        changed.map(|(at, _)| self.moments[at].at)
    }

    /// Iterations in a row without progress.
    pub(super) fn iterations_since_progress(&self) -> u64 {
        let acknowledged = self.counts_from("no_progress", self.told.len());
        let from = self.last_progress().map_or(0, |at| at + 1).max(acknowledged);
        let idle = self.ends().filter(|(at, _)| {
            *at >= from
                && !self.met_a_rate_limit(*at)
                && !self.inside(*at).any(|(inside, _)| self.is_progress(inside))
        });
        idle.count() as u64
    }

    /// The active time from which the age of the last progress counts.
    pub(super) fn progress_active(&self) -> Duration {
        let progress = self.last_progress();
        let acknowledged = self.counts_from("stagnation", self.told.len()).checked_sub(1);
        let since = progress.max(acknowledged);
        since.map_or(Duration::ZERO, |position| self.moments[position].active)
    }

    pub(super) fn progress_age(&self) -> Duration {
        self.now.active.saturating_sub(self.progress_active())
    }

    pub(super) fn context_recoveries(&self) -> u64 {
        self.recoveries(RecoveryKind::Context)
    }

    pub(super) fn stagnation_recoveries(&self) -> u64 {
        self.recoveries(RecoveryKind::Stagnation)
    }

    /// Recoveries since the last progress.
    fn recoveries(&self, wanted: RecoveryKind) -> u64 {
        let from = self.last_progress().map_or(0, |at| at + 1);
        let recovered = self.events_from(from).filter(
            |(_, kind)| matches!(kind, EventKind::Recovered(recovered) if recovered.kind == wanted),
        );
        recovered.count() as u64
    }
}

/// It timed out, died by a signal, or exited non-zero.
fn ended_badly(end: &IterationFinished) -> bool {
    end.timed_out || end.signal.is_some() || end.exit_code.is_some_and(|code| code != 0)
}

/// Whether a person let the run go on. One who answers with abort does not.
pub(super) fn acknowledges(kind: &EventKind) -> bool {
    match kind {
        EventKind::Resumed(_) | EventKind::Released(_) => true,
        EventKind::Answered(answered) => answered.answer != Answer::Abort,
        _ => false,
    }
}
