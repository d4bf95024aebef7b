//! A decision and its grounds.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::reason::{NextStep, ReasonCode};
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// What to do, why, and everything that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub verdict: Verdict,
    /// The reason's code; every verdict but `continue` has one.
    pub reason: Option<String>,
    /// Why, in one sentence.
    pub message: String,
    /// The rule that won.
    pub rule: Option<RuleName>,
    pub value: Option<f64>,
    pub threshold: Option<f64>,
    pub next_step: NextStep,
    /// Every other rule that fired, in the order in which it would have won.
    pub also_met: Vec<AlsoMet>,
    /// How far each rule is.
    pub progress: Vec<RuleProgress>,
    /// Rules whose condition could not be evaluated, and why.
    pub unknown: Vec<UnknownRule>,
    /// How near the run is to its nearest end, from 0 to 1.
    pub overall_progress: f64,
    pub policy_hash: String,
    pub decided_at: Timestamp,
}

impl Decision {
    /// The decision as one line of JSON; the same for the same facts, policy and time.
    pub fn to_json(&self) -> String {
        let mut json = Vec::with_capacity(USUAL_LENGTH);
        serde_json::to_writer(&mut json, self)
            .expect("a decision has only string keys and finite numbers");
        String::from_utf8(json).expect("JSON is text")
    }

    /// Lets a rule win that fired with the same verdict: the one that came first, of two that end a
    /// run.
    pub fn prefer(&mut self, rule: &RuleName, policy: &Policy) {
        let is_it =
            |met: &AlsoMet| met.rule == rule.index && met.verdict == self.verdict && !met.shadow;
        let (Some(place), Some(winner), Some(reason)) =
            (self.also_met.iter().position(is_it), &self.rule, &self.reason)
        else {
            return;
        };
        let beaten = AlsoMet {
            rule: winner.index,
            name: winner.name.clone(),
            verdict: self.verdict,
            reason: reason.clone(),
            message: std::mem::take(&mut self.message),
            value: self.value,
            threshold: self.threshold,
            shadow: false,
        };
        let won = std::mem::replace(&mut self.also_met[place], beaten);
        self.next_step = policy.reason(&won.reason).next_step();
        self.rule = Some(rule.clone());
        self.reason = Some(won.reason);
        self.message = won.message;
        self.value = won.value;
        self.threshold = won.threshold;
    }

    /// The exit code of a command that ends with this decision.
    pub fn exit_code(&self, policy: &Policy) -> u8 {
        match (self.verdict, &self.reason) {
            (Verdict::Continue | Verdict::Warn | Verdict::Complete, _) => 0,
            (_, Some(code)) => policy.reason(code).exit_code(),
            (_, None) => ReasonCode::ConditionMet.reason().exit_code,
        }
    }
}

/// Of a decision about a dozen rules, as JSON.
const USUAL_LENGTH: usize = 2_048;

/// A rule by its place in the effective policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleName {
    pub index: usize,
    pub name: String,
    /// When it is met, in plain words.
    pub when: String,
}

/// A rule that fired and did not win.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlsoMet {
    pub rule: usize,
    pub name: String,
    pub verdict: Verdict,
    pub reason: String,
    pub message: String,
    pub value: Option<f64>,
    pub threshold: Option<f64>,
    /// It is only watched, never acted on.
    pub shadow: bool,
}

/// How far a rule is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleProgress {
    pub rule: usize,
    pub name: Cow<'static, str>,
    pub progress: f64,
    pub met: bool,
    pub note: String,
}

/// A rule that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnknownRule {
    pub rule: usize,
    pub name: String,
    pub why: String,
}
