//! What the detector remembers, and how a step changes it.

mod explain;
mod pause;
mod wait;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::cycle::Cycles;
use super::evidence::Excerpt;
use super::reading::Reading;
use super::ring::{CAPACITY, Entry, Ring};
use super::signal::{Thresholds, judge};
use super::sketch::Sketch;
use super::streak::Streak;
use super::{Step, StepKind};
use crate::normalise::{self, Style, digest, key};
use wait::{Wait, percent};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Keys made by other rules cannot be compared with new ones.
    normaliser: u32,
    steps: u64,
    cost_usd: f64,
    batch: Batch,
    /// How long a step of this agent usually takes, in milliseconds; 0 while nobody knows.
    #[serde(default)]
    pace_ms: u64,
    memory: Memory,
    counts: Counts,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Memory {
    ring: Ring,
    sketch: Sketch,
    last: Option<Last>,
    action: Excerpt,
    message: Excerpt,
    message_key: u64,
    #[serde(default)]
    chant: Excerpt,
    error_key: u64,
    declared: Excerpt,
    declared_key: u64,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    pair: Streak,
    action: Streak,
    /// Equal actions that failed.
    failing: Streak,
    /// Failed steps with equal errors.
    error: Streak,
    /// Equal errors that were reported by themselves.
    declared: Streak,
    messages: Streak,
    equal_messages: Streak,
    empties: Streak,
    #[serde(default)]
    chants: Streak,
    compactions: Streak,
    wait: Wait,
    cycles: Cycles,
    score: f64,
    nudged_steps: u32,
    /// The steps that the score is made of, and where the latest of them had its first equal.
    repeated: Streak,
    repeated_first: u64,
    /// The last eight steps, the newest lowest: whether each had been there before.
    seen: u8,
}

/// The action before this one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Last {
    entry: Entry,
    failed: bool,
    active_ms: u64,
    cost_usd: f64,
    /// What the percentages in its result came to.
    #[serde(default)]
    percent: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Batch {
    number: u64,
    turn: Option<u64>,
    active_ms: u64,
    /// The call of this batch that was waiting, and is therefore not among the last steps.
    waited: Option<u64>,
}

impl Batch {
    fn follow(&mut self, step: &Step<'_>) {
        let same_time = self.active_ms == step.active_ms;
        let same = self.turn == step.turn && (step.turn.is_some() || same_time);
        if !same || self.number == 0 {
            self.number = self.number.wrapping_add(1);
            self.waited = None;
        }
        self.turn = step.turn;
        self.active_ms = step.active_ms;
    }
}

impl State {
    pub fn new() -> Self {
        Self {
            normaliser: normalise::VERSION,
            steps: 0,
            cost_usd: 0.0,
            batch: Batch::default(),
            pace_ms: 0,
            memory: Memory::new(),
            counts: Counts::default(),
        }
    }

    pub fn observe(&mut self, step: &Step<'_>) {
        if self.normaliser != normalise::VERSION {
            self.forget();
        }
        self.steps = self.steps.saturating_add(1);
        if step.cost_usd.is_finite() && step.cost_usd >= 0.0 {
            self.cost_usd = step.cost_usd;
        }
        match step.kind {
            StepKind::Action => self.observe_action(step),
            StepKind::Message => self.observe_message(step.action),
            StepKind::Empty => self.counts.empties.extend(self.steps),
            StepKind::Chant => {
                self.counts.chants.extend(self.steps);
                self.memory.chant = Excerpt::new(step.action);
            }
            StepKind::Compaction => self.counts.compactions.extend(self.steps),
            StepKind::User => {}
            StepKind::Person => self.forget(),
        }
    }

    pub fn launched(&mut self) {
        self.counts.messages.clear();
    }

    pub fn observe_error(&mut self, message: &[u8]) {
        let key = key(message, Style::Error);
        // Steps may lie between: only another error, progress or a reset ends the row.
        let same = self.counts.declared.count > 0 && self.memory.declared_key == key;
        self.counts.declared.follow(same, self.steps);
        self.memory.declared_key = key;
        self.memory.declared = Excerpt::new(message);
    }

    pub fn clear_counts(&mut self) {
        self.counts = Counts::default();
        self.counts.cycles.clear(self.steps);
    }

    pub fn forget(&mut self) {
        self.normaliser = normalise::VERSION;
        self.pace_ms = 0;
        self.memory = Memory::new();
        self.clear_counts();
    }

    pub fn reading(&self) -> Reading {
        let counts = &self.counts;
        let mut reading = Reading {
            score: counts.score,
            kind: None,
            nudged_steps: counts.nudged_steps,
            pair_streak: counts.pair.count,
            action_streak: counts.action.count,
            error_streak: counts.failing.count.max(counts.error.count).max(counts.declared.count),
            cycle: counts.cycles.best(&self.memory.ring).0,
            messages: counts.messages.count,
            equal_messages: counts.equal_messages.count,
            empties: counts.empties.count,
            chants: counts.chants.count,
            compactions: counts.compactions.count,
            repeated_share: f64::from(counts.seen.count_ones()) / f64::from(u8::BITS),
            polling: counts.wait.polling(),
            steps: self.steps,
        };
        reading.kind = judge(&reading, &Thresholds::default());
        reading
    }

    fn observe_message(&mut self, text: &[u8]) {
        let message = digest(text, Style::Action);
        if message.length == 0 {
            self.counts.empties.extend(self.steps);
            return;
        }
        let same = self.counts.equal_messages.count > 0 && self.memory.message_key == message.key;
        self.counts.empties.clear();
        self.counts.messages.extend(self.steps);
        self.counts.equal_messages.follow(same, self.steps);
        self.memory.message_key = message.key;
        self.memory.message = Excerpt::new(text);
    }

    fn observe_action(&mut self, step: &Step<'_>) {
        let Some(mut entry) = Entry::of(step) else {
            return;
        };
        let counts = &mut self.counts;
        counts.messages.clear();
        counts.equal_messages.clear();
        counts.empties.clear();
        counts.chants.clear();
        if !step.failed {
            counts.compactions.clear();
        }
        self.batch.follow(step);
        entry.batch = self.batch.number;
        entry.step = self.steps;
        let now = Last {
            entry,
            failed: step.failed,
            active_ms: step.active_ms,
            cost_usd: self.cost_usd,
            percent: step.result.map_or(0.0, percent),
        };
        let before = self.memory.last.replace(now);
        if self.batch.waited == Some(entry.pair) || self.memory.in_batch(before, &entry) {
            return;
        }
        let same_action = before.filter(|last| last.entry.action == entry.action);
        let same_pair = same_action.filter(|last| last.entry.pair == entry.pair);
        // Only what repeats is ever shown, and most actions are new.
        if same_action.is_some() {
            self.memory.action = Excerpt::new(step.action);
        }
        let gap = before
            .filter(|last| last.entry.batch != entry.batch)
            .map(|last| step.active_ms.saturating_sub(last.active_ms));
        // Asking the same again after a pause is waiting, not repeating. Agents are slow: a pause is
        // longer than the time that they take for anything. A failure is not waited for.
        let pause = PAUSE_MS.max(self.pace_ms.saturating_mul(2));
        // Without times, an action that pauses by itself is as good, as long as something moves.
        let waited = !step.failed
            && same_action.is_some()
            && (gap.is_some_and(|gap| gap >= pause)
                || (same_pair.is_none() && pause::is_in(step.action)));
        if same_action.is_none()
            && let Some(gap) = gap.filter(|gap| *gap > 0)
        {
            self.pace_ms = match self.pace_ms {
                0 => gap,
                pace => pace - pace / 4 + gap.min(pace.saturating_mul(4)) / 4,
            };
        }
        if waited {
            self.batch.waited = Some(entry.pair);
        }
        match same_pair {
            Some(last) if waited || counts.wait.going_on() => {
                counts.wait.go_on(&last, &now);
                if waited {
                    return;
                }
            }
            Some(_) => {}
            None => counts.wait.clear(),
        }
        counts.follow_streaks(&entry, before, step.failed, waited, self.memory.error_key);
        if let Some(error) = entry.error {
            self.memory.error_key = error;
        }
        if waited {
            counts.add_evidence(0.0, entry.step, entry.step);
            return;
        }
        let (weight, first) = self.memory.evidence(&entry);
        counts.add_evidence(weight, entry.step, first);
        let seen = self.memory.has_seen(&entry);
        counts.seen = counts.seen << 1 | u8::from(seen);
        if seen || weight > 0.0 {
            self.memory.action = Excerpt::new(step.action);
        }
        self.memory.remember(entry);
        counts.cycles.follow(&self.memory.ring);
    }
}

impl Counts {
    fn follow_streaks(
        &mut self,
        entry: &Entry,
        before: Option<Last>,
        failed: bool,
        waited: bool,
        error_key: u64,
    ) {
        let step = entry.step;
        let same_action = before.is_some_and(|last| last.entry.action == entry.action);
        let same_pair = before.is_some_and(|last| last.entry.pair == entry.pair);
        // Parallel calls are one decision of the agent's, whatever each of them gave.
        let same_batch = before.is_some_and(|last| last.entry.batch == entry.batch);
        if entry.result_known {
            self.pair.follow(same_pair && self.pair.count > 0, step);
        } else {
            self.pair.clear();
        }
        if waited {
            self.action.restart(step);
        } else if !(same_action && same_batch && self.action.count > 0) {
            self.action.follow(same_action && self.action.count > 0, step);
        }
        if !failed {
            self.failing.clear();
            self.error.clear();
            return;
        }
        if !(same_action && same_batch && self.failing.count > 0) {
            self.failing.follow(same_action && self.failing.count > 0, step);
        }
        let same_error = self.error.count > 0 && entry.error == Some(error_key);
        if entry.error.is_none() {
            self.error.clear();
        } else if !(same_error && same_batch) {
            self.error.follow(same_error, step);
        }
    }

    fn add_evidence(&mut self, weight: f64, step: u64, first: u64) {
        self.score = (self.score + weight - DRIFT).max(0.0);
        self.nudged_steps =
            if self.score >= NUDGE_SCORE { self.nudged_steps.saturating_add(1) } else { 0 };
        if weight > 0.0 {
            self.repeated.extend(step);
            self.repeated_first = first;
        }
        if self.score == 0.0 {
            self.repeated.clear();
        }
    }
}

impl Memory {
    fn new() -> Self {
        Self {
            ring: Ring::new(),
            sketch: Sketch::new(),
            last: None,
            action: Excerpt::EMPTY,
            message: Excerpt::EMPTY,
            message_key: 0,
            chant: Excerpt::EMPTY,
            error_key: 0,
            declared: Excerpt::EMPTY,
            declared_key: 0,
        }
    }

    /// An equal call was already made in the same batch.
    fn in_batch(&self, before: Option<Last>, entry: &Entry) -> bool {
        let same_batch = |other: &&Entry| other.batch == entry.batch;
        let equal = |other: &Entry| other.batch == entry.batch && other.pair == entry.pair;
        // The steps of a batch stand together, so what came before it need not be looked at.
        before.is_some_and(|last| equal(&last.entry))
            || self.ring.recent(CAPACITY).take_while(same_batch).any(equal)
    }

    /// The strongest sign, in the last steps before this batch, that this step is nothing new, and
    /// the step that first showed it. At most 1.
    fn evidence(&self, entry: &Entry) -> (f64, u64) {
        let mut strongest = (0.0, entry.step);
        for other in self.ring.recent(EVIDENCE_STEPS).filter(|other| other.batch != entry.batch) {
            let weight = if entry.result_known && other.pair == entry.pair {
                1.0
            } else if entry.error.is_some() && other.error == entry.error {
                0.7
            } else if entry.result.is_some() && other.result == entry.result {
                0.5
            } else if other.action == entry.action {
                0.4
            } else {
                continue;
            };
            if weight >= strongest.0 {
                strongest = (weight, other.step);
            }
        }
        strongest
    }

    /// The step or its error was there before: among the last ones, or often in the long run.
    fn has_seen(&self, entry: &Entry) -> bool {
        let recently =
            self.ring.recent(CAPACITY).filter(|other| other.batch != entry.batch).any(|other| {
                (entry.result_known && other.pair == entry.pair)
                    || (entry.error.is_some() && other.error == entry.error)
            });
        recently || (entry.result_known && self.sketch.count(entry.pair) >= OFTEN)
    }

    fn remember(&mut self, entry: Entry) {
        self.ring.push(entry);
        if entry.result_known {
            self.sketch.add(entry.pair);
        }
    }
}

impl Entry {
    /// The keys of an action; `None` for one that neither did nor gave anything.
    fn of(step: &Step<'_>) -> Option<Self> {
        let action = digest(step.action, Style::Action);
        let result = step.result.map(|text| digest(text, Style::Observation));
        if action.length == 0 && result.is_none_or(|result| result.length == 0) {
            return None;
        }
        let mut parts = [0; 18];
        parts[..8].copy_from_slice(&action.key.to_le_bytes());
        parts[8..16].copy_from_slice(&result.map_or(0, |result| result.key).to_le_bytes());
        parts[16..].copy_from_slice(&[u8::from(result.is_some()), u8::from(step.failed)]);
        let telling = result.filter(|result| step.failed || result.length >= TELLING_LENGTH);
        Some(Self {
            pair: xxh3_64(&parts),
            action: action.key,
            result: telling.map(|result| result.key),
            error: step
                .result
                .filter(|_| step.failed && result.is_some_and(|result| result.length > 0))
                .map(|text| key(text, Style::Error)),
            result_known: result.is_some(),
            step: 0,
            batch: 0,
        })
    }
}

/// From this pause on, the same action again is waiting.
const PAUSE_MS: u64 = 5_000;
/// What each step takes off the score.
const DRIFT: f64 = 0.25;
const NUDGE_SCORE: f64 = 2.0;
/// How many steps back evidence is looked for.
const EVIDENCE_STEPS: usize = 32;
/// Shorter results ("ok", "file written", nothing at all) are given by many different actions that
/// succeed; that two of them are equal says nothing.
const TELLING_LENGTH: u64 = 128;
/// A count in the sketch that chance alone hardly ever gives.
const OFTEN: u16 = 3;
