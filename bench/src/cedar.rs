//! The policy as a Cedar policy set: to go on is permitted unless one of ten rules forbids it.
//!
//! Cedar has whole numbers only and no division, so rates are compared crosswise and money is
//! counted in millionths, which is how its users write such rules.

use std::str::FromStr as _;

use anyhow::{Context as _, bail};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};

use crate::figures::{Figures, Rule};

/// The parsed policies and what stays the same in every request.
#[derive(Debug)]
pub struct Policies {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    principal: EntityUid,
    action: EntityUid,
    resource: EntityUid,
}

impl Policies {
    pub fn parse() -> anyhow::Result<Self> {
        let forbidden = CONDITIONS.iter().map(|condition| {
            format!("forbid(principal, action, resource) when {{ {condition} }};\n")
        });
        let text: String = std::iter::once("permit(principal, action, resource);\n".to_owned())
            .chain(forbidden)
            .collect();
        Ok(Self {
            authorizer: Authorizer::new(),
            policies: PolicySet::from_str(&text).context("cannot parse the Cedar policies")?,
            entities: Entities::empty(),
            principal: EntityUid::from_str(r#"Loop::"agent""#)?,
            action: EntityUid::from_str(r#"Action::"continue""#)?,
            resource: EntityUid::from_str(r#"Run::"run""#)?,
        })
    }

    /// A request about these figures.
    pub fn request(&self, figures: &Figures) -> anyhow::Result<Request> {
        let pairs = [
            ("iterations", figures.iterations),
            ("active_ms", figures.active_ms),
            ("tokens", figures.tokens),
            ("cost_millionths", (figures.cost_usd * 1e6) as u64),
            ("ended", figures.ended),
            ("errored", figures.errored),
            ("consecutive_errors", figures.consecutive_errors),
            ("progress_age_ms", figures.progress_age_ms),
            ("context_used", figures.context_used),
            ("context_limit", figures.context_limit),
            ("units_finished", figures.units_finished),
            ("units_rejected", figures.units_rejected),
            ("cycles", figures.cycles),
            ("improvement_millionths", (figures.improvement * 1e6) as u64),
        ];
        let context = Context::from_pairs(pairs.map(|(name, count)| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            (name.to_owned(), RestrictedExpression::new_long(count))
        }))?;
        let (principal, action) = (self.principal.clone(), self.action.clone());
        Ok(Request::new(principal, action, self.resource.clone(), context, None)?)
    }

    /// The first rule that forbids to go on.
    pub fn decide(&self, request: &Request) -> anyhow::Result<Option<Rule>> {
        let response = self.authorizer.is_authorized(request, &self.policies, &self.entities);
        if let Some(error) = response.diagnostics().errors().next() {
            bail!("a Cedar rule failed: {error}");
        }
        if response.decision() == Decision::Allow {
            return Ok(None);
        }
        // Policies are named `policy0`, `policy1` … as they stand; the first is the permission.
        let numbers = response
            .diagnostics()
            .reason()
            .filter_map(|id| id.to_string().strip_prefix("policy")?.parse::<usize>().ok());
        Ok(numbers.min().map(|number| number - 1))
    }
}

const CONDITIONS: [&str; 10] = [
    "context.iterations >= 100",
    "context.active_ms >= 86400000",
    "context.tokens >= 1000000",
    "context.cost_millionths >= 20000000",
    "context.ended >= 5 && context.errored * 10 >= context.ended * 2",
    "context.consecutive_errors >= 3",
    "context.progress_age_ms >= 1800000",
    "context.context_limit > 0 && context.context_used * 100 >= context.context_limit * 95",
    "context.units_finished >= 1 && context.units_rejected * 10 > context.units_finished * 3",
    "context.cycles >= 5 && context.improvement_millionths < 100000",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_fires_at_its_threshold() {
        let policies = Policies::parse().unwrap();
        let decide =
            |figures: &Figures| policies.decide(&policies.request(figures).unwrap()).unwrap();
        assert_eq!(decide(&Figures::healthy()), None);
        for (rule, figures) in Figures::at_each_threshold().iter().enumerate() {
            assert_eq!(decide(figures), Some(rule));
        }
    }
}
