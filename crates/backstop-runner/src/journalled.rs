//! Decisions as the journal keeps them: when one is worth an event, and what the event says.

use backstop_core::condition::{ClockTime, Condition};
use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::{Decided, Event};
use backstop_core::facts::{Facts, Streaks};
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::reason::ReasonCode;
use backstop_core::verdict::Verdict;
use backstop_store::audit::{JsonText, NewAuditRow};
use backstop_store::{DecisionRecord, NewEvent};

use crate::clock::wall_time;
use crate::tree::identity::host;

/// What makes two decisions the same for the journal: verdict, reason, and the rules that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stance {
    verdict: Verdict,
    reason: Option<String>,
    fired: Vec<usize>,
}

impl Stance {
    /// Before anything has happened.
    pub const START: Self = Self { verdict: Verdict::Continue, reason: None, fired: Vec::new() };

    pub fn of(decision: &Decision) -> Self {
        Self {
            verdict: decision.verdict,
            reason: decision.reason.clone(),
            fired: fired(decision).collect(),
        }
    }
}

/// The event that tells of a decision. It names the streaks that the rules which fired read, since
/// those are what an acknowledgement sets back.
pub fn decided(decision: &Decision, policy: &Policy) -> Decided {
    let rules: Vec<_> = policy.all_rules().collect();
    let streaks = fired(decision)
        .filter_map(|index| rules.get(index))
        .fold(Streaks::NONE, |all, rule| all.union(rule.when.streaks()));
    Decided {
        verdict: decision.verdict,
        reason: decision.reason.clone(),
        rule: decision.rule.as_ref().map(|rule| rule.name.clone()),
        message: Some(decision.message.clone()),
        // What no rule of the policy led to stands for what its reason does.
        streaks: decision.rule.is_some().then(|| streaks.names().map(str::to_owned).collect()),
    }
}

/// The whole decision, beside the event with this number.
pub fn record(decision: &Decision, seq: u64) -> DecisionRecord {
    DecisionRecord {
        seq,
        at: decision.decided_at,
        verdict: decision.verdict.as_str().to_owned(),
        reason: decision.reason.clone(),
        policy_hash: decision.policy_hash.clone(),
        body: decision.to_json(),
    }
}

/// The row of a decision that halts or holds a run, for the audit. The journal has everything that
/// it was made from, up to the event with this number.
pub fn audited(decision: &Decision, run: RunId, seq: u64) -> NewAuditRow {
    let rules: Vec<_> = decision.rule.iter().map(|rule| rule.name.as_str()).collect();
    NewAuditRow {
        request_id: format!("{run}/{seq}"),
        decision: decision.verdict.as_str().to_uppercase(),
        reason_code: decision.reason.clone(),
        reasons: JsonText::of(&[&decision.message]),
        recommended_next_step: decision.next_step.as_str().to_uppercase(),
        lawbook_hash: Some(decision.policy_hash.clone()),
        applied_rules: JsonText::of(&rules),
        evidence: JsonText::stored(decision.to_json()),
        created_at: decision.decided_at,
        run: Some(run),
        run_seq: Some(seq),
        actor: format!("backstop on {}", host()),
        ..NewAuditRow::default()
    }
}

/// An event as the store takes it. It must carry its number.
pub fn new_event(event: &Event) -> NewEvent {
    NewEvent {
        seq: event.seq.unwrap_or_default(),
        at: event.at.unwrap_or_else(wall_time),
        kind: event.kind.type_name(),
        body: event.to_json(),
    }
}

/// An engine that goes on with these facts, and reads times of day as this machine does.
pub fn engine(policy: Policy, facts: Facts) -> Engine {
    // Looked up only for policies that name a time of day, since that reads files.
    let zone = if policy.all_rules().any(|rule| names_a_time_of_day(&rule.when)) {
        jiff::tz::TimeZone::system()
    } else {
        jiff::tz::TimeZone::UTC
    };
    Engine::with_facts(policy, facts).in_zone(zone)
}

/// Every rule that fired and counts, the winner first.
fn fired(decision: &Decision) -> impl Iterator<Item = usize> + '_ {
    // Who shuts a machine down has seen nothing of what else had fired.
    let is_seen = decision.reason.as_deref() != Some(ReasonCode::Terminated.as_str());
    let others = decision.also_met.iter().filter(move |other| is_seen && !other.shadow);
    let others = others.map(|other| other.rule);
    decision.rule.iter().map(|rule| rule.index).chain(others)
}

fn names_a_time_of_day(condition: &Condition) -> bool {
    match condition {
        Condition::WallClock(clock) => matches!(clock.at, ClockTime::Daily(_)),
        other => other.parts().iter().any(names_a_time_of_day),
    }
}
