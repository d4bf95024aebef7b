//! A policy in plain words.

use super::{OnUnknown, Policy, Rule};
use crate::condition::Scene;
use crate::facts::Facts;
use crate::verdict::Verdict;

/// One rule in plain words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Explained {
    /// Its own name; none where its condition's type stands for it.
    pub name: Option<String>,
    pub verdict: Verdict,
    /// When it is met: "after 50 iterations".
    pub when: String,
    /// The code of its reason; conditions that depend on the facts name their usual one.
    pub reason: String,
    pub exit_code: u8,
    pub priority: i32,
    /// Whether nobody wrote it: it follows from the settings.
    pub implied: bool,
    pub shadow: bool,
    /// What happens when it can't be evaluated, where that is not nothing.
    pub on_unknown: Option<&'static str>,
}

/// Every rule in the order in which it would win.
pub fn explain(policy: &Policy) -> Vec<Explained> {
    let written = policy.rules.len();
    let mut rules: Vec<(usize, &Rule)> = policy.all_rules().enumerate().collect();
    rules.sort_by_key(|(position, rule)| (rule.shadow, policy.rank(rule.then, rule, *position)));
    let nothing = Facts::default();
    let scene = Scene::neutral(&nothing);
    rules
        .into_iter()
        .map(|(position, rule)| {
            let code = rule.reason_code(&scene);
            Explained {
                name: rule.name.clone(),
                verdict: rule.then,
                when: rule.when.describe(),
                reason: code.to_owned(),
                exit_code: policy.reason(code).exit_code(),
                priority: rule.priority(),
                implied: position >= written,
                shadow: rule.shadow,
                on_unknown: match rule.on_unknown {
                    OnUnknown::Ignore => None,
                    other => Some(other.name()),
                },
            }
        })
        .collect()
}
