//! A policy: rules in order, plus settings. What the engine evaluates is always the *effective*
//! one, with presets and limits worked in.

use std::cmp::Reverse;

use serde_json::{Map, Value as Json};

use crate::condition::Condition;
use crate::diagnostic::Diagnostic;
use crate::document::{Syntax, canonical_json, sha256_hex, to_toml};
use crate::facts::{HealthLimits, Watch};
use crate::field::{Record, choices};
use crate::reason::{AnyReason, CustomReason};
use crate::verdict::Verdict;

mod agents;
mod dialect;
pub mod difference;
mod draft;
mod explain;
mod github;
mod guarding;
mod implied;
mod judging;
mod layers;
mod lint;
mod lock_files;
mod notify;
mod preset;
mod raisable;
mod rule;
mod schema;
mod secrets;
mod settings;

pub use crate::field::Command;
pub use agents::{
    AgentName, HookSettings, JsonlSettings, ModelPrice, OnFailure, Price, PriceTable, WaitSettings,
};
pub use dialect::Dialect;
pub use draft::{Limits, Unmetered};
pub use explain::{Explained, explain};
pub use github::{ClassPattern, GithubSettings, LogPattern};
pub use guarding::{Guarded, Lifted};
pub use judging::{DriftSettings, ReviewSettings, ReviewTime, VerifySettings, VerifyTier};
pub use layers::{Flags, Layers};
pub use notify::{GithubUse, NotifySettings, Occasion, Unpostable, VariableName, WebhookUrl};
pub use preset::Preset;
pub use raisable::{LimitKind, Raisable};
pub use rule::{OnUnknown, Rule};
pub use schema::schema;
pub use secrets::{SecretPattern, SecretSettings};
pub use settings::{
    ErrorSettings, GuardSettings, InterventionSettings, LoopSettings, OnTimeout, Permission,
    ProgressSettings, RecoverSettings, Settings, StopSignal, WorkSettings,
};

/// A checked set of rules and settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// A name or version for people.
    pub label: Option<String>,
    /// The older tool whose document this was.
    pub dialect: Option<Dialect>,
    pub order: Order,
    /// Severity does not count: the met rule of the highest priority wins.
    pub stop_on_first: bool,
    /// Written out, in the order in which ties are broken.
    pub rules: Vec<Rule>,
    /// Rules that follow from the settings. They stand behind the others and are not written.
    pub implied: Vec<Rule>,
    pub limits: Limits,
    pub settings: Settings,
    pub reasons: Vec<CustomReason>,
}

/// Who wins when several rules are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The most severe verdict, then the highest priority, then the first declared.
    #[default]
    Severity,
    /// The highest priority, then the first declared.
    Priority,
}

choices! {
    Order {
        "severity" => Severity,
        "priority" => Priority,
    }
}

/// A policy that was loaded, with what is worth saying about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub policy: Policy,
    /// The document is an older tool's, whose users know what it does.
    is_dialect: bool,
    /// What will surprise and was noticed while reading.
    noticed: Vec<Diagnostic>,
    /// What was added for safety, in one sentence each.
    pub notes: Vec<String>,
}

impl Loaded {
    /// What works but will surprise, with its place in the document. Rules are compared with each
    /// other for it, so it is left to those who want to know.
    pub fn lints(&self) -> Vec<Diagnostic> {
        let mut lints = self.noticed.clone();
        lints.extend(lint::check(&self.policy, self.is_dialect));
        in_order(lints)
    }
}

/// A policy that nobody wrote has nothing to surprise its author with.
impl From<Policy> for Loaded {
    fn from(policy: Policy) -> Self {
        let is_dialect = policy.dialect.is_some();
        Self { policy, is_dialect, noticed: Vec::new(), notes: Vec::new() }
    }
}

impl Policy {
    /// Reads a document in the native form or in one of the dialects.
    ///
    /// # Errors
    /// Everything that is wrong with the document, not only the first error.
    pub fn load(bytes: &[u8], syntax: Syntax) -> Result<Loaded, Vec<Diagnostic>> {
        Layers { document: Some((bytes, syntax)), ..Layers::default() }.load()
    }

    /// A built-in rule set as a policy.
    pub fn preset(preset: Preset) -> Self {
        layers::effective(preset.draft(), None, false, &mut Vec::new())
    }

    /// All rules in the order in which ties are broken, those that settings imply last.
    pub fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().chain(&self.implied)
    }

    /// Who wins among rules that fired: the least rank, by verdict, priority and place.
    pub(crate) fn rank(&self, verdict: Verdict, rule: &Rule, place: usize) -> impl Ord + use<> {
        let by_severity = self.order == Order::Severity && !self.stop_on_first;
        let severity = if by_severity { verdict.severity() } else { 0 };
        (Reverse(severity), Reverse(rule.priority()), place)
    }

    /// The policy as a document in the native form. Loading it gives the same policy.
    pub fn to_json(&self) -> Json {
        let mut map = Map::new();
        if let Some(label) = &self.label {
            map.insert("label".to_owned(), label.as_str().into());
        }
        if let Some(dialect) = self.dialect {
            map.insert("dialect".to_owned(), dialect.name().into());
        }
        if self.order != Order::default() {
            map.insert("order".to_owned(), self.order.name().into());
        }
        if self.stop_on_first {
            map.insert("stop_on_first".to_owned(), true.into());
        }
        let mut limits = Map::new();
        self.limits.write_fields(&mut limits);
        if !limits.is_empty() {
            map.insert("limits".to_owned(), limits.into());
        }
        map.insert("rule".to_owned(), self.rules.iter().map(Rule::to_json).collect());
        self.settings.write(&mut map);
        if !self.reasons.is_empty() {
            map.insert("reason".to_owned(), self.reasons.iter().map(reason_json).collect());
        }
        Json::Object(map)
    }

    /// The policy as TOML. Loading it gives the same policy.
    pub fn to_toml(&self) -> String {
        to_toml(&self.to_json())
    }

    /// The same policy with another answer for limits that nobody measures.
    #[must_use]
    pub fn with_unmetered(&self, unmetered: Unmetered) -> Self {
        let mut policy = self.clone();
        policy.limits.unmetered = Some(unmetered);
        for rule in policy.rules.iter_mut().filter(|rule| is_meter(&rule.when)) {
            rule.on_unknown = match unmetered {
                Unmetered::Allow => OnUnknown::Ignore,
                Unmetered::Hold => Rule::default_on_unknown(&rule.when, rule.then),
            };
        }
        policy
    }

    /// The SHA-256 of the policy's canonical JSON: `sha256:` and 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        sha256_hex(&canonical_json(&self.to_json()))
    }

    /// The reason with this code, built in or the policy's own.
    pub fn reason<'a>(&'a self, code: &'a str) -> AnyReason<'a> {
        AnyReason::resolve(code, &self.reasons)
    }

    /// The strictest limits, against which the health is measured.
    pub fn health_limits(&self) -> HealthLimits {
        self.rules.iter().fold(HealthLimits::default(), |limits, rule| limits.with(&rule.when))
    }

    /// The questions that somebody outside must answer by `probe` and `matched` events.
    pub fn asked(&self) -> Vec<&Condition> {
        self.all_rules().flat_map(|rule| rule.when.asked()).collect()
    }

    /// Whether anything wants to know after every iteration of progress, or when files changed last.
    pub fn reads_progress(&self) -> bool {
        let read = Watch::PROGRESS | Watch::RERUN;
        self.settings.progress.is_some()
            || self.all_rules().any(|rule| rule.when.watches().intersects(read))
    }

    /// The rules that time without progress alone can meet, also in the middle of an iteration.
    pub fn standstill_rules(&self) -> Vec<usize> {
        let stands_still =
            |when: &Condition| when.moves() && when.watches().intersects(Watch::PROGRESS);
        let rules = self.all_rules().enumerate();
        rules.filter(|(_, rule)| stands_still(&rule.when)).map(|(index, _)| index).collect()
    }
}

impl HealthLimits {
    /// These limits, tightened by a condition that is one.
    #[must_use]
    pub(crate) fn with(self, when: &Condition) -> Self {
        match when {
            Condition::MaxTokens(limit) => {
                let count = limit.count.0;
                Self { tokens: Some(self.tokens.map_or(count, |known| known.min(count))), ..self }
            }
            Condition::ErrorRate(limit) => {
                let rate = limit.at_least.0;
                Self {
                    error_rate: Some(self.error_rate.map_or(rate, |known| known.min(rate))),
                    ..self
                }
            }
            _ => self,
        }
    }
}

/// Whether one of these rules stands in for another by having its reason.
fn is_replaced(rule: &Rule, by: &[Rule]) -> bool {
    let own = rule.replaces();
    // A rule that is only watched stands in for nobody.
    let mut acting = by.iter().filter(|other| !other.shadow);
    !own.is_empty() && acting.any(|other| other.replaces().iter().any(|code| own.contains(code)))
}

/// Whether something ends the run after a number of iterations or a time.
fn is_bounded(rules: &[Rule]) -> bool {
    fn bounds(when: &Condition) -> bool {
        match when {
            Condition::MaxIterations(_) | Condition::MaxDuration(_) => true,
            Condition::Any(parts) => parts.iter().any(bounds),
            _ => false,
        }
    }
    let ends = |verdict: Verdict| verdict.severity() >= Verdict::Hold.severity();
    rules.iter().any(|rule| !rule.shadow && ends(rule.then) && bounds(&rule.when))
}

/// Whether a condition is unable to answer only where a meter is silent.
fn is_meter(when: &Condition) -> bool {
    match when {
        Condition::MaxTokens(_) | Condition::MaxCost(_) => true,
        _ => {
            let mut unsure = when.parts().iter().filter(|part| part.reads_a_meter()).peekable();
            unsure.peek().is_some() && unsure.all(is_meter)
        }
    }
}

fn reason_json(reason: &CustomReason) -> Json {
    serde_json::json!({
        "code": reason.code,
        "title": reason.title,
        "exit_code": reason.exit_code,
        "diagnosis": reason.diagnosis,
    })
}

/// Findings in the order of the text.
fn in_order(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    findings.sort_by_key(|finding| finding.span.as_ref().map_or(usize::MAX, |span| span.start));
    findings
}
