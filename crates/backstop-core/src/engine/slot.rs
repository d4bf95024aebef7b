//! The ways in which rules can fire, in the order in which they win.

use crate::condition::{Condition, Truth};
use crate::facts::Facts;
use crate::policy::{OnUnknown, Policy, Rule};
use crate::verdict::Verdict;

/// One way in which a rule can fire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) rule: u32,
    pub(super) verdict: Verdict,
    trigger: Trigger,
    /// What can't be evaluated counts as met.
    fires_unknown: bool,
}

/// What makes a rule fire this way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trigger {
    Met,
    /// It can't be evaluated, and that must not be taken for "not met".
    Unknown,
    /// A full context may still be met by a fresh start, so often.
    ContextRecoverable(u64),
    /// A full context has been met by fresh starts often enough.
    ContextExhausted(u64),
    /// Stagnation is met by another way once.
    StagnationRecoverable,
}

impl Slot {
    pub(super) fn fires(&self, truth: Truth, facts: &Facts) -> bool {
        let met = truth == Truth::Yes || (self.fires_unknown && truth == Truth::Unknown);
        match self.trigger {
            Trigger::Met => met,
            Trigger::Unknown => truth == Truth::Unknown,
            Trigger::ContextRecoverable(most) => met && facts.progress.context_recoveries < most,
            Trigger::ContextExhausted(most) => met && facts.progress.context_recoveries >= most,
            Trigger::StagnationRecoverable => met && facts.progress.stagnation_recoveries == 0,
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.trigger == Trigger::Unknown
    }

    pub(super) fn is_exhausted(&self) -> bool {
        matches!(self.trigger, Trigger::ContextExhausted(_))
    }
}

/// Every way in which the policy's rules can fire; the first that does wins.
pub(super) fn in_order(policy: &Policy) -> Vec<Slot> {
    let mut slots = Vec::new();
    for (index, rule) in (0..).zip(policy.all_rules()).filter(|(_, rule)| !rule.shadow) {
        slots.extend(ways(index, rule, policy).into_iter().map(|slot| (slot, rule)));
    }
    slots.sort_by_key(|(slot, rule)| policy.rank(slot.verdict, rule, slot.rule as usize));
    slots.into_iter().map(|(slot, _)| slot).collect()
}

/// The ways in which rules that are only watched would fire, in the order of the rules.
pub(super) fn watched(policy: &Policy) -> Vec<Slot> {
    let rules = (0..).zip(policy.all_rules()).filter(|(_, rule)| rule.shadow);
    rules.flat_map(|(index, rule)| ways(index, rule, policy)).collect()
}

fn ways(index: u32, rule: &Rule, policy: &Policy) -> Vec<Slot> {
    let most = policy.settings.context_recoveries();
    let mut ways = match (rule.then, &rule.when) {
        (Verdict::Recover, when) if reads(when, &|c| matches!(c, Condition::ContextUsage(_))) => {
            vec![
                (Verdict::Recover, Trigger::ContextRecoverable(most)),
                (Verdict::Stop, Trigger::ContextExhausted(most)),
            ]
        }
        (Verdict::Recover, when) if reads(when, &|c| matches!(c, Condition::Stagnation(_))) => {
            vec![(Verdict::Recover, Trigger::StagnationRecoverable)]
        }
        (then, _) => vec![(then, Trigger::Met)],
    };
    if rule.on_unknown == OnUnknown::Hold {
        ways.push((Verdict::Hold, Trigger::Unknown));
    }
    let fires_unknown = rule.on_unknown == OnUnknown::Fire;
    ways.into_iter()
        .map(|(verdict, trigger)| Slot { rule: index, verdict, trigger, fires_unknown })
        .collect()
}

fn reads(when: &Condition, wanted: &dyn Fn(&Condition) -> bool) -> bool {
    wanted(when) || when.parts().iter().any(|part| reads(part, wanted))
}
