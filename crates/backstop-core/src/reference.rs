//! The specification in code: a plain, slow evaluator that the engine is compared with.
//!
//! It keeps every event and computes each fact anew by looking through the whole list, as one would
//! with a pencil. It shares the types of events, conditions and policies with the engine, and the
//! leaf algorithms that have references of their own (repetition, expressions), but none of the
//! folding, measuring or bookkeeping. Read it beside sections 3 to 6 of the specification.

use crate::condition::{Condition, Truth};
use crate::event::Event;
use crate::policy::{OnUnknown, Order, Policy, Rule};
use crate::time::{Moment, Timestamp};
use crate::verdict::Verdict;

mod clock;
mod evaluate;
mod history;
mod judges;
mod raises;
mod reasons;
mod view;
mod work;

pub use evaluate::Found;
use history::History;

/// All events of a run, and the policy that they are judged by.
#[derive(Clone, Debug)]
pub struct Reference {
    policy: Policy,
    told: Vec<Told>,
}

/// An event, and when it was told: the time of one that carries none.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) event: Event,
    pub(crate) now: Timestamp,
}

/// What follows from the events at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub verdict: Verdict,
    /// The rule that won, by its place in the effective policy.
    pub rule: Option<usize>,
    pub reason: Option<String>,
    /// Everything that fired, in the order in which it wins; what is only watched comes last.
    pub fired: Vec<Fired>,
    /// What each rule's condition finds.
    pub found: Vec<Found>,
    /// Rules that can't be evaluated.
    pub unknown: Vec<usize>,
}

/// A rule that fired.
#[derive(Clone, Debug, PartialEq)]
pub struct Fired {
    pub rule: usize,
    pub verdict: Verdict,
    pub reason: String,
    pub shadow: bool,
}

impl Reference {
    pub fn new(policy: Policy) -> Self {
        Self { policy, told: Vec::new() }
    }

    /// Takes in an event. `now` stands in for the time of one that carries none.
    pub fn tell(&mut self, event: Event, now: Timestamp) {
        self.told.push(Told { event, now });
    }

    /// Both clocks at a time after the last event.
    pub fn moment(&self, now: Timestamp) -> Moment {
        clock::moment(&self.told, now)
    }

    /// What to do at a moment.
    pub fn decide(&self, now: Moment) -> Answer {
        let history = History::new(&self.told, &self.policy, now);
        let rules: Vec<&Rule> = self.policy.all_rules().collect();
        let conditions = raises::raised(&rules, &history);
        let scene = evaluate::Scene::new(&history, &conditions);
        let found: Vec<Found> =
            conditions.iter().map(|condition| evaluate::find(condition, &scene)).collect();
        let mut fired = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            if let Some(verdict) = self.verdict(rule, found[index].truth, &history) {
                let reason = reasons::of_rule(rule, &conditions[index], &scene);
                fired.push(Fired { rule: index, verdict, reason, shadow: rule.shadow });
            }
        }
        // Sorting keeps the order of declaration among equals.
        fired.sort_by_key(|fired| std::cmp::Reverse(self.rank(fired, rules[fired.rule])));
        let winner = fired.first().filter(|fired| !fired.shadow);
        Answer {
            verdict: winner.map_or(Verdict::Continue, |winner| winner.verdict),
            rule: winner.map(|winner| winner.rule),
            reason: winner.map(|winner| winner.reason.clone()),
            unknown: (0..found.len())
                .filter(|index| found[*index].truth == Truth::Unknown)
                .collect(),
            fired,
            found,
        }
    }

    /// Every time after `now` at which something may change by itself, on each clock: the sum of
    /// each duration in the policy with each point in the list that it may count from.
    pub fn candidates(&self, now: Moment) -> Vec<Moment> {
        let history = History::new(&self.told, &self.policy, now);
        let rules: Vec<&Rule> = self.policy.all_rules().collect();
        let conditions = raises::raised(&rules, &history);
        let mut candidates = Vec::new();
        for condition in &conditions {
            evaluate::candidates(condition, &history, &mut candidates);
        }
        candidates.retain(|candidate| candidate.at > now.at || candidate.active > now.active);
        candidates
    }

    /// What a rule leads to, if it fires.
    fn verdict(&self, rule: &Rule, truth: Truth, history: &History<'_>) -> Option<Verdict> {
        let fires = match (truth, rule.on_unknown) {
            (Truth::Yes, _) | (Truth::Unknown, OnUnknown::Fire) => true,
            (Truth::Unknown, OnUnknown::Hold) => return Some(Verdict::Hold),
            (Truth::Unknown, OnUnknown::Ignore) | (Truth::No, _) => false,
        };
        if !fires {
            return None;
        }
        // Section 10: a full context is met by a fresh start so often, then the run stops; the lack
        // of progress is met by another way once.
        let looks_at = |wanted: fn(&Condition) -> bool| contains(&rule.when, wanted);
        if rule.then == Verdict::Recover
            && looks_at(|part| matches!(part, Condition::ContextUsage(_)))
        {
            let most = self.policy.settings.context_recoveries();
            let recovered = history.context_recoveries();
            return Some(if recovered < most { Verdict::Recover } else { Verdict::Stop });
        }
        if rule.then == Verdict::Recover
            && looks_at(|part| matches!(part, Condition::Stagnation(_)))
            && history.stagnation_recoveries() > 0
        {
            return None;
        }
        Some(rule.then)
    }

    /// Who wins: what is acted on, then the most severe (where that counts), then the priority.
    fn rank(&self, fired: &Fired, rule: &Rule) -> (bool, u8, i32) {
        if fired.shadow {
            return (false, 0, 0);
        }
        let severity = match (self.policy.order, self.policy.stop_on_first) {
            (Order::Severity, false) => severity(fired.verdict),
            (Order::Priority, _) | (Order::Severity, true) => 0,
        };
        (true, severity, rule.priority.unwrap_or_else(|| rule.when.priority()))
    }
}

/// "`fail` and `kill`, then `complete`, then `stop`, then `ask` and `hold`, then `recover` and
/// `retry`, then `warn`".
fn severity(verdict: Verdict) -> u8 {
    let levels: [&[Verdict]; 6] = [
        &[Verdict::Warn],
        &[Verdict::Recover, Verdict::Retry],
        &[Verdict::Ask, Verdict::Hold],
        &[Verdict::Stop],
        &[Verdict::Complete],
        &[Verdict::Fail, Verdict::Kill],
    ];
    (1..).zip(levels).find(|(_, level)| level.contains(&verdict)).map_or(0, |(rank, _)| rank)
}

/// Whether a condition, or one that it is made of, is a wanted one.
fn contains(condition: &Condition, wanted: fn(&Condition) -> bool) -> bool {
    wanted(condition) || condition.parts().iter().any(|part| contains(part, wanted))
}
