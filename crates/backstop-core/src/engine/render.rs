//! From what fired to a decision in words.

use super::{Engine, Slot};
use crate::decision::{AlsoMet, Decision, RuleName, RuleProgress, UnknownRule};
use crate::policy::{Dialect, Rule};
use crate::reason::{NextStep, ReasonCode};
use crate::verdict::Verdict;

pub(super) fn decision(engine: &Engine) -> Decision {
    let rules: Vec<&Rule> = engine.policy.all_rules().collect();
    let beaten = engine.fired.iter().skip(1).map(|position| engine.slots[position]);
    let mut also_met: Vec<_> = beaten.map(|slot| also_met(engine, &rules, slot)).collect();
    also_met.extend(shadows(engine, &rules));
    Decision {
        also_met,
        progress: progress(engine, &rules),
        unknown: unknown(engine, &rules),
        overall_progress: overall(engine, &rules),
        ..winner(engine)
    }
}

/// The rule that wins and nothing of the others.
pub(super) fn winner(engine: &Engine) -> Decision {
    let decided = Decision {
        verdict: Verdict::Continue,
        reason: None,
        message: "No rule is met".to_owned(),
        rule: None,
        value: None,
        threshold: None,
        next_step: NextStep::Prompt,
        also_met: Vec::new(),
        progress: Vec::new(),
        unknown: Vec::new(),
        overall_progress: 0.0,
        policy_hash: engine.policy_hash.clone(),
        decided_at: engine.now.at,
    };
    match engine.fired.least() {
        Some(position) => won(engine, engine.slots[position], decided),
        None => decided,
    }
}

/// The decision for a rule that has not fired, and whose time is foreseen to come.
pub(super) fn foreseen(engine: &Engine, rule: usize, message: String) -> Decision {
    let slot = engine.slots[engine.slots_of_rule[rule][0] as usize];
    Decision { message, ..won(engine, slot, decision(engine)) }
}

fn won(engine: &Engine, slot: Slot, decided: Decision) -> Decision {
    let index = slot.rule as usize;
    let Some(rule) = engine.policy.all_rules().nth(index) else { return decided };
    let measure = engine.measure(index);
    let code = reason(engine, rule, index);
    Decision {
        verdict: slot.verdict,
        next_step: engine.policy.reason(&code).next_step(),
        message: message(engine, rule, slot),
        rule: Some(RuleName {
            index,
            name: rule.name().to_owned(),
            when: engine.conditions[index].describe(),
        }),
        value: measure.value,
        threshold: measure.threshold,
        reason: Some(code),
        ..decided
    }
}

fn also_met(engine: &Engine, rules: &[&Rule], slot: Slot) -> AlsoMet {
    let index = slot.rule as usize;
    let measure = engine.measure(index);
    AlsoMet {
        rule: index,
        name: rules[index].name().to_owned(),
        verdict: slot.verdict,
        reason: reason(engine, rules[index], index),
        message: message(engine, rules[index], slot),
        value: measure.value,
        threshold: measure.threshold,
        shadow: false,
    }
}

/// Rules that are only watched and would have fired.
fn shadows<'a>(engine: &'a Engine, rules: &'a [&'a Rule]) -> impl Iterator<Item = AlsoMet> + 'a {
    let fires = |slot: &Slot| slot.fires(engine.measure(slot.rule as usize).truth, &engine.facts);
    let fired = engine.watched.iter().copied().filter(fires);
    fired.map(|slot| AlsoMet { shadow: true, ..also_met(engine, rules, slot) })
}

/// Rules that follow from settings are listed only when they say something.
fn progress(engine: &Engine, rules: &[&Rule]) -> Vec<RuleProgress> {
    let written = engine.policy.rules.len();
    let measured =
        rules.iter().enumerate().map(|(index, rule)| (index, rule, engine.measure(index)));
    let listed = measured
        .filter(|(index, _, measure)| *index < written || measure.truth.is_met())
        .map(|(index, rule, measure)| RuleProgress {
            rule: index,
            name: match &rule.name {
                Some(name) => name.clone().into(),
                None => rule.when.type_name().into(),
            },
            progress: measure.progress,
            met: measure.truth.is_met(),
            note: note(engine, index),
        });
    let mut progress = Vec::with_capacity(rules.len());
    progress.extend(listed);
    progress
}

fn unknown(engine: &Engine, rules: &[&Rule]) -> Vec<UnknownRule> {
    let measured =
        rules.iter().enumerate().map(|(index, rule)| (index, rule, engine.measure(index)));
    measured
        .filter(|(_, _, measure)| !measure.truth.is_known())
        .map(|(rule, named, _)| UnknownRule {
            rule,
            name: named.name().to_owned(),
            why: note(engine, rule),
        })
        .collect()
}

fn overall(engine: &Engine, rules: &[&Rule]) -> f64 {
    let acted_on = rules.iter().enumerate().filter(|(_, rule)| !rule.shadow);
    acted_on.map(|(index, _)| engine.measure(index).progress).fold(0.0, f64::max)
}

fn reason(engine: &Engine, rule: &Rule, index: usize) -> String {
    // The condition is the engine's, with raised limits; the code is the rule's where it has one.
    match (&rule.reason, rule.then) {
        (Some(code), _) => code.clone(),
        (None, Verdict::Complete) => ReasonCode::Completed.as_str().to_owned(),
        (None, then) => {
            let code = engine.conditions[index].reason(&engine.scene());
            let in_failure_set =
                then == Verdict::Fail && engine.policy.dialect == Some(Dialect::Loop);
            match code {
                ReasonCode::ConditionMet if in_failure_set => {
                    ReasonCode::FailureCondition.as_str().to_owned()
                }
                code => code.as_str().to_owned(),
            }
        }
    }
}

fn message(engine: &Engine, rule: &Rule, slot: Slot) -> String {
    let index = slot.rule as usize;
    if slot.is_exhausted() {
        let recoveries = engine.facts.progress.context_recoveries;
        return format!("{} after {recoveries} fresh starts", note(engine, index));
    }
    match &rule.message {
        Some(own) if !slot.is_unknown() => own.clone(),
        _ => note(engine, index),
    }
}

fn note(engine: &Engine, index: usize) -> String {
    engine.conditions[index].note(&engine.scene())
}
