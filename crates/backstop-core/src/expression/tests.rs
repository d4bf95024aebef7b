//! Tests of expressions as their users see them: source and facts in, answer out.

mod answers;
mod document;
mod hostile;
mod properties;
mod refused;

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Expression, FactSource, FactValue};

/// Facts from a table, with a record of what was asked for.
#[derive(Debug, Default)]
pub(super) struct Facts {
    known: BTreeMap<&'static str, FactValue>,
    asked: RefCell<Vec<String>>,
}

impl Facts {
    fn with(mut self, name: &'static str, value: impl Into<FactValue>) -> Self {
        self.known.insert(name, value.into());
        self
    }
}

impl FactSource for Facts {
    fn fact(&self, name: &str) -> Option<FactValue> {
        self.asked.borrow_mut().push(name.to_owned());
        self.known.get(name).cloned()
    }
}

/// A run in the middle of its work; `docs/reference/expressions.md` shows the same values.
pub(super) fn sample() -> Facts {
    Facts::default()
        .with("iterations", 51)
        .with("active_ms", 5_400_000)
        .with("tokens", 125_000)
        .with("cost_usd", 12.5)
        .with("cost_known", true)
        .with("context", FactValue::from([("used", 150_000.into()), ("limit", 200_000.into())]))
        .with("quota", FactValue::from([("5h", 0.92.into()), ("weekly", 0.4.into())]))
        .with("exit_code", 1)
        .with("error_now", true)
        .with("consecutive_errors", 2)
        .with("last_error", FactValue::Null)
        .with("failure_class", FactValue::Null)
        .with("failure_signals", vec!["a1", "b2", "b2"])
        .with("guards", vec!["lockfile"])
        .with("matched", Vec::<String>::new())
        .with("worker", "rate_limited")
        .with("health", 40)
        .with(
            "tests",
            FactValue::from([
                ("passed", vec!["api::get", "api::put"].into()),
                ("failed", vec!["db::insert", "db::select", "ui::draw"].into()),
                ("skipped", FactValue::List(Vec::new())),
            ]),
        )
        .with("review", FactValue::from([("outcome", FactValue::Null), ("same_rounds", 0.into())]))
        .with("drift", f64::NAN)
}

pub(super) fn ask(source: &str, facts: &Facts) -> Result<bool, String> {
    Expression::compile(source).unwrap_or_else(|error| panic!("{source}: {error}")).evaluate(facts)
}
