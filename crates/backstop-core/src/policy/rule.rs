//! A rule: a condition, the verdict that it leads to, and why.

use serde_json::Value as Json;

use crate::condition::{Condition, Scene};
use crate::diagnostic::Span;
use crate::document::Node;
use crate::event::{ErrorCategory, GuardKind};
use crate::field::{Field, Findings, Text, choices, listed, record, unknown_choice};
use crate::reason::{self, ReasonCode};
use crate::verdict::Verdict;

/// A condition, the verdict that it leads to, a reason and a priority.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub when: Condition,
    pub then: Verdict,
    /// The code of its own reason, built in or the policy's; left out: the condition's.
    pub reason: Option<String>,
    pub priority: Option<i32>,
    pub message: Option<String>,
    pub name: Option<String>,
    pub on_unknown: OnUnknown,
    /// Evaluated, recorded and shown, but never acted on.
    pub shadow: bool,
    /// Where its condition stands in the document; none for rules that no document wrote.
    pub span: Option<Span>,
}

/// What a rule does when its condition can't be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnknown {
    Hold,
    Ignore,
    Fire,
}

choices! {
    OnUnknown {
        "hold" => Hold,
        "ignore" => Ignore,
        "fire" => Fire,
    }
}

impl Rule {
    pub fn new(when: Condition, then: Verdict) -> Self {
        Self {
            when,
            then,
            reason: None,
            priority: None,
            message: None,
            name: None,
            on_unknown: OnUnknown::Ignore,
            shadow: false,
            span: None,
        }
    }

    /// How decisions and explanations call it.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.when.type_name())
    }

    pub fn priority(&self) -> i32 {
        self.priority.unwrap_or_else(|| self.when.priority())
    }

    /// The code of the reason that it gives now.
    pub fn reason_code(&self, scene: &Scene<'_>) -> &str {
        match (&self.reason, self.then) {
            (Some(code), _) => code,
            (None, Verdict::Complete) => ReasonCode::Completed.as_str(),
            (None, _) => self.when.reason(scene).as_str(),
        }
    }

    /// What a user's rule does by default when its condition can't be evaluated: a limit that
    /// can't be measured must not be taken for one that holds.
    pub(crate) fn default_on_unknown(when: &Condition, then: Verdict) -> OnUnknown {
        if then.ends_the_run() && when.reads_a_meter() { OnUnknown::Hold } else { OnUnknown::Ignore }
    }

    /// The codes whose preset and implied rules this one replaces.
    pub(crate) fn replaces(&self) -> Vec<&str> {
        match (&self.reason, self.then) {
            (Some(code), _) => vec![code],
            (None, Verdict::Complete) => vec![ReasonCode::Completed.as_str()],
            (None, _) => standing_reasons(&self.when).into_iter().map(ReasonCode::as_str).collect(),
        }
    }

    /// The rule as it stands in documents.
    pub fn to_json(&self) -> Json {
        let own = (self.on_unknown != Self::default_on_unknown(&self.when, self.then)).then_some(self.on_unknown);
        RuleFields {
            name: self.name.clone().map(Text),
            when: self.when.clone(),
            then: self.then,
            reason: self.reason.clone().map(Text),
            priority: self.priority,
            message: self.message.clone().map(Text),
            on_unknown: own,
            shadow: self.shadow,
        }
        .write()
    }
}

record! {
    /// A rule as documents write it.
    pub struct RuleFields {
        /// How decisions and explanations call it; left out: its condition's type.
        optional name: Text,
        /// The condition.
        required when: Condition,
        /// The verdict that it leads to.
        required then: Verdict,
        /// The reason's code; left out: the condition's own.
        optional reason: Text,
        /// Who wins among rules of the same severity; left out: the condition's own.
        optional priority: i32,
        /// A sentence of one's own instead of the condition's.
        optional message: Text,
        /// What to do when the condition can't be evaluated.
        optional on_unknown: OnUnknown,
        /// Evaluate, record and show the rule, but never act on it.
        default shadow: bool = false,
    }
}

impl Field for Verdict {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let names = Self::OF_RULES.map(Self::as_str);
        let crate::document::Value::String(text) = &node.value else {
            findings.wrong_type(node, key, &format!("one of {}", listed(names.into_iter())));
            return None;
        };
        let verdict = text.parse().ok();
        if verdict.is_none() {
            findings.push(unknown_choice(text, key, &names, node));
        }
        verdict
    }

    fn write(&self) -> Json {
        self.as_str().into()
    }

    fn schema() -> Json {
        serde_json::json!({ "enum": Self::OF_RULES.map(Self::as_str) })
    }
}

/// The reasons that a condition gives whatever the facts are. A composite has none of its own that
/// would stand for another rule's.
fn standing_reasons(when: &Condition) -> Vec<ReasonCode> {
    match when {
        Condition::ConsecutiveErrors(errors) => match errors.category {
            Some(ErrorCategory::Critical) => vec![ReasonCode::CriticalFailure],
            _ => vec![ReasonCode::Error],
        },
        Condition::GuardViolated(guard) => match guard.kind {
            Some(GuardKind::Lockfile) => vec![ReasonCode::LockfileViolation],
            Some(GuardKind::Dirty) => vec![ReasonCode::DirtyWorktree],
            Some(GuardKind::Collision) => vec![ReasonCode::FileCollision],
            Some(GuardKind::Scope | GuardKind::Protected) => vec![ReasonCode::GuardViolation],
            None => vec![
                ReasonCode::GuardViolation,
                ReasonCode::LockfileViolation,
                ReasonCode::DirtyWorktree,
                ReasonCode::FileCollision,
            ],
        },
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Never => Vec::new(),
        leaf => {
            let nothing = crate::facts::Facts::default();
            let scene = Scene::neutral(&nothing);
            match leaf.reason(&scene) {
                ReasonCode::ConditionMet => Vec::new(),
                code => vec![code],
            }
        }
    }
}

/// A code as the registry writes it, where it is built in.
pub(crate) fn canonical_code(code: &str) -> Option<&'static str> {
    reason::find(code).map(ReasonCode::as_str)
}
