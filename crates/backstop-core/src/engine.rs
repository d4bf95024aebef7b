//! The engine: events and times go in, decisions and the next time to be asked come out.
//!
//! Four verbs: [`Engine::handle_event`], [`Engine::handle_timeout`], [`Engine::poll_decision`] and
//! [`Engine::poll_timeout`]. Extra calls are harmless. A rule is looked at again only when one of
//! the facts that it reads has changed or its own time has come, so the cost of an event does not
//! depend on how many rules it does not touch.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem;

use jiff::tz::TimeZone;
use xxhash_rust::xxh3::xxh3_64;

use crate::condition::{Condition, Measure, Scene, SilentMeters, Truth};
use crate::decision::Decision;
use crate::event::{Event, EventKind, LimitValue};
use crate::facts::{Facts, HealthLimits, ProgressKinds, View, Watch, bare};
use crate::policy::{Policy, Rule};
use crate::reason;
use crate::time::{Moment, Timestamp, Wake};
use crate::verdict::Verdict;

mod deadlines;
mod marks;
mod preflight;
mod render;
mod slot;

use deadlines::Deadlines;
use marks::Marks;
use slot::Slot;

/// Folds events into facts and decides what they mean under a policy.
#[derive(Clone, Debug)]
pub struct Engine {
    policy: Policy,
    policy_hash: String,
    facts: Facts,
    counted: ProgressKinds,
    meters: SilentMeters,
    zone: TimeZone,
    /// Each rule's condition, with the limits that operators raised.
    conditions: Vec<Condition>,
    limits: HealthLimits,
    measures: Vec<Measure>,
    /// Rules whose progress changes as time passes: theirs is computed when it is asked for.
    moving: Vec<bool>,
    /// The ways in which rules can fire, those that win first.
    slots: Vec<Slot>,
    /// The ways in which rules that are only watched would fire.
    watched: Vec<Slot>,
    slots_of_rule: Vec<Vec<u32>>,
    fired: Marks,
    readers: Vec<Vec<u32>>,
    /// The rules that wait for each key that a probe or matcher may answer with, by the key's hash.
    /// Two keys with one hash cost a needless look, never a missed one.
    readers_of_key: ByKey,
    /// Rules with expressions that read the answers to other rules' questions.
    readers_of_answers: Vec<u32>,
    stale: Vec<u32>,
    is_stale: Marks,
    by_active: Deadlines<std::time::Duration>,
    by_wall: Deadlines<Timestamp>,
    /// Rules whose claim that the work is done was not proven: as if they had not fired.
    refused: Marks,
    now: Moment,
}

/// What to do, without the words: cheap enough to ask after every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub verdict: Verdict,
    /// The rule that won, by its place in the effective policy.
    pub rule: Option<usize>,
}

impl Engine {
    pub fn new(policy: Policy) -> Self {
        Self::with_facts(policy, Facts::default())
    }

    /// Goes on with facts that were saved, or given directly.
    pub fn with_facts(policy: Policy, facts: Facts) -> Self {
        let conditions: Vec<_> = policy.all_rules().map(|rule| rule.when.clone()).collect();
        let rules = conditions.len();
        let slots = slot::in_order(&policy);
        let mut slots_of_rule = vec![Vec::new(); rules];
        for (position, slot) in (0..).zip(&slots) {
            slots_of_rule[slot.rule as usize].push(position);
        }
        let mut engine = Self {
            policy_hash: policy.hash(),
            counted: policy.settings.counted_progress(),
            meters: SilentMeters::Unknown,
            zone: TimeZone::UTC,
            limits: HealthLimits::default(),
            measures: vec![Measure::plain(false); rules],
            moving: conditions.iter().map(Condition::moves).collect(),
            fired: Marks::new(slots.len()),
            slots,
            watched: slot::watched(&policy),
            slots_of_rule,
            readers: readers(&policy),
            readers_of_key: readers_of_key(&conditions),
            readers_of_answers: readers_of_answers(&conditions),
            stale: Vec::with_capacity(rules),
            is_stale: Marks::new(rules),
            by_active: Deadlines::new(rules),
            by_wall: Deadlines::new(rules),
            refused: Marks::new(rules),
            now: Moment::default(),
            policy,
            facts,
            conditions,
        };
        engine.apply_raises();
        engine
    }

    /// Forgets the run and begins anew with these facts, without compiling the policy again.
    pub fn restart(&mut self, facts: Facts) {
        let before = mem::replace(&mut self.facts, facts);
        self.now = Moment::default();
        self.refused = Marks::new(self.conditions.len());
        // Few raise a limit, and to make all conditions anew would cost more than the decision.
        if before.raises.is_empty() && self.facts.raises.is_empty() {
            self.reconsider();
        } else {
            self.apply_raises();
        }
    }

    /// Sets the zone in which clock times such as "07:00" are meant; UTC without it.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Takes what was not reported for nothing used, as for a question about stated facts.
    #[must_use]
    pub fn with_neutral_meters(mut self) -> Self {
        self.meters = SilentMeters::Neutral;
        self
    }

    /// Takes in an event. `now` stands in for the time of one that carries none.
    pub fn handle_event(&mut self, event: &Event, now: Timestamp) {
        let changed = self.facts.fold(event, now, self.counted);
        match &event.kind {
            EventKind::Matched(matched) => {
                // A pattern is looked up as it is, even one that looks like a key.
                let key =
                    if matched.key.is_empty() { &matched.pattern } else { bare(&matched.key) };
                self.mark_key(key);
            }
            EventKind::Probe(probe) => self.mark_key(bare(&probe.key)),
            EventKind::Raised(_) => self.apply_raises(),
            _ => self.mark(changed),
        }
        // Answers are marked by their key, but even an answer can be what begins the run.
        if changed.intersects(Watch::START) {
            self.mark(Watch::START);
        }
    }

    /// Lets time pass. Calling it early or late is harmless.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.now.at = self.now.at.max(now.at);
        self.now.active = self.now.active.max(now.active);
        while let Some(rule) = self.by_active.pop_due(self.now.active) {
            self.mark_rule(rule);
        }
        while let Some(rule) = self.by_wall.pop_due(self.now.at) {
            self.mark_rule(rule);
        }
    }

    /// Looks at every rule again at the next decision. The answer is the same; only its cost is not.
    pub fn reconsider(&mut self) {
        for rule in 0..self.conditions.len() {
            self.mark_rule(u32::try_from(rule).unwrap_or(u32::MAX));
        }
    }

    /// Takes a rule's claim that the work is done for unproven: until claims are admitted again it
    /// is as if the rule had not fired, and the next one wins.
    pub fn refuse_claim(&mut self, rule: usize) {
        if rule < self.conditions.len() {
            self.refused.set(rule, true);
            self.mark_rule(u32::try_from(rule).unwrap_or(u32::MAX));
        }
    }

    /// Lets claims that were refused count again, to be proven anew.
    pub fn admit_claims(&mut self) {
        self.admit(|_, _| true);
    }

    /// Lets one rule count again.
    pub fn admit_claim(&mut self, rule: usize) {
        self.admit(|_, refused| refused == rule);
    }

    /// Whether a rule's condition is met, and nobody has set it aside.
    pub fn counts(&self, rule: usize) -> bool {
        self.measures[rule].truth.is_met() && !self.refused.contains(rule)
    }

    /// Lets claims count again that hold no more: should they hold once more, it is for another
    /// reason. Those that never ceased stay refused.
    pub fn admit_what_ceased(&mut self) {
        self.decide(self.now);
        self.admit(|engine, rule| !engine.measures[rule].truth.is_met());
    }

    fn admit(&mut self, which: impl Fn(&Self, usize) -> bool) {
        let refused: Vec<usize> = self.refused.iter().collect();
        for rule in refused.into_iter().filter(|rule| which(self, *rule)).collect::<Vec<_>>() {
            self.refused.set(rule, false);
            self.mark_rule(u32::try_from(rule).unwrap_or(u32::MAX));
        }
    }

    /// When a rule's answer may change by the time of day alone.
    pub fn wake_of(&self, rule: usize) -> Option<Timestamp> {
        u32::try_from(rule).ok().and_then(|rule| self.by_wall.of(rule))
    }

    /// The ways in which rules fired at the last decision, as numbers that mean nothing else: to
    /// see whether the set has changed.
    pub fn fired(&self) -> impl Iterator<Item = usize> {
        self.fired.iter()
    }

    /// What to do now.
    pub fn decide(&mut self, now: Moment) -> Ruling {
        self.handle_timeout(now);
        while let Some(rule) = self.stale.pop() {
            self.is_stale.set(rule as usize, false);
            self.look_at(rule);
        }
        match self.fired.least().map(|position| self.slots[position]) {
            Some(slot) => Ruling { verdict: slot.verdict, rule: Some(slot.rule as usize) },
            None => Ruling { verdict: Verdict::Continue, rule: None },
        }
    }

    /// What to do now, with its grounds in words.
    pub fn poll_decision(&mut self, now: Moment) -> Decision {
        self.decide(now);
        render::decision(self)
    }

    /// The same for whom only the winner counts: nothing is said of the other rules.
    pub fn poll_winner(&mut self, now: Moment) -> Decision {
        self.decide(now);
        render::winner(self)
    }

    /// When the answer may change by itself, on each clock. Asked before that, no rule that depends
    /// on time alone has changed. Valid until the next event.
    pub fn poll_timeout(&self) -> Wake {
        Wake { at: self.by_wall.soonest(), active: self.by_active.soonest() }
    }

    /// How far a rule is, from 0 to 1, at the time of the last decision.
    pub fn progress(&self, rule: usize) -> f64 {
        self.measure(rule).progress
    }

    /// What a rule's condition finds, at the time of the last decision.
    pub fn measure(&self, rule: usize) -> Measure {
        if self.moving[rule] {
            self.conditions[rule].measure(&self.scene())
        } else {
            self.measures[rule]
        }
    }

    /// A rule's condition, with the limit that operators raised.
    pub fn condition(&self, rule: usize) -> &Condition {
        &self.conditions[rule]
    }

    /// Whether a decision ends the run because of errors in a row while the context is full: that is
    /// met by a fresh start, as often as the policy allows, and not by giving up before.
    pub fn starts_afresh_instead(&self, decision: &Decision) -> bool {
        let row = decision.rule.as_ref().map(|rule| self.condition(rule.index));
        self.facts.is_context_full()
            && decision.verdict == Verdict::Stop
            && matches!(row, Some(Condition::ConsecutiveErrors(_)))
    }

    /// The zone in which clock times such as "07:00" are meant.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn policy_hash(&self) -> &str {
        &self.policy_hash
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Both clocks at a time after the last event, as far as the events tell.
    pub fn moment(&self, now: Timestamp) -> Moment {
        self.facts.moment(now)
    }

    /// The facts by their names, at the time of the last decision.
    pub fn view(&self) -> View<'_> {
        View { facts: &self.facts, now: self.now, limits: self.limits }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            facts: &self.facts,
            now: self.now,
            limits: self.limits,
            meters: self.meters,
            zone: &self.zone,
        }
    }

    /// Evaluates a rule's condition and keeps what follows from it.
    fn look_at(&mut self, rule: u32) {
        let scene = self.scene();
        let condition = &self.conditions[rule as usize];
        let measure = condition.measure(&scene);
        let wake = condition.wake(&scene).after(self.now);
        self.measures[rule as usize] = measure;
        self.by_active.set(rule, wake.active);
        self.by_wall.set(rule, wake.at);
        for position in &self.slots_of_rule[rule as usize] {
            let fires = !self.refused.contains(rule as usize)
                && self.slots[*position as usize].fires(measure.truth, &self.facts);
            self.fired.set(*position as usize, fires);
        }
    }

    fn mark(&mut self, changed: Watch) {
        for group in changed.positions() {
            for position in 0..self.readers[group].len() {
                self.mark_rule(self.readers[group][position]);
            }
        }
    }

    fn mark_key(&mut self, key: &str) {
        let hash = key_hash(key);
        let waiting = self.readers_of_key.get(&hash).map_or(0, Vec::len);
        for position in 0..waiting {
            self.mark_rule(self.readers_of_key[&hash][position]);
        }
        for position in 0..self.readers_of_answers.len() {
            self.mark_rule(self.readers_of_answers[position]);
        }
    }

    fn mark_rule(&mut self, rule: u32) {
        if self.is_stale.insert(rule as usize) {
            self.stale.push(rule);
        }
    }

    /// Works the limits that operators raised into the conditions.
    fn apply_raises(&mut self) {
        for (condition, rule) in self.conditions.iter_mut().zip(self.policy.all_rules()) {
            condition.clone_from(&rule.when);
            for (code, value) in &self.facts.raises {
                match &rule.reason {
                    Some(own) if reason::limit_code(own) == code => condition.raise(*value),
                    Some(_) => {}
                    None => raise_named(condition, code, *value),
                }
            }
        }
        let start = HealthLimits::default();
        self.limits = self.conditions.iter().fold(start, HealthLimits::with);
        self.reconsider();
    }
}

/// Raises the parts of a condition whose own reason has this code.
fn raise_named(condition: &mut Condition, code: &str, value: LimitValue) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter_mut().for_each(|part| raise_named(part, code, value));
        }
        Condition::Not(part) => raise_named(part, code, value),
        leaf => {
            if Rule::new(leaf.clone(), Verdict::Stop).replaces().contains(&code) {
                leaf.raise(value);
            }
        }
    }
}

/// The rules that read each group of facts.
fn readers(policy: &Policy) -> Vec<Vec<u32>> {
    let mut readers = vec![Vec::new(); Watch::GROUPS];
    for (index, rule) in (0..).zip(policy.all_rules()) {
        let mut watches = rule.when.watches();
        if rule.then == Verdict::Recover {
            watches |= Watch::RECOVERIES;
        }
        for group in watches.positions() {
            readers[group].push(index);
        }
    }
    readers
}

/// The rules that wait for an answer by each name.
fn readers_of_key(conditions: &[Condition]) -> ByKey {
    let mut readers = ByKey::default();
    for (index, condition) in (0..).zip(conditions) {
        for name in condition.asked().into_iter().flat_map(Condition::answer_names) {
            readers.entry(key_hash(name)).or_default().push(index);
        }
    }
    readers
}

type ByKey = HashMap<u64, Vec<u32>, BuildHasherDefault<Identity>>;

/// What is looked up is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn key_hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

fn readers_of_answers(conditions: &[Condition]) -> Vec<u32> {
    (0..)
        .zip(conditions)
        .filter(|(_, condition)| condition.reads_all_answers())
        .map(|(index, _)| index)
        .collect()
}

impl Truth {
    /// Whether a rule on it counts as having been evaluated.
    pub(crate) const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }
}
