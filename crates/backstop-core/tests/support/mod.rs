//! A policy, facts or events, and the decision that follows from them at one fixed time.

use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::facts::GivenFacts;
use backstop_core::policy::Policy;

/// When every decision is asked for, and when an event without a time of its own happened.
pub const NOW: &str = "2026-05-04T10:00:00Z";

/// One decision in the making.
pub struct Test {
    pub engine: Engine,
}

impl Test {
    /// Begins with a policy in TOML.
    pub fn policy(text: &str) -> Self {
        let loaded = Policy::load(text.as_bytes(), Syntax::Toml)
            .unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"));
        Self { engine: Engine::new(loaded.policy) }
    }

    /// Goes on from stated facts; what they leave out is neutral.
    pub fn facts(self, json: &str) -> Self {
        let facts = GivenFacts::from_json(json.as_bytes())
            .unwrap_or_else(|error| panic!("{json}\n{error}"))
            .into();
        let engine = Engine::with_facts(self.engine.policy().clone(), facts);
        Self { engine: engine.with_neutral_meters() }
    }

    /// Folds events, one JSON object a line.
    pub fn events(mut self, lines: &str) -> Self {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let event =
                Event::from_json(line.as_bytes()).unwrap_or_else(|error| panic!("{line}\n{error}"));
            self.engine.handle_event(&event, NOW.parse().expect("a time"));
        }
        self
    }

    pub fn decide(&mut self) -> Decision {
        let now = self.engine.moment(NOW.parse().expect("a time"));
        self.engine.poll_decision(now)
    }
}
