//! Engines that wait to be asked again: to compile a policy costs far more than to ask it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::facts::{Facts, GivenFacts};
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_runner::journalled;

use crate::data_only;
use crate::problem::Problem;

/// The policies that were asked lately, by the text in which they came or by their hash.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    /// Held for a moment only, never across a decision.
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Box<str>, Arc<Compiled>>,
    bytes: usize,
}

impl Engines {
    /// The policy with this key, made if it is not there.
    pub(crate) fn get(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Policy, Problem>,
    ) -> Result<Arc<Compiled>, Problem> {
        if let Some(compiled) = lock(&self.kept).by_key.get(key) {
            return Ok(Arc::clone(compiled));
        }
        // Two who ask at once for the same may both make it; the second one's is kept.
        let compiled = Arc::new(Compiled::new(make()?));
        let mut kept = lock(&self.kept);
        if kept.by_key.len() >= MOST || kept.bytes + key.len() > MOST_BYTES {
            *kept = Kept::default();
        }
        if kept.by_key.insert(key.into(), Arc::clone(&compiled)).is_none() {
            kept.bytes += key.len();
        }
        Ok(compiled)
    }
}

/// A policy with engines that are not busy.
#[derive(Debug)]
pub(crate) struct Compiled {
    policy: Policy,
    /// It has expressions, of which each may take a while.
    pub(crate) may_take_long: bool,
    pool: EnginePool,
}

impl Compiled {
    pub(crate) fn new(policy: Policy) -> Self {
        let may_take_long = data_only::expressions(&policy) > 0;
        let engine = journalled::engine(policy.clone(), Facts::default()).with_neutral_meters();
        Self { policy, may_take_long, pool: EnginePool::new(engine) }
    }

    /// Decides about these facts and events, as `backstop check` does, and hands the decision over.
    pub(crate) fn decide<T>(
        &self,
        given: GivenFacts,
        events: &[Event],
        now: Timestamp,
        tell: impl FnOnce(&Engine, Decision) -> T,
    ) -> T {
        // What is left out counts as nothing used; what is said to be unknown is not "no".
        let meters_are_neutral = !given.say_cost_is_unknown();
        let facts = Facts::from(given);
        let ask = |engine: &mut Engine| {
            for event in events {
                engine.handle_event(event, now);
            }
            let decision = engine.poll_decision(engine.moment(now));
            tell(engine, decision)
        };
        if meters_are_neutral {
            self.pool.with(facts, ask)
        } else {
            ask(&mut journalled::engine(self.policy.clone(), facts))
        }
    }
}

/// Engines of one policy, each of which is asked by one at a time.
#[derive(Debug)]
pub(crate) struct EnginePool {
    /// It has taken in nothing, and never will: the others are made from it.
    fresh: Engine,
    #[expect(clippy::vec_box, reason = "an engine is large, and taken out for every question")]
    idle: Mutex<Vec<Box<Engine>>>,
}

impl EnginePool {
    pub(crate) fn new(fresh: Engine) -> Self {
        Self { fresh, idle: Mutex::default() }
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.fresh.policy()
    }

    pub(crate) fn policy_hash(&self) -> &str {
        self.fresh.policy_hash()
    }

    /// Asks an engine that knows these facts and nothing else.
    pub(crate) fn with<T>(&self, facts: Facts, ask: impl FnOnce(&mut Engine) -> T) -> T {
        let idle = lock(&self.idle).pop();
        let mut engine = idle.unwrap_or_else(|| Box::new(self.fresh.clone()));
        engine.restart(facts);
        let told = ask(&mut engine);
        let mut idle = lock(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(engine);
        }
        told
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST: usize = 256;
const MOST_BYTES: usize = 4 << 20;
/// More are not busy at once than the machine has cores, give or take.
const MOST_IDLE: usize = 8;

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;
    use backstop_core::event::{EventKind, LimitValue, Raised};
    use backstop_core::verdict::Verdict;

    use super::*;

    /// Whoever asks second must find nothing of what the first one said.
    #[test]
    fn an_engine_that_is_asked_again_has_forgotten_everything() {
        let policy =
            Policy::load(b"[limits]\niterations = 3\n", Syntax::Toml).expect("a policy").policy;
        let compiled = Compiled::new(policy);
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let verdict = |events: &[Event]| {
            let given = GivenFacts::from_json(br#"{"iterations":3}"#).expect("facts");
            compiled.decide(given, events, now, |_, decision| decision.verdict)
        };
        let raised = Raised {
            limit: "max_iterations".to_owned(),
            value: LimitValue::Number(9.0),
            by: "ann".to_owned(),
            why: String::new(),
        };
        assert_eq!(verdict(&[Event::new(EventKind::from(raised))]), Verdict::Continue);
        assert_eq!(verdict(&[]), Verdict::Stop);
        assert_eq!(lock(&compiled.pool.idle).len(), 1, "it was one and the same engine");
    }
}
