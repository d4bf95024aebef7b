//! What adapters tell, as the events of a run: in iterations, and with their times.

use std::time::Duration;

use backstop_adapters::{Heard, Listener, Outcome, Patterns, Record, Translator};
use backstop_core::condition::OutputSource;
use backstop_core::event::{Event, EventKind, IterationFinished, IterationStarted, Quota};
use backstop_core::time::{Timestamp, millis};

use super::trial::{Trial, is_step};

/// Feeds a trial. Every launch is an iteration.
///
/// An event has the time of its record. One without stays without: to the engine it is a step of
/// its own then, neither one of a batch nor one after a pause. Only where a record tells several
/// steps do they get a common time, since they are a batch.
pub struct Feed {
    trial: Trial,
    translator: Translator,
    /// What is looked for in everything that is printed.
    patterns: Patterns,
    /// Records come one by one. Without them, every event stands for itself.
    has_records: bool,
    record: Group,
    /// Records from before the first time: a clock that started now would never come to the past.
    held: Vec<Group>,
    /// The latest time that is known.
    latest: Option<Timestamp>,
    replayed_at: Timestamp,
    /// A record has told its time.
    dated: bool,
    /// How the present launch ended, as far as it has told; none before the first.
    launch: Option<Outcome>,
    launches: u64,
    /// When the iteration began that was delivered last.
    begun: Option<Timestamp>,
    /// The latest time of what was delivered.
    delivered: Option<Timestamp>,
}

/// What one record tells.
#[derive(Default)]
struct Group {
    at: Option<Timestamp>,
    events: Vec<EventKind>,
}

impl Feed {
    /// A feed of the records of a stream.
    pub fn of_records(trial: Trial, replayed_at: Timestamp) -> Self {
        Self {
            translator: Translator::new(trial.policy()),
            patterns: Patterns::new(trial.policy()),
            trial,
            has_records: true,
            record: Group::default(),
            held: Vec::new(),
            latest: None,
            replayed_at,
            dated: false,
            launch: None,
            launches: 0,
            begun: None,
            delivered: None,
        }
    }

    /// A feed of a trajectory, which tells its steps one by one.
    pub fn of_steps(trial: Trial, replayed_at: Timestamp) -> Self {
        Self { has_records: false, ..Self::of_records(trial, replayed_at) }
    }

    /// Nobody's own words can be told in it, as in the output of any program.
    #[must_use]
    pub fn unclaimed(self) -> Self {
        Self { patterns: self.patterns.unclaimed(), ..self }
    }

    /// A record was printed, and the adapter has read it.
    pub fn printed(&mut self, record: Record<'_>) {
        if self.patterns.are_wanted_in(OutputSource::Any) {
            let text = match record {
                Record::Json(bytes) => String::from_utf8_lossy(bytes),
                Record::Text(text) => text.into(),
            };
            self.look_for_patterns(&text);
        }
        self.end_record();
        self.record.at = None;
    }

    /// The time of the latest record that told one; where none did, the present.
    pub fn now(&self) -> Timestamp {
        self.latest.unwrap_or(self.replayed_at)
    }

    /// Whether a record has told one.
    pub fn has_time(&self) -> bool {
        self.dated
    }

    /// Everything was read, and the last launch ended so.
    pub fn finish(mut self, outcome: Outcome) -> Trial {
        if self.launch.is_none() {
            self.launched();
        }
        self.end_launch(Some(outcome));
        self.end_record();
        self.release();
        self.trial.outcome = outcome;
        self.trial
    }

    fn launched(&mut self) {
        // What stands for itself has the next launch's time already, and the last one ended before.
        let begins_at = self.record.at;
        if !self.has_records {
            self.record.at = self.latest;
        }
        self.end_launch(None);
        self.record.at = begins_at;
        self.patterns.begin();
        self.launches += 1;
        self.launch = Some(Outcome::CutOff);
        self.push(IterationStarted { iteration: Some(self.launches) }.into());
    }

    fn end_launch(&mut self, outcome: Option<Outcome>) {
        let Some(told) = self.launch else { return };
        let end = IterationFinished {
            iteration: Some(self.launches),
            exit_code: outcome.unwrap_or(told).exit_code(),
            ..IterationFinished::default()
        };
        self.push(end.into());
    }

    fn push(&mut self, event: EventKind) {
        self.record.events.push(event);
        if !self.has_records {
            self.end_record();
        }
    }

    fn look_for_patterns(&mut self, text: &str) {
        for matched in self.patterns.find(OutputSource::Any, text) {
            self.push(matched.into());
        }
    }

    fn end_record(&mut self) {
        let at = self.record.at;
        self.latest = self.latest.max(at);
        let group = Group { at, events: std::mem::take(&mut self.record.events) };
        if self.latest.is_none() && self.held.len() < MOST_HELD {
            if !group.events.is_empty() {
                self.held.push(group);
            }
            return;
        }
        self.release();
        self.deliver(group);
    }

    fn release(&mut self) {
        for group in std::mem::take(&mut self.held) {
            self.deliver(group);
        }
    }

    fn deliver(&mut self, group: Group) {
        let is_batch = group.events.iter().filter(|event| is_step(event)).count() > 1;
        let at = match group.at {
            None if is_batch => {
                let next = self.now().plus(Duration::from_millis(1));
                self.latest = Some(next);
                Some(next)
            }
            at => at,
        };
        let before = self.delivered;
        let starts = |event: &EventKind| matches!(event, EventKind::IterationStarted(_));
        let next_launch = group.events.iter().position(starts).filter(|_| before.is_some());
        for (place, kind) in group.events.into_iter().enumerate() {
            // The time between two launches is nobody's: one ends when it said its last word.
            let is_of_last = next_launch.is_some_and(|start| place < start);
            let at = if is_of_last { before } else { at };
            let kind = self.timed(kind, at);
            let mut event = Event { at, ..Event::new(kind) };
            if next_launch == Some(place) && at.is_some() {
                event.active_ms = Some(self.trial.used().active_ms);
            }
            self.trial.take(&event, at.unwrap_or_else(|| self.now()));
        }
        self.delivered = self.delivered.max(at);
    }

    /// What depends on the time is known when events are delivered: how long an iteration took, and
    /// whether a window of the plan may have been reset since it was told.
    fn timed(&mut self, kind: EventKind, at: Option<Timestamp>) -> EventKind {
        match kind {
            EventKind::IterationStarted(start) => {
                self.begun = at.or(self.latest);
                start.into()
            }
            EventKind::IterationFinished(mut end) => {
                if let (Some(begun), Some(ended)) = (self.begun, at.or(self.latest)) {
                    end.duration_ms = millis(ended.since(begun));
                }
                end.into()
            }
            // It was open when it was told. Where no record has a time, that was before the reset and
            // stays so: the present, which stands in for the time, says nothing of it.
            EventKind::Quota(quota) if !self.dated => {
                let now = self.now();
                Quota { resets_at: quota.resets_at.filter(|reset| *reset > now), ..quota }.into()
            }
            kind => kind,
        }
    }
}

impl Listener for Feed {
    fn hear(&mut self, heard: Heard<'_>) {
        match &heard {
            Heard::At(at) => {
                self.record.at = Some(*at);
                self.dated = true;
            }
            Heard::Launched => self.launched(),
            Heard::Ended(outcome) => {
                self.launch = self.launch.map(|_| *outcome);
            }
            Heard::Said(_, words) if !self.has_records => self.look_for_patterns(words),
            _ => {}
        }
        for event in self.translator.events(heard) {
            if self.launch.is_none() {
                self.launched();
            }
            self.push(event);
        }
    }
}

/// So many records may come before one that tells a time.
const MOST_HELD: usize = 1_000;
