//! Both clocks, from the list of events.

use std::time::Duration;

use super::Told;
use crate::event::{EventKind, SignalKind, WorkerStatus};
use crate::time::{Moment, Timestamp};

/// When each event happened. Neither clock goes back, whatever an event says.
pub(super) fn moments(told: &[Told]) -> Vec<Moment> {
    let mut moments: Vec<Moment> = Vec::new();
    for (index, Told { event, now }) in told.iter().enumerate() {
        let said = event.at.unwrap_or(*now);
        let before = moments.last().copied().unwrap_or(Moment { at: said, ..Moment::default() });
        let at = said.max(before.at);
        // Where active time is missing, wall time stands in, without waits and sleep.
        let awake = elapsed(before.at, at, &told[..index]).saturating_add(before.active);
        let slept = match &event.kind {
            EventKind::Suspended(suspended) => Duration::from_millis(suspended.ms),
            _ => Duration::ZERO,
        };
        let active = match event.active_ms {
            Some(active_ms) => Duration::from_millis(active_ms),
            None => awake.saturating_sub(slept),
        };
        moments.push(Moment { at, active: active.max(before.active) });
    }
    moments
}

/// Both clocks at a time after the last event.
pub(super) fn moment(told: &[Told], now: Timestamp) -> Moment {
    match moments(told).last() {
        None => Moment { at: now, active: Duration::ZERO },
        Some(last) => {
            let at = now.max(last.at);
            let active = last.active.saturating_add(elapsed(last.at, at, told));
            Moment { at, active }
        }
    }
}

fn elapsed(from: Timestamp, to: Timestamp, before: &[Told]) -> Duration {
    if is_waiting(before) { Duration::ZERO } else { to.since(from) }
}

/// Whether the run is held, asks, is paused, halted, stopped, or waits for a rate limit.
fn is_waiting(told: &[Told]) -> bool {
    let last = |wanted: Wanted| told.iter().rposition(|told| wanted(&told.event.kind));
    let waits: [(Wanted, Wanted); 6] = [
        (|kind| matches!(kind, EventKind::Held(_)), goes_on),
        (|kind| matches!(kind, EventKind::Asked(_)), |kind| matches!(kind, EventKind::Answered(_))),
        (|kind| matches!(kind, EventKind::Halted(_)), goes_on),
        (|kind| is_signal(kind, SignalKind::Pause), |kind| is_signal(kind, SignalKind::Resume)),
        (is_rate_limited, is_work),
        (|kind| slept(kind) == Some(0), |kind| slept(kind).is_some_and(|ms| ms > 0)),
    ];
    // `None`, never, is less than any position. Letting the run go on ends every wait.
    waits.into_iter().any(|(begins, ends)| last(begins) > last(ends).max(last(goes_on)))
}

type Wanted = fn(&EventKind) -> bool;

fn goes_on(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Released(_) | EventKind::Resumed(_))
}

fn slept(kind: &EventKind) -> Option<u64> {
    if let EventKind::Suspended(suspended) = kind { Some(suspended.ms) } else { None }
}

fn is_signal(kind: &EventKind, wanted: SignalKind) -> bool {
    matches!(kind, EventKind::Signal(signal) if signal.kind == wanted)
}

/// What shows that the worker goes on.
fn is_work(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::IterationStarted(_)
            | EventKind::Unit(_)
            | EventKind::Tests(_)
            | EventKind::Usage(_)
            | EventKind::Context(_)
            | EventKind::Progress(_)
            | EventKind::Tasks(_)
            | EventKind::Cycle(_)
            | EventKind::Action(_)
    )
}

fn is_rate_limited(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Worker(worker) if worker.status == WorkerStatus::RateLimited)
}
