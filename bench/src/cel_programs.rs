//! The policy as ten CEL programs, compiled once, over variables that are bound per decision.

use anyhow::{Context as _, anyhow, bail};
use cel::{Context, Program, Value};

use crate::figures::{Figures, Rule};

/// The compiled rules.
#[derive(Debug)]
pub struct Programs {
    programs: Vec<Program>,
}

impl Programs {
    pub fn compile() -> anyhow::Result<Self> {
        let compile = |source: &&str| {
            Program::compile(source).map_err(|error| anyhow!("cannot compile `{source}`: {error}"))
        };
        Ok(Self { programs: SOURCES.iter().map(compile).collect::<anyhow::Result<_>>()? })
    }

    /// The first rule that fires over variables already bound.
    pub fn decide(&self, context: &Context<'_, '_>) -> anyhow::Result<Option<Rule>> {
        for (rule, program) in self.programs.iter().enumerate() {
            match program.execute(context).context("a CEL rule failed")? {
                Value::Bool(false) => {}
                Value::Bool(true) => return Ok(Some(rule)),
                other => bail!("a CEL rule gave {other:?}"),
            }
        }
        Ok(None)
    }
}

/// Binds the figures in a scope of their own, which shares the functions of the one around it.
pub fn bind<'a>(root: &'a Context<'a, 'static>, figures: &Figures) -> Context<'a, 'static> {
    let mut scope = root.new_inner_scope();
    let counts = [
        ("iterations", figures.iterations),
        ("active_ms", figures.active_ms),
        ("tokens", figures.tokens),
        ("ended", figures.ended),
        ("errored", figures.errored),
        ("consecutive_errors", figures.consecutive_errors),
        ("progress_age_ms", figures.progress_age_ms),
        ("context_used", figures.context_used),
        ("context_limit", figures.context_limit),
        ("units_finished", figures.units_finished),
        ("units_rejected", figures.units_rejected),
        ("cycles", figures.cycles),
    ];
    for (name, count) in counts {
        scope.add_variable_from_value(name, i64::try_from(count).unwrap_or(i64::MAX));
    }
    scope.add_variable_from_value("cost_usd", figures.cost_usd);
    scope.add_variable_from_value("improvement", figures.improvement);
    scope
}

const SOURCES: [&str; 10] = [
    "iterations >= 100",
    "active_ms >= 86400000",
    "tokens >= 1000000",
    "cost_usd >= 20.0",
    "ended >= 5 && double(errored) / double(ended) >= 0.2",
    "consecutive_errors >= 3",
    "progress_age_ms >= 1800000",
    "context_limit > 0 && double(context_used) / double(context_limit) >= 0.95",
    "units_finished >= 1 && double(units_rejected) / double(units_finished) > 0.3",
    "cycles >= 5 && improvement < 0.10",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_fires_at_its_threshold() {
        let programs = Programs::compile().unwrap();
        let root = Context::default();
        let decide = |figures: &Figures| programs.decide(&bind(&root, figures)).unwrap();
        assert_eq!(decide(&Figures::healthy()), None);
        for (rule, figures) in Figures::at_each_threshold().iter().enumerate() {
            assert_eq!(decide(figures), Some(rule));
        }
    }
}
