//! Which rules begin to warn: that is told once, not with every decision that follows.

use std::collections::BTreeSet;

use backstop_core::decision::{AlsoMet, Decision};
use backstop_core::state::RunStatus;
use backstop_core::verdict::Verdict;

/// The rules that warned at the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warned(BTreeSet<usize>);

impl Warned {
    pub(crate) fn by(decision: &Decision) -> Self {
        Self(warnings(decision).into_iter().map(|(rule, _)| rule).collect())
    }

    /// The rules that warn now and did not before, each as a decision of its own. Of a run that is
    /// about to end, people are told that it ended.
    pub(crate) fn news(&self, decision: &Decision) -> Vec<Decision> {
        if RunStatus::after(decision.verdict).is_halted() {
            return Vec::new();
        }
        let news = warnings(decision).into_iter().filter(|(rule, _)| !self.0.contains(rule));
        news.map(|(_, warning)| warning).collect()
    }
}

fn warnings(decision: &Decision) -> Vec<(usize, Decision)> {
    let mut warnings = Vec::new();
    if let (Verdict::Warn, Some(rule)) = (decision.verdict, &decision.rule) {
        warnings.push((rule.index, decision.clone()));
    }
    let also = decision.also_met.iter();
    let also = also.filter(|also| also.verdict == Verdict::Warn && !also.shadow);
    warnings.extend(also.map(|also| (also.rule, warning(also, decision))));
    warnings
}

/// A rule that warns beside the one that won.
fn warning(also: &AlsoMet, decision: &Decision) -> Decision {
    Decision {
        verdict: also.verdict,
        reason: Some(also.reason.clone()),
        message: also.message.clone(),
        rule: None,
        value: also.value,
        threshold: also.threshold,
        ..decision.clone()
    }
}
